"""Verdicts that a run which was cut short has in its logs: what was judged then is not judged again.

One counts only where everything that it depends on is as it was: the files, the verifier, versions, what was
asked for. What a run keeps is judged once more all the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from verify.certificate import CertificateError, read_certificate
from verify.environment import versions
from verify.options import Options
from verify.run import hashes
from verify.spec_file import SpecError, load_spec
from verify.verdict import Status, Verdict
from verify.where import choose

# Ends that are the candidate's own. A child that was killed, a time limit and what a machine lacked are not.
_DECIDED = frozenset(
    {
        Status.PASSED,
        Status.REJECTED_STATIC,
        Status.COMPILE_ERROR,
        Status.WRONG_SHAPE,
        Status.WRONG_DTYPE,
        Status.WRONG_VALUES,
        Status.SANITIZER,
    }
)
Recorded = Mapping[tuple[str, tuple[str, ...]], Verdict]


def recorded(folder: Path) -> Recorded:
    """The verdicts in a conversation's log, by the hash of the port and the stages; what is damaged is left
    out. Timed ones are left out too: a time is compared with others of its own run."""
    found: dict[tuple[str, tuple[str, ...]], Verdict] = {}
    for path in sorted(folder.glob("60-verdict-*.json")):
        with contextlib.suppress(CertificateError):
            verdict = read_certificate(path)
            stages = tuple(verdict.asked.stages) if verdict.asked is not None else ()
            if verdict.status in _DECIDED and "bench" not in stages:
                found[verdict.hashes.get("port", ""), stages] = verdict
    return found


def known(held: Recorded, folder: Path, options: Options) -> Verdict | None:
    """The verdict on the target in `folder` that was found before, if it still holds."""
    if not held:
        return None
    try:
        now = hashes(folder, load_spec(folder))
    except (SpecError, OSError):
        return None
    found = held.get((now.get("port", ""), tuple(options.stages)))
    if found is None or found.asked is None or found.hashes != now:
        return None
    asked, where = found.asked, choose(options)
    device = "gpu" if where.gpu is not None else "emulator" if where.emulator else "none"
    before = (asked.device, asked.arch, asked.timeout, asked.cases, found.seed)
    same = before == (device, where.arch, options.timeout, list(options.cases), options.seed)
    return found if same and found.environment.get("versions") == dict(versions()) else None
