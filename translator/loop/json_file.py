"""Reading a run folder's JSON documents: what is damaged in one is told with its file and line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from verify.files import read_bytes

Model = TypeVar("Model", bound=BaseModel)
_SPACE = re.compile(r"[ \t\r\n]*")


class DamagedError(ValueError):
    """A document that can't be used; the message is `file:line: what`."""

    def __init__(self, path: Path, line: int, what: str) -> None:
        super().__init__(f"{path}:{line}: {what}")


def read_document(path: Path, model: type[Model]) -> Model:
    """The document at `path`. DamagedError where it is none of `model`; OSError where it can't be read."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8")
        return model.model_validate(json.loads(text))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DamagedError(path, line, f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise DamagedError(path, error.lineno, f"no JSON: {error.msg}, column {error.colno}") from None
    except RecursionError:
        raise DamagedError(path, 1, "nested too deeply") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        what = f"{place}: {first['msg']}" if place else first["msg"]
        raise DamagedError(path, line_of(text, first["loc"]), what) from None


def line_of(text: str, place: Sequence[str | int]) -> int:
    """The line, from 1, of a place (keys and indices from the top) in a valid JSON text; where it is not
    there, as with a missing key, of what it would lie in."""
    at = _after_space(text, 0)
    for step in place:
        found = _inside(text, at, step)
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1


def _inside(text: str, at: int, step: str | int) -> int | None:
    """Where the value under one key or index of the object or list at `at` begins."""
    if text[at] not in "{[":
        return None
    decoder, named, index = json.JSONDecoder(), text[at] == "{", 0
    at = _after_space(text, at + 1)
    while text[at] not in "}]":
        key: str | int = index
        if named:
            key, at = decoder.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)  # a colon
        if key == step:
            return at
        at = _after_space(text, decoder.raw_decode(text, at)[1])
        index += 1
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return None


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
