"""The normal form: however a coordinate, a number or a conversion is written, the text is the same."""

from __future__ import annotations

import pytest

from translator.retrieval.normal import expanded, macros, normal, tokens


def form(code: str) -> str:
    return normal(tokens(code)).strip()


@pytest.mark.parametrize(
    ("code", "role"),
    [
        ("int l = threadIdx.x & 31; f(l);", "@lane"),
        ("int l = threadIdx.x % warpSize; f(l);", "@lane"),
        ("int t = threadIdx.x; int l = t & 0x1f; f(l);", "@lane"),
        ("auto w = cg::tiled_partition<32>(b); f(w.thread_rank());", "@lane"),
        ("cg::thread_block_tile<8> w = cg::tiled_partition<8>(b); f(w.thread_rank());", "@sublane"),
        ("const int w = threadIdx.x >> 5; f(w);", "@warp"),
        ("int i = blockIdx.x * blockDim.x + threadIdx.x; f(i);", "@gtid"),
        ("size_t i = (size_t)blockDim.x * blockIdx.x + threadIdx.x; f(i);", "@gtid"),
        ("int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32; f(w);", "@gwarp"),
        ("int r = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); f(r);", "@gwarp"),
        ("int r = blockIdx.x * blockDim.y + threadIdx.y; f(r);", "@gwarp"),
        ("int g = (blockIdx.x * 256 + threadIdx.x) / 16; f(g);", "@gsub"),
    ],
)
def test_coordinates_carry_their_role(code: str, role: str) -> None:
    assert form(code).endswith(f"f ( {role} ) ;")


def test_a_counter_that_moves_has_no_role() -> None:
    made = form("for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];")
    assert made == "for ( int i = @tid ; i < n ; i += blockDim.x ) y [ i ] = x [ i ] ;"


def test_conversions_and_qualifiers_are_gone() -> None:
    made = form("const float v = static_cast<float>(x[i]) + (float)y[i] * float(z);  // 1.f")
    assert made == "float v = x [ i ] + y [ i ] * z ;"
    assert form("return (a + b) * 0x10u - 1.f;") == "return ( a + b ) * 16 - 1.0 ;"


def test_macros_and_constants_are_replaced() -> None:
    text = "#define SQ(a) ((a) * (a))\n#define N 8\nconstexpr int M = 4;\nint f() { return SQ(x) + N + M; }"
    made = " ".join(expanded(tokens(text), macros(text)))
    assert "( ( x ) * ( x ) ) + 8 + 4" in made
    assert "int M = 4" in made, "a declaration keeps its name"


def test_macros_that_grow_are_cut_off() -> None:
    text = "\n".join(
        [
            "#define A B B B B B B B B B B B B B B B B",
            *(f"#define {a} " + f"{b} " * 99 for a, b in ("BC", "CD", "DE")),
        ]
    )
    assert len(expanded(["A"] * 50, macros(text))) <= 400_000
