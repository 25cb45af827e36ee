"""A headless Chromium, spoken to over its debugging pipe: null-terminated JSON on two file descriptors."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """CHROMIUM names one; otherwise the first that PATH has."""
    return os.environ.get("CHROMIUM") or next((p for n in _NAMES if (p := shutil.which(n))), None)


class Browser:
    """One browser with one page. `troubles` is what its console told, also what its policy blocked."""

    def __init__(self, program: str) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="cuteport-chromium-", ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def place() -> None:  # the browser reads from 3 and writes to 4
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self._process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--no-first-run", "--disable-dev-shm-usage", f"--user-data-dir={self._home.name}",
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=place, close_fds=False, start_new_session=True,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._number = 0
        self.troubles: list[str] = []
        self.loaded: list[str] = []
        targets = self._ask("Target.getTargets", session=None)["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session: str | None = self._ask(
            "Target.attachToTarget", session=None, targetId=page, flatten=True
        )["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._home.cleanup()

    def ask(self, method: str, **params: Any) -> Any:
        """The result of one command to the page."""
        return self._ask(method, session=self._session, **params)

    def _ask(self, method: str, *, session: str | None, **params: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            got = self._next()
            if got.get("id") == self._number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]

    def _next(self, limit: float = 120.0) -> dict[str, Any]:
        end = time.monotonic() + limit
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser ended")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.troubles.append(json.dumps(params["exceptionDetails"])[:500])
            case "Runtime.consoleAPICalled":
                self.troubles.append(json.dumps(params["args"])[:500])
            case "Log.entryAdded":
                self.troubles.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.loaded.append(params["request"]["url"])

    def screen(self, width: int, height: int, *, dark: bool = False, medium: str = "") -> None:
        """Size in CSS pixels, colour scheme, and `print` or the screen."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=medium, features=[scheme])

    def open(self, path: Path, place: str = "") -> None:
        """Load a file and wait until it is loaded."""
        self.ask("Page.navigate", url="about:blank")
        self.troubles.clear()
        self.loaded.clear()
        self.ask("Page.navigate", url=path.resolve().as_uri() + place)
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")

    def value(self, expression: str) -> Any:
        """What an expression gives in the page, by value."""
        got = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(json.dumps(got["exceptionDetails"])[:1000])
        return got["result"].get("value")

    def until(self, expression: str, limit: float = 60.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + limit
        while not self.value(f"!!({expression})"):
            if time.monotonic() > end:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def key(self, key: str) -> None:
        """Press and release one key."""
        codes = {"Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9, "/": 191}
        held = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **held, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **held)

    def picture(self, path: Path) -> None:
        """A PNG of what is on the screen."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def printed(self, path: Path) -> None:
        """A PDF of the page."""
        path.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"]))
