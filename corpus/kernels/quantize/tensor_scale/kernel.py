"""The fp32 scale of a whole tensor for e4m3 or int8 codes: scale ← max(scale, max|x| / largest code).

Shapes: x is `count` contiguous elements, bf16, fp16 or fp32; scale is one fp32, never negative. It keeps what
it has where that is larger: fill it with the least scale before the first call. Calls for parts of a tensor,
or for batches of a calibration, add up. With quantize_tensor after it: dynamic quantisation in two launches.

Algorithm: a block walks over the tensor, several 128-bit accesses a thread at a time; its maximum goes into
scale by one atomic on the bits of the float, which order as integers do:

    mX (vectors, width) ─ block 0: tiles 0, B, 2B, …; block 1: 1, B + 1, … → max|x| ─ warp ─ block → atomicMax

Beyond the end threads read the last vector again, which changes no maximum: no predicates. In floats too
max(a / c, b / c) is max(a, b) / c, so that each block may divide. A NaN's bits lie above all: it stays.

Units: scale in x a code. Traffic: count · bytes of an element.
Source of the technique: grid-stride maxima of inference engines, atomicMax on bits of floats.
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
# -- block lane_reduce 2f92a86e78c1
@cute.jit
def lane_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result over each group of `lanes` (a power of two up to 32) lanes, in all of them."""
    for step in cutlass.range_constexpr(lanes.bit_length() - 1):
        value = operation(value, cute.arch.shuffle_sync_bfly(value, lanes >> (step + 1)))
    return value


# -- end of lane_reduce
# -- block row_absmax 826a3946fb3d
def larger(a, b):
    """The larger of two integers."""
    return cutlass.max(a, b)


@cute.jit
def row_absmax(values, least: cutlass.Constexpr, lanes: cutlass.Constexpr, sPart):
    """Largest |x| of the fp32 vectors `values` of the `lanes` threads of a row, no less than `least`, in all
    of them. `sPart` holds a warp's Int32 each; it is not used up to 32 lanes."""
    most = Float32(cute.math.abs(values).reduce(cute.ReductionOp.MAX, least, 0)).bitcast(Int32)
    if cutlass.const_expr(lanes < 32):
        most = lane_reduce(most, larger, lanes)
    else:
        most = Int32(cute.arch.warp_redux_sync(most, "max"))
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        if lane == 0:
            sPart[warp] = most
        cute.arch.sync_threads()
        most = Int32(cute.arch.warp_redux_sync(sPart[warp // warps * warps + lane % warps], "max"))
    return most.bitcast(Float32)


# -- end of row_absmax
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

THREADS, BLOCKS = 256, 4  # of a block, of a multiprocessor
# (vectors for each thread of one block a multiprocessor up to which it holds, accesses of a thread at a time)
VECTORS = ((1, 1), (1 << 30, 4))


@cute.kernel
def tensor_scale_kernel(
    mX: cute.Tensor,
    mScale: cute.Tensor,
    stride: Int32,
    kind: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    vectors, width = mX.shape
    sPart = cute.make_tensor(cute.arch.alloc_smem(Int32, threads // 32, 16), cute.make_layout(threads // 32))
    rX = cute.make_rmem_tensor(cute.make_layout((width, each)), mX.element_type)
    rMost = cute.make_rmem_tensor(cute.make_layout(1), Float32)

    first, bits = block * (threads * each), Int32(0)
    while first < vectors:
        for j in cutlass.range_constexpr(each):
            v = Int64(min(first + j * threads + thread, vectors - 1))
            cute.autovec_copy(mX[v, None], rX[None, j])
        most = Float32(cute.math.abs(rX.load().to(Float32)).reduce(cute.ReductionOp.MAX, 0.0, 0))
        bits = cutlass.max(bits, most.bitcast(Int32))
        first += stride
    rMost[0] = bits.bitcast(Float32)
    most = row_absmax(rMost.load(), 0.0, threads, sPart)
    if thread == 0:
        cute.arch.atomic_max(mScale.iterator, scale_of(most, kind).bitcast(Int32))


@cute.jit
def tensor_scale_launch(
    pScale: cute.Pointer,
    pX: cute.Pointer,
    vectors: Int32,
    blocks: Int32,
    kind: cutlass.Constexpr,
    width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = cute.make_tensor(pX, cute.make_layout((vectors, width), stride=(width, 1)))
    mScale = cute.make_tensor(pScale, cute.make_layout(1))
    tensor_scale_kernel(mX, mScale, blocks * (threads * each), kind, threads, each).launch(
        grid=(blocks, 1, 1), block=(threads, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, kind, width, threads, each, capability):
    pX = device_pointer(0, ELEMENTS[dtype], width)
    return cute.compile(
        tensor_scale_launch, device_pointer(0, Int32, 1), pX, Int32(0), Int32(0),
        kind, width, threads, each, make_fake_stream(),
    )  # fmt: skip


def plan_of(count, width, multiprocessors):
    """(accesses of a thread at a time, blocks)."""
    vectors = count // width
    each = min(n for most, n in VECTORS if vectors <= most * multiprocessors * THREADS)
    return each, min(-(-vectors // (THREADS * each)), multiprocessors * BLOCKS)


def compile_tensor_scale(dtype, kind, count, width=0, device=NO_DEVICE):
    """The compiled launcher for these facts; width 0 is the widest that `count` allows."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, count)
    each, _ = plan_of(count, width, multiprocessors)
    return _compiled(dtype, kind, width, THREADS, each, capability)


def tensor_scale(
    scale: torch.Tensor | int,
    x: torch.Tensor | int,
    count: int,
    *,
    dtype: str,
    kind: str,
    stream: int | None = None,
) -> None:
    """Raise `scale` to what `count` elements need; `kind` is e4m3 or int8. Tensors or device addresses;
    `stream` defaults to torch's current one."""
    if count == 0:
        return
    element, device = ELEMENTS[dtype], device_facts()
    width = vector_width(element.width, count, address_of(x) * 8 // element.width)
    _, blocks = plan_of(count, width, device[0])
    compile_tensor_scale(dtype, kind, count, width, device)(
        device_pointer(scale, Int32, 1), device_pointer(x, element, width),
        Int32(count // width), Int32(blocks),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
