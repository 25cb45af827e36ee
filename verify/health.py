"""Whether the GPU still works after a candidate broke: a sick device blames nobody."""

from __future__ import annotations

import time
from collections.abc import Callable

from verify.isolate import Child, ChildDiedError, ChildTimeoutError
from verify.verdict import StageResult, Status

_PROBE_SECONDS = 60.0
_WAITS = (1.0, 5.0, 15.0, 30.0)  # seconds before each further question
# Ends that a sick device can have caused.
_SUSPICIOUS = frozenset({Status.CRASHED, Status.TIMEOUT, Status.LAUNCH_ERROR, Status.ORIGINAL_SUSPECT})


def ask_gpu() -> str:
    """Fill and read back a little memory in a fresh process: what is wrong, or ""."""
    try:
        with Child() as child:
            reply = child.request({"do": "health"}, _PROBE_SECONDS)
    except (ChildDiedError, ChildTimeoutError) as e:
        return f"a fresh process does not get it to work: {e or 'no answer'}"
    return "" if reply["ok"] else str(reply["message"])


def tended(
    run: Callable[[], list[StageResult]],
    ask: Callable[[], str] = ask_gpu,
    wait: Callable[[float], None] = time.sleep,
) -> list[StageResult]:
    """The stages of a target. Where they end as on a sick device, the device is asked: if it does not work,
    they are run once more when it does again; if it never does, nothing is said about the target (CP9004)."""
    found = run()
    if not any(s.status in _SUSPICIOUS for s in found) or not (why := ask()):
        return found
    for seconds in _WAITS:
        wait(seconds)
        if not ask():
            return run()
    last = found[-1]
    lost = StageResult(
        stage="parity",
        target=last.target,
        status=Status.AMBIGUOUS,
        code="CP9004",
        message=f"the GPU stopped working: {why}; before, {last.stage} ended {last.status}: {last.message}",
    )
    return [lost]
