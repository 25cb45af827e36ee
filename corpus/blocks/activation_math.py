"""ReLU, SiLU and both GELUs of one fp32 number, exact and fast. Traced.

    silu(x)      = x · σ(x)
    gelu_tanh(x) = x/2 · (1 + tanh z) = x · σ(2z),   z = √(2/π) · (x + 0.044715 · x³)
    gelu(x)      = x/2 · (1 + erf(x/√2)) = x · Φ(x)

    exact   the left forms, with expf, tanhf and erff of CUDA's device library, and its division
    fast    the right ones: σ(y) = 1 / (1 + 2^(-y · log2 e)) by ex2.approx and rcp.approx;
            Φ(-|x|) = e^(-x²/2) · P(1 / (1 + D · |x|)), a polynomial of degree 6: no branch, no cancellation

For |x| ≤ 12 the fast forms are off by at most 5e-7 of |x|, and by 1e-5 of a result beyond 1e-3: far below
half an ulp of f16 (2.4e-4) and bf16, but some ulps of f32. So narrow types take the fast forms, f32 the
exact ones. At zero σ and Φ are 1/2 to the bit, since half of a small number is a tie when it is rounded.
`tanh.approx` would save an instruction, but is off by 5e-4, which is 1 % of gelu(-2): too much even for
bf16. A NaN gives NaN, in ReLU zero (as fmaxf does).
Units: none, fp32 numbers.
Source of the technique: Hastings's form of erf (Abramowitz and Stegun, 7.1.26) with coefficients of its own.
"""

import cutlass
import cutlass.cute as cute

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
LOG2_E = 1.4426950408889634
# P's coefficients of t, t², … t⁶; their fp32 sum, from the last to the first, is 1/2. Fitted to the least
# error over Φ + 0.03: at most 9e-9 of |x|.
GELU_D = 0.28
GELU_P = (0.116934866, 0.06494512, 0.27515116, -0.24456948, 0.39443973, -0.10690139)


def fast_sigmoid(y):
    """σ(y) in fp32: two instructions of the special-function units, an addition and a product."""
    return cute.arch.rcp_approx(1.0 + cute.math.exp2(y * -LOG2_E, fastmath=True))


def silu(x, exact: bool):
    """x · σ(x) in fp32."""
    return x / (1.0 + cute.math.exp(-x)) if exact else x * fast_sigmoid(x)


def gelu_tanh(x, exact: bool):
    """x/2 · (1 + tanh z) in fp32."""
    z = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + cute.math.tanh(z)) if exact else x * fast_sigmoid(2.0 * z)


def gelu(x, exact: bool):
    """x · Φ(x) in fp32."""
    if exact:
        return 0.5 * x * (1.0 + cute.math.erf(x * 0.7071067811865476))
    t = cute.arch.rcp_approx(1.0 + GELU_D * cute.math.absf(x))
    p = GELU_P[-1]
    for c in GELU_P[-2::-1]:
        p = p * t + c
    below = p * t * cute.math.exp2(x * x * (-0.5 * LOG2_E), fastmath=True)  # Φ(-|x|)
    return x * cutlass.select_(x < 0.0, below, 1.0 - below)


def activate(x, name: str, exact: bool):
    """The activation called `name`, one of ACTIVATIONS, of an fp32 number."""
    if name == "relu":
        return cute.arch.fmax(x, 0.0)
    return {"gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}[name](x, exact)
