"""What a device reaches at most, measured: reading, copying and filling memory, and arithmetic. Child side
only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.device import Arguments, CudaDevice, load_image
from verify.sweep import Sweep

_BYTES = 2 << 30  # per buffer, far more than any L2
_REPEATS = 8
_CHAINS = 8  # independent chains of fused multiply-adds per thread: enough to fill the pipeline
_UNROLLED = 16
_TURNS = 2000
_THREADS = 256
_BLOCKS_PER_SM = 8
_MATRIX = 8192


def _fma_ptx() -> bytes:
    """A kernel of nothing but single-precision fused multiply-adds; its store never happens."""
    registers = [f"%f{i}" for i in range(_CHAINS)]
    start = [f"    mov.f32 {r}, 0f3F80000{i};" for i, r in enumerate(registers)]
    step = [f"    fma.rn.f32 {r}, {r}, %fa, %fb;" for r in registers] * _UNROLLED
    total = [f"    add.f32 %f0, %f0, {r};" for r in registers[1:]]
    lines = [
        ".version 7.0", ".target sm_70", ".address_size 64",
        ".visible .entry fma(.param .u64 at, .param .u32 turns)", "{",
        "    .reg .pred %p<3>;", "    .reg .b32 %r<4>;", "    .reg .b64 %rd<2>;",
        f"    .reg .f32 %f<{_CHAINS}>;", "    .reg .f32 %fa;", "    .reg .f32 %fb;",
        "    ld.param.u64 %rd1, [at];", "    ld.param.u32 %r1, [turns];", "    mov.u32 %r2, 0;",
        "    mov.f32 %fa, 0f3F7FFFF0;", "    mov.f32 %fb, 0f33800000;", *start,
        "LOOP:", *step,
        "    add.u32 %r2, %r2, 1;", "    setp.lt.u32 %p1, %r2, %r1;", "    @%p1 bra LOOP;", *total,
        "    setp.gt.f32 %p2, %f0, 0f7E967699;", "    @!%p2 bra END;", "    st.global.f32 [%rd1], %f0;",
        "END:", "    ret;", "}", "",
    ]  # fmt: skip
    return "\n".join(lines).encode()


def measure_ceilings(device: CudaDevice, matrix: bool = False) -> dict[str, Any]:
    """CeilingFacts as a dict, the best of several runs each: GB/s of reading, of copying (read and written)
    and of filling, TFLOP/s of float32 fused multiply-adds and, with `matrix`, of a bfloat16 matrix product by
    torch."""
    left_out: dict[str, str] = {}
    best = _Best(device)
    size = min(_BYTES, device.free_memory() // 4) // 4096 * 4096
    found: dict[str, Any] = {"bytes": size}
    sweep = Sweep(device, size)
    other = device.alloc(size)
    try:
        found["read_gbytes_per_s"] = _rate(size, best.us(sweep.enqueue)) / 1e3
        stream = device.stream
        copy = best.us(lambda: device.call("cuMemcpyDtoDAsync", other, sweep.address, size, stream))
        found["copy_gbytes_per_s"] = _rate(2 * size, copy) / 1e3
        fill = best.us(lambda: device.call("cuMemsetD32Async", other, 0x3F800000, size // 4, stream))
        found["fill_gbytes_per_s"] = _rate(size, fill) / 1e3
        found["fma_tflops"] = _fma(device, best, other) / 1e6
    finally:
        sweep.close()
        device.free(other)
    if matrix:
        try:
            found["matrix_tflops"] = _matrix() / 1e6
        except Exception as e:  # whatever a missing torch, or one without this GPU, raises
            left_out["matrix_tflops"] = (
                f"torch: {str(e).splitlines()[0][:200] if str(e) else type(e).__name__}"
            )
    else:
        left_out["matrix_tflops"] = "no kernel asked for it"
    return {**{k: round(v, 2) for k, v in found.items()}, "left_out": left_out}


def _rate(amount: float, us: float) -> float:
    """Amount per microsecond."""
    return amount / us


class _Best:
    """The shortest time of what is put on the device's stream."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device
        self.start = device.call("cuEventCreate", 0)
        self.end = device.call("cuEventCreate", 0)

    def us(self, enqueue: Callable[[], Any]) -> float:
        times = []
        for _ in range(_REPEATS + 1):
            self.device.call("cuEventRecord", self.start, self.device.stream)
            enqueue()
            self.device.call("cuEventRecord", self.end, self.device.stream)
            self.device.synchronize()
            times.append(float(self.device.call("cuEventElapsedTime", self.start, self.end)) * 1000.0)
        return min(times[1:])  # the first one warms up


def _fma(device: CudaDevice, best: _Best, at: int) -> float:
    """Operations per microsecond."""
    kernel = device.call("cuModuleGetFunction", load_image(device, _fma_ptx() + b"\0"), b"fma")
    arguments = Arguments([at.to_bytes(8, "little"), _TURNS.to_bytes(4, "little")])
    blocks = device.attribute("MULTIPROCESSOR_COUNT") * _BLOCKS_PER_SM
    shape = (blocks, 1, 1, _THREADS, 1, 1)
    us = best.us(
        lambda: device.call("cuLaunchKernel", kernel, *shape, 0, device.stream, arguments.address, 0)
    )
    return _rate(2.0 * _CHAINS * _UNROLLED * _TURNS * blocks * _THREADS, us)


def _matrix() -> float:
    """Operations per microsecond of a bfloat16 product of random matrices, summed in float32."""
    import torch

    a, b = (torch.randn(_MATRIX, _MATRIX, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    times = []
    for _ in range(_REPEATS + 1):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        torch.mm(a, b)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1000.0)
    return _rate(2.0 * _MATRIX**3, min(times[1:]))
