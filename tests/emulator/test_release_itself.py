"""What releases is itself known to who acquires it: a word that was waited for may be written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.matrix_kernels import Kernel, entry, run

REUSE = """
.reg .pred %first, %other, %waits;
.reg .b32 %block, %seen;
mov.u32 %block, %ctaid.x;
setp.eq.u32 %first, %block, 0;
setp.ne.or.u32 %other, %thread, 0, %first;
@!%other {arrive}
setp.ne.u32 %other, %thread, 0;
@%other bra DONE;
@!%first bra DONE;
WAIT:
{load} %seen, [%p0];
setp.eq.u32 %waits, %seen, 0;
@%waits bra WAIT;
st.global.u32 [%p0], 77;
DONE:
"""
RELEASED = ("red.release.gpu.global.add.u32 [%p0], 1;", "st.release.gpu.global.u32 [%p0], 1;")


def codes(arrive: str, load: str) -> set[str]:
    kernel = Kernel(entry(1, REUSE.replace("{arrive}", arrive).replace("{load}", load)))
    found: set[str] = set()
    for schedule in ("forward", "reverse", "random:1"):
        (word,), ran = run(kernel, [np.zeros(1, np.uint32)], schedule, blocks=2)
        assert word.tolist() == [77]
        found |= {f.code for f in ran.findings}
    return found


@pytest.mark.parametrize("arrive", RELEASED)
def test_who_waited_may_write_the_word(arrive: str) -> None:
    assert codes(arrive, "ld.acquire.gpu.global.u32") == set()


def test_without_a_release_it_is_a_race() -> None:
    assert codes("red.relaxed.gpu.global.add.u32 [%p0], 1;", "ld.acquire.gpu.global.u32") == {"CP8012"}
