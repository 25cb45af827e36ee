"""Names of the installed DSL: what is read of it, what is looked up, what is nearest."""

from __future__ import annotations

import pytest

from tests.loop.test_material import spec
from translator.grounding.api import Api
from translator.grounding.blocks import corpus_blocks
from translator.grounding.needed import needed
from translator.loop.material import Material

pytestmark = pytest.mark.dsl


def test_a_prompt_proposes_nothing_deprecated(api: Api) -> None:
    cuda = "__global__ void k(float* x) { __shared__ float s[32]; s[threadIdx.x] = __expf(x[0]); }"
    brief, _ = Material(spec(), cuda, "sm_90a", api, corpus_blocks(), []).brief("port")
    assert "cute.arch.alloc_smem" in {n.name for n in brief.api}
    assert [n.name for n in brief.api if (e := api.lookup(n.name)) is None or e.deprecated] == []


def test_signatures_are_the_real_ones(api: Api) -> None:
    shown = {
        "cute.arch.shuffle_sync_bfly": "mask_and_clamp",  # a partial
        "cute.make_layout": "*, stride",  # behind dsl_user_op
        "cutlass.range": "unroll_full",  # told by overloads only
        "cutlass.pipeline.MbarrierArray": "barrier_storage",  # hidden by __signature__
        "cute.Tensor.load": "pass_thru",  # of the class that writes it out
    }
    for name, part in shown.items():
        entry = api.lookup(name)
        assert entry is not None and part in entry.signature, (name, entry)
        assert "loc:" not in entry.signature


def test_kinds_and_what_is_deprecated(api: Api) -> None:
    kinds = {
        "cute.arch": "module",
        "cute.Tensor": "class",
        "cute.Tensor.iterator": "property",
        "cute.arch.sync_threads": "function",
        "cute.arch.WARP_SIZE": "value",
        "cutlass.Float32.width": "value",
    }
    assert {n: e.kind for n in kinds if (e := api.lookup(n)) is not None} == kinds
    old = api.lookup("cute.arch.exp")
    assert old is not None and "cute.math.exp" in old.deprecated


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("cutlass.cute.make_layout", "cute.make_layout"),
        ("cute.core.make_layout", "cute.make_layout"),
        ("cute.math.exp", "cute.math.exp"),
        ("cutlass.Float32", "cutlass.Float32"),
        ("cute.arch.thread_idx()", "cute.arch.thread_idx"),
    ],
)
def test_names_are_shown_as_users_write_them(written: str, shown: str, api: Api) -> None:
    entry = api.lookup(written)
    assert entry is not None and entry.name == shown


@pytest.mark.parametrize(
    "name", ["cute.nothing", "nothing", "cute.arch.thread_idx.x.y", "", "cute.", "torch.sum"]
)
def test_what_does_not_exist_is_not_found(name: str, api: Api) -> None:
    assert api.lookup(name) is None


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("cute.shuffle_sync", "cute.arch.shuffle_sync"),
        ("cute.arch.__shfl_xor_sync", "cute.arch.shuffle_sync_bfly"),
        ("cute.makeLayout", "cute.make_layout"),
        ("cute.Tensor.elem_type", "cute.Tensor.element_type"),
    ],
)
def test_the_nearest_comes_first(wrong: str, right: str, api: Api) -> None:
    assert api.nearest(wrong)[0] == right
    assert len(api.nearest(wrong, 2)) <= 2


def test_what_a_prompt_needs_is_what_is_used(api: Api) -> None:
    draft = (
        "import cutlass.cute as cute\nfrom cutlass import Float32\nx = cute.make_layout(4); y = Float32(x)\n"
    )
    cuda = "__global__ void k(float* x) { x[threadIdx.x] = __shfl_xor_sync(~0u, expf(x[0]), 1); }"
    found = [e.name for e in needed([draft, "cute.make_layout(8)"], api, [cuda])]
    assert found[:2] == ["cute.arch.thread_idx", "cute.arch.shuffle_sync_bfly"]
    assert {"cute.make_layout", "cutlass.Float32"} <= set(found)
    assert "cute.copy" not in found
    assert found.index("cute.make_layout") < found.index("cutlass.Float32")  # used more often
    assert [e.name for e in needed([draft], api, [cuda], most=2)] == found[:2]
