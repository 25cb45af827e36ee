"""1 / sqrt(x), exact or approximate. Traced.

    exact          sqrt and division rounded to nearest: 1 ulp; some 20 instructions, once a row
    approximate    rsqrt.approx.ftz, as CUDA's rsqrtf: 2^-22.9 relative, one instruction; denormals count as 0

Where the result is rounded to 16 bits anyhow, the approximate one changes nothing that can be seen.
"""

import cutlass
import cutlass.cute as cute


@cute.jit
def inverse_root(x, exact: cutlass.Constexpr):
    """1 / sqrt(x) of a Float32."""
    return 1.0 / cute.math.sqrt(x) if cutlass.const_expr(exact) else cute.math.rsqrt(x, fastmath=True)
