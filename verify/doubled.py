"""The original in double: its source with every `float` made a `double`, as a measure of its own errors."""

from __future__ import annotations

import re
from pathlib import Path

from verify.spec import Spec
from verify.spec_args import StructArg, StructField

# Words of the source that stand for float arithmetic, and what they become.
_WORDS = {
    "float": "double",
    "float1": "double1",
    "float2": "double2",
    "float3": "double3",
    "float4": "double4",
    "make_float1": "make_double1",
    "make_float2": "make_double2",
    "make_float3": "make_double3",
    "make_float4": "make_double4",
    "FLT_MAX": "1.7976931348623157e308",
    "FLT_MIN": "2.2250738585072014e-308",
    "CUDART_INF_F": "CUDART_INF",
    "CUDART_NAN_F": "CUDART_NAN",
    "CUDART_PI_F": "CUDART_PI",
    "fdividef": "cuteport_divide",
    "__fdividef": "cuteport_divide",
    "__saturatef": "cuteport_saturate",
    "__powf": "pow",
    "__exp10f": "exp10",
    "__fsqrt_rn": "__dsqrt_rn",
    "__frsqrt_rn": "rsqrt",
    "__frcp_rn": "__drcp_rn",
    "__float2int_rn": "__double2int_rn",
    "__float2int_rz": "__double2int_rz",
    "__float2int_rd": "__double2int_rd",
    "__float2int_ru": "__double2int_ru",
    "__float2uint_rn": "__double2uint_rn",
    "__float2uint_rz": "__double2uint_rz",
    "__int2float_rn": "__int2double_rn",
    "__uint2float_rn": "__uint2double_rn",
}
# Functions of C for float: the double's name is without the f; the fast ones have two underscores.
_FUNCTIONS = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc erfcinv erfcx
    erfinv exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 j1 ldexp lgamma
    llrint llround log log10 log1p log2 logb lrint lround modf nearbyint norm3d norm4d normcdf
    normcdfinv pow remainder rhypot rint rnorm3d round rsqrt scalbn sin sincos sincospi sinh sinpi sqrt
    tan tanh tgamma trunc y0 y1
"""
_FAST = ["cos", "exp", "exp10", "log", "log10", "log2", "pow", "sin", "sincos", "tan"]
_ROUNDED = ["add", "sub", "mul", "div"]
_WORDS |= {f"{n}f": n for n in _FUNCTIONS.split()}
_WORDS |= {f"__{n}f": n for n in _FAST}
_WORDS |= {f"__f{n}_{r}": f"__d{n}_{r}" for n in _ROUNDED for r in ("rn", "rz", "ru", "rd")}
_WORDS |= {f"__fmaf_{r}": f"__fma_{r}" for r in ("rn", "rz", "ru", "rd")}

# What depends on the bits or the size of a float, or computes in a type that this does not widen.
_REFUSED = re.compile(
    r"__builtin_bit_cast\(float\b|__float_as_\w+|__\w+_as_float|reinterpret_cast|\bunion\b|\basm\b|\bhalf2?\b|__half2?\b|__nv_\w+|"
    r"\b__\w*(?:half|bfloat16)\w*|\bmemcpy\b|\batomicCAS\b|#\s*include\s*\"|\bwmma\b|\btexture\w*|"
    r"\(\s*(?:const\s+)?(?:unsigned\s+)?(?:int|char|float[1-4]?|double|u?int[1-4])\s*\*\s*\)"
)
# How a slice without a toolkit's headers defines infinity and NaN.
_BITS = {
    "__builtin_bit_cast(float, 0x7f800000)": "__builtin_bit_cast(double, 0x7ff0000000000000)",
    "__builtin_bit_cast(float, 0x7fc00000)": "__builtin_bit_cast(double, 0x7ff8000000000000)",
}
_TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
    r"|(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[fF](?!\w))"
    r"|(?P<hex>0[xX]\w+)"
    r"|(?P<word>[A-Za-z_]\w*)",
    re.DOTALL,
)
_PRELUDE = """template <class T> __device__ __forceinline__ T cuteport_divide(T a, T b) { return a / b; }
__device__ __forceinline__ double cuteport_saturate(double x) { return x > 0 ? (x < 1 ? x : 1.0) : 0.0; }
#line 1
"""
_FLOAT = re.compile(r'(\bdtype\s*=\s*)"(?:f32|float32|float)"')
_SMEM = re.compile(r"^(\s*smem\s*=\s*)(.+?)\s*$", re.MULTILINE)


class DoubleError(Exception):
    """The original can't be made to compute in double; the text says what stands in the way."""


def widen(source: str) -> str:
    """CUDA source with double for float. DoubleError where a float's bits or size matter to it."""
    for narrow, wide in _BITS.items():
        source = source.replace(narrow, wide)
    plain = _TOKEN.sub(lambda m: " " if m.lastgroup == "skip" and m.group()[0] == "/" else m.group(), source)
    if (found := _REFUSED.search(plain)) is not None:
        raise DoubleError(f"it uses '{' '.join(found.group().split())}'")

    def one(m: re.Match[str]) -> str:
        text = m.group()
        if m.lastgroup == "word":
            return _WORDS.get(text, text)
        if m.lastgroup == "number":
            digits = text[:-1]
            return digits if re.search(r"[.eE]", digits) else f"{digits}.0"
        return text

    return _PRELUDE + _TOKEN.sub(one, source)


def doubled(target: Path, spec: Spec, folder: Path) -> None:
    """Write the target in double to `folder`: spec.toml and the original. DoubleError."""
    for arg in spec.arg:
        fields = arg.fields if isinstance(arg, StructArg) else []
        if any(isinstance(f, StructField) and f.dtype == "f32" for f in fields):
            raise DoubleError(f"the struct {arg.name} holds floats, whose offsets would change")
    if any(b.fields for b in spec.buffers):
        raise DoubleError("a buffer holds structs, whose layout would change")
    try:
        source = (target / spec.original.source).read_text(encoding="utf-8")
        text = (target / "spec.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise DoubleError(f"it can't be read: {e}") from e
    wide = folder / spec.original.source
    wide.parent.mkdir(parents=True, exist_ok=True)
    wide.write_text(widen(source), encoding="utf-8")
    text = _FLOAT.sub(r'\1"f64"', text)
    text = _SMEM.sub(lambda m: f'{m.group(1)}"2 * ({m.group(2).strip(chr(34))})"', text)
    kernel = spec.original.kernel
    quoted = re.compile(r"(^\s*kernel\s*=\s*)([\"'])" + re.escape(kernel) + r"\2", re.MULTILINE)
    words = re.sub(r"[A-Za-z_]\w*", lambda m: _WORDS.get(m.group(), m.group()), kernel)
    text = quoted.sub(lambda m: f"{m.group(1)}{m.group(2)}{words}{m.group(2)}", text)
    (folder / "spec.toml").write_text(text, encoding="utf-8")
