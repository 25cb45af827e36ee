"""Writing a port that passed: into its target's own folder, or as a copy of it with another port."""

from __future__ import annotations

import filecmp
import shutil
import tempfile
from pathlib import Path

from translator.output import naming, write_file
from verify.origin import ORIGIN, Origin

# What a folder holds about the port that it has, and says nothing of another one.
_OF_ITS_PORT = ("verdict.json", "baselines", "line_map.json", "origin.json", "__pycache__")


def keep(target: Path, out: Path, module: str, source: str, origin: Origin) -> None:
    """Write `source` as the port of `target` to `out`, whole or not at all. An OSError names a path of the
    user's, not a temporary one."""
    text = origin.model_dump_json(indent=1)
    if out.resolve() == target.resolve():
        write_file(out / ORIGIN, text)
        write_file(out / module, source)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".cuteport-", dir=out.parent, ignore_cleanup_errors=True) as made:
        copy = Path(made) / "target"
        try:
            with naming(copy):
                shutil.copytree(target, copy, ignore=shutil.ignore_patterns(*_OF_ITS_PORT))
            write_file(copy / module, source)
            write_file(copy / ORIGIN, text)
            if out.exists():
                out.replace(Path(made) / "before")  # what was there goes last, and with the temporary folder
            copy.replace(out)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(out)) from error


def but_for_port(target: Path, out: Path, module: str) -> bool:
    """Whether `out` is as `keep` leaves it: a copy of `target`, its port and what is said of it apart."""
    apart = {*_OF_ITS_PORT, module}
    compared = filecmp.dircmp(target, out, ignore=list(apart), hide=[])
    return _same(compared)


def _same(compared: filecmp.dircmp[str]) -> bool:
    lists = (compared.left_only, compared.right_only, compared.diff_files, compared.funny_files)
    return not any(lists) and all(map(_same, compared.subdirs.values()))
