"""A small target folder for the tests of verify, written by the test that needs it."""

from __future__ import annotations

from pathlib import Path

DEVICE_CU = """
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""
SPEC = """
schema = 1
name = "saxpy"
[original]
source = "original/device.cu"
kernel = "saxpy"
[port]
module = "port.py"
entry = "saxpy"
[launch]
grid = ["(n + 255) / 256", "1", "1"]
block = ["256", "1", "1"]
smem = "0"
[[arg]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[[arg]]
name = "a"
kind = "scalar"
dtype = "float32"
value = 2.5
[[arg]]
name = "x"
kind = "buffer"
dtype = "float32"
elems = "n"
role = "in"
[[arg]]
name = "y"
kind = "buffer"
dtype = "float32"
elems = "n"
role = "inout"
[[case]]
name = "empty"
sizes = { n = 0 }
role = "boundary"
[[case]]
name = "one"
sizes = { n = 1 }
role = "boundary"
[[case]]
name = "typical"
sizes = { n = 1009 }
"""
PORT = '''"""saxpy in CuTe DSL."""

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from cutlass import Constexpr, Float32, Int32

GMEM = cutlass.AddressSpace.gmem
FloatPtr = cutlass.Pointer[Float32, GMEM]
COMPILED = {}


@cute.kernel
def saxpy_kernel(n: Int32, a: Float32, x: FloatPtr, y: FloatPtr):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    d, _, _ = cute.arch.block_dim()
    i = b * d + t
    if i < n:
        y[i] = a * x[i] + y[i]


@cute.jit
def saxpy_launch(n: Int32, a: Float32, x: FloatPtr, y: FloatPtr, gx: Int32, gy: Int32, gz: Int32,
                 block: Constexpr, smem: Int32, stream: CUstream):
    saxpy_kernel(n, a, x, y).launch(grid=(gx, gy, gz), block=block, smem=smem, stream=stream)


def pointer(p):
    address = p if isinstance(p, int) else p.data_ptr()
    return cute.runtime.make_ptr(Float32, address, GMEM, assumed_align=4)


def compile_saxpy(block=(256, 1, 1)):
    if block not in COMPILED:
        COMPILED[block] = cute.compile(
            saxpy_launch, Int32(0), Float32(0), pointer(1024), pointer(1024), Int32(1), Int32(1), Int32(1),
            block, Int32(0), cute.runtime.make_fake_stream())
    return COMPILED[block]


def saxpy(n, a, x, y, *, grid=None, block=(256, 1, 1), smem=0, stream=None):
    grid = grid or ((n + 255) // 256, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_saxpy(block)(Int32(n), Float32(a), pointer(x), pointer(y), Int32(grid[0]), Int32(grid[1]),
                         Int32(grid[2]), Int32(smem), CUstream(stream))
'''


def write_target(folder: Path, port: str = PORT, spec: str = SPEC, device: str = DEVICE_CU) -> Path:
    """A target folder with the given parts."""
    (folder / "original").mkdir(parents=True)
    (folder / "original/device.cu").write_text(device)
    (folder / "spec.toml").write_text(spec)
    (folder / "port.py").write_text(port)
    return folder
