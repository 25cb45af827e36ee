"""Kernels that say their clusters themselves, as `__cluster_dims__` does: no launch names them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.matrix_kernels import Kernel, entry, run
from verify.emulator.ptx.module import PtxError

RANKS = """
.reg .b32 %rank, %z;
.reg .b64 %at;
mov.u32 %rank, %cluster_ctarank;
mov.u32 %z, %ctaid.x;
mad.lo.u32 %z, %z, 32, %thread;
mad.wide.u32 %at, %z, 4, %p0;
st.global.u32 [%at], %rank;
"""


def kernel(size: int) -> Kernel:
    plain = entry(1, RANKS)
    said = plain.replace("p0) {", f"p0)\n.explicitcluster\n.reqnctapercluster {size}, 1, 1\n{{")
    assert said != plain
    return Kernel(said)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_its_clusters_are_those_of_the_launch(size: int) -> None:
    (ranks,), ran = run(kernel(size), [np.full(8 * 32, 99, np.uint32)], blocks=8)
    assert ran.findings == ()
    assert ranks.reshape(8, 32).tolist() == [[b % size] * 32 for b in range(8)]


def test_a_launch_in_other_clusters_or_in_none_that_are_whole_is_refused() -> None:
    words = np.zeros(8 * 32, np.uint32)
    with pytest.raises(PtxError, match=r"clusters of \(4, 1, 1\): k is made for those of \(2, 1, 1\)"):
        run(kernel(2), [words], blocks=8, cluster=4)
    with pytest.raises(PtxError, match=r"a grid of \(7, 1, 1\) is not whole clusters of \(2, 1, 1\)"):
        run(kernel(2), [words], blocks=7)
