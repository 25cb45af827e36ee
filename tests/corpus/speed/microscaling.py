"""MXFP8, MXFP4 and NVFP4 beside torch, which has no operator for them: its compositions. See timing.py.

`share 16, 8 rows` is a launch plan: elements of a thread, and how many rows neighbouring threads go down.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry

FORMATS = {"mxfp8": (8, 32), "mxfp4": (4, 32), "nvfp4": (4, 16)}
MIDPOINTS = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)


def composed(x: torch.Tensor, which: str, g: torch.Tensor, middles: torch.Tensor) -> Any:
    """Codes and scales by torch's operators; fp4 ties all go down, which costs as much."""
    bits, group = FORMATS[which]
    parts = x.view(x.shape[0], -1, group).float()
    most = parts.abs().amax(-1, keepdim=True)
    if which == "nvfp4":
        scale = (g * (most * (1 / 6))).clamp(max=448).to(torch.float8_e4m3fn)
        factor = g / scale.float()
    else:
        ratio = (most * (1 / (448 if bits == 8 else 6))).view(torch.int32)
        code = ((ratio + 0x7FFFFF) >> 23).clamp(0, 254)
        scale, factor = code.to(torch.uint8), ((254 - code) << 23).view(torch.float32)
    y = (parts * factor).view(x.shape)
    if bits == 8:
        return y.clamp(-448, 448).to(torch.float8_e4m3fn), scale
    codes = torch.bucketize(y.abs(), middles) + torch.signbit(y) * 8
    return (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8), scale


def jobs_of(name: str, which: str, rows: int, columns: int, many: bool) -> tuple[dict[str, Job], int]:
    """Row-major scales in small launches, tiles in large ones; `many`: other plans and torch.compile too."""
    (bits, group), tiles = FORMATS[which], int(many)
    x = torch.randn(rows, columns, device="cuda").to(TYPES[name])
    used, places = columns * bits // 8, -(-rows // 128) * 128 * -(-columns // (4 * group)) * 4
    q = torch.empty(rows, used, device="cuda", dtype=torch.uint8)
    scale = torch.empty(places, device="cuda", dtype=torch.uint8)
    g, middles = torch.full((1,), 500.0, device="cuda"), torch.tensor(MIDPOINTS, device="cuda")
    kind = "nvfp4_quantize" if which == "nvfp4" else "mx_quantize"
    run = entry(kind)
    facts = {"tiles": tiles} if which == "nvfp4" else {"bits": bits, "round_up": 1, "tiles": tiles}
    given = (q, scale, x, g) if which == "nvfp4" else (q, scale, x)
    jobs: dict[str, Job] = {
        "ours": lambda: run(*given, rows, columns, columns, used, *facts.values(), dtype=name),
        "torch": lambda: composed(x, which, g, middles),
    }
    for plan in [(share, 128, tall) for share in (8, 16, 32) for tall in (1, 8)] if many else []:
        job = planned(kind, given, name, rows, columns, bits, facts, plan)
        jobs[f"share {plan[0]}, {plan[2]} rows"] = job
    if many and name == "bf16":
        fast = torch.compile(composed)
        jobs["torch.compile"] = lambda: fast(x, which, g, middles)
    size = rows * columns * (x.element_size() * 8 + bits) // 8 + rows * columns // group
    return jobs, size


def planned(
    kind: str, given: Any, name: str, rows: int, columns: int, bits: int, facts: dict[str, int], plan: Any
) -> Job:
    """A launch by a plan that the entry did not choose."""
    module = sys.modules[f"corpus_{kind}"]
    element = module.ELEMENTS[name]
    width, used = module.vector_width(element.width, columns), columns * bits // 8
    q_width = module.vector_width(8, used, plan[0] * bits // 8)
    compiled = getattr(module, f"compile_{kind}")(
        name, rows, columns, **facts, width=width, q_width=q_width, plan=plan, device=module.device_facts()
    )
    if kind == "nvfp4_quantize":
        pointers = module.pointers(*given, element, (width, q_width), plan)
    else:
        typed = ((module.Uint8, q_width), (module.Uint8, 1), (element, width))
        pointers = [module.device_pointer(t, *how) for t, how in zip(given, typed, strict=True)]

    def job() -> None:
        stream = module.cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        compiled(*pointers, module.Int32(rows), module.Int64(columns), module.Int64(used), stream)

    return job


def back_of(name: str, rows: int, columns: int, tiles: int) -> tuple[dict[str, Job], int]:
    """NVFP4 codes as numbers again; torch looks them up in a table, with scales by rows."""
    q = torch.randint(0, 256, (rows, columns // 2), device="cuda", dtype=torch.uint8)
    places = -(-rows // 128) * 128 * -(-columns // 64) * 4
    codes = torch.randint(0, 120, (places,), device="cuda", dtype=torch.uint8)
    factor, out = (
        torch.full((1,), 0.002, device="cuda"),
        torch.empty(rows, columns, device="cuda").to(TYPES[name]),
    )
    numbers = torch.tensor((0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6), device="cuda")
    run, groups = entry("nvfp4_dequantize"), codes[: rows * columns // 16].view(torch.float8_e4m3fn)

    def composed() -> None:
        pairs = torch.stack((q & 15, q >> 4), -1).view(rows, -1, 16).int()
        out.copy_((numbers[pairs] * (groups.float() * factor).view(rows, -1, 1)).view(rows, columns))

    jobs: dict[str, Job] = {
        "ours": lambda: run(out, q, codes, factor, rows, columns, columns, columns // 2, tiles, dtype=name),
        "torch": composed,
    }
    return jobs, rows * columns * (8 + 16 * out.element_size() + 1) // 16


def rows() -> Iterator[Row]:
    for name, count, columns in (("bf16", 16384, 4096), ("bf16", 16384, 7168), ("f32", 8192, 7168)):
        jobs, size = back_of(name, count, columns, 1)
        yield Row(f"nvfp4_dequantize {name} {count}x{columns}", size, jobs)
    for which in FORMATS:
        for name, count, columns in (("bf16", 16384, 4096), ("bf16", 16384, 7168), ("f32", 8192, 7168)):
            jobs, size = jobs_of(name, which, count, columns, True)
            yield Row(f"{which} {name} {count}x{columns}", size, jobs)
        jobs, size = jobs_of("f16", which, 65536, 2048, True)
        yield Row(f"{which} f16 65536x2048", size, jobs)
    for tokens in (1, 8, 64):
        for which in FORMATS:
            jobs, size = jobs_of("bf16", which, tokens, 4096, False)
            yield Row(f"{which} bf16 {tokens}x4096", size, jobs, decode=True)
        jobs, size = back_of("bf16", tokens, 4096, 0)
        yield Row(f"nvfp4_dequantize bf16 {tokens}x4096", size, jobs, decode=True)
