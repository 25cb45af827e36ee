"""What functions and classes of the imported CuTe DSL take and give. Used by `verify.dsl_api`."""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from typing import Any

from verify.dsl_objects import definer, ours, own, plain

_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "p",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "a",
    inspect.Parameter.VAR_POSITIONAL: "v",
    inspect.Parameter.KEYWORD_ONLY: "k",
    inspect.Parameter.VAR_KEYWORD: "w",
}
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_DOC = 700  # characters
_TEXT = 900
_Json = dict[str, Any]


def signature(thing: Any, made: _Json) -> None:
    # Not what `__signature__` says: the DSL hides parameters there from its own compiler.
    try:
        if isinstance(thing, type) and (init := _init_of(thing)) is not None:
            whole = inspect.signature(init)
            read = whole.replace(parameters=list(whole.parameters.values())[1:])
        else:
            read = inspect.signature(inspect.unwrap(thing) if inspect.isfunction(thing) else thing)
    except (ValueError, TypeError):
        return
    parameters = list(read.parameters.values())
    if all(p.kind in _ANY for p in parameters) and (told := _overloads(thing)):
        parameters = told
        read = inspect.Signature(told, return_annotation=read.return_annotation)
    made["p"] = " ".join(
        f"{p.name}:{_KINDS[p.kind]}{'' if p.default is inspect.Parameter.empty else '='}" for p in parameters
    )
    made["s"] = _text(read)


def _init_of(cls: type) -> Any:
    """The `__init__` that says what a class takes; None where a `__new__` or a metaclass says it."""
    maker, init = definer(cls, "__new__"), definer(cls, "__init__")
    held = vars(init)["__init__"]
    if own(type(cls), "__call__", type) or not inspect.isfunction(held):
        return None
    first = cls.__mro__.index(init) < cls.__mro__.index(maker)
    return inspect.unwrap(held) if maker is object or first else None


def _overloads(thing: Any) -> list[inspect.Parameter]:
    """What `(*args, **kwargs)` stands for where overloads say it: any number by place, these by keyword."""
    maker = (vars(thing).get("__new__") or vars(thing).get("__init__")) if isinstance(thing, type) else thing
    found: dict[str, inspect.Parameter] = {}
    maker = plain(maker)
    for one in typing.get_overloads(maker) if inspect.isroutine(maker) else ():
        for p in list(inspect.signature(one).parameters.values())[isinstance(thing, type) :]:
            if p.kind in _ANY:
                return []
            default = None if p.default is inspect.Parameter.empty else p.default
            found.setdefault(p.name, p.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default))
    places = inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)
    return [places, *found.values()] if found else []


def _text(read: inspect.Signature) -> str:
    """As Python shows it, with defaults and annotations of the DSL by their short names and no addresses."""
    shown: list[inspect.Parameter] = []
    for p in read.parameters.values():
        if p.name in ("loc", "ip") and p.default is None:
            continue
        default = p.default
        if default is not inspect.Parameter.empty:
            default = _Shown(_short(default))
        note = p.annotation
        note = note if note is inspect.Parameter.empty else _Shown(_noted(note))
        shown.append(p.replace(default=default, annotation=note))
    back = read.return_annotation
    back = back if back is inspect.Signature.empty else _Shown(_noted(back))
    text = str(inspect.Signature(shown, return_annotation=back, __validate_parameters__=False))
    return text if len(text) <= _TEXT else text[:_TEXT] + "…"


class _Shown:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _noted(note: object) -> str:
    text = note if isinstance(note, str) else inspect.formatannotation(note)
    text = re.sub(r"ForwardRef\('(\w+)'\)", r"\1", text)
    text = re.sub(r"(?:\w+\.)+(\w+)", r"\1", text)
    return text if len(text) <= 160 else text[:160] + "…"


def _short(value: object) -> str:
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if value is None or isinstance(value, bool | int | float | str | bytes | tuple | list | dict):
        text = repr(value)
        return text if len(text) <= 60 and " at 0x" not in text else "…"
    return getattr(value, "__qualname__", None) or "…"


def returned(target: object) -> list[type]:
    """The classes that an annotation of what is given back names, if it names nothing else."""
    function = inspect.unwrap(target) if callable(target) else target
    note = getattr(function, "__annotations__", {}).get("return")
    if isinstance(note, str):
        try:
            note = eval(note, getattr(function, "__globals__", {}))
        except Exception:
            return []
    if typing.get_origin(note) in (typing.Union, types.UnionType):
        parts = list(typing.get_args(note))
    else:
        parts = [note]
    good = all(isinstance(p, type) and ours(p) for p in parts)
    return [p for p in parts if isinstance(p, type)] if good else []


def describe(thing: object, made: _Json) -> None:
    doc = getattr(thing, "__doc__", None)
    if isinstance(thing, types.ModuleType | type) or inspect.isroutine(thing) or isinstance(thing, property):
        if isinstance(doc, str) and doc.strip() and doc is not getattr(type(thing), "__doc__", None):
            text = inspect.cleandoc(doc)
            made["d"] = text if len(text) <= _DOC else text[:_DOC].rpartition("\n")[0] + "\n…"
        old = getattr(thing, "__deprecated__", None)
        if isinstance(old, str):
            made["x"] = old
        elif isinstance(doc, str) and ".. deprecated::" in doc:
            made["x"] = " ".join(doc.partition(".. deprecated::")[2].split("\n\n")[0].split())
