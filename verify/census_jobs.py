"""The worker's job that lists what one call of a port puts on its stream. Child side only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verify.buffers import run_once
from verify.device import CudaDevice, DeviceError
from verify.device_jobs import HELD, call_port, case_of
from verify.jobs import Emit, JobError


def census(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Capture one call of the loaded port: `kernels` are the names of those it launches on the stream that it
    is given, `others` what else it does there with the caller's buffers. JobError CP7041 where it can't be
    captured: then it does more than launch."""
    spec, resolved, inputs = case_of(HELD.spec, job)
    device, path = HELD.device, Path(job["module"])
    assert HELD.buffers is not None
    found: dict[str, list[str]] = {}

    def launch(addresses: dict[str, int]) -> None:
        def call() -> None:
            call_port(HELD.entry, spec, resolved, addresses, device.stream, path)

        call()  # once as ever: what is compiled and loaded then is not captured
        device.synchronize()
        ranges = [
            (at, at + resolved.elems[a.name] * a.element_bytes)
            for a in spec.buffers
            for at in [addresses[a.name]]
        ]
        found.update(_captured(device, call, ranges))

    try:
        run_once(HELD.buffers, spec, resolved, inputs, 0, launch)
    except DeviceError as e:
        raise JobError("CP7041", f"one call can't be captured: {e}") from e
    return found


def _captured(device: CudaDevice, call: Any, ranges: list[tuple[int, int]]) -> dict[str, list[str]]:
    api, stream = device.api, device.stream
    device.call("cuStreamBeginCapture", stream, api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
    try:
        call()
    except BaseException:
        api.cuStreamEndCapture(stream)
        raise
    graph = device.call("cuStreamEndCapture", stream)
    kernels: list[str] = []
    others: list[str] = []
    try:
        for node in _nodes(device, graph):
            kind = device.call("cuGraphNodeGetType", node)
            if kind == api.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL:
                kernels.append(_kernel(device, node))
            elif kind != api.CUgraphNodeType.CU_GRAPH_NODE_TYPE_MEMCPY or _reaches(device, node, ranges):
                others.append(str(getattr(kind, "name", kind)).removeprefix("CU_GRAPH_NODE_TYPE_").lower())
    finally:
        device.call("cuGraphDestroy", graph)
    return {"kernels": kernels, "others": others}


def _nodes(device: CudaDevice, graph: Any) -> list[Any]:
    counted = device.call("cuGraphGetNodes", graph, 0)
    count = int(counted[1] if isinstance(counted, tuple) else counted)
    if not count:
        return []
    listed = device.call("cuGraphGetNodes", graph, count)
    return list(listed[0] if isinstance(listed, tuple) else listed)[:count]


def _kernel(device: CudaDevice, node: Any) -> str:
    p = device.call("cuGraphKernelNodeGetParams", node)
    name = device.call("cuFuncGetName", p.func) if int(p.func) else device.call("cuKernelGetName", p.kern)
    return bytes(name).decode(errors="replace") if not isinstance(name, str) else name


def _reaches(device: CudaDevice, node: Any, ranges: list[tuple[int, int]]) -> bool:
    """Whether a copy writes to a buffer of the caller's; constants of the port's own module are no such."""
    to = int(device.call("cuGraphMemcpyNodeGetParams", node).dstDevice)
    return any(start <= to < end for start, end in ranges)


HANDLERS = {"census": census}
