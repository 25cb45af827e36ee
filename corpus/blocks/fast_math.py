"""2^x, 1/x, 1/√x and tanh x of one fp32 number, exact and fast, with the errors of both. Traced.

    function        exact                                   fast
    exp2            2 ulp       ex2.approx                  2 ulp       ex2.approx.ftz
    reciprocal      ½ ulp       rcp.rn                      1 ulp       rcp.approx.ftz
    rsqrt           1½ ulp      sqrt.rn, then rcp.rn        2^-22.9     rsqrt.approx.ftz, of the result
    tanh            2 ulp       of CUDA's library           2^-11       tanh.approx, of the result

An ulp is 2^-23 to 2^-24 of an fp32 result. `.ftz`: what is below 2^-126 counts as zero, before and after, so
that fast 1/x is infinity there, and zero for x beyond 2^126; the others keep subnormals. Half an ulp of f16
is 2^-11 to 2^-12 of a number, of bf16 2^-8 to 2^-9: fast exp2, reciprocal and rsqrt are exact enough for
both, and tanh for bf16 only.

    x       exp2    reciprocal      rsqrt       tanh            ±: the sign of x
    ±0      1       ±infinity       ±infinity   ±0
    inf     inf     0               0           1
    -inf    0       -0              NaN         -1              x < 0: rsqrt is NaN; NaN gives NaN

Bounds of the fast forms are those of the PTX manual, and what an H200 gave keeps to them. Fast is one
instruction (of exp2 three without `.ftz`), of which a multiprocessor makes 16 a clock.
Units: none; errors in ulps of fp32, or shares of the result.
Source of the technique: the PTX manual; CUDA's __frcp_rn, rsqrtf and their like.
"""

import cutlass.cute as cute
from cutlass import Float32


def exp2(x, exact: bool):
    """2^x in fp32."""
    return cute.math.exp2(x, fastmath=not exact)


def reciprocal(x, exact: bool):
    """1/x in fp32."""
    return Float32(1.0) / x if exact else cute.arch.rcp_approx(x)


def rsqrt(x, exact: bool):
    """1/√x in fp32."""
    return Float32(1.0) / cute.math.sqrt(x) if exact else cute.math.rsqrt(x, fastmath=True)


def tanh(x, exact: bool):
    """tanh x in fp32."""
    return cute.math.tanh(x, fastmath=not exact)
