"""A weighted sum of neighbours: out[i] = Σ weights[k + radius] · x[i + k] for |k| ≤ radius, zeros outside x.

Shapes: x and out are `count` contiguous elements, fp32, bf16 or fp16, and may not overlap; weights are
2 · radius + 1 fp32. radius is a compile-time constant; 1 to 8 is what it is tuned for. Any count is right,
even ones of whole vectors are faster.

Algorithm: a block brings its tile and what lies beside it into shared memory by vectors; then each thread
reads the vectors around one of its own:

    sX (reach + threads · each + reach, width)      reach: vectors that cover the radius

    thread's vector  v      window  │ v - reach … v - 1 │ v │ v + 1 … v + reach │ → width sums in fp32

Neighbours outside x are zeros by the predicate of the load. Sums go from left to right, as the weights stand.

Units: elements. Traffic: 2 · count · bytes of an element; the neighbours of a tile come out of the L2 cache.
Source of the technique: stencils with a halo in shared memory of CUDA's tutorials, by vectors.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int16, Int32, Int64, Numeric
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
# -- block load_if 88c0167c5857
@cute.jit
def load_if(tXgX: cute.Tensor, exists):
    """A thread's one access `tXgX` of global memory in registers; zeros where `exists` does not hold."""
    tXrX = cute.make_fragment_like(tXgX)
    bits = cute.size(tXgX) * tXgX.element_type.width
    word = Int32 if cutlass.const_expr(bits >= 32) else Int16
    count = bits // word.width
    rW = cute.make_tensor(cute.recast_ptr(tXrX.iterator, dtype=word), cute.make_layout(count))
    names = ["{$w" + str(k) + "}" for k in range(count)]
    vector = "{" + ", ".join(names) + "}" if cutlass.const_expr(count > 1) else names[0]
    size = f"b{word.width}" if cutlass.const_expr(count == 1) else f"v{count}.b32"
    zeros = " ".join(f"mov.b{word.width} {name}, 0;" for name in names)
    code = f"setp.ne.s32 p, {{$r1}}, 0; {zeros} @p ld.global.nc.{size} {vector}, [{{$r0}}];"
    loaded = cute.arch.inline_ptx(
        "{ .reg .pred p; " + code + " }",
        write_only_types=[word] * count,
        read_only_args=[tXgX.iterator, Int32(exists)],
    )
    for k in cutlass.range_constexpr(count):
        rW[k] = loaded[k] if cutlass.const_expr(count > 1) else loaded
    return tXrX


# -- end of load_if
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
# (vectors for each multiprocessor up to which it holds, vectors of a thread)
VECTORS = ((256, 1), (1 << 62, 2))


@cute.kernel
def stencil_1d_kernel(
    mX: cute.Tensor,
    mW: cute.Tensor,
    mO: cute.Tensor,
    reach: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (vectors, width), kind, taps = mX.shape, mX.element_type, cute.size(mW)
    span = threads * each + 2 * reach
    sX = cute.make_tensor(
        cute.arch.alloc_smem(kind, span * width, 16), cute.make_layout((span, width), stride=(width, 1))
    )
    first = Int64(block) * (threads * each)
    weights = [mW[k] for k in range(taps)]
    rounds = (span + threads - 1) // threads
    at = [first + thread + j * threads - reach for j in range(rounds)]
    rX = [load_if(mX[at[j], None], (at[j] >= 0) & (at[j] < vectors)) for j in range(rounds)]
    for j in cutlass.range_constexpr(rounds):
        if thread + j * threads < span:
            cute.autovec_copy(rX[j], sX[thread + j * threads, None])
    cute.arch.sync_threads()

    for j in cutlass.range_constexpr(each):
        rN = cute.make_rmem_tensor(cute.make_layout((2 * reach + 1, width), stride=(width, 1)), kind)
        for k in cutlass.range_constexpr(2 * reach + 1):
            cute.autovec_copy(sX[thread + j * threads + k, None], rN[k, None])
        rO = cute.make_rmem_tensor(width, kind)
        for i in cutlass.range_constexpr(width):
            total, start = Float32(0.0), reach * width + i - taps // 2
            for k in cutlass.range_constexpr(taps):
                total += weights[k] * Float32(rN[(start + k) // width, (start + k) % width])
            rO[i] = kind(total)
        if first + thread + j * threads < vectors:
            cute.autovec_copy(rO, mO[first + thread + j * threads, None])


@cute.jit
def stencil_1d_launch(
    pO: cute.Pointer,
    pX: cute.Pointer,
    pW: cute.Pointer,
    vectors: Int64,
    radius: cutlass.Constexpr,
    width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mO = (cute.make_tensor(p, cute.make_layout((vectors, width), stride=(width, 1))) for p in (pX, pO))
    mW = cute.make_tensor(pW, cute.make_layout(2 * radius + 1))
    tile = threads * each
    stencil_1d_kernel(mX, mW, mO, (radius + width - 1) // width, threads, each).launch(
        grid=(Int32((vectors + tile - 1) // tile), 1, 1), block=(threads, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, radius, width, threads, each, capability):
    pX, pW = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, Float32, 1)
    return cute.compile(
        stencil_1d_launch, pX, pX, pW, Int64(0), radius, width, threads, each, make_fake_stream()
    )


def compile_stencil_1d(dtype, count, radius, width=0, device=NO_DEVICE):
    """The compiled launcher for these facts; width 0 is the widest that `count` allows."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, count)
    each = min(n for most, n in VECTORS if count <= most * multiprocessors * width)
    return _compiled(dtype, radius, width, THREADS, each, capability)


def stencil_1d(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    weights: torch.Tensor | int,
    count: int,
    radius: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Weighted sums of the neighbours of `count` elements. Tensors or device addresses; `stream` defaults to
    torch's current one."""
    if count == 0:
        return
    kind = ELEMENTS[dtype]
    width = vector_width(kind.width, count, *(address_of(t) * 8 // kind.width for t in (out, x)))
    compile_stencil_1d(dtype, count, radius, width, device_facts())(
        device_pointer(out, kind, width), device_pointer(x, kind, width), device_pointer(weights, Float32, 1),
        Int64(count // width),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
