"""Porting a kernel of 100 lines takes under half a second of the translator's own CPU time.

That half second is of a core that parses `textwrap` 20 times in PACE; slower and busier ones get more.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from translator.batch.work import Part, translate_part
from translator.diag.diagnostic import Sink
from translator.frontend.inputs import ReadOptions, collect

LIMIT = 0.5  # seconds of CPU time, imports apart
PACE = 0.090  # seconds of CPU time, where porting took 0.30 s
STEP = """\
  for (int k{n} = threadIdx.y; k{n} < n; k{n} += blockDim.y) {{
    float v = x[row * n + k{n}];
    if (v > limit && k{n} % 3 != 0) {{
      sum += v * weight(v, k{n});
    }} else {{
      most = fmaxf(most, v);
    }}
    tile[threadIdx.y][threadIdx.x] = sum;
  }}
  __syncthreads();
  sum += tile[threadIdx.x % 8][threadIdx.y] + __shfl_xor_sync(0xffffffffu, most, {n} + 1);
"""
SOURCE = """\
__device__ __forceinline__ float weight(float v, int k) { return k < 0 ? v : v / (1.0f + expf(-v)); }

__global__ void hundred(const float* __restrict__ x, float* __restrict__ y, int n, float limit) {
  __shared__ float tile[8][33];
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f, most = -1e30f;
  if (row >= n) return;
STEPS
  y[row] = sum + most;
}
"""


def test_a_hundred_lines_in_half_a_second(tmp_path: Path) -> None:
    path = tmp_path / "hundred.cu"
    path.write_text(SOURCE.replace("STEPS", "".join(STEP.format(n=n) for n in range(8))))
    assert 95 <= len(path.read_text().splitlines()) <= 110
    options = ReadOptions()
    part = Part(collect([str(path)], options, Sink()), options)
    translate_part(part)  # loads what is loaded once
    text = inspect.getsource(textwrap)
    taken = pace = float("inf")
    for _ in range(4):  # in turns and the least of each: what disturbs one round is not the translator's
        pace = min(pace, _seconds(lambda: [ast.parse(text) for _ in range(20)]))
        taken = min(taken, _seconds(lambda: translate_part(part)))
    [ported] = translate_part(part)
    assert ported.files, ported.outcome.findings
    assert taken < LIMIT * max(1.0, pace / PACE), f"{taken:.3f} s, pace {pace:.3f} s"


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
