"""A run at addresses that are aligned no better than they must be."""

from __future__ import annotations

from pathlib import Path

import cuda.bindings
import numpy as np
import pytest
from fake_driver import FakeDriver
from saxpy_target import SPEC

from verify.buffers import Buffers, run_once
from verify.device import CudaDevice
from verify.parity import run_parity
from verify.plan import plan
from verify.resolve import resolve
from verify.sides import Inputs, SideError, SideRan
from verify.spec_file import SpecError, parse_spec
from verify.verdict import StageResult, Status


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    monkeypatch.setattr(cuda.bindings, "driver", fake)
    return fake


def aligned(text: str, align: int) -> str:
    return text.replace('elems = "n"\n', f'elems = "n"\nalign = {align}\n')


def test_one_small_run_of_a_device_is_shifted() -> None:
    for device in ("gpu", "emulator"):
        shifted = [r for r in plan(parse_spec(SPEC), (), 0, device) if r.shifted]  # type: ignore[arg-type]
        assert [(r.case.name, r.values, r.own) for r in shifted] == [("typical", "spec", False)]
    # Addresses that are as good as any allocation's leave nothing to try.
    assert not [r for r in plan(parse_spec(aligned(SPEC, 256)), (), 0) if r.shifted]
    assert [r for r in plan(parse_spec(aligned(SPEC, 128)), (), 0) if r.shifted]


@pytest.mark.parametrize(("align", "shift"), [(None, 4), (16, 16), (8, 8)])
def test_addresses_are_shifted_as_told(driver: FakeDriver, align: int | None, shift: int) -> None:
    spec = parse_spec(SPEC if align is None else aligned(SPEC, align))
    resolved = resolve(spec, spec.case[2])
    buffers = Buffers(CudaDevice())
    data = {k: np.zeros(4 * 1009, np.uint8) for k in ("x", "y")}
    seen: list[dict[str, int]] = []
    for shifted in (False, True):
        ran = run_once(buffers, spec, resolved, data, 0, lambda at: seen.append(dict(at)), shifted)
        assert not ran.overrun and len(ran.outputs["y"]) == 4 * 1009
    plain, moved = ([at % 256 for at in one.values()] for one in seen)
    assert plain == [0, 0] and moved == [shift, shift]


def test_a_write_before_a_shifted_buffer_is_seen(driver: FakeDriver) -> None:
    spec = parse_spec(SPEC)
    device = CudaDevice()
    data = {k: np.zeros(4 * 1009, np.uint8) for k in ("x", "y")}

    def stray(at: dict[str, int]) -> None:
        device.fill(at["y"] - 4, 7, 4)

    ran = run_once(Buffers(device), spec, resolve(spec, spec.case[2]), data, 0, stray, True)
    assert ran.overrun == ["y"]


def test_align_is_a_power_of_two() -> None:
    with pytest.raises(SpecError, match="align is 12, no power of two"):
        parse_spec(aligned(SPEC, 12))


class Side:
    """Computes saxpy; refuses shifted addresses where told so."""

    def __init__(self, code: str = "") -> None:
        self.code = code
        self.shifted = 0

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        self.shifted += inputs.shifted
        if inputs.shifted and self.code:
            raise SideError("refused", self.code, "misaligned address")
        x, y = (inputs.data[k].view(np.float32) for k in ("x", "y"))
        return SideRan({"y": (np.float32(2.5) * x + y).view(np.uint8)})

    def restart(self) -> None:
        pass


def judged(original: Side, port: Side) -> StageResult:
    spec = parse_spec(SPEC)
    return run_parity("t", spec, plan(spec, (), 0), original, port)


def test_a_port_that_needs_more_than_the_original_is_refused() -> None:
    result = judged(Side(), Side("CP7003"))
    assert (result.status, result.code) == (Status.LAUNCH_ERROR, "CP7003")
    assert "values spec, shifted addresses" in result.message


def test_where_the_original_itself_fails_nothing_is_asked_of_the_port() -> None:
    port = Side("CP7003")
    result = judged(Side("CP7002"), port)
    assert result.status is Status.PASSED and port.shifted == 0
    assert result.parity is not None
    (run,) = [r for r in result.parity.runs if r.shifted]
    assert not run.counted and run.note.startswith("skipped: the original itself fails there: misaligned")


def test_inputs_at_other_addresses_are_not_the_same_run(tmp_path: Path) -> None:
    data = {"x": np.zeros(4, np.uint8)}
    assert Inputs(data, tmp_path).key() != Inputs(data, tmp_path, True).key()
