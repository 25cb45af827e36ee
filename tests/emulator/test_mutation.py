"""Mutants of small targets meet their fates in the emulator; the target's folder stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from threading import get_ident

import pytest

from tests.emulator.test_verify import copied
from verify.facts import MutationFacts
from verify.mutate import trial
from verify.options import Options
from verify.run import verify_targets
from verify.verdict import Status

pytestmark = pytest.mark.dsl

# Target → (what its cases vary, mutants tried).
SCORED = {"saxpy": ("n", 10), "reduce_sum": ("n", 12)}


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, MutationFacts]:
    """All targets in one child, each with its mutants."""
    home = tmp_path_factory.mktemp("mutants")
    found: dict[str, MutationFacts] = {}
    for name, (sizes, count) in SCORED.items():
        target = copied(home / name, name, sizes, {})
        before = {f: f.read_bytes() for f in target.rglob("*") if f.is_file()}
        # Only the listed cases: those that are held out go by the port's bytes, and so would the fates.
        options = Options(device="emulator", mutate=count, cases=("257", "999"))
        (verdict,) = verify_targets([target], options)
        parity = verdict.stage("parity")
        assert verdict.status is Status.PASSED and parity is not None and parity.parity is not None
        assert parity.parity.mutation is not None
        found[name] = parity.parity.mutation
        after = {f: f.read_bytes() for f in target.rglob("*") if f.is_file()}
        written = json.loads(after.pop(target / "verdict.json"))
        assert after == before
        assert written["stages"][2]["parity"]["mutation"]["killed"] == found[name].killed
        assert found[name].words in verdict.proven
    return found


# A code where the mutant is turned away. The copied targets' two cases are too small for those that survive:
# no block has a second round, and no thread meets n itself.
FATES: dict[str, dict[str, str]] = {
    "saxpy": {
        "axis-55-1": "CP8012",
        "stride-58-1": "survived",
        "swap-59-1": "CP7012",
        "tail-60-1": "CP7011",
        "compare-60-1": "CP8001",
        "bound-60-1": "CP7012",
        "store-61-1": "CP7011",
        "narrow-61-1": "CP7012",
        "operator-61-2": "CP7012",
        "step-62-1": "survived",
    },
    "reduce_sum": {
        "axis-64-1": "CP8005",
        "operator-71-2": "CP7012",
        "compare-73-1": "survived",
        "narrow-76-1": "CP7012",
        "tail-81-1": "CP7012",
        "bound-82-1": "CP7012",
        "store-84-1": "CP7012",
        "barrier-85-1": "CP8011",
        "step-86-2": "CP7012",
        "constant-88-2": "CP7012",
        "shuffle-91-1": "CP7012",
        "guard-93-1": "CP8012",
    },
}


@pytest.mark.parametrize("name", SCORED)
def test_each_mutant_meets_its_fate(scores: dict[str, MutationFacts], name: str) -> None:
    met = {m.id: m.code if m.fate == "killed" else m.fate for m in scores[name].mutants}
    assert met == FATES[name]


def test_several_children_rule_as_one_does(
    scores: dict[str, MutationFacts], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, judges = trial._Trial.judge, set()

    def watched(self: trial._Trial, source: str) -> trial.Ruling:
        judges.add(get_ident())
        return judge(self, source)

    monkeypatch.setattr(trial._Trial, "judge", watched)
    sizes, count = SCORED["reduce_sum"]
    target = copied(tmp_path / "reduce_sum", "reduce_sum", sizes, {})
    options = Options(device="emulator", mutate=count, cases=("257", "999"), jobs=3)
    (verdict,) = verify_targets([target], options)
    parity = verdict.stage("parity")
    assert parity is not None and parity.parity is not None and parity.parity.mutation is not None
    assert parity.parity.mutation.model_copy(update={"seconds": 0.0}) == scores["reduce_sum"].model_copy(
        update={"seconds": 0.0}
    )
    assert len(judges) == 3
