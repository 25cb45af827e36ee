"""Expressions: every implicit conversion of C++ shows, and arithmetic is done in the type C++ does it in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.frontend.conftest import Lift
from translator.model.expr import Special
from translator.model.walk import walk_exprs

PARAMS = (
    "float* f, double* d, int* i, unsigned* u, long long* l, unsigned char* c, short* s, bool* b, int n, "
    "const float4* v, char* raw, float (*m)[8], volatile int* w, unsigned k1"
)
PRELUDE = """#define LIMIT 10
#define WIDTH (4 * 8)
#define SUM 3 + 4
#define EPS (1e-5f)  // small
#define TID (threadIdx.x)
#define CEIL(a, b) (((a) + (b) - 1) / (b))
enum Mode { FIRST, SECOND = 5 };
constexpr float SCALE = 0.5f;
static const int SHIFT = 3;
struct Node { int v; Node* next; };
"""

CASES = [
    # integer promotions and the usual arithmetic conversions
    ("f[0] = i[0] + f[1];", "f[0:i32] = (f32(i[0:i32]) +.f32 f[1:i32])"),
    ('b[0] = n && "why";', "b[0:i32] = (bool(n) && True:bool)"),
    ("b[0] = __shfl_xor_sync(~0u, b[1], 1);",
     "b[0:i32] = bool($__shfl_xor_sync((~.u32 0:u32), i32(b[1:i32]), 1:i32, 32:i32))"),
    ("f[0] = __shfl_down_sync(~0u, f[1], 1);",
     "f[0:i32] = $__shfl_down_sync((~.u32 0:u32), f[1:i32], 1:u32, 32:i32)"),
    ("atomicAdd(d, n);", "$atomicAdd(d, f64(n))"),  # a template that gives a double, but no math function
    ("d[0] = pow(f[0], n);", "d[0:i32] = $pow(f64(f[0:i32]), f64(n))"),
    ("d[0] = f[0] * 2.0;", "d[0:i32] = (f64(f[0:i32]) *.f64 2.0:f64)"),
    ("f[0] = f[0] * 2.0;", "f[0:i32] = f32((f64(f[0:i32]) *.f64 2.0:f64))"),
    ("i[0] = u[0] + i[1];", "i[0:i32] = i32((u[0:i32] +.u32 u32(i[1:i32])))"),
    ("l[0] = i[0] * u[0];", "l[0:i32] = i64((u32(i[0:i32]) *.u32 u[0:i32]))"),
    ("c[0] = c[1] + c[2];", "c[0:i32] = u8((i32(c[1:i32]) +.i32 i32(c[2:i32])))"),
    ("i[0] = c[0] << 4;", "i[0:i32] = (i32(c[0:i32]) <<.i32 4:i32)"),
    ("i[0] = ~c[0];", "i[0:i32] = (~.i32 i32(c[0:i32]))"),
    ("i[0] = !i[0] + -n;", "i[0:i32] = (i32((!.bool bool(i[0:i32]))) +.i32 (-.i32 n))"),
    ("i[0] = i[0] < u[0];", "i[0:i32] = i32((u32(i[0:i32]) <.u32 u[0:i32]))"),
    ("i[0] = n % 3 / 2 >> 1;", "i[0:i32] = (((n %.i32 3:i32) /.i32 2:i32) >>.i32 1:i32)"),
    ("f[0] = n ? 1 : 2.5f;", "f[0:i32] = (bool(n) ? 1.0:f32 : 2.5:f32)"),
    ("b[0] = i[0] && f[0] || !d[0];",
     "b[0:i32] = ((bool(i[0:i32]) && bool(f[0:i32])) || (!.bool bool(d[0:i32])))"),
    ("b[0] = n;", "b[0:i32] = bool(n)"),
    # compound assignment: computed in the common type, stored in the target's
    ("c[0] += 1;", "c[0:i32] +=.i32 1:i32"),
    ("i[0] += f[0];", "i[0:i32] +=.f32 f[0:i32]"),
    ("f[0] += d[0];", "f[0:i32] +=.f64 d[0:i32]"),
    ("f[0] += i[0];", "f[0:i32] +=.f32 f32(i[0:i32])"),
    ("s[0] <<= l[0];", "s[0:i32] <<=.i32 l[0:i32]"),
    ("l[0] <<= s[0];", "l[0:i32] <<=.i64 i32(s[0:i32])"),
    ("b[0] |= n > 3;", "b[0:i32] |=.i32 i32((n >.i32 3:i32))"),
    ("n -= k1;", "n -=.u32 k1"),
    # literals, converted exactly
    ("u[0] = -1;", "u[0:i32] = 4294967295:u32"),
    ("c[0] = 300;", "c[0:i32] = 44:u8"),
    ("f[0] = 16777217;", "f[0:i32] = 16777216.0:f32"),
    ("f[0] = 0.1;", "f[0:i32] = 0.10000000149011612:f32"),
    ("l[0] = 0xFFFFFFFFu + 1ull;", "l[0:i32] = i64((4294967295:u64 +.u64 1:u64))"),
    ("i[0] = 'a';", "i[0:i32] = 97:i32"),
    ("f[0] = 1e-5f;", "f[0:i32] = 9.999999747378752e-06:f32"),
    ("b[0] = true;", "b[0:i32] = True:bool"),
    # constants keep the name they were written with
    ("i[0] = LIMIT;", "i[0:i32] = 10:i32'LIMIT'"),
    ("i[0] = WIDTH;", "i[0:i32] = 32:i32'WIDTH'"),
    ("l[0] = LIMIT;", "l[0:i32] = 10:i64'LIMIT'"),
    ("f[0] = LIMIT;", "f[0:i32] = f32(10:i32'LIMIT')"),
    ("f[0] = SCALE;", "f[0:i32] = 0.5:f32'SCALE'"),
    ("i[0] = SHIFT + SECOND;", "i[0:i32] = (3:i32'SHIFT' +.i32 5:i32'SECOND')"),
    ("i[0] = n * SUM;", "i[0:i32] = ((n *.i32 3:i32) +.i32 4:i32)"),
    ("i[0] = SUM;", "i[0:i32] = 7:i32'SUM'"),
    ("f[0] = EPS;", "f[0:i32] = 9.999999747378752e-06:f32'EPS'"),
    ("i[0] = TID;", "i[0:i32] = i32(threadIdx.x)"),
    ("i[0] = warpSize;", "i[0:i32] = 32:i32'warpSize'"),
    ("f[0] = INFINITY;", "f[0:i32] = inf:f32'INFINITY'"),
    ("f[0] = FLT_MAX;", "f[0:i32] = 3.4028234663852886e+38:f32'FLT_MAX'"),
    ("i[0] = INT_MAX;", "i[0:i32] = 2147483647:i32'INT_MAX'"),
    ("i[0] = CEIL(n, 4);", "i[0:i32] = (((n +.i32 4:i32) -.i32 1:i32) /.i32 4:i32)"),
    ("i[0] = sizeof(float4) + alignof(double);", "i[0:i32] = i32((16:u64 +.u64 8:u64))"),
    # casts
    ("i[0] = (int)f[0] + (unsigned char)n;", "i[0:i32] = (i32!(f[0:i32]) +.i32 i32(u8!(n)))"),
    ("f[0] = (float)d[0] / float(n);", "f[0:i32] = (f32!(d[0:i32]) /.f32 f32!(n))"),
    ("i[0] = static_cast<int>(d[0]);", "i[0:i32] = i32!(d[0:i32])"),
    ("i[0] = *(int*)&f[0];", "i[0:i32] = *(<i32*>!(&(f[0:i32])))"),
    ("i[0] = reinterpret_cast<int&>(f[0]);", "i[0:i32] = *(<i32*>!(&(f[0:i32])))"),
    ("(unsigned&)f[0] = 3;", "*(<u32*>!(&(f[0:i32]))) = 3:u32"),
    ("l[0] = (long long)f;", "l[0:i32] = i64!(f)"),
    ("f = (float*)u[0];", "f = <f32*>!(u64(u[0:i32]))"),
    ("reinterpret_cast<float2*>(raw + 8)[n].x = 1;", "<float2*>!((raw +.ptr 8:i32))[n].x = 1.0:f32"),
    # pointers
    ("f = f + n;", "f = (f +.ptr n)"),
    ("f = n + f;", "f = (f +.ptr n)"),
    ("f = f - 2;", "f = (f +.ptr -2:i32)"),
    ("f = f - n;", "f = (f +.ptr (-.i32 n))"),
    ("f = f - k1;", "f = (f +.ptr (-.i64 i64(k1)))"),
    ("f += n;", "f += n"),
    ("*f = *(f + 1) + 2[f];", "*(f) = (*((f +.ptr 1:i32)) +.f32 f[2:i32])"),
    ("*f++ = n;", "*(f++) = f32(n)"),
    ("l[0] = &f[4] - f;", "l[0:i32] = (&(f[4:i32]) -.ptr f)"),
    ("b[0] = f && f != nullptr;", "b[0:i32] = (bool(f) && (f !=.<f32*> 0:f32*))"),
    ("f = NULL;", "f = 0:f32*"),
    ("w[0] = w[1];", "w[0:i32] = w[1:i32]"),
    ("m[n][1] = m[0][n];", "m[n]@[1:i32] = m[0:i32]@[n]"),
    ("f = m[2];", "f = m[2:i32]@"),
    ("f = &m[0][0];", "f = &(m[0:i32]@[0:i32])"),
    ("f[0] = v[n].y;", "f[0:i32] = v[n].y"),
    ("(n ? f[0] : f[1]) = 3;", "*((bool(n) ? &(f[0:i32]) : &(f[1:i32]))) = 3.0:f32"),
    # values of assignments
    ("f[n = 3] = 1;", "f[(n = 3:i32)] = 1.0:f32"),
    ("i[0] = i[1] = n++;", "i[0:i32] = (i[1:i32] = n++)"),
    ("i[0] = (n, 2);", "i[0:i32] = (n, 2:i32)"),
    ("c[0] = --n;", "c[0:i32] = u8(--n)"),
    # library functions by their C name
    ("f[0] = sqrt(f[1]);", "f[0:i32] = $sqrtf(f[1:i32])"),
    ("d[0] = sqrt(n);", "d[0:i32] = $sqrt(f64(n))"),
    ("f[0] = std::exp(f[1]) + exp(d[0]);", "f[0:i32] = f32((f64($expf(f[1:i32])) +.f64 $exp(d[0:i32])))"),
    ("f[0] = fabs(f[1]) + abs(f[2]);", "f[0:i32] = ($fabsf(f[1:i32]) +.f32 $fabsf(f[2:i32]))"),
    ("i[0] = abs(n) + std::abs(i[1]);", "i[0:i32] = ($abs(n) +.i32 $abs(i[1:i32]))"),
    ("f[0] = pow(f[1], 2);", "f[0:i32] = f32($pow(f64(f[1:i32]), 2.0:f64))"),
    ("f[0] = pow(f[1], 2.f);", "f[0:i32] = $powf(f[1:i32], 2.0:f32)"),
    ("f[0] = max(f[1], f[2]);", "f[0:i32] = $fmaxf(f[1:i32], f[2:i32])"),
    ("f[0] = std::max(f[1], f[2]);", "f[0:i32] = $max(f[1:i32], f[2:i32])"),
    ("i[0] = min(n, 3);", "i[0:i32] = $min(n, 3:i32)"),
    ("u[0] = max(n, 3u);", "u[0:i32] = $max(u32(n), 3:u32)"),
    ("d[0] = min(f[0], d[1]);", "d[0:i32] = $fmin(f64(f[0:i32]), d[1:i32])"),
    ("b[0] = isnan(f[0]) || isinf(n);", "b[0:i32] = ($isnan(f[0:i32]) || $isinf(f64(n)))"),
    ("f[0] = __fdividef(n, f[1]);", "f[0:i32] = $__fdividef(f32(n), f[1:i32])"),
    ("atomicAdd(f, 1);", "$atomicAdd(f, 1.0:f32)"),
    ("atomicCAS(&u[n], 0, n);", "$atomicCAS(&(u[n]), 0:u32, u32(n))"),
    ("f[0] = __shfl_down_sync(~0u, f[1], 4);",
     "f[0:i32] = $__shfl_down_sync((~.u32 0:u32), f[1:i32], 4:u32, 32:i32)"),
    ("f[0] = __ldg(&f[n]);", "f[0:i32] = $__ldg(&(f[n]))"),
    ("__syncwarp();", "$__syncwarp(4294967295:u32)"),
    ('printf("%d %f\\n", n, f[0]);', '$printf("%d %f\\n", n, f64(f[0:i32]))'),
    ("assert(n > 2);", '$assert((n >.i32 2:i32), "n > 2")'),
    ("f[0] = make_float4(1, 2, 3, n).w;", "f[0:i32] = f32(n)"),
    ("f[0] = gridDim.z * blockIdx.y;", "f[0:i32] = f32((gridDim.z *.u32 blockIdx.y))"),
    ("dim3 size = blockDim;", "size: dim3 = dim3{blockDim.x, blockDim.y, blockDim.z}"),
    ("uint3 at = threadIdx;", "at: uint3 = uint3{threadIdx.x, threadIdx.y, threadIdx.z}"),
    ("u[0] = (gridDim).y;", "u[0:i32] = gridDim.y"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "expected"), CASES, ids=[c[0] for c in CASES])
def test_statement(dumped: Callable[[str], str], statement: str, expected: str) -> None:
    text = dumped(f"{PRELUDE}__global__ void k({PARAMS}) {{ {statement} }}")
    assert text.splitlines()[1:] == ["  " + expected]


def test_self_referring_struct(dumped: Callable[[str], str]) -> None:
    source = "__global__ void k(Node* head, int* out) { for (Node* p = head; p; p = p->next) *out += p->v; }"
    assert dumped(PRELUDE + source) == (
        "kernel k(head: Node*, out: i32*) -> void\n"
        "  for [p: Node* = head] while [bool(p)] step [p = <Node*>(*(p).next)]:\n"
        "    *(out) +=.i32 *(p).v\n"
    )


def test_a_parameter_may_have_a_builtins_name(lift: Lift) -> None:
    made, _ = lift("__global__ void k(unsigned* u, dim3 blockDim) { u[0] = blockDim.x + gridDim.x; }")
    assert made is not None
    assert [e.base for e in walk_exprs(made.kernel.body) if isinstance(e, Special)] == ["gridDim"]
