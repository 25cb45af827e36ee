"""Times the corpus on a GPU: `python3 -P -m tests.corpus.speed [FAMILY …] [--out FILE] [--only TEXT]`.

Needs torch and the DSL only. Beside each entry in turns: torch's own operator, `torch.compile`, and a copy of
as many bytes (large shapes) or a nearly empty kernel (decode shapes). FILE gets the numbers as JSON, after
each row. A family is a file of this folder with `rows() -> Iterator[Row]`.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import torch

from tests.corpus.speed.timing import copy_job, large, nearly_empty, small

FAMILIES = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in ("__main__", "timing"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -P -m tests.corpus.speed")
    parser.add_argument("families", nargs="*", default=FAMILIES, help=", ".join(FAMILIES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    given = parser.parse_args()
    told: list[dict[str, Any]] = []
    print(torch.cuda.get_device_name(), flush=True)
    for family in given.families:
        for row in importlib.import_module(f"tests.corpus.speed.{family}").rows():
            if given.only not in row.what:
                continue
            if row.decode:
                times = small({**row.jobs, "nearly empty": nearly_empty()})
            else:
                times = large({**row.jobs, "copy": copy_job(row.size)})
            least = times["nearly empty" if row.decode else "copy"]
            told.append(
                {"family": family, "what": row.what, "decode": row.decode, "bytes": row.size, "us": times}
            )
            shown = "  ".join(f"{n} {t:.2f} us {row.size / t / 1e3:.0f} GB/s" for n, t in times.items())
            told_share = (
                f"{times['ours'] / least:.2f}x empty"
                if row.decode
                else f"{least / times['ours']:.2f} of copy"
            )
            print(f"{row.what:42} {told_share:13} {shown}", flush=True)
            if given.out:
                given.out.write_text(json.dumps(told, indent=1), encoding="utf-8")
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
