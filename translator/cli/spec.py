"""`cuteport spec check DIR…`: what a spec.toml says, and what is wrong with it, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translator.cli.options import Json

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look at what spec.toml files say.")


@app.callback()
def _root() -> None:
    pass


@app.command("check")
def check(
    dirs: Annotated[list[Path], typer.Argument(metavar="DIR", help="Target folders, or folders of targets.")],
    as_json: Json = False,
) -> int:
    """Check spec.toml files: errors and warnings with their lines, and each case in numbers."""
    from verify.__main__ import find_targets
    from verify.spec_check import SpecDocument, examine

    found = [examine(t) for t in find_targets(dirs)]
    code = 0 if all(e.ok for e in found) else 2
    if as_json:
        from translator.documents import to_json

        typer.echo(to_json(SpecDocument(exit_code=code, specs=found)))
        return code
    for e in found:
        for remark in e.remarks:
            typer.echo(str(remark), err=remark.level == "error")
        typer.echo(f"{e.target}: {'ok' if e.ok else 'can not be used'}", err=not e.ok)
        for case in e.cases:
            for line in _lines(case):
                typer.echo(f"  {line}")
    return code


def _lines(case: object) -> list[str]:
    from verify.spec_check import CaseNumbers

    assert isinstance(case, CaseNumbers)
    sizes = ", ".join(f"{k}={v}" for k, v in case.sizes.items()) or "no sizes"
    smem = f", {case.smem} bytes of dynamic shared memory" if case.smem else ""
    runs = f"runs: {case.runs['gpu']} on a GPU, {case.runs['emulator']} in the emulator"
    why = f" ({case.emulator})" if case.emulator else ""
    return [
        f"{case.name} ({case.role}): {sizes}; grid {_dims(case.grid)}, block {_dims(case.block)}{smem}",
        f"  {case.bytes:,} bytes: {', '.join(f'{n} {c:,}' for n, c in case.elems.items())}; {runs}{why}",
    ]


def _dims(d: tuple[int, int, int]) -> str:
    return " x ".join(map(str, d))
