"""Rotary embeddings beside torch, which composes them of operators, and plans beside each other: timing.py.

`each 1`, `each 2`, `each 4` are launch plans: heads that share a thread's angles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from tests.corpus.speed.kv import append_by_torch
from tests.corpus.speed.timing import TYPES, Job, Row, entry

POSITIONS = 8192
Turn = Callable[[torch.Tensor], torch.Tensor]


def table_of(rotary: int, kind: torch.dtype) -> torch.Tensor:
    """A row of cosines, then sines, for each position."""
    rates = 10000.0 ** (-torch.arange(0, rotary, 2, device="cuda") / rotary)
    angles = torch.outer(torch.arange(POSITIONS, device="cuda").float(), rates)
    return torch.cat([angles.cos(), angles.sin()], dim=1).to(kind)


def turned(x: torch.Tensor, angles: torch.Tensor, rotary: int, interleaved: bool) -> torch.Tensor:
    """The heads x, (tokens, heads, head), rotated by `angles`, (tokens, rotary), in fp32."""
    cosine, sine = angles.float()[:, None].chunk(2, dim=-1)
    part, rest = x[..., :rotary], x[..., rotary:]
    a, b = (part[..., 0::2], part[..., 1::2]) if interleaved else part.chunk(2, dim=-1)
    a, b = a.float(), b.float()
    pairs = (a * cosine - b * sine, b * cosine + a * sine)
    out = torch.stack(pairs, dim=-1).flatten(-2) if interleaved else torch.cat(pairs, dim=-1)
    return torch.cat([out.to(x.dtype), rest], dim=-1)


def jobs_of(
    name: str, tokens: int, q_heads: int, k_heads: int, head: int, rotary: int, *,
    interleaved: bool = False, table: str = "f32", norm: bool = False, more: bool = False,
) -> tuple[dict[str, Job], int]:  # fmt: skip
    """The ways to rotate heads of a fused qkv tensor, normed first or not, and the bytes that must move."""
    kind, heads = TYPES[name], q_heads + k_heads
    qkv = torch.randn(tokens, heads + k_heads, head, device="cuda").to(kind)
    q, k = qkv[:, :q_heads], qkv[:, q_heads:heads]
    angles = table_of(rotary, TYPES[table])
    positions = torch.arange(tokens, device="cuda") % POSITIONS
    w = torch.ones(head, device="cuda", dtype=kind)
    facts = (tokens, q_heads, k_heads, head, rotary, qkv.stride(0), qkv.stride(0))
    how = {"dtype": name, "table_dtype": table, "positions_dtype": "i64"}
    rope, fused, qk_norm = entry("rope"), entry("qk_norm_rope"), entry("qk_norm")

    def ours(each: int) -> Job:
        if norm:
            return lambda: fused(
                q, k, w, w, positions, angles, interleaved, 1e-6, 0.0, *facts, **how, each=each
            )
        return lambda: rope(q, k, positions, angles, interleaved, *facts, **how, each=each)

    def by_torch(
        x: torch.Tensor, w: torch.Tensor, angles: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        if norm:
            x = torch.nn.functional.rms_norm(x, (head,), w, 1e-6)
        return turned(x, angles[positions], rotary, interleaved)

    def two_launches() -> None:
        qk_norm(q, k, w, w, 1e-6, 0.0, *facts[:4], *facts[5:], dtype=name)
        rope(q, k, positions, angles, interleaved, *facts, **how)

    both = qkv[:, :heads]
    jobs: dict[str, Job] = {"ours": ours(0), "torch": lambda: by_torch(both, w, angles, positions)}
    if norm:
        jobs["two launches"] = two_launches
    if more:
        compiled = torch.compile(by_torch)
        jobs["torch.compile"] = lambda: compiled(both, w, angles, positions)
        jobs |= {f"each {n}": ours(n) for n in (1, 2, 4)}
    moved = head if norm else rotary
    size = 2 * tokens * heads * moved * kind.itemsize
    return jobs, size + tokens * positions.itemsize + min(tokens, POSITIONS) * rotary * angles.itemsize


def append_jobs(cache: str, tokens: int) -> tuple[dict[str, Job], int]:
    """Rotation of Q and K and the append of K and V in one launch, and in two; 32 + 8 heads of 128, bf16, a
    cache of twice as many slots."""
    q_heads, kv_heads, head, block_size = 32, 8, 128, 16
    blocks = -(-2 * tokens // block_size)
    code = torch.float8_e4m3fn if cache == "e4m3" else torch.bfloat16
    qkv = torch.randn(tokens, q_heads + 2 * kv_heads, head, device="cuda").bfloat16()
    q, key, value = qkv[:, :q_heads], qkv[:, q_heads:-kv_heads], qkv[:, -kv_heads:]
    caches = torch.zeros(2, blocks * block_size, kv_heads, head, device="cuda").to(code)
    scales = [torch.full((1,), 0.02, device="cuda") for _ in range(2)]
    slots = torch.randperm(blocks * block_size, device="cuda")[:tokens]
    positions, angles = torch.arange(tokens, device="cuda") % POSITIONS, table_of(head, torch.float32)
    fused, rope, append = entry("rope_kv_append"), entry("rope"), entry("kv_cache_append")
    stride, block_stride = qkv.stride(0), block_size * kv_heads * head
    kinds = {"dtype": "bf16", "cache": cache, "slots_dtype": "i64"}
    turning = {"table_dtype": "f32", "positions_dtype": "i64"}

    def ours() -> None:
        fused(
            q, key, value, *caches, positions, angles, slots, *scales, False, False, tokens, q_heads,
            kv_heads, head, head, block_size, stride, stride, stride, block_stride, **kinds, **turning,
        )  # fmt: skip

    def two_launches() -> None:
        numbers = (tokens, q_heads, kv_heads, head, head, stride, stride)
        rope(q, key, positions, angles, False, *numbers, dtype="bf16", **turning)
        numbers = (tokens, kv_heads, head, block_size, stride, stride, block_stride)
        append(key, value, *caches, slots, *scales, False, *numbers, **kinds)

    def by_torch() -> None:
        both = turned(qkv[:, :-kv_heads], angles[positions], head, False)
        q.copy_(both[:, :q_heads])
        append_by_torch(both[:, q_heads:], value, caches, slots, scales)

    size = tokens * head * (2 * q_heads * 2 + 2 * kv_heads * (2 + code.itemsize)) + 16 * tokens
    return {"ours": ours, "two launches": two_launches, "torch": by_torch}, (
        size + min(tokens, POSITIONS) * head * 4
    )


def rows() -> Iterator[Row]:
    for cache in ("same", "e4m3"):
        for tokens in (16384, 1, 8, 64):
            jobs, size = append_jobs(cache, tokens)
            what = f"rope_kv_append bf16 {cache} {tokens}x(32+8)x128"
            yield Row(what, size, jobs, decode=tokens < 100)
    for norm in (False, True):
        what = "qk_norm_rope" if norm else "rope"
        for name, tokens, qh, kh, head, rotary, interleaved, table, more in (
            ("bf16", 16384, 32, 8, 128, 128, False, "f32", True),
            ("bf16", 16384, 32, 8, 128, 128, False, "bf16", False),
            ("bf16", 16384, 32, 8, 128, 128, True, "f32", True),
            ("bf16", 16384, 28, 4, 128, 128, False, "f32", False),
            ("bf16", 16384, 16, 2, 256, 64, False, "f32", True),
            ("bf16", 16384, 128, 1, 64, 64, True, "f32", True),
            ("f32", 16384, 32, 8, 128, 128, False, "f32", False),
            ("f16", 4096, 32, 8, 64, 64, False, "f32", False),
        ):  # fmt: skip
            jobs, size = jobs_of(
                name, tokens, qh, kh, head, rotary, interleaved=interleaved, table=table, norm=norm, more=more
            )
            pairs = "interleaved" if interleaved else "halves"
            yield Row(f"{what} {pairs} {name} {tokens}x({qh}+{kh})x{head}/{rotary} {table}", size, jobs)
        for tokens in (1, 8, 64, 512):
            jobs, size = jobs_of("bf16", tokens, 32, 8, 128, 128, norm=norm, more=tokens > 8)
            jobs.pop("torch.compile", None)
            yield Row(f"{what} halves bf16 {tokens}x(32+8)x128", size, jobs, decode=True)
