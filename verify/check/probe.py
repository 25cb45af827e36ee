"""`python -P -m verify.check.probe TARGET …`: one target in this environment, told as one line of JSON.

Run by `bisect` in an environment of its own, whose version of the DSL may be one that nothing here knows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from pydantic import Field

from verify.check.trace import Lanes, Trace
from verify.environment import versions
from verify.facts import CompileFacts, Strict
from verify.options import DEVICES, Options
from verify.run import load_specs, verify_targets
from verify.sides import SideError
from verify.spec_file import SpecError
from verify.verdict import Verdict
from verify.where import choose


class Probed(Strict):
    """`code` is the hash of the port's PTX without comments, `launches` the digest of what the port asks of
    the device, by case; both empty where it does not compile. `unseen` says why launches are missing."""

    verdict: Verdict
    versions: dict[str, str]
    port: CompileFacts | None = None
    code: str = ""
    launches: dict[str, str] = Field(default_factory=dict)
    unseen: str = ""


def probe(target: Path, options: Options) -> Probed:
    """Verify a target, and trace it. SpecError."""
    spec = load_specs([target], options.cases)[target]
    (verdict,) = verify_targets([target], options, read={target: spec})
    traced: Trace | None = None
    unseen = ""
    with closing(Lanes(choose(options).arch, options.timeout)) as lanes, lanes.one() as lane:
        try:
            traced = lane.trace(target, spec)
        except SideError as e:
            unseen = f"{e.code}: {e.message}"
    if traced is None:
        return Probed(verdict=verdict, versions=versions(), unseen=unseen)
    return Probed(
        verdict=verdict,
        versions=versions(),
        port=traced.port,
        code=traced.port_code,
        launches=traced.launches,
        unseen=traced.unseen,
    )


def main(arguments: Sequence[str]) -> int:
    """Print the result; 2 where the spec can't be used."""
    parser = argparse.ArgumentParser(prog="verify.check.probe")
    parser.add_argument("target", type=Path)
    parser.add_argument("--device", default="auto", choices=DEVICES)
    parser.add_argument("--arch", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--out", type=Path, required=True, help="where the JSON goes")
    a = parser.parse_args(arguments)
    options = Options(
        stages=("parity",), device=a.device, arch=a.arch, seed=a.seed, timeout=a.timeout, write=False
    )
    try:
        found = probe(a.target, options)
    except SpecError as e:
        print("\n".join(e.problems), file=sys.stderr)
        return 2
    a.out.write_text(found.model_dump_json(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
