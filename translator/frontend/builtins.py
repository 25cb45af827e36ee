"""Names of library functions as the mapping tables know them: one C name per type, no overloads."""

from __future__ import annotations

from translator.model.types import BF16, F16, F32, F64, Scalar, Type

# <math.h> functions with a float overload of the same name; the C name of that one ends in f.
FLOAT_OVERLOADS = frozenset(
    {
        "sqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
        "acosh", "atanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logb", "floor", "ceil",
        "round", "trunc", "rint", "nearbyint", "fabs", "erf", "erfc", "tgamma", "lgamma", "pow", "fmod",
        "atan2", "hypot", "fmin", "fmax", "fdim", "copysign", "remainder", "nextafter", "fma", "ldexp",
        "scalbn", "frexp", "modf", "remquo", "ilogb", "lround", "llround", "lrint", "llrint", "rsqrt",
        "rcbrt", "exp10", "sinpi", "cospi", "erfinv", "erfcinv", "erfcx", "normcdf", "normcdfinv", "sincos",
        "j0", "j1", "y0", "y1", "cyl_bessel_i0", "cyl_bessel_i1",
    }
)  # fmt: skip

# Overloads by argument type: name → ((type of the arguments, C name), …).
BY_TYPE: dict[str, tuple[tuple[Scalar, str], ...]] = {
    "abs": ((F32, "fabsf"), (F64, "fabs")),
    "min": ((F32, "fminf"), (F64, "fmin")),
    "max": ((F32, "fmaxf"), (F64, "fmax")),
}

ALIASES = {
    "__cuteport_assert": "assert",
    "labs": "abs",
    "llabs": "abs",
    "umin": "min",
    "umax": "max",
    "llmin": "min",
    "llmax": "max",
    "ullmin": "min",
    "ullmax": "max",
    "mul24": "__mul24",
    "umul24": "__umul24",
    "mulhi": "__mulhi",
    "umulhi": "__umulhi",
    "isnanf": "isnan",
    "isinff": "isinf",
    "__builtin_fabsf": "fabsf",
    "__builtin_fabs": "fabs",
}

# Overloads of these are told apart by their result.
BY_RESULT = frozenset({"min", "max"})

# Arguments of these share one type, that of the result.
SAME_TYPE = frozenset({"min", "max", "fminf", "fmaxf", "fmin", "fmax"})
CLASSIFY = frozenset({"isnan", "isinf", "isfinite", "signbit"})

# Operators of half2 and bf162 → the function that does the same.
PAIR_OPERATORS = {
    "operator+": "__hadd2",
    "operator-": "__hsub2",
    "operator*": "__hmul2",
    "operator/": "__h2div",
    "operator==": "__hbeq2",
    "operator!=": "__hbne2",
    "operator<": "__hblt2",
    "operator>": "__hbgt2",
    "operator<=": "__hble2",
    "operator>=": "__hbge2",
}

# std:: functions that are intrinsics although the stub header shows a body.
STD_INTRINSICS = frozenset({"min", "max"})


def c_name(name: str, first: Type | None, in_std: bool) -> str:
    """The C name of a library function whose first parameter has type `first`.

    `std::min` and `std::max` of floats stay `min` and `max`: they compare, they do not treat NaN apart.
    """
    name = ALIASES.get(name, name)
    if in_std and name in STD_INTRINSICS:
        return name
    for t, special in BY_TYPE.get(name, ()):
        if first == t:
            return special
    return name + "f" if first == F32 and name in FLOAT_OVERLOADS else name


def math_type(t: Type) -> Type:
    """The type a template of <cmath> computes an argument of type `t` in."""
    if t in (F16, BF16):
        return F32
    return F64 if isinstance(t, Scalar) and t.is_integer else t
