"""Device functions, methods, constructors, functors, lambdas, templates."""

from __future__ import annotations

from collections.abc import Callable

Dumped = Callable[[str], str]
VEC = """struct V { float x, y;
  __device__ V(float a, float b) : x(a), y(b) {}
  __device__ V() {}
  __device__ V operator+(const V& o) const { return V(x + o.x, y + o.y); }
  __device__ V& operator+=(const V& o) { x += o.x; y += o.y; return *this; }
  __device__ float& operator[](int i) { return i ? y : x; }
  __device__ float dot(V o) const { return x * o.x + y * o.y; }
};
"""


def test_user_struct(dumped: Dumped) -> None:
    text = dumped(
        VEC
        + """__global__ void k(float* p) {
          V a(1, 2), b = a, c; c = a + b; c += a; c[1] = c[0] + a.dot(V(3, 4)); p[0] = c.x;
        }"""
    )
    assert text == (
        "device V_add(self: const V&, o: const V&) -> V\n"
        "  return V{(self.x +.f32 o.x), (self.y +.f32 o.y)}\n"
        "\n"
        "device V_iadd(self: V&, o: const V&) -> V\n"
        "  self.x +=.f32 o.x\n"
        "  self.y +=.f32 o.y\n"
        "  return self\n"
        "\n"
        "device V_dot(self: const V&, o: V) -> f32\n"
        "  return ((self.x *.f32 o.x) +.f32 (self.y *.f32 o.y))\n"
        "\n"
        "kernel k(p: f32*) -> void\n"
        "  a: V = V{1.0:f32, 2.0:f32}\n"
        "  b: V = a\n"
        "  c: V\n"
        "  c = V_add(a, b)\n"
        "  V_iadd(c, a)\n"
        "  c.y = (c.x +.f32 V_dot(a, V{3.0:f32, 4.0:f32}))\n"
        "  p[0:i32] = c.x\n"
    )


def test_constructor_with_a_body_and_base_class(dumped: Dumped) -> None:
    text = dumped(
        """struct Base { int a; __device__ int twice() const { return 2 * a; } };
        struct D : Base { int b; double c = 2.0;
          __device__ D(int x) : Base{x}, b(x + 1) { if (x > 3) return; c = 4; } };
        __global__ void k(int* p) { D d(p[0]); p[1] = d.twice() + d.a; }"""
    )
    assert text == (
        "device D_new(x: i32) -> D\n"
        "  self: D\n"
        "  self.a = x\n"
        "  self.b = (x +.i32 1:i32)\n"
        "  self.c = 2.0:f64\n"
        "  if (x >.i32 3:i32):\n"
        "    return self\n"
        "  self.c = 4.0:f64\n"
        "  return self\n"
        "\n"
        "device D_twice(self: const D&) -> i32\n"
        "  return (2:i32 *.i32 self.a)\n"
        "\n"
        "kernel k(p: i32*) -> void\n"
        "  d: D = D_new(p[0:i32])\n"
        "  p[1:i32] = (D_twice(d) +.i32 d.a)\n"
    )


def test_arrays_of_objects_with_a_constructor(dumped: Dumped) -> None:
    text = dumped(
        """struct Zero { float x, y; __device__ Zero(float a = 0, float b = 0) : x(a), y(b) {} };
        struct One { int n; __device__ One() : n(1) {} };
        struct Long { int n; __device__ Long() { n = 2; for (int i = 0; i < 3; ++i) n *= n; } };
        __global__ void k(float* p) {
          Zero z[24]; One o[3]; Long l[2]; p[0] = z[1].x + o[2].n + l[1].n;
        }"""
    )
    assert text[text.index("kernel k") :] == (
        "kernel k(p: f32*) -> void\n"
        "  z: Zero[24] = {}\n"
        "  o: One[3] = {One{1:i32}, One{1:i32}, One{1:i32}}\n"
        "  l: Long[2] = {Long_new(), Long_new()}\n"
        "  p[0:i32] = ((z@[1:i32].x +.f32 f32(o@[2:i32].n)) +.f32 f32(l@[1:i32].n))\n"
    )


def test_overloads_defaults_and_references(dumped: Dumped) -> None:
    text = dumped(
        """template <class T> __device__ void exchange(T& a, T& b) { T t = a; a = b; b = t; }
        __device__ float sq(float x) { return x * x; }
        __device__ float sq(const float* p) { return *p * *p; }
        __device__ void fill(float* p, float v, int n = 4) { for (int i = 0; i < n; i++) p[i] = v; }
        __device__ float lerp(const float& a, const float& b, float t) { return a + t * (b - a); }
        __device__ void store(float a[2], const int b[][4]) { a[0] = b[1][2]; float* q = a + 1; *q = 0; }
        __device__ float fmaxf(float a, int b) { return a > b ? a : b; }
        __global__ void k(float* p, int (*m)[4]) {
          float l[4]; fill(l, sq(p[0])); fill(l, sq(&p[1]), 2); exchange(l[0], p[1]); store(l, m);
          p[0] = lerp(l[0], 2, 0.5f) + fmaxf(p[0], 3) + fmaxf(1.0f, p[1]);
        }"""
    )
    assert text == (
        "device fill(p: f32*, v: f32, n: i32) -> void\n"
        "  for [i: i32 = 0:i32] while [(i <.i32 n)] step [i++]:\n"
        "    p[i] = v\n"
        "\n"
        "device sq(x: f32) -> f32\n"
        "  return (x *.f32 x)\n"
        "\n"
        "device sq_2(p: const f32*) -> f32\n"
        "  return (*(p) *.f32 *(p))\n"
        "\n"
        "device exchange(a: f32&, b: f32&) -> void [T = float]\n"
        "  t: f32 = a\n"
        "  a = b\n"
        "  b = t\n"
        "\n"
        "device store(a: f32*, b: const i32[4]*) -> void\n"
        "  a[0:i32] = f32(b[1:i32]@[2:i32])\n"
        "  q: f32* = (a +.ptr 1:i32)\n"
        "  *(q) = 0.0:f32\n"
        "\n"
        "device lerp(a: const f32, b: const f32, t: f32) -> f32\n"
        "  return (a +.f32 (t *.f32 (b -.f32 a)))\n"
        "\n"
        "device fmaxf(a: f32, b: i32) -> f32\n"
        "  return ((a >.f32 f32(b)) ? a : f32(b))\n"
        "\n"
        "kernel k(p: f32*, m: i32[4]*) -> void\n"
        "  l: f32[4]\n"
        "  fill(l@, sq(p[0:i32]), 4:i32)\n"
        "  fill(l@, sq_2(&(p[1:i32])), 2:i32)\n"
        "  exchange(l@[0:i32], p[1:i32])\n"
        "  store(l@, m)\n"
        "  p[0:i32] = ((lerp(l@[0:i32], 2.0:f32, 0.5:f32) +.f32 fmaxf(p[0:i32], 3:i32)) +.f32 "
        "$fmaxf(1.0:f32, p[1:i32]))\n"
    )


def test_const_references_that_a_write_could_change_stay_references(dumped: Dumped) -> None:
    text = dumped(
        """__device__ void f(const float& a, float* q, const int& n) { q[n] = 2; q[n + 1] = a; }
        __global__ void k(float* p, int n) { f(p[0], p, n); }"""
    )
    assert text.splitlines()[0] == "device f(a: const f32&, q: f32*, n: const i32) -> void"


def test_functors_and_lambdas(dumped: Dumped) -> None:
    text = dumped(
        """struct Add { __device__ float operator()(float a, float b) const { return a + b; } };
        struct Scale { float s; __device__ float operator()(float a) const { return a * s; } };
        template <class T, class Op> __device__ T fold(const T* p, int n, Op op, T init = T(0)) {
          for (int i = 0; i < n; i++) init = op(init, p[i]);
          return init;
        }
        __device__ float twice(float x) { return 2 * x; }
        template <float (*F)(float)> __device__ float apply(float x) { return F(x); }
        __global__ void k(float* p, int n, Scale sc) {
          auto inc = [](float z) { return z + 1; };
          auto add = [&](float z) { p[3] += z; n++; };
          int cap = n * 2;
          auto put = [=](int i) { p[i] = cap; };
          add(inc(2)); put(n);
          p[0] = fold(p, n, Add()) + sc(2.0f) + apply<twice>(p[1]);
        }"""
    )
    assert text == (
        "device lambda_11(p: f32*, n: i32&, z: f32) -> void\n"
        "  p[3:i32] +=.f32 z\n"
        "  n++\n"
        "\n"
        "device lambda_10(z: f32) -> f32\n"
        "  return (z +.f32 1.0:f32)\n"
        "\n"
        "device lambda_13(p: f32*, cap: i32, i: i32) -> void\n"
        "  p[i] = f32(cap)\n"
        "\n"
        "device Add_call(a: f32, b: f32) -> f32\n"
        "  return (a +.f32 b)\n"
        "\n"
        "device fold(p: const f32*, n: i32, init: f32) -> f32 [T = float, Op = Add]\n"
        "  for [i: i32 = 0:i32] while [(i <.i32 n)] step [i++]:\n"
        "    init = Add_call(init, p[i])\n"
        "  return init\n"
        "\n"
        "device Scale_call(self: const Scale&, a: f32) -> f32\n"
        "  return (a *.f32 self.s)\n"
        "\n"
        "device twice(x: f32) -> f32\n"
        "  return (2.0:f32 *.f32 x)\n"
        "\n"
        "device apply(x: f32) -> f32 [F = ?]\n"
        "  return twice(x)\n"
        "\n"
        "kernel k(p: f32*, n: i32, sc: Scale) -> void\n"
        "  cap: i32 = (n *.i32 2:i32)\n"
        "  lambda_11(p, n, lambda_10(2.0:f32))\n"
        "  lambda_13(p, cap, n)\n"
        "  p[0:i32] = ((fold(p, n, 0.0:f32) +.f32 Scale_call(sc, 2.0:f32)) +.f32 apply(p[1:i32]))\n"
    )


def test_class_templates_and_constexpr(dumped: Dumped) -> None:
    text = dumped(
        """template <class T, int N> struct Arr { T v[N]; static constexpr int len = 2 * N;
          __device__ T& operator[](int i) { return v[i]; }
          __device__ const T& operator[](int i) const { return v[i]; }
          __device__ int size() const { return N; } };
        constexpr int ilog2(int n) { return n <= 1 ? 0 : 1 + ilog2(n / 2); }
        template <class T, int N> __device__ T sum(const Arr<T, N>& a) {
          T s = 0; for (int i = 0; i < N; i++) s += a[i]; return s; }
        __global__ void k(float* p) {
          Arr<float, 3> a; a[1] = 2; p[0] = a[0] + a.size() + Arr<float, 3>::len + sum(a) + ilog2(64);
        }"""
    )
    assert text == (
        "device Arr_size(self: const Arr<float, 3>&) -> i32\n"
        "  return 3:i32'N'\n"
        "\n"
        "device sum(a: const Arr<float, 3>&) -> f32 [T = float, N = 3]\n"
        "  s: f32 = 0.0:f32\n"
        "  for [i: i32 = 0:i32] while [(i <.i32 3:i32'N')] step [i++]:\n"
        "    s +=.f32 a.v@[i]\n"
        "  return s\n"
        "\n"
        "kernel k(p: f32*) -> void\n"
        "  a: Arr<float, 3>\n"
        "  a.v@[1:i32] = 2.0:f32\n"
        "  p[0:i32] = ((((a.v@[0:i32] +.f32 f32(Arr_size(a))) +.f32 f32(6:i32'len')) +.f32 sum(a)) +.f32 "
        "6.0:f32)\n"
    )


def test_half(dumped: Dumped) -> None:
    text = dumped(
        """#include <cuda_fp16.h>
        #include <cuda_bf16.h>
        __global__ void k(half* h, __nv_bfloat16* b, half2* h2, float* f, int n) {
          half x = h[0], y(1.5f); x = x + y * x; x += y; x = -x; x = 3; x = f[0];
          f[0] = x; f[0] = (float)x + f[1];
          if (x > y && x != half(0)) x = __hmax(x, y);
          n = (int)x; h[1] = static_cast<half>(n); f[1] = __half2float(x) * 2;
          half2 p = h2[0], q(x, y), r = make_half2(x, y); p = p * q + r; p += q; p.x = y; h2[1] = -p;
          __nv_bfloat16 c = b[0]; c = c * c; f[0] = c; b[2] = f[0]; f[2] = max(f[0], x);
        }"""
    )
    assert [x.strip() for x in text.splitlines()[1:]] == [
        "x: f16 = h[0:i32]",
        "y: f16 = f16(1.5:f32)",
        "x = (x +.f16 (y *.f16 x))",
        "x +=.f16 y",
        "x = (-.f16 x)",
        "x = f16(3:i32)",
        "x = f16(f[0:i32])",
        "f[0:i32] = f32(x)",
        "f[0:i32] = (f32!(x) +.f32 f[1:i32])",
        "if ((x >.f16 y) && (x !=.f16 f16!(0:i32))):",
        "x = $__hmax(x, y)",
        "n = i32!(x)",
        "h[1:i32] = f16!(n)",
        "f[1:i32] = ($__half2float(x) *.f32 2.0:f32)",
        "p: __half2 = h2[0:i32]",
        "q: __half2 = __half2{x, y}",
        "r: __half2 = __half2{x, y}",
        "p = $__hadd2($__hmul2(p, q), r)",
        "p = $__hadd2(p, q)",
        "p.x = y",
        "h2[1:i32] = $__hneg2(p)",
        "c: bf16 = b[0:i32]",
        "c = (c *.bf16 c)",
        "f[0:i32] = f32(c)",
        "b[2:i32] = bf16(f[0:i32])",
        "f[2:i32] = $fmaxf(f[0:i32], f32(x))",
    ]


def test_cooperative_groups_of_a_block(dumped: Dumped) -> None:
    text = dumped(
        """#include <cooperative_groups.h>
        namespace cg = cooperative_groups;
        __global__ void k(float* p) {
          cg::thread_block block = cg::this_thread_block();
          auto warp = cg::tiled_partition<32>(block);
          float s = cg::reduce(warp, p[0], cg::plus<float>{});
          block.sync();
          if (warp.thread_rank() == 0) p[block.thread_index().x] = warp.shfl(s, 1);
        }"""
    )
    assert text == (
        "device tile32_sum_f32(value: f32) -> f32\n"
        "  unroll(0) for [offset: i32 = 16:i32] while [(offset >.i32 0:i32)] step [offset >>=.i32 1:i32]:\n"
        "    other: f32 = $__shfl_xor_sync(4294967295:u32, value, offset, 32:i32)\n"
        "    value = (value +.f32 other)\n"
        "  return value\n"
        "\n"
        "device block_thread_rank() -> u32\n"
        "  return (threadIdx.x +.u32 (blockDim.x *.u32 (threadIdx.y +.u32 (blockDim.y *.u32 threadIdx.z))))\n"
        "\n"
        "kernel k(p: f32*) -> void\n"
        "  s: f32 = tile32_sum_f32(p[0:i32])\n"
        "  $__syncthreads()\n"
        "  if ((block_thread_rank() %.u32 32:u32) ==.u32 0:u32):\n"
        "    p[threadIdx.x] = $__shfl_sync(4294967295:u32, s, 1:i32, 32:i32)\n"
    )


def test_inline_assembly(dumped: Dumped) -> None:
    text = dumped(
        """#define COMMIT() asm volatile("cp.async.commit_group;\\n" ::)
        __global__ void k(float* p, unsigned* q) {
          unsigned d; float y;
          asm("lop3.b32 %0, %1, %2, %3, " "0x96;" : "=r"(d) : "r"(q[0]), "r"(q[1]), "r"(q[2]));
          asm volatile("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(p[0]));
          asm("add.u32 %0, %0, %1;" : "+r"(d) : "r"(1) : "memory");
          COMMIT();
          p[0] = y + d;
        }"""
    )
    assert [x.strip() for x in text.splitlines()[3:-1]] == [
        'd = $asm("lop3.b32 %0, %1, %2, %3, 0x96;", "=r,r,r,r", q[0:i32], q[1:i32], q[2:i32])',
        'y = $asm volatile("ex2.approx.f32 %0, %1;", "=f,f", p[0:i32])',
        'd = $asm volatile("add.u32 %0, %0, %1;", "=r,r,0", 1:i32, d)',
        '$asm volatile("cp.async.commit_group;\\n", "")',
    ]
