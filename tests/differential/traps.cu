// One kernel per place where Python or CuTe DSL means something else than C++. x = {-7, 3, 5, 200, 100, 9, 0, 1}.
#include <cuda_runtime.h>

struct Pair { int a, b; };
struct Outer { Pair in; int c; };

__device__ int first_over(const int *x, int n, int limit)
{
    for (int i = 0; i < n; i++) {
        if (x[i] == 9) continue;
        if (x[i] > limit) return i;
    }
    return -1;
}
__device__ void bump(int &v, int by) { v += by; }
__device__ float product(float a, float b) { return a * b; }
__device__ int changed(Pair p) { p.a += 10; return p.a; }

__global__ void floor_division(long long *out, const int *x, int n)
{
    out[0] = x[0] / 2;
    out[1] = x[0] / x[1];
    out[2] = (long long)x[0] / -2;
}

__global__ void remainder_sign(long long *out, const int *x, int n)
{
    int seven = -7;
    out[0] = x[0] % 3;
    out[1] = seven % 3;
    out[2] = x[3] % -7;
}

__global__ void known_division(long long *out, const int *x, int n)
{
    int a = -7, b = 2;
    out[0] = a / b + x[6];
}

__global__ void widen_signed_to_unsigned(long long *out, const int *x, int n)
{
    unsigned long long wide = x[0];
    out[0] = wide >> 8;
    out[1] = x[0] < (unsigned long long)x[1];
    out[2] = (x[0] + 0ull) >> 60;
}

__global__ void narrow_promotion(long long *out, const int *x, int n)
{
    unsigned char a = x[3], b = x[4];
    short s = 30000;
    signed char c = -1;
    out[0] = a + b;
    out[1] = b - a;
    out[2] = s * (s + x[6]);
    out[3] = c < a;
    a += b;
    out[4] = a;
    out[5] = (unsigned char)~b >> 1;
    out[6] = (a << 8) | b;
}

__global__ void unsigned_shift(long long *out, const int *x, int n)
{
    unsigned u = x[0];
    unsigned count = x[1];
    out[0] = u >> 4;
    out[1] = x[0] >> count;
    out[2] = (u >> 1) + (x[0] >> 1);
}

__global__ void chained_compare(long long *out, const int *x, int n)
{
    int a = x[1], b = x[2], c = x[7];
    out[0] = a < b < c;
    out[1] = c == a < b;
    out[2] = (a > b) == (b > a);
}

__global__ void bool_arithmetic(long long *out, const int *x, int n)
{
    bool p = x[1] > 0, q = x[2] > 0;
    out[0] = p + q;
    out[1] = (x[1] > x[2]) - (x[1] < x[2]);
    out[2] = -p;
    out[3] = ~p;
    p += 5;
    out[4] = p;
}

__global__ void counter_after_loop(long long *out, const int *x, int n)
{
    int i, k = 5;
    for (i = 0; i < x[2]; i++) out[1] += i;
    out[0] = i;
    for (k = 7; k < x[1]; k++) out[1] += 100;
    out[2] = k;
}

__global__ void bound_changes(long long *out, const int *x, int n)
{
    int m = x[5], runs = 0;
    for (int i = 0; i < m; i++) {
        m--;
        runs++;
    }
    out[0] = runs;
    runs = 0;
    for (int i = 0; i < 10; i++) {
        if (i & 1) i++;
        runs += i;
    }
    out[1] = runs;
}

__global__ void unsigned_bounds(long long *out, const int *x, int n)
{
    unsigned low = x[6] + 2147483645u, runs = 0;
    for (unsigned u = low; u < low + 5u; u++) runs++;
    out[0] = runs;
    runs = 0;
    for (unsigned u = 3u + x[6]; u < 4u; u--) runs++;
    out[1] = runs;
    long long sum = 0;
    for (unsigned u = 0xfffffffcu; u != (unsigned)x[6]; u++) sum += u;
    out[2] = sum;
}

__global__ void struct_copy(long long *out, const int *x, int n)
{
    Pair a = {x[1], x[2]};
    Pair b = a;
    b.a = 99;
    out[0] = a.a;
    out[1] = changed(a) + a.a * 1000;
    Pair list[2] = {{1, 2}, {3, 4}};
    Pair c = list[1];
    list[1].b = 50;
    out[2] = c.b + list[1].b;
}

__global__ void nested_member(long long *out, const int *x, int n)
{
    Outer o = {{1, 2}, 3};
    o.in.b = x[2];
    if (x[1] > 0) o.in.a += 7;
    Outer p = o;
    p.in = Pair{5, 6};
    out[0] = o.in.a * 100 + o.in.b * 10 + o.c;
    out[1] = p.in.a * 100 + p.in.b * 10 + p.c;
}

__global__ void shadowing(long long *out, const int *x, int n)
{
    int v = x[1];
    if (v > 0) {
        int v = 50;
        v += 5;
        out[1] = v;
    }
    for (int v = 0; v < 3; v++) out[2] += v;
    {
        int x = 4;
        v += x;
    }
    out[0] = v;
}

__global__ void right_side_first(long long *out, const int *x, int n)
{
    int a[4] = {0, 0, 0, 0}, i = x[7];
    a[i] = i++;
    a[i] = i = 3;
    out[0] = a[0] + 10 * a[1] + 100 * a[2] + 1000 * a[3];
    int k = x[7];
    out[1] = k++ && k == 2 ? k : -1;
    out[2] = (k = 4, k * 2) + 1;
}

__global__ void float_constants(double *out, const int *x, int n)
{
    float big = 16777216.0f, one = 1.0f, tenth = 0.1f;
    out[0] = big + one - big;
    out[1] = tenth;
    out[2] = tenth * 3.0f;
    out[3] = product(0.1f, 0.7f);
    int whole = 16777217;
    float same = whole;
    out[4] = same - 16777216.0f;
    out[5] = 0.1 * x[1] + 0.1f * x[1];
    float third = 1.0f;
    third /= 3.0f;
    out[6] = third;
}

__global__ void integer_constants(long long *out, const int *x, int n)
{
    unsigned long long u = 0xffffffffffffffffull;
    u = u * u + 2;
    out[0] = (u << 62) >> 2;
    unsigned v = 3;
    v -= 4;
    out[1] = v / 2;
    out[2] = x[0] & 0xFFFFFFFF;
    long long w = 5000000000ll;
    out[3] = w * 2 + x[6];
}

__global__ void unsigned_index(long long *out, const int *x, int n)
{
    const int *far = x - 2147483648ll;
    unsigned u = 2147483648u + x[1];
    out[0] = far[u];
    unsigned half = 1073741824u + x[6];
    const int *middle = x - 4294967296ll;
    out[1] = middle[(size_t)half * 4 + x[2]];
    out[2] = far[2147483650u];
}

__global__ void lambda(long long *None, const int *def, int in)
{
    int is = def[1], not_ = def[2], self = 1, print = 2, range = 3, int_ = 4, and_ = is & not_, len = 5, Int32 = 6;
    for (int pass = 0; pass < 2; pass++) len += pass;
    None[0] = is + 10 * self + 100 * print + 1000 * range + 10000 * int_ + 100000 * and_ + 1000000 * len + Int32;
}

__global__ void lazy_and(long long *out, const int *x, int n)
{
    int i = 0;
    while (i < 8 && x[i] != 9) i++;
    out[0] = i;
    int zero = x[6];
    out[1] = zero != 0 && 10 / zero > 1;
    out[2] = zero == 0 || x[1] % zero;
    int calls = 0;
    if (x[1] > 100 && (calls++, true)) calls += 10;
    out[3] = calls;
    out[4] = (x[1] && 6) + (x[1] || x[6]);
}

__global__ void switch_value_changes(long long *out, const int *x, int n)
{
    int s = x[1], r = 0;
    switch (s) {
    case 3: s = 4; r += 1; break;
    case 4: r += 10;
    case 5: r += 100;
    default: r += 1000;
    }
    out[0] = r;
    switch (x[2]) {
    default: r += 5;
    case 3: r += 7; break;
    case 4: r += 9;
    }
    out[1] = r;
}

__global__ void leaving_loops(long long *out, const int *x, int n)
{
    out[0] = first_over(x, 8, 50);
    int found = 0;
    for (int i = 0; i < 4; i++) {
        int j = 0;
        do {
            if (x[i] == x[j]) continue;
            if (x[j] > 150) break;
            found += j;
        } while (++j < 4);
        if (found > 3) break;
    }
    out[1] = found;
    int k = 0;
    for (;; k += 2) {
        switch (k) {
        case 0: continue;
        case 4: break;
        default: found += k; continue;
        }
        break;
    }
    out[2] = found * 100 + k;
}

__global__ void references(long long *out, const int *x, int n)
{
    int a = x[1], b = x[2];
    bump(++a, 3);
    bump(a = b, 10);
    int &r = a;
    r += 100;
    int list[4] = {1, 2, 3, 4};
    int k = 1;
    int &e = list[k];
    k = 3;
    e = 70;
    bump(x[1] > 0 ? list[0] : b, 5);
    out[0] = a;
    out[1] = list[0] + list[1] + list[3];
}

__global__ void step_after_break(long long *out, const int *x, int n)
{
    int d = x[1], i = 0, r = 0;
    for (; i < 20; i += 12 / d) {
        d--;
        if (d == 0) break;
        r++;
    }
    out[0] = i * 10 + r;
    for (int j = 0; j < 20; j += 12 / d) {
        if (d == 0) break;
        r++;
    }
    out[1] = r;
}

__global__ void conditional_place(long long *out, const int *x, int n)
{
    int a[2] = {0, 0}, b[2] = {0, 0};
    a[x[1] > 3 ? 0 : 1] = 7;
    (x[2] > 3 ? a : b)[x[1] && x[6] ? 1 : 0] = 8;
    out[0] = a[0] + 10 * a[1] + 100 * b[0] + 1000 * b[1];
}

__global__ void max_of_long(long long *out, const int *x, int n)
{
    long long big = 0x7fffffffffffffffll;
    unsigned long long u = 0x8000000000000000ull;
    out[0] = (float)(x[0] + 0ll) == -7.0f;
    out[1] = u > (unsigned long long)x[1];
    out[2] = (double)u > 1e18 && (float)big > 1e18f;
    out[3] = (unsigned)(x[0]) / 2u;
}

__device__ int leaves_do(const int *x, int limit)
{
    int i = 0;
    do {
        if (x[i] == 5) break;
        if (x[i] > limit) return i + 100;
    } while (++i < 8);
    return i;
}

__global__ void return_in_do(long long *out, const int *x, int n)
{
    out[0] = leaves_do(x, 2);
    out[1] = leaves_do(x, 1000);
}

__device__ int next(int &state) { return state = state * 3 + 1; }

__global__ void braces_in_order(long long *out, const int *x, int n)
{
    int i = x[2], state = x[1];
    int q[3] = {i, i++, ++i};
    Outer o = {{i, i *= 2}, i};
    Pair p[2] = {{next(state), state}, {state, next(state)}};
    out[0] = q[0] + 10 * q[1] + 100 * q[2];
    out[1] = o.in.a + 100 * o.in.b + 10000 * o.c;
    out[2] = p[0].a + 100 * p[0].b + 10000 * p[1].a + 1000000ll * p[1].b;
}

__global__ void void_arms(long long *out, const int *x, int n)
{
    int a = x[1], b = 0;
    x[2] > 3 ? (void)(a ^= 1) : (void)0;
    x[2] > 9 ? (void)(b = 1) : (void)(b += 4);
    (void)(x[1] > 100 && (a = 7));
    out[0] = a + 10 * b;
}

__global__ void unsigned_extremes(long long *out, const int *x, int n)
{
    unsigned u = x[0];
    unsigned long long w = u + 0xfffffff000000000ull;
    const unsigned top = 0x80000000u;
    out[0] = min(7u, u);
    out[1] = max(top, (unsigned)x[1]);
    out[2] = min(9ull, w);
    out[3] = max(w, 0xffffffffffffffffull) >> 60;
    out[4] = min(x[0], 3) + max(-9, x[0]);
}

struct Half { float u, v; };
struct Mixed { unsigned char c; int m; float f; short h[2]; Half w; };
__device__ float twice(float *p) { return *p *= 2.0f; }
__device__ void turn(Half &a) { float t = a.u; a.u = -a.v; a.v = t; }
__device__ int digits(const short *h) { return h[0] * 10 + h[1]; }

// The address of a member that lies in memory of mixed types.
__global__ void member_address(long long *out, const int *x, int n)
{
    Mixed s = {1, x[3] * 1000, 1.5f, {3, 4}, {0.5f, 2.0f}};
    bump(s.m, 70000);
    int *p = &s.m;
    *p += 5;
    p[0] += 100000;
    out[0] = s.m;
    out[1] = (int)(twice(&s.f) + s.f);
    turn(s.w);
    Half *q = &s.w;
    q->u += 8.0f;
    out[2] = (int)(s.w.u * 100.0f + s.w.v * 2.0f);
    out[3] = digits(s.h) + digits(&s.h[0]) * 100;
}

__global__ void long_way_up(long long *out, const int *x, int n)
{
    long long s = 0;
    for (int c = x[0] * 280000000; c < x[3] * 9000000; c += 16777216) s += x[c & 7];
    out[0] = s;
}
