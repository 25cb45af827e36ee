"""What a device-only source needs besides the author's text, as tables.

Under NVRTC there are no host headers: limits, fixed-width integers and the few parts of `std` that
device code uses are defined here, each only if the slice speaks of it.
"""

from __future__ import annotations

import re

# header → pattern of identifiers that need it; only headers that NVRTC can read too
HEADERS: tuple[tuple[str, str], ...] = (
    (
        "cuda_fp16.h",
        r"(?:__)?half2?(?:_raw)?|__nv_half2?|__h(?!ost__)[a-z]\w*2?|h(?:exp|exp2|exp10|log|log2|log10|sqrt|rsqrt|rcp|sin|cos|floor"
        r"|ceil|trunc|rint)|h2(?:exp|exp2|log|log2|log10|sqrt|rsqrt|rcp|sin|cos|floor|ceil|trunc|rint)"
        r"|__(?:float|double|int|uint|short|ushort|ll|ull|lows?|highs?|floats)2?2?half\w*|__half\w*|__low\w+|__high\w+"
        r"|make_half2",
    ),
    (
        "cuda_bf16.h",
        r"(?:__)?nv_bfloat16\w*|(?:__)?nv_bfloat162\w*|__\w*bfloat16\w*|__bfloat16\w*|make_bfloat162",
    ),
    ("cuda_fp8.h", r"__nv_fp8\w*|__nv_cvt_\w*fp8\w*"),
    ("cuComplex.h", r"cu(?:Float|Double)?Complex|cuC\w+|make_cu\w+|cuConjf?"),
    ("mma.h", r"nvcuda|wmma"),
    ("cooperative_groups.h", r"cooperative_groups"),
    ("cuda_pipeline.h", r"__pipeline_\w+"),
    ("math_constants.h", r"CUDART_\w+"),
    ("curand_kernel.h", r"curand\w*"),
    ("cub/block/block_scan.cuh", r"BlockScan\w*"),
    ("cub/block/block_reduce.cuh", r"BlockReduce\w*"),
    ("cub/block/block_load.cuh", r"BlockLoad\w*"),
    ("cub/block/block_store.cuh", r"BlockStore\w*"),
    ("cub/block/block_exchange.cuh", r"BlockExchange\w*"),
    ("cub/block/block_radix_sort.cuh", r"BlockRadixSort\w*"),
    ("cub/warp/warp_reduce.cuh", r"WarpReduce\w*"),
    ("cub/warp/warp_scan.cuh", r"WarpScan\w*"),
)
# headers taken only because the author's files include them: what they add can't be told from names
INCLUDED_TOO = (
    "cooperative_groups/reduce.h",
    "cooperative_groups/scan.h",
    "cooperative_groups/memcpy_async.h",
)

MACROS: dict[str, str] = {
    # NVRTC lacks the compiler builtins that other front ends define these by
    "INFINITY": "__builtin_bit_cast(float, 0x7f800000)",
    "HUGE_VALF": "__builtin_bit_cast(float, 0x7f800000)",
    "HUGE_VAL": "__builtin_bit_cast(double, 0x7ff0000000000000)",
    "NAN": "__builtin_bit_cast(float, 0x7fc00000)",
    "FLT_MAX": "3.402823466e+38F",
    "FLT_MIN": "1.175494351e-38F",
    "FLT_EPSILON": "1.192092896e-07F",
    "FLT_DIG": "6",
    "FLT_MANT_DIG": "24",
    "DBL_MAX": "1.7976931348623158e+308",
    "DBL_MIN": "2.2250738585072014e-308",
    "DBL_EPSILON": "2.2204460492503131e-16",
    "DBL_DIG": "15",
    "DBL_MANT_DIG": "53",
    "CHAR_BIT": "8",
    "SCHAR_MAX": "127",
    "SCHAR_MIN": "(-128)",
    "CHAR_MAX": "127",
    "CHAR_MIN": "(-128)",
    "UCHAR_MAX": "255",
    "SHRT_MAX": "32767",
    "SHRT_MIN": "(-32768)",
    "USHRT_MAX": "65535",
    "INT_MAX": "2147483647",
    "INT_MIN": "(-2147483647 - 1)",
    "UINT_MAX": "4294967295U",
    "LONG_MAX": "9223372036854775807L",
    "LONG_MIN": "(-9223372036854775807L - 1L)",
    "ULONG_MAX": "18446744073709551615UL",
    "LLONG_MAX": "9223372036854775807LL",
    "LLONG_MIN": "(-9223372036854775807LL - 1LL)",
    "ULLONG_MAX": "18446744073709551615ULL",
    "INT8_MAX": "127",
    "INT8_MIN": "(-128)",
    "UINT8_MAX": "255",
    "INT16_MAX": "32767",
    "INT16_MIN": "(-32768)",
    "UINT16_MAX": "65535",
    "INT32_MAX": "2147483647",
    "INT32_MIN": "(-2147483647 - 1)",
    "UINT32_MAX": "4294967295U",
    "INT64_MAX": "9223372036854775807L",
    "INT64_MIN": "(-9223372036854775807L - 1L)",
    "UINT64_MAX": "18446744073709551615UL",
    "SIZE_MAX": "18446744073709551615UL",
    "RAND_MAX": "2147483647",
    "M_E": "2.7182818284590452354",
    "M_LOG2E": "1.4426950408889634074",
    "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402",
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
}
TYPES: dict[str, str] = {
    "int8_t": "signed char",
    "int16_t": "short",
    "int32_t": "int",
    "int64_t": "long",
    "uint8_t": "unsigned char",
    "uint16_t": "unsigned short",
    "uint32_t": "unsigned int",
    "uint64_t": "unsigned long",
    "intptr_t": "long",
    "uintptr_t": "unsigned long",
    "ssize_t": "long",
    "uint": "unsigned int",
    "ushort": "unsigned short",
    "ulong": "unsigned long",
}
BUILT_IN_TYPES = ("size_t", "ptrdiff_t")  # NVRTC knows these, but not in std

# name in std → (host header that has it, its definition for NVRTC); a definition may need other names
_LIMITS = """template <class T> struct numeric_limits;
#define CUTEPORT_LIMITS(T, LOWEST, MIN, MAX, EPSILON, INF, NOT_A_NUMBER, DIGITS, IS_INTEGER, IS_SIGNED) \\
  template <> struct numeric_limits<T> { \\
    __device__ __host__ static constexpr T lowest() { return LOWEST; } \\
    __device__ __host__ static constexpr T min() { return MIN; } \\
    __device__ __host__ static constexpr T max() { return MAX; } \\
    __device__ __host__ static constexpr T epsilon() { return EPSILON; } \\
    __device__ __host__ static constexpr T infinity() { return INF; } \\
    __device__ __host__ static constexpr T quiet_NaN() { return NOT_A_NUMBER; } \\
    static constexpr int digits = DIGITS; \\
    static constexpr bool is_integer = IS_INTEGER, is_signed = IS_SIGNED, is_specialized = true; \\
  };
CUTEPORT_LIMITS(float, -3.402823466e+38F, 1.175494351e-38F, 3.402823466e+38F, 1.192092896e-07F, \\
  __builtin_bit_cast(float, 0x7f800000), __builtin_bit_cast(float, 0x7fc00000), 24, false, true)
CUTEPORT_LIMITS(double, -1.7976931348623158e+308, 2.2250738585072014e-308, 1.7976931348623158e+308, \\
  2.2204460492503131e-16, __builtin_bit_cast(double, 0x7ff0000000000000), \\
  __builtin_bit_cast(double, 0x7ff8000000000000), 53, false, true)
#define CUTEPORT_INTEGER(T, MIN, MAX, DIGITS) \\
  CUTEPORT_LIMITS(T, MIN, MIN, MAX, 0, 0, 0, DIGITS, true, (MIN) != 0)
CUTEPORT_INTEGER(signed char, -128, 127, 7)
CUTEPORT_INTEGER(char, -128, 127, 7)
CUTEPORT_INTEGER(unsigned char, 0, 255, 8)
CUTEPORT_INTEGER(short, -32768, 32767, 15)
CUTEPORT_INTEGER(unsigned short, 0, 65535, 16)
CUTEPORT_INTEGER(int, -2147483647 - 1, 2147483647, 31)
CUTEPORT_INTEGER(unsigned int, 0, 4294967295U, 32)
CUTEPORT_INTEGER(long, -9223372036854775807L - 1, 9223372036854775807L, 63)
CUTEPORT_INTEGER(unsigned long, 0, 18446744073709551615UL, 64)
CUTEPORT_INTEGER(long long, -9223372036854775807LL - 1, 9223372036854775807LL, 63)
CUTEPORT_INTEGER(unsigned long long, 0, 18446744073709551615ULL, 64)"""

STD: dict[str, tuple[str, str]] = {
    "min": (
        "algorithm",
        "template <class T> __device__ __host__ constexpr const T& min(const T& a, const T& b)"
        " { return b < a ? b : a; }",
    ),
    "max": (
        "algorithm",
        "template <class T> __device__ __host__ constexpr const T& max(const T& a, const T& b)"
        " { return a < b ? b : a; }",
    ),
    "swap": (
        "utility",
        "template <class T> __device__ __host__ constexpr void swap(T& a, T& b) { T t = a; a = b; b = t; }",
    ),
    "integral_constant": (
        "type_traits",
        "template <class T, T v> struct integral_constant { static constexpr T value = v;"
        " typedef T value_type; __device__ __host__ constexpr operator T() const { return v; } };",
    ),
    "true_type": ("type_traits", "typedef integral_constant<bool, true> true_type;"),
    "false_type": ("type_traits", "typedef integral_constant<bool, false> false_type;"),
    "is_same": (
        "type_traits",
        "template <class A, class B> struct is_same : false_type {};"
        " template <class A> struct is_same<A, A> : true_type {};",
    ),
    "is_same_v": (
        "type_traits",
        "template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;",
    ),
    "enable_if": (
        "type_traits",
        "template <bool, class T = void> struct enable_if {};"
        " template <class T> struct enable_if<true, T> { typedef T type; };",
    ),
    "enable_if_t": (
        "type_traits",
        "template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;",
    ),
    "conditional": (
        "type_traits",
        "template <bool, class A, class B> struct conditional { typedef A type; };"
        " template <class A, class B> struct conditional<false, A, B> { typedef B type; };",
    ),
    "conditional_t": (
        "type_traits",
        "template <bool b, class A, class B> using conditional_t = typename conditional<b, A, B>::type;",
    ),
    "remove_reference": (
        "type_traits",
        "template <class T> struct remove_reference { typedef T type; };"
        " template <class T> struct remove_reference<T&> { typedef T type; };"
        " template <class T> struct remove_reference<T&&> { typedef T type; };",
    ),
    "remove_reference_t": (
        "type_traits",
        "template <class T> using remove_reference_t = typename remove_reference<T>::type;",
    ),
    "remove_const": (
        "type_traits",
        "template <class T> struct remove_const { typedef T type; };"
        " template <class T> struct remove_const<const T> { typedef T type; };",
    ),
    "remove_const_t": (
        "type_traits",
        "template <class T> using remove_const_t = typename remove_const<T>::type;",
    ),
    "remove_cv": (
        "type_traits",
        "template <class T> struct remove_cv { typedef T type; };"
        " template <class T> struct remove_cv<const T> { typedef T type; };"
        " template <class T> struct remove_cv<volatile T> { typedef T type; };"
        " template <class T> struct remove_cv<const volatile T> { typedef T type; };",
    ),
    "remove_cv_t": ("type_traits", "template <class T> using remove_cv_t = typename remove_cv<T>::type;"),
    "decay": (
        "type_traits",
        "template <class T> struct decay"
        " { typedef typename remove_cv<typename remove_reference<T>::type>::type type; };",
    ),
    "decay_t": ("type_traits", "template <class T> using decay_t = typename decay<T>::type;"),
    "is_floating_point": (
        "type_traits",
        "template <class T> struct is_floating_point"
        " { static constexpr bool value = is_same<typename remove_cv<T>::type, float>::value"
        " || is_same<typename remove_cv<T>::type, double>::value; };",
    ),
    "is_floating_point_v": (
        "type_traits",
        "template <class T> constexpr bool is_floating_point_v = is_floating_point<T>::value;",
    ),
    "is_integral": (
        "type_traits",
        "template <class T> struct is_integral { template <class U> static constexpr bool one ="
        " is_same<typename remove_cv<T>::type, U>::value;"
        " static constexpr bool value = one<bool> || one<char> || one<signed char> || one<unsigned char>"
        " || one<short> || one<unsigned short> || one<int> || one<unsigned> || one<long>"
        " || one<unsigned long> || one<long long> || one<unsigned long long>; };",
    ),
    "is_integral_v": (
        "type_traits",
        "template <class T> constexpr bool is_integral_v = is_integral<T>::value;",
    ),
    "numeric_limits": ("limits", _LIMITS),
}
_PLAIN = (
    "sqrt sin cos tan exp exp2 log log2 log10 log1p expm1 pow abs fabs floor ceil round trunc fmod fmin fmax"
)
_MORE = "fma tanh sinh cosh atan atan2 asin acos rint cbrt erf erfc hypot isnan isinf isfinite signbit"
MATH = frozenset(
    (
        _PLAIN + " tanh sinh cosh atan atan2 asin acos rint cbrt erf erfc hypot isnan isinf isfinite signbit"
    ).split()
)


def needed_std(names: set[str]) -> list[str]:
    """The names of STD that `names` need, themselves included, in the table's order."""
    wanted = {n for n in names if n in STD}
    while True:
        more = {n for n in STD if n not in wanted and any(re.search(rf"\b{n}\b", STD[w][1]) for w in wanted)}
        if not more:
            return [n for n in STD if n in wanted]
        wanted |= more
