"""8-bit codes of a whole tensor with one given fp32 scale, e4m3 or int8: q = round(x · (1 / scale)).

Shapes: x is `count` contiguous elements, bf16, fp16 or fp32, and q as many codes; scale is one fp32 in device
memory: of a calibration (static), or what tensor_scale has just found (dynamic).

Algorithm: a thread has several 128-bit accesses under way, then rounds and stores what is in its registers:

    mX (vectors, width)      block b: vectors of tile (tiles - 1 - b), a vector to a thread, `each` times
    rX (width, each) ─ · 1 / scale ─ round → rQ ─ 64-bit stores → mQ

Blocks begin at the tensor's end: whoever made or measured it has left its end in the L2 cache. Codes are the
nearest, ties to even; what lies beyond becomes ±448, or -128 and 127. A NaN is 0x7F as e4m3 and 0 as int8.

Units: scale in x a code. Traffic: count · (bytes of an element + 1).
Source of the technique: per-tensor quantisers of inference engines; tiled copies of CUTLASS's elementwise
examples.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float8E4M3FN, Float16, Float32, Int8, Int32, Int64, Numeric
from cutlass.cute.runtime import make_fake_stream, make_ptr


# -- block vector_width be5e683f9251
def vector_width(bits: int, *facts: int, access: int = 128) -> int:
    """Elements of one access of at most `access` bits (256 on sm_100); 1 where nothing wider is aligned."""
    width = max(1, access // bits)
    while any(fact % width for fact in facts):
        width //= 2
    return width


# -- end of vector_width
# -- block device_pointer 12983485f4af
ELEMENTS = {"bf16": BFloat16, "f16": Float16, "f32": Float32}


def address_of(x: Any) -> int:
    """The address in bytes of a CUDA tensor's first element, or a device address as it is."""
    return x if isinstance(x, int) else x.data_ptr()


def device_pointer(x: Any, kind: type[Numeric], width: int) -> Any:
    """A pointer to elements of `kind` in global memory that is aligned to `width` of them."""
    return make_ptr(kind, address_of(x), AddressSpace.gmem, assumed_align=width * kind.width // 8)


# -- end of device_pointer
# -- block fp8_convert ad48d1054ef4
E4M3_MAX = 448.0


def to_e4m3(values):
    """fp32 values as e4m3, saturating."""
    return values.to(Float8E4M3FN)


def from_e4m3(codes):
    """e4m3 codes as fp32."""
    return codes.to(Float32)


# -- end of fp8_convert
# -- block int8_convert 307023134ad5
INT8_MAX = 127.0


def to_int8(values, saturate: bool):
    """A vector of fp32 as int8."""
    whole = cute.math.roundeven(values).to(Int32)
    if saturate:
        whole = cute.where(whole > 127, cute.full_like(whole, 127), whole)
        whole = cute.where(whole < -128, cute.full_like(whole, -128), whole)
    return whole.to(Int8)


def from_int8(codes):
    """A vector of int8 as fp32, exact."""
    return codes.to(Float32)


# -- end of int8_convert
# -- block scaled_codes 58a848b3447f
# (element type, largest code) by name
CODES = {"e4m3": (Float8E4M3FN, E4M3_MAX), "int8": (Int8, INT8_MAX)}


def scale_of(most, kind: str):
    """The scale with which `most`, a positive fp32, gets the largest code."""
    return most / CODES[kind][1]


def codes_of(values, factor, kind: str, saturate: bool = False):
    """The codes of a vector of fp32 times `factor`. `saturate`: products may pass the largest code."""
    if kind == "e4m3":
        return to_e4m3(values * factor)
    return to_int8(values * factor, saturate)


# -- end of scaled_codes
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts

THREADS = 256
# (vectors for each thread of one block a multiprocessor up to which it holds, accesses of a thread)
VECTORS = ((1, 1), (1 << 30, 4))


@cute.kernel
def quantize_tensor_kernel(
    mX: cute.Tensor,
    mQ: cute.Tensor,
    mScale: cute.Tensor,
    kind: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    vectors, width = mX.shape
    tile = (vectors - 1) // (threads * each) - block
    first = tile * (threads * each) + thread
    layout = cute.make_layout(
        (width, each)
    )  # in the order of memory, so that neighbours are converted in pairs
    rX = cute.make_rmem_tensor(layout, mX.element_type)
    rQ = cute.make_rmem_tensor(layout, mQ.element_type)
    for j in cutlass.range_constexpr(each):
        # Beyond the end: the last vector again, whose codes are not stored twice.
        v = Int64(min(first + j * threads, vectors - 1))
        cute.autovec_copy(mX[v, None], rX[None, j])
    rQ.store(codes_of(rX.load().to(Float32), 1.0 / mScale[0], kind, True))
    for j in cutlass.range_constexpr(each):
        if first + j * threads < vectors:
            cute.autovec_copy(rQ[None, j], mQ[Int64(first + j * threads), None])


@cute.jit
def quantize_tensor_launch(
    pQ: cute.Pointer,
    pScale: cute.Pointer,
    pX: cute.Pointer,
    vectors: Int32,
    kind: cutlass.Constexpr,
    width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    layout = cute.make_layout((vectors, width), stride=(width, 1))
    mX, mQ = cute.make_tensor(pX, layout), cute.make_tensor(pQ, layout)
    mScale, span = cute.make_tensor(pScale, cute.make_layout(1)), threads * each
    quantize_tensor_kernel(mX, mQ, mScale, kind, threads, each).launch(
        grid=((vectors + span - 1) // span, 1, 1), block=(threads, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, kind, width, threads, each, capability):
    pX, pQ = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, CODES[kind][0], width)
    return cute.compile(
        quantize_tensor_launch, pQ, device_pointer(0, Float32, 1), pX, Int32(0),
        kind, width, threads, each, make_fake_stream(),
    )  # fmt: skip


def compile_quantize_tensor(dtype, kind, count, width=0, device=NO_DEVICE, each=0):
    """The compiled launcher for these facts; width 0 is the widest that `count` allows, `each` stands in for
    the plan's own number of accesses of a thread."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, count)
    each = each or min(n for most, n in VECTORS if count // width <= most * multiprocessors * THREADS)
    return _compiled(dtype, kind, width, THREADS, each, capability)


def quantize_tensor(
    q: torch.Tensor | int,
    scale: torch.Tensor | int,
    x: torch.Tensor | int,
    count: int,
    *,
    dtype: str,
    kind: str,
    stream: int | None = None,
) -> None:
    """Quantise `count` elements; `kind` is e4m3 or int8. Tensors or device addresses; `stream` defaults to
    torch's current one."""
    if count == 0:
        return
    element, code = ELEMENTS[dtype], CODES[kind][0]
    width = vector_width(element.width, count, address_of(x) * 8 // element.width, address_of(q))
    compile_quantize_tensor(dtype, kind, count, width, device_facts())(
        device_pointer(q, code, width), device_pointer(scale, Float32, 1), device_pointer(x, element, width),
        Int32(count // width),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
