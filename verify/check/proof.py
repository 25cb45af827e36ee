"""Comparisons of values that need no repeating: what they depend on as one hash, kept in the cache folder.

Values follow from the code of both sides, all that the port's host code asks of the device, the inputs, the
reference and the verifier; the emulator is deterministic. Where all of that is as it was, so is the result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from verify.check.baseline import Proof
from verify.check.identity import digest, file_hash, installed, sources, values_identity
from verify.check.trace import Trace
from verify.emulator.build import cache_folder
from verify.files import write_json
from verify.heldout import extra_runs as held_out_runs
from verify.options import Options
from verify.plan import Run
from verify.spec import Spec

_FORMAT = 1  # raised when a trace comes to mean something else
_DAYS = 90


def extra_runs(target: Path, spec: Spec, options: Options) -> list[Run]:
    """The runs besides the spec's that a comparison in the emulator would have now. OSError."""
    return held_out_runs(target, spec, options.cases, options.seed, "emulator")


def key_of(target: Path, spec: Spec, trace: Trace, options: Options, extra: Sequence[Run] = ()) -> str:
    """The hash of everything that decides whether values agree in the emulator; "" where what the port asks
    for was not seen in full."""
    if trace.unseen or not trace.launches:
        return ""
    return digest(
        {
            "format": _FORMAT,
            "spec": file_hash(target / "spec.toml"),
            "reference": file_hash(target / "reference.py"),
            "original": trace.original_code,
            "launches": trace.launches,
            "atomics": {k: v for k, v in trace.original.features.items() if "atomics" in k},
            "cases": sorted(options.cases),
            "extra": [str(run) for run in extra],
            "seed": options.seed,
            "arch": trace.port.arch,
            "double": _in_double(target, spec),
            "by": values_identity(target),
        }
    )


def _in_double(target: Path, spec: Spec) -> object:
    """Where the right values come from the original in double: its source, and what compiles that."""
    if spec.tolerance.rule != "double":
        return None
    return [sources(target, spec), {k: v for k, v in installed().items() if k.startswith(("nv", "cuda"))}]


class Cache:
    """Proofs of earlier runs, one file each. What can't be read counts as absent; what can't be written is
    left out, since it only saves work."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder().parent / "check"

    def get(self, key: str) -> Proof | None:
        path = self._path(key)
        try:
            found = Proof.model_validate_json(path.read_bytes())
            os.utime(path)  # what is used stays
        except (OSError, ValidationError):
            return None
        return found if found.key == key else None

    def put(self, proof: Proof) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self._path(proof.key), proof.model_dump(mode="json", exclude_none=True))
        except OSError:
            return

    def prune(self) -> None:
        """Remove what was not used for a long time."""
        oldest = time.time() - _DAYS * 86400
        try:
            for path in self.folder.glob("*.json"):
                if path.stat().st_mtime < oldest:
                    path.unlink(missing_ok=True)
        except OSError:
            return

    def _path(self, key: str) -> Path:
        return self.folder / f"{key[:40]}.json"
