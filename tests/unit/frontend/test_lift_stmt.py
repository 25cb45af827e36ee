"""Statements, pragmas and the author's comments."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

Dumped = Callable[[str], str]


def body(dumped: Dumped, statements: str, head: str = "", params: str = "int* p, int n") -> str:
    text = dumped(f"{head}\n__global__ void k({params}) {{\n{dedent(statements)}\n}}\n")
    return dedent("\n".join(text.splitlines()[1:])) + "\n"


CASES = {
    "for": (
        "for (int i = 0; i < n; ++i) p[i] = i;",
        "for [i: i32 = 0:i32] while [(i <.i32 n)] step [++i]:\n  p[i] = i\n",
    ),
    "for with two variables": (
        "for (int i = 0, j = n; i < j; i++, j--) p[i] = j;",
        "for [i: i32 = 0:i32; j: i32 = n] while [(i <.i32 j)] step [(i++, j--)]:\n  p[i] = j\n",
    ),
    "for without parts": (
        "for (;;) { if (p[0]) break; }",
        "for [] while [] step []:\n  if bool(p[0:i32]):\n    break\n",
    ),
    "for with a condition only": ("for (; n > 0;) n--;", "for [] while [(n >.i32 0:i32)] step []:\n  n--\n"),
    "for without a condition": (
        "for (n = 4; /* ; */ ; n--) if (n) break;",
        "for [n = 4:i32] while [] step [n--]:\n  if bool(n):\n    break\n",
    ),
    "while": ("while (n--) continue;", "while bool(n--):\n  continue\n"),
    "while with a declaration": (
        "while (int q = n--) p[q] = 1;",
        "while True:bool:\n  q: i32 = n--\n  if (!.bool bool(q)):\n    break\n  p[q] = 1:i32\n",
    ),
    "do": ("do n--; while (n > 3);", "do:\n  n--\nwhile (n >.i32 3:i32)\n"),
    "if else": (
        "if (n) p[0] = 1; else if (n > 2) { } else p[0] = 2;",
        "if bool(n):\n  p[0:i32] = 1:i32\nelse:\n  if (n >.i32 2:i32):\n  else:\n    p[0:i32] = 2:i32\n",
    ),
    "if with a declaration": (
        "if (int q = p[4]) p[5] = q; else p[6] = q;",
        "{\n  q: i32 = p[4:i32]\n  if bool(q):\n    p[5:i32] = q\n  else:\n    p[6:i32] = q\n}\n",
    ),
    "block and shadowing": (
        "{ int n = 3; p[3] = n; } p[0] = n;",
        "{\n  n#2: i32 = 3:i32\n  p[3:i32] = n#2\n}\np[0:i32] = n\n",
    ),
    "declarations": (
        "int a = 1, *b = p, c; c = a + *b; ; (void)c;",
        "a: i32 = 1:i32\nb: i32* = p\nc: i32\nc = (a +.i32 *(b))\n",
    ),
    "return": ("if (n < 0) return; p[0] = n;", "if (n <.i32 0:i32):\n  return\np[0:i32] = n\n"),
    "switch": (
        "switch (n) { case 1: case 2: p[0] = 1; break; case 7: { p[1] = 2; } default: p[2] = 3; }",
        "switch n:\n  case 1, 2:\n    p[0:i32] = 1:i32\n    break\n  case 7:\n    {\n      p[1:i32] = 2:i32\n"
        "    }\n  case default:\n    p[2:i32] = 3:i32\n",
    ),
    "switch with a range and default first": (
        "switch (n) { default: case 3 ... 5: n = 0; case -1: ; }",
        "switch n:\n  case 3, 4, 5, default:\n    n = 0:i32\n  case -1:\n",
    ),
    "unroll": (
        """
        #pragma unroll
        for (int i = 0; i < 4; i++) p[i]++;
        #pragma unroll (2 * W)
        for (int i = 0; i < 4; i++) p[i]--;
        #pragma unroll 1
        while (p[2]) p[2]--;
        _Pragma("unroll 3") for (int i = 0; i < 4; i++) n++;
        """,
        "unroll(0) for [i: i32 = 0:i32] while [(i <.i32 4:i32)] step [i++]:\n  p[i]++\n"
        "unroll(16) for [i#2: i32 = 0:i32] while [(i#2 <.i32 4:i32)] step [i#2++]:\n  p[i#2]--\n"
        "unroll(1) while bool(p[2:i32]):\n  p[2:i32]--\n"
        "unroll(3) for [i#3: i32 = 0:i32] while [(i#3 <.i32 4:i32)] step [i#3++]:\n  n++\n",
    ),
    "comments": (
        """
        // Before.
        n = 1;  // behind it

        /* Two
         * lines. */
        if (n) {  // of the block
          p[0] = 1;
          // ---------
          p[1] = 2;  /* last */
        }
        """,
        "// Before.\n// behind it\nn = 1:i32\n// Two\n// lines.\nif bool(n):\n  // of the block\n"
        "  p[0:i32] = 1:i32\n  // last\n  p[1:i32] = 2:i32\n",
    ),
    "a quoted comment is none": ('printf("// no %d", n);  // yes', '// yes\n$printf("// no %d", n)\n'),
    "loops made by a macro": (
        "LOOP(i, n) { p[i] = 0; }",
        "for [i: i32 = i32(threadIdx.x)] while [(i <.i32 n)] step [i +=.u32 blockDim.x]:\n  p[i] = 0:i32\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_statements(dumped: Dumped, name: str) -> None:
    statements, expected = CASES[name]
    head = "#define W 8\n#define LOOP(i, n) for (int i = threadIdx.x; i < (n); i += blockDim.x)"
    assert body(dumped, statements, head) == expected


def test_if_constexpr_keeps_the_branch_taken(dumped: Dumped) -> None:
    text = dumped(
        "template <bool B, int N> __global__ void k(int* p) { if constexpr (B) p[0] = N; else p[0] = -N; }\n"
        "void go() { k<false, 3><<<1, 1>>>(nullptr); }"
    )
    assert text == "kernel k(p: i32*) -> void [B = false, N = 3]\n  p[0:i32] = (-.i32 3:i32'N')\n"


def test_head_of_a_kernel(dumped: Dumped) -> None:
    text = dumped(
        "#define THREADS 128\nconst int BLOCKS = 2;\n"
        "// Adds one.\n// To each.\n"
        "template <typename T, int N> __global__ void __launch_bounds__(THREADS * N, BLOCKS)\n"
        "k(T* __restrict__ a, const T* b, volatile int* c, T, const int n) {}\n"
        "void go() { k<double, 4><<<1, 1>>>(0, 0, 0, 0, 0); }"
    )
    assert text == (
        "// Adds one.\n// To each.\n"
        "kernel k(a: f64*restrict, b: const f64*, c: volatile i32*, arg3: f64, n: const i32) -> void"
        " [T = double, N = 4] bounds(512, 2)\n"
    )


def test_spans_and_comments_survive_crlf_and_odd_bytes(lift: Callable[..., object]) -> None:
    text = "__global__ void k(int* p) {\r\n  // é ü\r\n  p[0] = 1;\r\n}\r\n"
    made, _ = lift(text)  # type: ignore[misc]
    statement = made.kernel.body[0]
    assert statement.comments == ("é ü",)
    assert (statement.span.line, statement.span.column, statement.span.end_line) == (3, 3, 3)
    assert statement.expr.value.span.column == 10
