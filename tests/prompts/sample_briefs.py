"""Briefs and feedback that the tests render: one small kernel, told in every mode."""

from __future__ import annotations

from dataclasses import replace

from translator.prompts.brief import (
    ArgumentLine,
    BestSoFar,
    Brief,
    ExemplarText,
    Launch,
    NameLine,
    Refusal,
    RowLine,
    Times,
)
from translator.prompts.feedback import (
    CompileError,
    Crashed,
    DiffRow,
    Feedback,
    LaunchError,
    MemoryFault,
    NoCode,
    Passed,
    Place,
    Repeated,
    SanitizerReport,
    StaticFinding,
    StaticFindings,
    TimedOut,
    ToolProblem,
    TooSlow,
    UnknownName,
    UnknownNames,
    Writer,
    WrongValues,
)
from translator.prompts.pitfalls import pitfalls_for

CUDA = """\
// The sum of each row, one block a row.
__global__ void row_sum(const float* __restrict__ x, float* out, int n)
{
    __shared__ float part[32];
    float s = 0.f;
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        if (c == n) break;
        s += x[(size_t)blockIdx.x * n + c];
    }
    s = cub::BlockReduce<float, 256>(part).Sum(s);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}
"""

DRAFT = '''\
"""CuTe DSL port of `row_sum`."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def row_sum_kernel(x, out, n):
    # CP2301: cub::BlockReduce
    ...
'''

PORT = '''\
"""CuTe DSL port of `row_sum`."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def row_sum_kernel(x, out, n):
    thread, _, _ = cute.arch.thread_idx()
'''

NEAR = ExemplarText(
    "rms_norm",
    "Root-mean-square norm of rows.",
    ("reduction over a row", "one block a row"),
    "__global__ void rms_norm(const float* x) { }\n",
    '"""RMS norm."""\n\nimport cutlass\n',
    "| CUDA | CuTe DSL |\n| --- | --- |\n| `for` | `cutlass.range` |\n",
)
FAR = ExemplarText("softmax", "Softmax of rows.", (), "__global__ void softmax() { }\n", "import cutlass\n")

TIMES = Times("large", 120.0, 96.0, 61.5)

BARE = Brief(
    kernel="row_sum",
    mode="port",
    cuda=CUDA,
    path="original/device.cu",
    entry="row_sum",
    arguments=(
        ArgumentLine("x", "float32", "in", "rows * n", 16),
        ArgumentLine("out", "float32", "out", "rows"),
        ArgumentLine("n", "int32", "value", "n"),
    ),
    launch=Launch(("rows", "1", "1"), ("256", "1", "1")),
    cases=("1x1", "3x257", "large"),
    tolerance="error against a float64 reference no larger than the original's",
    arch="sm_90a",
    facts=("every block reads one row", "a barrier in a loop"),
    refusals=(Refusal("CP2301", 10, "cub::BlockReduce has no counterpart", "s = cub::BlockReduce<…>"),),
    pitfalls=pitfalls_for(CUDA)[:6],
)

DRAFTED = replace(
    BARE,
    draft=DRAFT,
    exemplars=(NEAR, FAR),
    rows=(RowLine("T __ldg(const T* p)", "p.load(is_invariant=True)"), RowLine("a || b", "a | b", "eager")),
    api=(NameLine("cute.arch.sync_threads", "()", "Barrier of the block."),),
    blocks=(
        NameLine(
            "lane_reduce",
            "(value, operation, lanes)",
            "Reductions over lanes.",
            "@cute.jit\ndef lane_reduce(value, operation, lanes):\n    return value\n",
        ),
    ),
    tools=True,
)
LIFTED = replace(
    DRAFTED,
    mode="lift",
    draft="",
    refusals=(),
    best=BestSoFar(PORT, (TIMES,)),
    exemplars=(NEAR,),
    tools=False,
)
TUNED = replace(LIFTED, mode="tune", exemplars=(), pitfalls=(), rows=(), tools=True)

BRIEFS: dict[str, Brief] = {
    "port_bare": BARE,
    "port_bare_tools": replace(BARE, tools=True),
    "port_drafted_tools": DRAFTED,
    "port_drafted": replace(DRAFTED, tools=False),
    "lift": LIFTED,
    "tune_tools": TUNED,
}

LINE = Place("port.py", 14, "s = s + x[i]")
ORIGIN = Place("original/device.cu", 8, "s += x[(size_t)blockIdx.x * n + c];")
ROWS = (DiffRow("128-bit loads", "4", "none", "vector loads lost: more instructions for the same bytes"),)

FEEDBACK: tuple[Feedback, ...] = (
    UnknownNames(
        (
            UnknownName(
                "cute.arch.warp_sum",
                9,
                "attribute",
                ("cute.arch.warp_redux_sync",),
                "s = cute.arch.warp_sum(s)",
            ),
            UnknownName("cute.foo", 11),
        )
    ),
    StaticFindings(
        (
            StaticFinding("CP6003", 3, "imports os", "import os"),
            StaticFinding("CP6006", 40, "calls torch.zeros()"),
        )
    ),
    CompileError("CP6102", "TYPE_UNSTABLE_JOIN: `s` has type `Int32` on one path", LINE, ORIGIN),
    CompileError("CP6101", "NameError: gmem"),
    LaunchError("CP7003", "invalid argument", "3x257"),
    WrongValues(
        "CP7012",
        "values differ from the original's beyond the tolerance",
        "out",
        2,
        "1.5",
        "-0.25",
        1,
        3,
        "3x257",
        "normal, shifted addresses",
        "abs 1e-6",
        ("1x1",),
        Writer((2, 0, 0), (0, 0, 0), LINE),
        Writer((2, 0, 0), (0, 0, 0), ORIGIN),
    ),
    WrongValues("CP7014", "elements left unwritten", "out", 0, "poison", "1", 3, 3, "1x1"),
    MemoryFault(
        "CP8011",
        "race in shared memory",
        "3x257",
        2,
        33,
        LINE,
        Place("port.py", 20, "part[warp] = s"),
        ORIGIN,
        "ld.shared.b32 %r1, [%r2];",
        64,
    ),
    MemoryFault("CP8001", "4 bytes read 4 bytes behind x", "1x1", 0, 1, LINE),
    SanitizerReport("memcheck", "CP8061", "Invalid __global__ read of size 4", "large", LINE),
    TimedOut("CP6103", "compile", 120.0),
    TimedOut("CP7005", "parity", 30.0, "large"),
    Crashed("CP7004", "parity", "signal 11", "1x1"),
    TooSlow("CP9101", TIMES, 0.9, ROWS),
    NoCode("none"),
    NoCode("several"),
    NoCode("cut off"),
    ToolProblem("submit", "`file` is missing", '{"type": "object", "required": ["file"]}'),
    Repeated("the same fault is there again, CP6102 TYPE_UNSTABLE_JOIN", "smaller step"),
    Repeated("the same fault is there again, CP6102 TYPE_UNSTABLE_JOIN", "other exemplar", exemplar=FAR),
    Repeated("nothing got better in 5 turns", "back to best", best=PORT),
    Passed((TIMES,), ROWS),
)
