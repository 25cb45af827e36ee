"""Writes what the sweep needs: `python -m tests.emulator.loops.generate build/loops`.

Each unit becomes a CUDA file, a Python file with the kernels as cuteport ports them, both once more with
while loops, and its expected values in `loops.json`. Needs libclang and no GPU; the sweep itself needs
neither libclang nor this project.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.emulator.loops.family import FIRST, SECOND, THREADS, TYPES, Loop, cuda_unit, units
from translator.batch.work import Part, translate_part
from translator.diag.diagnostic import Sink
from translator.frontend.inputs import ReadOptions, collect

_DSL_TYPES = {"int": "Int32", "unsigned": "Uint32", "long": "Int64"}
# What a port has for its callers, and a unit goes without.
_CALLERS_IMPORTS = frozenset({"torch", "functools", "cuda.bindings.driver"})
_CALLERS = re.compile(r"axes|device_pointer|compile_\w+|\w+_launch")


def port_unit(source: Path, loops: list[Loop]) -> str:
    """The kernels of a CUDA file as one Python module with one launcher. ValueError if one is refused."""
    options = ReadOptions()
    ported = translate_part(Part(collect([str(source)], options, Sink()), options))
    texts = {p.outcome.kernel: str(dict(p.files).get("port.py", "")) for p in ported}
    if missing := [loop.name for loop in loops if not texts.get(loop.name)]:
        raise ValueError(f"not ported: {missing}: {[p.outcome.findings for p in ported]}")
    pointer = f"cutlass.Pointer[{_DSL_TYPES[loops[0].type]}, gmem]"
    launches = "".join(
        f"    {loop.name}_kernel(a, b, o).launch(grid=(1, 1, 1), block=({THREADS}, 1, 1))\n" for loop in loops
    )
    return (
        f'"""Ported by cuteport from {source.name}."""\n\n{_imports(texts.values())}\n\n'
        f"gmem = cutlass.AddressSpace.gmem\n\n\n{_functions(texts.values(), texts)}\n\n\n"
        f"@cute.jit\ndef launch(a: {pointer}, b: {pointer}, o: {pointer}):\n{launches}"
    )


def _imports(texts: Iterable[str]) -> str:
    """What the ports import, but for the callers' own: torch and the driver."""
    plain: dict[str, None] = {}
    names: dict[str, set[str]] = {}
    for text in texts:
        for node in ast.parse(text).body:
            if isinstance(node, ast.ImportFrom):
                names.setdefault(str(node.module), set()).update(name.name for name in node.names)
            elif isinstance(node, ast.Import) and all(n.name not in _CALLERS_IMPORTS for n in node.names):
                plain[ast.unparse(node)] = None
    froms = [f"from {module} import {', '.join(sorted(found))}" for module, found in sorted(names.items())]
    return "\n".join([*plain, *froms])


def _functions(texts: Iterable[str], entries: Collection[str]) -> str:
    """Kernels and the device functions they use, each once."""
    found: dict[str, None] = {}
    for text in texts:
        lines = text.splitlines()
        for node in ast.parse(text).body:
            if not isinstance(node, ast.FunctionDef) or _CALLERS.fullmatch(node.name) or node.name in entries:
                continue
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found["\n".join(lines[first - 1 : node.end_lineno])] = None
    return "\n\n\n".join(found)


def facts(loops: list[Loop]) -> list[dict[str, Any]]:
    """What the sweep must know of the kernels of a unit."""
    return [
        {
            "name": loop.name,
            "type": loop.type,
            "direction": loop.direction,
            "step": loop.step,
            "bound": loop.bound,
            "select": loop.select,
            "behind": loop.behind,
            "values": loop.values(),
        }
        for loop in loops
    ]


def write(out: Path, made: Mapping[str, list[Loop]]) -> None:
    """Write all files of these units to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    listed = {}
    for name, loops in made.items():
        source = out / f"{name}.cu"
        source.write_text(cuda_unit(loops), encoding="utf-8")
        (out / f"{name}.py").write_text(port_unit(source, loops), encoding="utf-8")
        other = out / f"{name}_while.cu"
        other.write_text(cuda_unit(loops, as_while=True), encoding="utf-8")
        (out / f"{name}_while.py").write_text(port_unit(other, loops), encoding="utf-8")
        listed[name] = {
            "dtype": _DSL_TYPES[loops[0].type],
            "bits": TYPES[loops[0].type][1],
            "loops": facts(loops),
        }
    held = {"threads": THREADS, "first": FIRST, "second": SECOND, "units": listed}
    (out / "loops.json").write_text(json.dumps(held), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), units())
