"""Times the corpus on a GPU: `python3 -m tests.corpus.speed [FAMILY …] [--out FILE] …`.

Needs torch and the DSL only. Beside each entry in turns: torch's own operator, `torch.compile`, and a copy of
as many bytes (large shapes) or a nearly empty kernel (decode shapes). FILE gets the numbers as JSON, after
each row. A family is a file of this folder with `rows() -> Iterator[Row]`.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from tests.corpus.speed.timing import Row, between_events, copy_job, in_graph, nearly_empty

NO_FAMILY = ("__main__", "page", "timing")
FAMILIES = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in NO_FAMILY)


def where() -> dict[str, str]:
    return {
        "date": datetime.date.today().isoformat(),
        "device": torch.cuda.get_device_name(),
        "cuda": str(torch.version.cuda),
        "torch": torch.__version__,
        "dsl": importlib.metadata.version("nvidia-cutlass-dsl"),
    }


def shown(one: dict[str, Any]) -> str:
    us = one["us"]
    if one["decode"]:
        graph = one["graph_us"]
        alone, within = (t["ours"] / t["nearly empty"] for t in (us, graph))
        share = f"{alone:.2f}x empty, in a graph {within:.2f}x"
        times = "  ".join(f"{n} {t:.2f}/{graph[n]:.2f} us" for n, t in us.items())
    else:
        share = f"{us['copy'] / us['ours']:.2f} of copy"
        times = "  ".join(f"{n} {t:.2f} us {one['bytes'] / t / 1e3:.0f} GB/s" for n, t in us.items())
    return f"{one['what']:42} {share:13} {times}"


def timed(family: str, row: Row, clean: bool) -> dict[str, Any]:
    one: dict[str, Any] = {"family": family, "what": row.what, "decode": row.decode, "bytes": row.size}
    if row.decode:
        jobs = {**row.jobs, "nearly empty": nearly_empty()}
        return one | {"us": between_events(jobs, cold=False), "graph_us": in_graph(jobs)}
    return one | {"us": between_events({**row.jobs, "copy": copy_job(row.size)}, cold=True, clean=clean)}


@contextmanager
def going_on(what: str, broken: list[str]) -> Iterator[None]:
    """Prints what is raised: the other rows are no worse for it."""
    try:
        yield
    except Exception:
        broken.append(what)
        print(f"{what} failed:\n{traceback.format_exc()}", flush=True)


def main() -> bool:
    """Prints and writes the rows; true where one failed."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.corpus.speed")
    parser.add_argument("families", nargs="*", default=FAMILIES, help=", ".join(FAMILIES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument(
        "--no-compile", action="store_true", help="without torch.compile, which takes 14 s a row"
    )
    parser.add_argument("--compiled", action="store_true", help="only rows that have torch.compile beside")
    parser.add_argument("--clean", action="store_true", help="large rows behind a cache of unwritten lines")
    given = parser.parse_args()
    if given.clean and given.out:
        parser.error("--clean is for a look: the page's rows are timed without it")
    if not torch.cuda.is_available():
        parser.error("no GPU to time anything on")
    told: list[dict[str, Any]] = []
    broken: list[str] = []
    document = {**where(), "rows": told}
    print(document["device"], flush=True)
    for family in given.families:
        with going_on(family, broken):
            for row in importlib.import_module(f"tests.corpus.speed.{family}").rows():
                if given.only not in row.what or (given.compiled and "torch.compile" not in row.jobs):
                    continue
                if given.no_compile:
                    row.jobs.pop("torch.compile", None)
                with going_on(row.what, broken):
                    told.append(timed(family, row, given.clean))
                    print(shown(told[-1]), flush=True)
                if given.out:
                    given.out.write_text(json.dumps(document, indent=1), encoding="utf-8")
                torch.cuda.empty_cache()
    return len(broken) > 0


if __name__ == "__main__":
    sys.exit(main())
