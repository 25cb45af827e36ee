"""The mutation score: which mutants of a port a verification turns away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, get_args

from verify.facts import Fate, MutantFacts, MutationFacts
from verify.mutate.generate import Mutant, diff
from verify.verdict import Status

# A change that is no port any more says nothing about the verification; one that could not be judged neither.
_INVALID = frozenset({Status.COMPILE_ERROR, Status.REJECTED_STATIC})
_UNJUDGED = frozenset({Status.NOT_RUN, Status.REFUSED, Status.AMBIGUOUS, Status.ORIGINAL_SUSPECT})
_Map: TypeAlias = Callable[[Callable[[str], "Ruling"], Iterable[str]], Iterable["Ruling"]]
_LIVING = frozenset({Status.PASSED, Status.COMPILED})


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the verification said of one mutant. `same_code`: its PTX is that of the port itself."""

    status: Status
    code: str = ""
    same_code: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    mutant: Mutant
    ruling: Ruling

    @property
    def fate(self) -> Fate:
        """What became of it."""
        status = self.ruling.status
        if status in _INVALID:
            return "invalid"
        if self.ruling.same_code:
            return "equivalent"
        if status in _UNJUDGED:
            return "unjudged"
        return "survived" if status in _LIVING else "killed"


@dataclass(frozen=True, slots=True)
class Score:
    """`kinds` counts by (kind, fate); `survivors` and `unjudged` are in the order of the port's text."""

    target: str
    kinds: Counter[tuple[str, Fate]] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    survivors: tuple[Judged, ...] = ()
    unjudged: tuple[Judged, ...] = ()

    def count(self, fate: Fate) -> int:
        return sum(n for (_, f), n in self.kinds.items() if f == fate)

    @property
    def killed(self) -> int:
        return self.count("killed")

    @property
    def survived(self) -> int:
        return self.count("survived")

    @property
    def invalid(self) -> int:
        return self.count("invalid")

    @property
    def share(self) -> float:
        """Killed, of those that were judged and change the code; 1.0 where there was none."""
        counted = self.killed + self.survived
        return self.killed / counted if counted else 1.0


def judged(chosen: Sequence[Mutant], run: Callable[[str], Ruling], each: _Map = map) -> Iterator[Judged]:
    """Each mutant with what `run` says of its source, as soon as it is known; `each` is a pool's map where
    several are asked for at a time."""
    yield from map(Judged, chosen, each(run, [m.source for m in chosen]))


def score(target: str, every: Iterable[Judged]) -> Score:
    """Adds up; `target` is only a name."""
    found = list(every)
    return Score(
        target,
        Counter((j.mutant.kind, j.fate) for j in found),
        Counter(j.ruling.code or str(j.ruling.status) for j in found if j.fate == "killed"),
        tuple(j for j in found if j.fate == "survived"),
        tuple(j for j in found if j.fate == "unjudged"),
    )


def facts_of(
    every: Sequence[Judged], original: str, path: str, available: int, seed: int, seconds: float
) -> MutationFacts:
    """The score as a verdict holds it. `original` is the port's text, `path` its name in diffs."""
    result = score(path, every)
    kinds: dict[str, dict[Fate, int]] = {}
    for (kind, fate), n in sorted(result.kinds.items()):
        kinds.setdefault(kind, {})[fate] = n
    return MutationFacts(
        available=available,
        seed=seed,
        seconds=seconds,
        killed=result.killed,
        survived=result.survived,
        equivalent=result.count("equivalent"),
        invalid=result.invalid,
        unjudged=result.count("unjudged"),
        share=round(result.share, 4) if result.killed + result.survived else None,
        kinds=kinds,
        codes=dict(sorted(result.codes.items())),
        mutants=[
            MutantFacts(
                id=j.mutant.id,
                kind=j.mutant.kind,
                line=j.mutant.line,
                what=j.mutant.description,
                fate=j.fate,
                code=j.ruling.code,
                diff=diff(original, j.mutant, path) if j.fate == "survived" else "",
            )
            for j in every
        ],
    )


def report(result: Score, original: str, path: str = "port.py") -> str:
    """One line for the target, one for each kind, then every survivor with its diff."""
    fates = get_args(Fate)
    totals = ", ".join(f"{n} {f}" for f in fates if (n := result.count(f)))
    lines = [f"{result.target}: {100 * result.share:.1f} % of mutants killed ({totals or 'none'})"]
    for kind in sorted({k for k, _ in result.kinds}):
        row = ", ".join(f"{n} {f}" for f in fates if (n := result.kinds[kind, f]))
        lines.append(f"  {kind}: {row}")
    for survivor in result.survivors:
        mutant = survivor.mutant
        lines += [f"survived: {mutant.id} {mutant.description}", diff(original, mutant, path).rstrip("\n")]
    return "\n".join(lines) + "\n"
