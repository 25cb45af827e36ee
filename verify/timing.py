"""Kernel time of port and original in one process: interleaved, cold L2, graph replays for short kernels.

Child side only; it returns raw samples, the parent draws the conclusions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from verify.buffers import poison_byte
from verify.device import Arguments, Bytes, CudaDevice, DeviceError, load_image
from verify.resolve import Resolved
from verify.spec import Spec

_SHORT_US = 100.0  # below this, events around one launch called from Python measure the gaps
_SAMPLE_US = 300.0  # a graph holds enough launches to last about this long
_MOST_LAUNCHES = 256
_MOST_SETS = 64
_WARM_US = 300_000.0  # lets the clocks rise from idle
_BUDGET_US = 1_500_000.0
_ROUNDS = (12, 60)  # least, most; a round is A B B A


# Reads `count` vectors of 16 bytes. Filling the L2 by reading leaves clean lines there; a memset would leave
# dirty ones, whose writing back the next kernel would pay for. The store never happens: the memory is zero.
_SWEEP = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry sweep(.param .u64 base, .param .u64 count)
{
    .reg .pred %p<3>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [base];
    ld.param.u64 %rd2, [count];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    cvt.u64.u32 %rd3, %r4;
    mov.u32 %r5, %nctaid.x;
    mul.lo.u32 %r6, %r5, %r2;
    cvt.u64.u32 %rd4, %r6;
    mov.u32 %r7, 0;
LOOP:
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra DONE;
    shl.b64 %rd5, %rd3, 4;
    add.u64 %rd6, %rd1, %rd5;
    ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd6];
    or.b32 %r7, %r7, %r8;
    or.b32 %r7, %r7, %r9;
    or.b32 %r7, %r7, %r10;
    or.b32 %r7, %r7, %r11;
    add.u64 %rd3, %rd3, %rd4;
    bra LOOP;
DONE:
    setp.ne.u32 %p2, %r7, 1592680173;
    @%p2 bra END;
    st.global.u32 [%rd1], %r7;
END:
    ret;
}
"""
_SWEEP_SHAPE = (1024, 1, 1, 256, 1, 1)


@dataclass(slots=True)
class Raw:
    """Microseconds per launch, one number per sample."""

    port: list[float] = field(default_factory=list)
    original: list[float] = field(default_factory=list)
    method: str = ""
    launches: int = 1
    sets: int = 1
    set_bytes: int = 0
    nodes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class Sets:
    """Several copies of all buffers, so that together they are larger than twice the L2."""

    def __init__(
        self, device: CudaDevice, spec: Spec, resolved: Resolved, inputs: dict[str, Bytes], l2: int
    ) -> None:
        self.device = device
        self.spec = spec
        self.sizes = {a.name: resolved.elems[a.name] * a.element_bytes for a in spec.buffers}
        self.bytes = sum(self.sizes.values())
        wanted = math.ceil(2.5 * l2 / max(1, self.bytes))
        room = int(device.free_memory() * 0.6) // max(1, self.bytes) - 1
        self.count = max(1, min(max(2, wanted), _MOST_SETS, room))
        self.pristine = {n: self._made(n, inputs[n]) for n in inputs}
        self.addresses: list[dict[str, int]] = []
        for _ in range(self.count):
            at = {n: device.alloc(size + 256) for n, size in self.sizes.items()}
            self.addresses.append(at)
        self.restore(everything=True)
        for i in range(self.count):
            self.poison(i)
        device.synchronize()

    def _made(self, name: str, data: Bytes) -> int:
        at = self.device.alloc(self.sizes[name] + 256)
        self.device.upload(at, data)
        return at

    def restore(self, everything: bool = False, stream: Any = None) -> None:
        """Copy the first values back: into inout buffers, or into all inputs."""
        for at in self.addresses:
            for arg in self.spec.buffers:
                if arg.role == "inout" or (everything and arg.role == "in"):
                    source, size = self.pristine[arg.name], self.sizes[arg.name]
                    if size and stream is not None:
                        self.device.call("cuMemcpyDtoDAsync", at[arg.name], source, size, stream)
                    else:
                        self.device.copy(at[arg.name], source, size)

    def poison(self, index: int) -> None:
        for arg in self.spec.buffers:
            if arg.role == "out":
                at = self.addresses[index][arg.name]
                self.device.fill(at, poison_byte(arg, 0), self.sizes[arg.name])

    def outputs(self, index: int) -> dict[str, Bytes]:
        return {
            a.name: self.device.download(self.addresses[index][a.name], self.sizes[a.name])
            for a in self.spec.buffers
            if a.role != "in"
        }

    def close(self) -> None:
        for at in (*self.addresses, self.pristine):
            for address in at.values():
                self.device.free(address)


Enqueue = Callable[[int], None]  # launch once on the device's stream, on buffer set i


class Timer:
    """Measures two enqueue functions against each other."""

    def __init__(self, device: CudaDevice, sets: Sets, l2: int) -> None:
        self.device = device
        self.sets = sets
        self.inout = any(a.role == "inout" for a in sets.spec.buffers)
        self.flush_bytes = max(2 * l2, 64 << 20)
        self.flush_at = device.alloc(self.flush_bytes)
        device.fill(self.flush_at, 0, self.flush_bytes)
        self._sweep = device.call("cuModuleGetFunction", load_image(device, _SWEEP + b"\0"), b"sweep")
        words = (self.flush_at, self.flush_bytes // 16)
        self._sweep_arguments = Arguments([w.to_bytes(8, "little") for w in words])
        self.start = self._event()
        self.end = self._event()

    def _event(self) -> Any:
        return self.device.call("cuEventCreate", 0)

    def _flush(self, times: int = 1) -> None:
        """Fill the L2 with other, clean lines; also the work that keeps the host ahead of the device."""
        table = self._sweep_arguments.address
        for _ in range(times):
            self.device.call("cuLaunchKernel", self._sweep, *_SWEEP_SHAPE, 0, self.device.stream, table, 0)

    def _elapsed_us(self, start: Any, end: Any) -> float:
        return float(self.device.call("cuEventElapsedTime", start, end)) * 1000.0

    def estimate_us(self, enqueue: Enqueue) -> float:
        """About how long one launch takes, host gaps included."""
        enqueue(0)
        self.device.synchronize()
        best = math.inf
        for i in range(4):
            self.sets.restore(stream=self.device.stream)
            self._flush(4)
            self.device.call("cuEventRecord", self.start, self.device.stream)
            enqueue(i % self.sets.count)
            self.device.call("cuEventRecord", self.end, self.device.stream)
            self.device.synchronize()
            best = min(best, self._elapsed_us(self.start, self.end))
        return max(best, 0.5)

    def capture(self, enqueue: Enqueue, launches: int) -> tuple[Any, int]:
        """An executable graph of `launches` launches over the sets, and how many nodes it has."""
        api, stream = self.device.api, self.device.stream
        mode = api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self.device.call("cuStreamBeginCapture", stream, mode)
        try:
            for i in range(launches):
                enqueue(i % self.sets.count)
        except BaseException:
            self.device.api.cuStreamEndCapture(stream)
            raise
        graph = self.device.call("cuStreamEndCapture", stream)
        executable = self.device.call("cuGraphInstantiate", graph, 0)
        return executable, self._node_count(graph)

    def _node_count(self, graph: Any) -> int:
        found = self.device.call("cuGraphGetNodes", graph, 0)
        return int(found[1]) if isinstance(found, tuple) else int(found)

    def measure(self, sides: dict[str, Enqueue]) -> tuple[Raw, dict[str, Callable[[], None]]]:
        """Raw samples of `port` and `original`, and for each the thing that was timed, to run once more."""
        raw = Raw(sets=self.sets.count, set_bytes=self.sets.bytes)
        guess = {name: self.estimate_us(enqueue) for name, enqueue in sides.items()}
        raw.launches = self._launches(min(guess.values()))
        lead = 1
        try:
            play = self._graphs(sides, raw)
            raw.method = "CUDA graph replays"
        except DeviceError as e:
            # Single launches then: the work in front must be long enough to hide the slow call from Python.
            raw.notes.append(f"graph capture failed ({e})")
            raw.method, raw.launches, lead = "single launches behind a backlog", 1, 6
            play = {name: partial(enqueue, 0) for name, enqueue in sides.items()}
            if min(guess.values()) < _SHORT_US:
                raw.notes.append("kernels this short can't be timed one by one: host gaps are in the times")
        if self.sets.count * self.sets.bytes < self.flush_bytes:
            raw.notes.append("all buffer sets together fit in the L2: warm within a sample")
        self._warm(play, guess, raw.launches)
        self._rounds(play, guess, raw, lead)
        return raw, play

    def _launches(self, guess_us: float) -> int:
        wanted = min(_MOST_LAUNCHES, max(1, math.ceil(_SAMPLE_US / guess_us)))
        # Launching twice on one inout set would time the kernel on its own results.
        return min(wanted, self.sets.count) if self.inout else wanted

    def _graphs(self, sides: dict[str, Enqueue], raw: Raw) -> dict[str, Callable[[], None]]:
        stream = self.device.stream

        play: dict[str, Callable[[], None]] = {}
        for name, enqueue in sides.items():
            executable, raw.nodes[name] = self.capture(enqueue, raw.launches)
            play[name] = partial(self.device.call, "cuGraphLaunch", executable, stream)
        return play

    def _warm(self, play: dict[str, Callable[[], None]], guess: dict[str, float], launches: int) -> None:
        once = sum(guess.values()) * launches
        for _ in range(max(2, min(500, int(_WARM_US / once)))):
            for run in play.values():
                # A kernel fed with its own results may take another path, or never end.
                self.sets.restore(stream=self.device.stream)
                run()
        self.device.synchronize()

    def _rounds(
        self, play: dict[str, Callable[[], None]], guess: dict[str, float], raw: Raw, lead: int
    ) -> None:
        per_round = 2 * sum(guess.values()) * raw.launches
        rounds = max(_ROUNDS[0], min(_ROUNDS[1], int(_BUDGET_US / per_round)))
        first, second = "port", "original"
        for _ in range(rounds):
            order = [first, second, second, first]
            pairs = [(name, self._event(), self._event()) for name in order]
            self._flush(4)
            for name, start, end in pairs:
                self.sets.restore(stream=self.device.stream)
                self._flush(lead)
                self.device.call("cuEventRecord", start, self.device.stream)
                play[name]()
                self.device.call("cuEventRecord", end, self.device.stream)
            self.device.synchronize()
            for name, start, end in pairs:
                getattr(raw, name).append(self._elapsed_us(start, end) / raw.launches)
                self.device.call("cuEventDestroy", start)
                self.device.call("cuEventDestroy", end)
            first, second = second, first
