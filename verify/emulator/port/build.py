"""The shim as a shared library: built with the machine's C compiler on first use, kept in a cache folder."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from pathlib import Path

from verify.emulator import cc
from verify.emulator.build import cache_folder, compiler
from verify.emulator.port.exports import functions
from verify.emulator.ptx.module import PtxError

_SOURCE = Path(__file__).with_name("shim.c")
_SECONDS = 120


def build_shim(runtime: Path) -> Path:
    """The shim for `runtime`, the DSL's own runtime library. PtxError CP7106 without a C compiler, CP7109
    where the library is none that the shim can stand in for."""
    try:
        wanted = functions(runtime)
    except (OSError, ValueError) as e:
        raise PtxError("CP7109", f"the DSL's runtime library can't be read: {e}") from e
    return build_for(wanted)


def build_for(wanted: list[str]) -> Path:
    """The shim with a stub for each function of `wanted` that it does not implement. PtxError as above."""
    source = _SOURCE.read_text(encoding="utf-8")
    own = set(re.findall(r"^(?:int|void) (\w+)\(", source, re.M))
    if absent := sorted(own - set(wanted) - {"cuteport_handlers"}):
        raise PtxError("CP7109", f"the DSL's runtime library lacks {', '.join(absent)}")
    rest = [f for f in wanted if f not in own]
    text = source.replace("\nREST\n", "\n" + "\n".join(f"STUB({f})" for f in rest) + "\n")
    command = compiler()
    key = hashlib.sha256(" ".join([*command, text]).encode()).hexdigest()[:24]
    built = cache_folder() / f"shim-{key}.so"
    if not built.exists():
        _compile(command, text, built)
    return built


def _compile(compiler: tuple[str, ...], text: str, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".build-") as folder:
        source, out = Path(folder) / "shim.c", Path(folder) / "shim.so"
        source.write_text(text, encoding="utf-8")
        command = [*compiler, "-O1", "-shared", "-fPIC", "-o", str(out), str(source)]
        try:
            status, errors = cc.run(command, _SECONDS)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise PtxError("CP7106", f"{compiler[0]} can't be run: {e}") from e
        if status != 0:
            raise PtxError("CP7107", f"{compiler[0]} refuses the launch shim: {errors.strip()[:1000]}")
        out.replace(to)  # atomic: another process sees all of it or nothing
