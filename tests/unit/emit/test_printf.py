"""`cute.printf` adds a newline, takes `{}` for a value and knows no strings; a port prints what C prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.emit import emit
from translator.emit.printf import printf_call
from translator.frontend.build import build_model
from translator.frontend.project import ReadOptions, read
from translator.model.expr import Conditional, Expr, Literal, String
from translator.model.types import BOOL, I8, I32, Array
from translator.passes import lower


def string(value: str) -> String:
    return String(value, Array(I8, len(value) + 1))


def call(template: str, *values: int | str) -> str | None:
    args: list[Expr] = [string(v) if isinstance(v, str) else Literal(v, I32) for v in values]
    return printf_call(string(template), args, lambda e: str(e.value) if isinstance(e, Literal) else "?")


@pytest.mark.parametrize(
    ("template", "values", "made"),
    [
        ("x %d\n", (7,), "cute.printf('x %d', 7)"),
        ("x %d", (7,), "cute.printf('x %d', 7, end=\"\")"),
        ("\n\n", (), "cute.printf('\\n')"),
        ("", (), "cute.printf('', end=\"\")"),
        ("%d{}%d%%\n", (1, 2), "cute.printf('%d%c}%d%%', 1, Int32(123), 2)"),
        ("{%d} {n}\n", (1,), "cute.printf('{%d} {n}', 1)"),
        ("%*d{}%.*f\n", (5, 1, 2, 3), "cute.printf('%*d%c}%.*f', 5, 1, Int32(123), 2, 3)"),
        ("\xc3\xa9\n", (), "cute.printf('é')"),  # two bytes of UTF-8
        ("\xff%d\n", (1,), "cute.printf('%c%d', Int32(255), 1)"),  # no UTF-8
        ("seen\n\0never %d\n", (1,), "cute.printf('seen', 1)"),
        ("%s is %4s: %d\n", ("50%", "b{}", 3), "cute.printf('50%% is  b%c}: %d', Int32(123), 3)"),
        ("%d\n", ("text",), None),
        ("%*s\n", (5, "text"), None),
    ],
)
def test_what_is_printed(template: str, values: tuple[int | str, ...], made: str | None) -> None:
    assert call(template, *values) == made


def test_a_string_chosen_while_running_is_no_value() -> None:
    one, other = string("!"), string("")
    chosen = Conditional(Literal(True, BOOL), one, other, one.type)
    assert printf_call(string("%s\n"), [chosen], lambda e: "?") is None


def test_a_string_is_no_pointer(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__device__ int first(const char* s) { return s[0]; }\n"
        '__global__ void k(int* x) { x[0] = first("abc"); }\n',
        encoding="utf-8",
    )
    sink = Sink()
    (reading,) = read([source], ReadOptions(), sink)
    model = build_model(reading, sink)
    assert model is not None
    emit(lower(model, sink), sink)
    assert [d.code for d in sink.items if d.refuses] == ["CP4001"]
