"""CuTe DSL port of `particle_step`."""

# CUDA: particle_step.cu:27-50

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Array, Float32, Int32, Int64, Numeric, Pointer
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem


def axes(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    """A grid or block size as three numbers."""
    x, y, z = (*((size,) if isinstance(size, int) else size), 1, 1)[:3]
    return x, y, z


def block_extent() -> tuple[Int32, Int32, Int32]:
    """blockDim; cute.arch.block_dim() lets the compiler take its axes for less than 1024, 1024 and 64."""
    read = "llvm.nvvm.read.ptx.sreg.ntid"
    x, y, z = (llvm.call_intrinsic(Int32.mlir_type, f"{read}.{axis}", [], [], []) for axis in "xyz")
    return Int32(x), Int32(y), Int32(z)


def device_pointer(x: Any, kind: type[Numeric]) -> Pointer:
    """A CUDA tensor's memory, a raw device address, or None for null, as a pointer to `kind`."""
    if not isinstance(x, int) and x is not None and not x.is_cuda:
        raise ValueError("the kernel needs a tensor in GPU memory")
    address = 0 if x is None else x if isinstance(x, int) else x.data_ptr()
    return make_ptr(kind, address, AddressSpace.gmem, assumed_align=max(1, kind.width // 8))


def load_vector(p: Pointer, count: int, align: int) -> tuple[Numeric, ...]:
    """`count` scalars from p on, which is aligned to `align` bytes."""
    v = p.load(count=count, alignment=align)
    return tuple(v[k] for k in range(count))


def store_vector(p: Pointer, values: tuple[Numeric, ...], align: int) -> None:
    """The scalars to p and on, which is aligned to `align` bytes."""
    v = Array(p.dtype, len(values))
    for k in range(len(values)):
        v[k] = values[k]
    p.store(v[0 : len(values)], alignment=align)


# force of a soft wall on one coordinate
@cute.jit
def wall(c, half_box, stiffness):
    result = Float32(0.0)
    if c > half_box:
        result = -stiffness * (c - half_box)
    elif c < -half_box:
        result = -stiffness * (c + half_box)
    else:
        result = Float32(0.0)
    return result


# pos.w is the inverse mass, vel.w is unused and kept
@cute.kernel
def particle_step_kernel(
    pos: cutlass.Pointer[Float32, gmem],
    vel: cutlass.Pointer[Float32, gmem],
    p_dt: Float32,
    p_gravity: Float32,
    p_damping: Float32,
    p_half_box: Float32,
    p_stiffness: Float32,
    p_count: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = tidx + bidx * bdimx
    if i < p_count:
        x_x, x_y, x_z, x_w = load_vector(pos + Int64(i) * 4, 4, 16)
        v_x, v_y, v_z, v_w = load_vector(vel + Int64(i) * 4, 4, 16)
        im = x_w
        v_x = v_x + p_dt * im * wall(x_x, p_half_box, p_stiffness)
        v_y = v_y + p_dt * (im * wall(x_y, p_half_box, p_stiffness) - p_gravity)
        v_z = v_z + p_dt * im * wall(x_z, p_half_box, p_stiffness)
        v_x = v_x * p_damping
        v_y = v_y * p_damping
        v_z = v_z * p_damping
        x_x = x_x + v_x * p_dt
        x_y = x_y + v_y * p_dt
        x_z = x_z + v_z * p_dt
        store_vector(pos + Int64(i) * 4, (x_x, x_y, x_z, x_w), 16)
        store_vector(vel + Int64(i) * 4, (v_x, v_y, v_z, v_w), 16)


@cute.jit
def particle_step_launch(
    pos: cutlass.Pointer[Float32, gmem],
    vel: cutlass.Pointer[Float32, gmem],
    p_dt: Float32,
    p_gravity: Float32,
    p_damping: Float32,
    p_half_box: Float32,
    p_stiffness: Float32,
    p_count: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    particle_step_kernel(pos, vel, p_dt, p_gravity, p_damping, p_half_box, p_stiffness, p_count).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_particle_step(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        particle_step_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Float32(0),
        Float32(0),
        Float32(0),
        Float32(0),
        Float32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def particle_step(
    pos: torch.Tensor | int | None,
    vel: torch.Tensor | int | None,
    p_dt: float,
    p_gravity: float,
    p_damping: float,
    p_half_box: float,
    p_stiffness: float,
    p_count: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `particle_step` (particle_step.cu:27).

    The original's launch: grid ((p.count + 256 - 1) / 256, 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((p_count + 255) // 256, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_particle_step(axes(block))(
        device_pointer(pos, Float32),
        device_pointer(vel, Float32),
        Float32(p_dt),
        Float32(p_gravity),
        Float32(p_damping),
        Float32(p_half_box),
        Float32(p_stiffness),
        Int32(p_count),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
