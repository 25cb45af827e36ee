"""What the task of each kernel in sources/ must say: found by reading the kernels, not by running it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expected:
    """`buffers`: name → (role once measured, dtype, elements in the typical case); `scalars` in that case."""

    stage: str
    codes: tuple[str, ...]
    grid: tuple[int, int, int]
    block: int
    buffers: dict[str, tuple[str, str, int]]
    scalars: dict[str, float]
    features: tuple[str, ...]
    entry: str = ""
    cooperative: bool = False
    order_dependent: bool = False


EXPECTED = {
    "apply_twice": Expected(
        "model", ("CP1122", "CP1130"), (8, 1, 1), 256,
        {"x": ("in", "f32", 2048), "y": ("out", "f32", 2048)},
        {"scale": 1.5, "shift": 0.25, "n": 2048}, ("lambda",),
    ),
    "attention_rows": Expected(
        "model", ("CP1110",), (4, 4, 1), 64,
        {
            "q": ("in", "f16", 25600), "k": ("in", "f16", 33280), "v": ("in", "f16", 33280),
            "o": ("out", "f16", 25600), "log_sums": ("out", "f32", 400),
        },
        {"queries": 100, "keys": 130, "scale": 0.125, "causal": 1},
        ("block barrier", "inline PTX", "warp shuffle or vote", "asynchronous copy", "tensor core"),
    ),
    "bin_sums": Expected(
        "emit", ("CP1110",), (12, 1, 1), 256,
        {"values": ("in", "f32", 3000), "bins": ("in", "i32", 3000), "sums": ("inout", "f32", 16)},
        {"n": 3000}, ("inline PTX",), order_dependent=True,
    ),
    "cluster_softmax": Expected(
        "model", ("CP1140",), (8, 1, 1), 128,
        {"in": ("in", "f32", 7007), "out": ("out", "f32", 7007), "log_sums": ("out", "f32", 7)},
        {"rows": 7, "width": 1001, "scale": 0.5}, ("block barrier", "inline PTX", "warp shuffle or vote"),
    ),
    "conjugate_gradient": Expected(
        "model", ("CP1120",), (3, 1, 1), 128,
        {
            "b": ("in", "f32", 1073), "x": ("out", "f32", 1073), "residual": ("out", "f32", 1073),
            "direction": ("out", "f32", 1073), "product": ("out", "f32", 1073), "parts": ("out", "f64", 12),
            "history": ("out", "f32", 21), "done": ("out", "i32", 1),
        },
        {"width": 37, "height": 29, "limit": 20, "shift": 0.5, "tolerance": 0.0001},
        ("cooperative groups", "block barrier", "grid barrier"), cooperative=True,
    ),
    "count_words": Expected(
        "model", ("CP1113",), (4, 1, 1), 64,
        {"text": ("in", "u8", 9600), "words": ("out", "i32", 200)},
        {"records": 200, "width": 48}, ("goto",),
    ),
    "filter": Expected(
        "model", ("CP1110",), (8, 1, 1), 128,
        {"in": ("in", "f32", 900), "out": ("out", "f32", 900), "taps": ("in", "f32", 8)},
        {"n": 900}, ("inline PTX",), entry="filter_",
    ),
    "inverse_root": Expected(
        "model", ("CP1123",), (6, 1, 1), 256,
        {"in": ("in", "f32", 1500), "root": ("out", "f32", 1500), "exponent": ("out", "u32", 1500)},
        {"n": 1500}, ("union",),
    ),
    "last_sum": Expected(
        "emit", ("CP1110",), (1, 1, 1), 32,
        {"partial": ("in", "f32", 32), "sum": ("out", "f32", 1)},
        {"blocks": 32}, ("inline PTX", "warp shuffle or vote"),
    ),
    "mix_bytes": Expected(
        "emit", ("CP1110",), (40, 1, 1), 128,
        {"a": ("in", "u32", 5000), "b": ("in", "u32", 5000), "mixed": ("out", "u32", 5000)},
        {"n": 5000}, ("inline PTX",),
    ),
    "packed_product": Expected(
        "model", ("CP1110",), (2, 2, 1), 160,
        {
            "a": ("in", "f16", 30000), "packed": ("in", "f16", 20480), "bias": ("in", "f32", 50),
            "out": ("out", "f16", 5000),
        },
        {"m": 100, "n": 50, "k": 300},
        ("block barrier", "memory fence", "mbarrier", "inline PTX", "asynchronous copy", "tensor core"),
    ),
    "partial_sums": Expected(
        "emit", ("CP1110",), (32, 1, 1), 256,
        {"in": ("in", "f32", 16384), "partial": ("out", "f32", 32)},
        {"n": 16384}, ("block barrier", "inline PTX", "warp shuffle or vote"),
    ),
    "quantized_product": Expected(
        "model", ("CP1110",), (2, 3, 4), 128,
        {
            "a": ("in", "i8", 21000), "b": ("in", "i8", 15000), "row_scale": ("in", "f32", 70),
            "col_scale": ("in", "f32", 50), "bias": ("in", "f32", 50), "out": ("out", "i8", 3500),
            "sums": ("inout", "i32", 3500), "tickets": ("inout", "u32", 6),
        },
        {"m": 70, "n": 50, "k": 300, "zero": 3},
        ("block barrier", "memory fence", "atomic", "inline PTX", "tensor core"),
    ),
    "recurrence": Expected(
        "model", ("CP1118",), (40, 1, 1), 128,
        {
            "m": ("in", "u32", 20000), "b": ("in", "u32", 20000), "h": ("out", "u32", 20000),
            "counters": ("inout", "u32", 2), "flags": ("inout", "u32", 40),
            "aggregates": ("inout", "u32", 80), "prefixes": ("inout", "u32", 80),
        },
        {"start": 1, "n": 20000},
        (
            "cub", "block barrier", "warp barrier", "memory fence", "atomic", "inline PTX",
            "warp shuffle or vote",
        ),
    ),
    "reverse_blocks": Expected(
        "emit", ("CP1110",), (32, 1, 1), 64,
        {"in": ("in", "f32", 2048), "out": ("out", "f32", 2048)},
        {}, ("block barrier", "inline PTX", "asynchronous copy"),
    ),
    "row_sums": Expected(
        "model", ("CP1118",), (40, 1, 1), 128,
        {"rows": ("in", "f32", 12000), "sums": ("out", "f32", 40)},
        {"width": 300}, ("cub",),
    ),
    "scan_blocks": Expected(
        "model", ("CP1118",), (8, 1, 1), 128,
        {"in": ("in", "i32", 1000), "out": ("out", "i32", 1000), "totals": ("out", "i64", 8)},
        {"n": 1000}, ("cub",),
    ),
    "smooth_twice": Expected(
        "model", ("CP1120",), (4, 1, 1), 128,
        {"in": ("in", "f32", 2000), "between": ("out", "f32", 2000), "out": ("out", "f32", 2000)},
        {"n": 2000}, ("cooperative groups", "block barrier", "grid barrier"), cooperative=True,
    ),
    "sort_rows": Expected(
        "model", ("CP1118",), (6, 1, 1), 128,
        {"in": ("in", "f32", 1800), "out": ("out", "f32", 600), "from": ("out", "i32", 600)},
        {"width": 300, "keep": 100, "descending": 1},
        ("cub", "block barrier", "warp barrier", "inline PTX", "warp shuffle or vote"),
    ),
    "sum_of_four": Expected(
        "model", ("CP1110",), (16, 1, 1), 256,
        {"in": ("in", "f32", 16384), "out": ("out", "f32", 4096)},
        {"n": 4096}, ("inline PTX",),
    ),
    "sum_of_steps": Expected(
        "model", ("CP1136",), (3, 1, 1), 128,
        {"values": ("in", "i32", 8700), "sums": ("out", "i32", 300)},
        {"rows": 300, "width": 29}, ("switch",),
    ),
    "tile_product": Expected(
        "model", ("CP1110",), (12, 1, 1), 32,
        {
            "a": ("in", "f16", 3072), "b": ("in", "f16", 1536),
            "c": ("in", "f32", 1536), "d": ("out", "f32", 1536),
        },
        {}, ("inline PTX", "tensor core"),
    ),
    "tile_sums": Expected(
        "model", ("CP1120",), (8, 1, 1), 128,
        {"rows": ("in", "f32", 2100), "sums": ("out", "f32", 30)},
        {"count": 30, "width": 70}, ("cooperative groups",),
    ),
    "to_grey": Expected(
        "model", ("CP1124",), (10, 1, 1), 128,
        {"pixels": ("inout", "u32", 1200), "weights": ("in", "u16", 3)},
        {"n": 1200}, ("bit-field",),
    ),
    "unpack_records": Expected(
        "model", ("CP1113",), (4, 1, 1), 64,
        {
            "packed": ("in", "u8", 12000), "sizes": ("in", "i32", 200), "preset": ("in", "u8", 64),
            "out": ("inout", "u8", 20000), "state": ("out", "i32", 200), "check": ("out", "u32", 200),
        },
        {"records": 200, "stride": 60, "room": 100}, ("goto", "switch"),
    ),
    "warp_max": Expected(
        "model", ("CP1118",), (23, 1, 1), 128,
        {"in": ("in", "f32", 2880), "largest": ("out", "f32", 90)},
        {"warps": 90}, ("cub", "lambda"),
    ),
}  # fmt: skip
