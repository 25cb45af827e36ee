"""A report on 300 kernels stays small, and fast to write and to open. They are the 24 targets under other
names: each has a kernel, variables and lines of its own, so that little of one can stand for another."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import chromium
import pytest

from verify.report.command import Made, make

TARGETS = Path(__file__).resolve().parents[3] / "targets"
KERNELS = 300
MOST_BYTES = 12_000_000  # 9.1 MB with verdicts that hold every stage
MOST_SECONDS = 20.0  # of CPU time; measured: 4.8
MOST_MILLISECONDS = 5_000  # until it answers, measured with other work on the machine: 550
# How long it takes from the click until a kernel is laid out, in ms.
OPEN = """new Promise((done) => {
  const start = performance.now();
  addEventListener("hashchange", () => { document.body.offsetHeight; done(performance.now() - start); });
  location.hash = "#k-kernel_150";
})"""


def _renamed(text: str, names: list[str], k: int) -> str:
    return re.sub(rf"\b({'|'.join(names)})(_kernel|_launch)?\b", rf"\1_{k}\2", text)


def write_target(folder: Path, source: Path, k: int) -> None:
    kernel = source.name.partition("__")[2]
    cuda = (source / f"original/{kernel}.cu").read_text()
    words = sorted(
        set(re.findall(r"\b(?:[a-z]+_[a-z]+|idx|row|col|val|sum|tid|gid|acc|scale|total)\b", cuda))
    )
    names = [kernel, *words[k % 3 :: 2]]
    (folder / "original").mkdir(parents=True)
    (folder / f"original/{kernel}_{k}.cu").write_text(_renamed(cuda, names, k))
    (folder / "original/device.cu").write_text(
        _renamed((source / "original/device.cu").read_text(), names, k)
    )
    (folder / "port.py").write_text(_renamed((source / "port.py").read_text(), names, k))
    (folder / "line_map.json").write_text(
        (source / "line_map.json").read_text().replace(f"{kernel}.cu", f"{kernel}_{k}.cu")
    )
    verdict = json.loads((source / "verdict.json").read_text())
    verdict |= {"target": str(folder), "kernel": f"{kernel}_{k}", "seed": k, "seal": ""}
    verdict["hashes"] = {"harness": f"{k:064x}"}
    (folder / "verdict.json").write_text(json.dumps(verdict))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Made, float]:
    home = tmp_path_factory.mktemp("many")
    sources = sorted(TARGETS.glob("*__*"))
    for k in range(KERNELS):
        write_target(home / "targets" / f"kernel_{k:03}", sources[k % len(sources)], k)
    before = time.process_time()
    return make([home / "targets"], home / "report.html"), time.process_time() - before


def test_300_kernels_are_a_few_megabytes_and_seconds(made: tuple[Made, float]) -> None:
    report, seconds = made
    assert len(report.rows) == KERNELS
    assert report.exit_code == 0
    print(f"{report.size} bytes, {seconds:.1f} s of CPU time")
    assert report.size < MOST_BYTES
    assert seconds < MOST_SECONDS


@pytest.mark.skipif(chromium.find() is None, reason="no Chromium on PATH, and CHROMIUM names none")
def test_300_kernels_open_at_once(made: tuple[Made, float]) -> None:
    with chromium.Browser(chromium.find() or "") as browser:
        browser.screen(1280, 900)
        browser.open(made[0].out)
        loaded = "performance.getEntriesByType('navigation')[0].loadEventEnd"
        browser.until(f"{loaded} > 0")
        until = browser.value(loaded)
        shown = browser.value(OPEN)
        assert browser.value("document.querySelectorAll('#k-kernel_150 .l').length") > 50
        assert browser.troubles == []
    print(f"answers after {until:.0f} ms, shows a kernel after {shown:.0f} ms")
    assert until < MOST_MILLISECONDS
    assert shown < MOST_MILLISECONDS
