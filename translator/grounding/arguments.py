"""Whether a call's arguments fit the parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from translator.grounding.scopes import Function
from translator.grounding.suggest import like
from translator.grounding.things import Parameter


@dataclass(frozen=True, slots=True)
class Complaint:
    """`node` is the argument, or the call where one is lacking."""

    node: ast.AST
    detail: str
    nearest: tuple[str, ...] = ()


def of_function(node: Function) -> tuple[Parameter, ...]:
    """The parameters of a function of the module."""
    a = node.args
    places = [*a.posonlyargs, *a.args]
    optional = len(places) - len(a.defaults)
    made = [
        Parameter(p.arg, "p" if k < len(a.posonlyargs) else "a", k >= optional) for k, p in enumerate(places)
    ]
    made += [Parameter(a.vararg.arg, "v", True)] if a.vararg else []
    made += [Parameter(p.arg, "k", d is not None) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    return (*made, *([Parameter(a.kwarg.arg, "w", True)] if a.kwarg else []))


def complaints(
    call: ast.Call, parameters: Sequence[Parameter] | None, more: frozenset[str] = frozenset()
) -> Iterator[Complaint]:
    """What of a call the parameters can't take; `more` are keywords that are taken besides them."""
    if parameters is None:
        return
    places = [p for p in parameters if p.kind in "pa"]
    by_keyword = [p.name for p in parameters if p.kind in "ak"]
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    unpacked = any(k.arg is None for k in call.keywords)
    given = [a for a in call.args if not isinstance(a, ast.Starred)]
    if len(given) > len(places) and not any(p.kind == "v" for p in parameters):
        yield Complaint(given[len(places)], _too_many(len(places), len(given), parameters))
    if not any(p.kind == "w" for p in parameters):
        for k in call.keywords:
            if k.arg is not None and k.arg not in by_keyword and k.arg not in more:
                near = tuple(f"{n}=" for n in like(k.arg, (n for n in by_keyword if n not in ("loc", "ip"))))
                yield Complaint(k, f"it takes no {k.arg}=", near)
    named = {k.arg for k in call.keywords}
    taken = places[: len(given)] if not starred else []
    for p in taken:
        if p.kind == "a" and p.name in named:
            yield Complaint(call, f"{p.name} is given twice")
    if starred or unpacked:
        return
    lacking = [
        p.name for p in places[len(given) :] if not p.default and (p.kind == "p" or p.name not in named)
    ]
    lacking += [p.name for p in parameters if p.kind == "k" and not p.default and p.name not in named]
    if lacking:
        yield Complaint(call, f"it needs {', '.join(lacking)}")


def _too_many(most: int, given: int, parameters: Sequence[Parameter]) -> str:
    words = f"it takes {most} argument{'' if most == 1 else 's'} by place, not {given}"
    named = [p.name for p in parameters if p.kind == "k" and p.name not in ("loc", "ip")]
    return words + (f"; by keyword: {', '.join(named)}" if named else "")
