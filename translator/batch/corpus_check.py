"""Corpus entries judged by `verify`: variants become targets, verdicts become proofs."""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from corpus.catalog import KERNEL, REFERENCE, SPEC, TWIN, Item
from corpus.entry import LEAST_RATIO, LEAST_SCORE, Proof, Variant
from corpus.expand import expand, spec_of
from corpus.files import write as write_file
from corpus.inline import BLOCKS, check_inlined, load_blocks, parsed, with_blocks
from corpus.problem import CorpusError, Problem
from corpus.proof import record
from corpus.shingles import ALIKE, likeness, shingles
from corpus.style import check_block, check_style
from translator.batch.corpus_specs import check_specs
from verify.certificate import CertificateError, read_certificate
from verify.facts import MutationFacts
from verify.options import Options
from verify.run import verify_targets
from verify.verdict import StageResult, Status, Verdict

_AT_ONCE = 4  # entries, for each job: one that is interrupted has no more of them to do again
_FILES = {"spec": SPEC, "original": TWIN, "port": KERNEL, "reference": REFERENCE}


@dataclass(slots=True)
class Checked:
    """What became of one entry. `proof` is what was found now, or else what is recorded and holds; `apart` is
    how many changed kernels got through that `[same]` knows to change nothing: its score is without them.
    `unjudged` says that the values of a variant could not be compared where it was verified."""

    item: Item
    problems: list[Problem] = field(default_factory=list)
    proof: Proof | None = None
    apart: int = 0
    unjudged: bool = False


def examine(items: Iterable[Item], among: Iterable[Item] = ()) -> list[Checked]:
    """Style, inlined blocks and specs, without running anything: CP5001, CP5003, CP5004, CP5009. `among` are
    all entries, where `items` are some of them."""
    blocks = load_blocks()
    found = []
    for item in items:
        problems = check_style(item)
        problems += check_inlined(item.folder / KERNEL, item.text(KERNEL), blocks)
        problems += check_specs(item)
        found.append(Checked(item, problems))
    here = {c.item.folder for c in found}
    others = [i for i in among if i.folder not in here and i.proof() is not None]
    examine_alike([c for c in found if not c.problems], others)
    return found


def examine_alike(checked: list[Checked], others: list[Item]) -> None:
    """CP5009 for each entry that is nearly the structure of another, unless it says why both stay: of one
    that is proven, checked here or one of `others`, or of one before it."""
    known = [(item, _shape(item)) for item in others]
    for c in sorted(checked, key=lambda c: c.item.proof() is None):
        own, entry = _shape(c.item), c.item.entry
        for other, shape in known:
            alike, name = likeness(own, shape), other.entry.id
            if alike >= ALIKE and name not in entry.beside and entry.id not in other.entry.beside:
                words = f"{alike:.2f} of its structure is that of {name}"
                c.problems.append(Problem("CP5009", c.item.folder, words))
        known.append((c.item, own))


def _shape(item: Item) -> frozenset[tuple[str, ...]]:
    try:
        return shingles(item.text(KERNEL))
    except (SyntaxError, ValueError):  # told when it is checked itself
        return frozenset()


def examine_blocks() -> list[Problem]:
    """CP5003 for every block of the corpus."""
    return [p for path in sorted(BLOCKS.glob("*.py")) if path.stem != "__init__" for p in check_block(path)]


def with_recorded(checked: list[Checked]) -> None:
    """Take the proofs that entries carry; CP5005 where there is none for what the entry is now, CP5007 and
    CP5008 where what is recorded proves nothing."""
    for c in checked:
        c.proof = c.item.proof()
        if c.proof is None and not c.problems:
            c.problems += c.item.lacking()


def renew(items: Iterable[Item]) -> Iterator[tuple[Item, bool, list[Problem]]]:
    """Put the blocks as they are now into kernels: each with whether it was rewritten, and what that did not
    mend (CP5004). A kernel that is no Python, or has a marker without its end, is left as it is."""
    blocks = load_blocks()
    for item in items:
        path, before = item.folder / KERNEL, item.text(KERNEL)
        try:
            parsed(before)
            after = with_blocks(before, blocks)
        except (SyntaxError, ValueError):
            yield item, False, check_inlined(path, before, blocks)
            continue
        if after != before:
            write_file(path, after)
        yield item, after != before, check_inlined(path, after, blocks)


def expand_all(items: Iterable[Item], into: Path) -> dict[Path, Item]:
    """The target folders of all variants, by folder."""
    return {expand(item, v, into): item for item in items for v in item.entry.variant}


def run(
    checked: list[Checked],
    into: Path,
    options: Options,
    tell: Callable[[Verdict], None],
    write: bool = True,
    on_stage: Callable[[StageResult], None] = lambda _: None,
) -> None:
    """Verify every variant of the entries that have no problem so far, some entries at a time, and record the
    proof of each as soon as it is judged: what comes after an interruption is what is left."""
    sound, step = [c for c in checked if not c.problems], _AT_ONCE * options.jobs
    for k in range(0, len(sound), step):
        _run({c.item.folder: c for c in sound[k : k + step]}, into, options, tell, write, on_stage)


def _run(
    sound: dict[Path, Checked],
    into: Path,
    options: Options,
    tell: Callable[[Verdict], None],
    write: bool,
    on_stage: Callable[[StageResult], None],
) -> None:
    targets = expand_all((c.item for c in sound.values()), into)
    changed = [t for t, item in targets.items() if _variant(item, t) in item.entry.mutated()]
    others = [t for t in targets if t not in changed]
    verdicts: dict[Path, list[Verdict]] = {folder: [] for folder in sound}
    for some, asked in ((changed, options), (others, replace(options, mutate=None))):
        for verdict in verify_targets(some, asked, on_stage) if some else ():
            tell(verdict)
            of = targets[Path(verdict.target)]
            verdicts[of.folder].append(verdict)
            if len(verdicts[of.folder]) == len(of.entry.variant):
                conclude(sound[of.folder], verdicts[of.folder], write)


def take(checked: list[Checked], folder: Path, write: bool = True) -> None:
    """Proofs from verdicts that were made elsewhere, in folders as `expand_all` writes them. A verdict about
    other bytes, or one that was changed, is CP5005."""
    for c in checked:
        if c.problems:
            continue
        verdicts = []
        for variant in c.item.entry.variant:
            place = folder / f"{c.item.entry.id}__{variant.name}"
            try:
                verdict = read_certificate(place / "verdict.json")
            except CertificateError as e:
                c.problems.append(Problem("CP5005", place, str(e)))
                continue
            # It is of the variant where it lies; the name that it was verified by may be any.
            verdicts.append(verdict.model_copy(update={"target": str(place)}))
        if not c.problems:
            conclude(c, verdicts, write)


def _variant(item: Item, target: Path) -> Variant | None:
    """The variant whose folder this is."""
    name = target.name.removeprefix(f"{item.entry.id}__")
    return next((v for v in item.entry.variant if name == v.name), None)


def _unfit(item: Item, variant: Variant, verdict: Verdict) -> str:
    """Why a verdict is not about this variant as it is, or is about a part of it, or ""."""
    for key, name in _FILES.items():
        data = spec_of(item, variant).encode() if key == "spec" else (item.folder / name).read_bytes()
        if verdict.hashes.get(key) != hashlib.sha256(data).hexdigest():
            return f"the verdict is about another {name}"
    if verdict.asked is not None and verdict.asked.cases:
        return f"the verdict is about the cases {', '.join(verdict.asked.cases)} alone"
    return ""


def conclude(c: Checked, verdicts: list[Verdict], write: bool = True) -> None:
    """Judge an entry by the verdicts of its variants, each in or from a folder called as the variant's, and
    record the proof where nothing is wrong: CP5005 to CP5008.

    Verdicts without a score are enough where a recorded proof of the same files has one, of any device: on a
    GPU changed kernels are not judged again. Nor does a proof lose its ratio to verdicts without times."""
    try:
        _conclude(c, verdicts, write)
    except CorpusError as e:  # the entry changed meanwhile, and is not what it was
        c.problems += e.problems
    except FileNotFoundError as e:
        c.problems.append(Problem("CP5002", c.item.folder, f"no {Path(e.filename or '').name}"))
    if c.problems:
        c.proof = None


def _conclude(c: Checked, verdicts: list[Verdict], write: bool) -> None:
    now, had = c.item.hashes(), c.item.proofs()  # before verdicts are compared with the files
    of = {
        v.name: [w for w in verdicts if _variant(c.item, Path(w.target)) is v] for v in c.item.entry.variant
    }
    seen = _Seen({v.name for v in c.item.entry.mutated()}, set(of))
    for variant in c.item.entry.variant:
        if len(of[variant.name]) != 1:
            words = f"{c.item.entry.id}__{variant.name}: {len(of[variant.name]) or 'no'} verdicts"
            c.problems.append(Problem("CP5005", c.item.folder, words))
        for verdict in of[variant.name]:
            _judge(c, variant, verdict, seen, any(p.mutation is not None for p in had))
    if len(seen.devices) > 1:
        words = f"verdicts of several devices, {', '.join(sorted(seen.devices))}: one proof is of one device"
        c.problems.append(Problem("CP5005", c.item.folder, words))
    if c.problems:
        return
    (device,) = seen.devices
    old = {p.device: (p.mutation, p.ratio) for p in had}.get(device, (None, None))
    # Part of the changed kernels gives no score of the entry, and none must not take away what was found: so
    # it is with times.
    score = old[0] if seen.unscored else round(min(seen.scores), 4)
    ratio = old[1] if seen.untimed else round(min(seen.ratios), 3)
    c.proof = Proof(
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        device=device,
        status="PASSED",
        variants=list(of),
        mutation=score,
        ratio=ratio,
        hashes=now,
    )
    if write:
        record(c.item, c.proof)


@dataclass(slots=True)
class _Seen:
    """What the verdicts of an entry say together, and of which variants they say nothing."""

    unscored: set[str]
    untimed: set[str]
    scores: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    devices: set[str] = field(default_factory=set)


def _judge(c: Checked, variant: Variant, verdict: Verdict, seen: _Seen, scored: bool) -> None:
    """One variant's verdict: what it adds, what is wrong. `scored`: a recorded proof has a score."""
    place, known = Path(verdict.target), c.item.entry.same
    if why := _unfit(c.item, variant, verdict):  # made elsewhere, or changed while it ran
        c.problems.append(Problem("CP5005", place, why))
        return
    if verdict.status is not Status.PASSED:
        words = f"{place.name}: {verdict.status}: {verdict.proven}"
        c.unjudged |= verdict.status in (Status.COMPILED, Status.NOT_RUN)
        code = "CP5008" if verdict.status is Status.SLOWER else "CP5006"
        c.problems.append(Problem(code, c.item.folder, words))
        return
    if unknown := unasked(verdict):
        words = f"{place.name}: {REFERENCE} says nothing of {', '.join(unknown)}"
        c.problems.append(Problem("CP5006", c.item.folder, words))
    seen.devices.add(device_of(verdict))
    if (share := score_of(verdict, known)) is not None:
        seen.scores.append(share)
        c.apart += len(survivors(verdict)) - len(survivors(verdict, known))
        seen.unscored.discard(variant.name)
        if share < LEAST_SCORE:
            through = ", ".join(survivors(verdict, known))
            words = f"{place.name}: only {share:.2f} of the changed kernels are turned away: {through}"
            c.problems.append(Problem("CP5007", c.item.folder, words))
    elif variant.name in seen.unscored and not scored:
        c.problems.append(Problem("CP5007", c.item.folder, f"{place.name}: {unscored(verdict)}"))
    ratios = ratios_of(verdict)
    seen.untimed -= {variant.name} if ratios else set()
    for ratio in ratios:
        seen.ratios.append(ratio)
        if not LEAST_RATIO <= ratio < math.inf:  # nor is it for NaN
            words = f"{place.name}: {ratio:.3f} of its CUDA twin's speed"
            c.problems.append(Problem("CP5008", c.item.folder, words))


def device_of(verdict: Verdict) -> str:
    """`emulator`, or the GPU's name."""
    parity = verdict.stage("parity")
    assert parity is not None and parity.parity is not None
    if parity.parity.device == "emulator":
        return "emulator"
    gpu = verdict.environment.get("gpu") or {}
    return str(gpu.get("name", "gpu")) if isinstance(gpu, dict) else str(gpu)


def score_of(verdict: Verdict, same: Iterable[str] = ()) -> float | None:
    """The share of changed kernels turned away, those that are known to change nothing apart; none where only
    a number of them was asked for."""
    mutation = _mutation(verdict)
    if mutation is None or _too_few(verdict, mutation):
        return None
    known = set(same)
    survived = sum(m.fate == "survived" and m.what not in known for m in mutation.mutants)
    counted = mutation.killed + survived
    return mutation.killed / counted if counted else None


def _mutation(verdict: Verdict) -> MutationFacts | None:
    parity = verdict.stage("parity")
    return parity.parity.mutation if parity is not None and parity.parity is not None else None


def _too_few(verdict: Verdict, mutation: MutationFacts) -> bool:
    """Whether a number of changed kernels was asked for, which may be one, and there are more."""
    number = isinstance(verdict.asked.mutate, int) if verdict.asked is not None else False
    return number and len(mutation.mutants) < mutation.available


def unscored(verdict: Verdict) -> str:
    """Why a verdict has no score, in words."""
    mutation = _mutation(verdict)
    if mutation is None:
        return "was verified without --mutate"
    if _too_few(verdict, mutation):
        of = f"{len(mutation.mutants)} of {mutation.available}"
        return f"{of} changed kernels are too few: --mutate goes without a number"
    return "none of its changed kernels could be judged"


def survivors(verdict: Verdict, same: Iterable[str] = ()) -> list[str]:
    """What got through, in words, apart from what is known to change nothing."""
    mutation, known = _mutation(verdict), set(same)
    assert mutation is not None
    return [
        f"line {m.line}: {m.what}" for m in mutation.mutants if m.fate == "survived" and m.what not in known
    ]


def unasked(verdict: Verdict) -> list[str]:
    """The float outputs that were compared with the original alone: of them no reference told in any run, or
    told a number of any element."""
    parity = verdict.stage("parity")
    outputs = parity.parity.outputs if parity is not None and parity.parity is not None else ()
    told = {d.output for d in outputs if d.original_error is not None and any(d.original_error.histogram)}
    return [d.output for d in outputs if d.rule != "exact" and d.output not in told]


def ratios_of(verdict: Verdict) -> list[float]:
    """The original's time over the port's in each case that was timed, the largest first."""
    bench = verdict.stage("bench")
    facts = None if bench is None else bench.bench
    return [] if facts is None else [one.ratio for one in (facts, *facts.also)]
