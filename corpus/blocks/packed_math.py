"""Two 16-bit floats in a 32-bit word: arithmetic on both at once, and fp32 pairs to words and back. Traced.

    word (Int32)     high 16 bits: element 1 | low 16 bits: element 0        kind: Float16 or BFloat16

    add sub mul fma     each result rounded once, nearest even; subnormals are kept, NaN becomes 0x7FFF
    max min             the number where one is NaN, as fmaxf; -0 < 0
    max_nan min_nan     NaN where one is
    pack                fp32 → 16 bits: "rn" nearest even, "rz" toward zero; what is too large becomes
                        ±infinity by rn, the largest number by rz
    unpack              exact

add and mul are fma with 1 and -0, which changes no bit; of bf16, sm_80 has no other. A product of two bf16
or f16 that is made in fp32 and then rounded has the same bits, and a sum too; a chain of them has not, since
each step is rounded here.

All are one instruction, and pure: the compiler may move, merge and drop them. `cute.arch.inline_ptx` and
`cute.arch.add_packed_*`, `sub_packed_*` and `exp2_packed_*` of DSL 4.8.1 are not: what loads stand before and
after one stays there, so that loads of a loop no longer are under way together.
Units: none, numbers of 16 bits, two a word.
Source of the technique: cuda_fp16.h and cuda_bf16.h.
"""

from cutlass import BFloat16, Float16, Float32, Int32
from cutlass._mlir.dialects import llvm

PAIRS = {Float16: "f16x2", BFloat16: "bf16x2"}
ONE = {Float16: 0x3C003C00, BFloat16: 0x3F803F80}  # 1 and -1 twice
MINUS_ONE = {Float16: 0xBC00BC00 - (1 << 32), BFloat16: 0xBF80BF80 - (1 << 32)}
MINUS_ZERO = 0x80008000 - (1 << 32)


def pure_ptx(code: str, kind, *operands):
    """One instruction without side effects; `$0` is its result of type `kind`, `$1` … are its operands."""
    letters = {Int32: "r", Float32: "f"}
    constraints = ",".join(["=" + letters[kind], *(letters[type(o)] for o in operands)])
    values = [o.ir_value() for o in operands]
    return kind(llvm.inline_asm(kind.mlir_type, values, code, constraints, has_side_effects=False))


def packed(operation: str, kind, *words):
    """`operation` on words of two numbers of type `kind`: add, sub, mul, fma (three words), max, min, max_nan
    or min_nan."""
    pair, words = PAIRS[kind], [Int32(w) for w in words]
    if operation in ("add", "sub", "mul", "fma"):
        a, b = words[:2]
        a, b, c = {
            "add": (a, Int32(ONE[kind]), b),
            "sub": (b, Int32(MINUS_ONE[kind]), a),
            "mul": (a, b, Int32(MINUS_ZERO)),
            "fma": (a, b, words[-1]),
        }[operation]
        return pure_ptx(f"fma.rn.{pair} $0, $1, $2, $3;", Int32, a, b, c)
    name, _, nan = operation.partition("_")
    return pure_ptx(f"{name}{'.NaN' if nan else ''}.{pair} $0, $1, $2;", Int32, *words)


def pack(low, high, kind, rounding: str = "rn"):
    """Two fp32 as a word; `rounding` is rn or rz."""
    code = f"cvt.{rounding}.{PAIRS[kind]}.f32 $0, $2, $1;"
    return pure_ptx(code, Int32, Float32(low), Float32(high))


def unpack(word, kind):
    """(low, high) of a word as fp32."""
    if kind is BFloat16:
        return (word << 16).bitcast(Float32), (word & -0x10000).bitcast(Float32)
    halves = [f"{{ .reg .b16 l, h; mov.b32 {{l, h}}, $1; cvt.f32.f16 $0, {h}; }}" for h in "lh"]
    return tuple(pure_ptx(code, Float32, word) for code in halves)
