"""Porting a kernel of 100 lines takes under half a second of the translator's own CPU time."""

from __future__ import annotations

import time
from pathlib import Path

from translator.batch.work import Part, translate_part
from translator.diag.diagnostic import Sink
from translator.frontend.inputs import ReadOptions, collect

LIMIT = 0.5  # seconds of CPU time, imports apart
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
    start = time.process_time()
    [ported] = translate_part(part)
    taken = time.process_time() - start
    assert ported.files, ported.outcome.findings
    assert taken < LIMIT, f"{taken:.3f} s"
