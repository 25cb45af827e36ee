"""A volatile access is one of its own, however it is spelled: a plain load in a spin loop is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.emit.test_policies import body

PARAMETERS = "int* flag, int* out, Q* q"
HEAD = "struct Q { volatile int tail; int head; };\n"


@pytest.mark.parametrize(
    ("cuda", "port"),
    [
        ("out[0] = ((volatile int*)flag)[1];", "out[0] = (flag + 1).load(is_volatile=True)"),
        ("out[0] = *(volatile int*)flag;", "out[0] = flag.load(is_volatile=True)"),
        ("*(volatile int*)flag = 2;", "flag.store(Int32(2), is_volatile=True)"),
        ("out[0] = *const_cast<volatile int*>(&flag[3]);", "out[0] = (flag + 3).load(is_volatile=True)"),
        ("out[0] = static_cast<volatile int*>(flag)[4];", "out[0] = (flag + 4).load(is_volatile=True)"),
        ("out[0] = *(volatile int*)&q->head;", "out[0] = (q + 1).load(is_volatile=True)"),
        ("out[0] = q->tail;", "out[0] = q.load(is_volatile=True)"),
        ("out[0] = flag[2];", "out[0] = flag[2]"),
    ],
)
def test_spellings(tmp_path: Path, cuda: str, port: str) -> None:
    assert body(tmp_path, f"{HEAD}__global__ void k({PARAMETERS}) {{ {cuda} }}") == [port]


def test_volatile_references_and_shared_variables(tmp_path: Path) -> None:
    made = body(
        tmp_path,
        "__global__ void k(int* g, int* out) { volatile int& r = *g; r = 1; "
        "__shared__ volatile int a[32]; __shared__ volatile int s; s = a[3]; out[0] = s; }",
    )
    assert made[:2] == ["r = g", "r.store(Int32(1), is_volatile=True)"]
    assert "s.data_ptr().store((a.data_ptr() + 3).load(is_volatile=True), is_volatile=True)" in made
    assert made[-1] == "out[0] = s.data_ptr().load(is_volatile=True)"
