"""Shared memory, globals, arrays and initialisers."""

from __future__ import annotations

from collections.abc import Callable

Dumped = Callable[[str], str]


def test_globals_with_their_initial_values(dumped: Dumped) -> None:
    text = dumped(
        """struct Px { unsigned char r, g, b; };
        __constant__ float weights[2][3] = {{1, 2}, {3}};
        __constant__ Px border = {.r = 1, .b = 255};
        __device__ unsigned int counter = 7;
        __device__ float scratch[4];
        __constant__ int zero = 0;
        const int table[3] = {4, 5, 1 << 3};
        __device__ char unused;
        __global__ void k(float* p) {
          p[0] = weights[1][0] + scratch[1] + table[2] + border.g + zero;
          atomicInc(&counter, 9);
        }"""
    )
    assert text == (
        "global constant weights: const f32[3][2] = {1, 2, 0, 3, 0, 0}\n"
        "global device scratch: f32[4]\n"
        "global constant table: const i32[3] = {4, 5, 8}\n"
        "global constant border: const Px = {1, 0, 255}\n"
        "global constant zero: const i32\n"
        "global device counter: u32 = {7}\n"
        "kernel k(p: f32*) -> void\n"
        "  p[0:i32] = ((((weights@[1:i32]@[0:i32] +.f32 scratch@[1:i32]) +.f32 f32(table@[2:i32])) +.f32 "
        "f32(i32(border.g))) +.f32 f32(zero))\n"
        "  $atomicInc(&(counter), 9:u32)\n"
    )


def test_shared_memory(dumped: Dumped) -> None:
    text = dumped(
        """#define TILE 16
        struct Acc { float sum; int count; };
        extern __shared__ float pool[];
        __device__ float fetch(int i) { return pool[i]; }
        __global__ void k(float* out, int n) {
          __shared__ float tile[TILE][TILE + 1];
          static __shared__ int flag;
          __shared__ Acc acc[2];
          __shared__ __align__(16) unsigned char raw[64];
          extern __shared__ __align__(8) double dyn[];
          pool[n] = fetch(n) + tile[1][n] + raw[0];
          dyn[0] = flag; acc[1] = acc[0]; acc[0].sum = 1;
        }"""
    )
    assert text == (
        "device fetch(i: i32) -> f32\n"
        "  dynamic_shared pool: f32[]\n"
        "  return pool@[i]\n"
        "\n"
        "kernel k(out: f32*, n: i32) -> void\n"
        "  dynamic_shared pool: f32[]\n"
        "  shared tile: f32[17][16]\n"
        "  shared flag: i32\n"
        "  shared acc: Acc[2]\n"
        "  shared raw: u8[64] align(16)\n"
        "  dynamic_shared dyn: f64[] align(8)\n"
        "  pool@[n] = ((fetch(n) +.f32 tile@[1:i32]@[n]) +.f32 f32(i32(raw@[0:i32])))\n"
        "  dyn@[0:i32] = f64(flag)\n"
        "  acc@[1:i32] = acc@[0:i32]\n"
        "  acc@[0:i32].sum = 1.0:f32\n"
    )


def test_local_initialisers(dumped: Dumped) -> None:
    text = dumped(
        """struct P { int n[2]; float2 v; float w = 1.5f; };
        __global__ void k(float* p, int n) {
          float a[4] = {1.0f}; int g[2][2] = {1, 2, n}; int z[3] = {};
          float4 v = {1, 2}; float2 u{p[0], p[1]}; u = {3, n};
          P q = {1, 2, 3.0f, 4.0f}; P r{}; P s = {{1}, u, 2}; P t = {.v = {1, 2}};
          char text[4] = "ab"; const float* none = nullptr;
          int five(5); float x = float(); bool b{true};
          static const int lut[2] = {7, 8};
          float2 w = (float2){1.0f, p[2]}; dim3 d(2, n), e;
          p[0] = a[n] + g[0][1] + z[0] + v.x + u.x + q.n[0] + r.w + s.w + t.w + text[0] + five + x + b
            + lut[n] + w.x + d.y + e.z + (none == p);
        }"""
    )
    lines = [x.strip() for x in text.splitlines()[1:-1]]
    assert lines == [
        "a: f32[4] = {1.0:f32}",
        "g: i32[2][2] = {{1:i32, 2:i32}, {n}}",
        "z: i32[3] = {}",
        "v: float4 = {1.0:f32, 2.0:f32}",
        "u: float2 = {p[0:i32], p[1:i32]}",
        "u = float2{3.0:f32, f32(n)}",
        "q: P = {{1:i32, 2:i32}, {3.0:f32, 4.0:f32}, 1.5:f32}",
        "r: P = {{}, {}, 1.5:f32}",
        "s: P = {{1:i32}, u, 2.0:f32}",
        "t: P = {{}, {1.0:f32, 2.0:f32}, 1.5:f32}",
        "text: i8[4] = {97:i8, 98:i8}",
        "none: const f32* = 0:const f32*",
        "five: i32 = 5:i32",
        "x: f32 = 0.0:f32",
        "b: bool = True:bool",
        "lut: const i32[2] = {7:i32, 8:i32}",
        "w: float2 = float2{1.0:f32, p[2:i32]}",
        "d: dim3 = dim3{2:u32, u32(n), 1:u32}",
        "e: dim3 = dim3{1:u32, 1:u32, 1:u32}",
    ]


def test_references_and_views(dumped: Dumped) -> None:
    text = dumped(
        """__global__ void k(float* p, int n) {
          __shared__ float tile[4][8];
          float& last = tile[3][n]; const float& first = p[0]; const float& value = n + 1;
          auto& row = tile[1];
          float* view = tile[1]; float (*rows)[8] = tile; float* all = &tile[0][0];
          last = first + value + row[2] + view[0] + rows[1][2] + *all;
        }"""
    )
    assert [x.strip() for x in text.splitlines()[2:]] == [
        "last: f32& = tile@[3:i32]@[n]",
        "first: const f32& = p[0:i32]",
        "value: const f32 = f32((n +.i32 1:i32))",
        "row: f32[8]& = tile@[1:i32]",
        "view: f32* = tile@[1:i32]@",
        "rows: f32[8]* = tile@",
        "all: f32* = &(tile@[0:i32]@[0:i32])",
        "last = (((((first +.f32 value) +.f32 row@[2:i32]) +.f32 view[0:i32]) +.f32 rows[1:i32]@[2:i32])"
        " +.f32 *(all))",
    ]
