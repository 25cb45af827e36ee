"""All that is known of a target before a model is asked: what its prompts say, and what its tools look up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from corpus.catalog import KERNEL, NOTES, TWIN, Item
from translator.grounding.api import Api, ApiEntry
from translator.grounding.blocks import Blocks
from translator.grounding.needed import needed
from translator.loop.blocks import blocks_for
from translator.loop.feedback import times_of
from translator.loop.goal import Mode
from translator.loop.judged import Judged
from translator.mapping.resolve import call_name, ffi_line, helper, rows
from translator.mapping.rule import Rule
from translator.prompts.brief import (
    ArgumentLine,
    BestSoFar,
    Brief,
    ExemplarText,
    Launch,
    NameLine,
    Refusal,
    RowLine,
)
from translator.prompts.pitfalls import pitfalls_for
from translator.retrieval.facts import table
from translator.retrieval.rank import Exemplar, exemplars
from translator.retrieval.read import Query
from translator.task import Task
from verify.dtypes import lookup
from verify.spec import Spec
from verify.spec_args import BufferArg, PointerField, ScalarArg, StructArg

# Whole kernels in a prompt; what follows is held back for when another one is wanted. One that fits less than
# so well costs more than it teaches: by the scores of the queries of tests/retrieval.
_SHOWN, _HELD, _FITS = 1, 3, 0.5
_MOST_ROWS, _MOST_NAMES, _MOST_BLOCKS, _MOST_HELPERS = 32, 60, 3, 6
# Names that any kernel may need; and any that works with tiles.
_ALWAYS = (
    *("cute.arch.thread_idx", "cute.arch.block_idx", "cute.arch.grid_dim", "cute.arch.sync_threads"),
    *("cute.arch.sync_warp", "cute.arch.shuffle_sync_bfly", "cute.arch.shuffle_sync_down"),
    *("cute.arch.shuffle_sync_up", "cute.arch.inline_ptx", "cute.arch.alloc_smem", "cutlass.range"),
)
_LIFTING = (
    *("cute.make_tensor", "cute.make_layout", "cute.local_tile", "cute.make_copy_atom"),
    *("cute.nvgpu.CopyUniversalOp", "cute.make_tiled_copy_tv", "cute.copy", "cute.autovec_copy"),
    *("cute.make_fragment_like", "cute.make_rmem_tensor", "cute.make_identity_tensor", "cute.elem_less"),
    *("cute.ReductionOp", "cutlass.const_expr", "cutlass.range_constexpr"),
)
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


@dataclass(frozen=True, slots=True)
class Leave:
    """Parts of a prompt to leave out, to measure what each adds."""

    exemplars: bool = False
    draft: bool = False
    api: bool = False


@dataclass(frozen=True, slots=True)
class Material:
    """`cuda` is the device slice; `task` is None for a target that has a port already."""

    spec: Spec
    cuda: str
    arch: str
    api: Api | None
    blocks: Blocks
    items: Sequence[Item]
    ranked: Sequence[Exemplar] = ()
    task: Task | None = None
    facts: tuple[str, ...] = ()
    leave: Leave = field(default_factory=Leave)

    @property
    def draft(self) -> str:
        """What the compiler wrote before it refused; "" where it wrote nothing, or it is to be left out."""
        return (self.task.draft or "") if self.task is not None and not self.leave.draft else ""

    def brief(
        self, mode: Mode, *, turned: int = 0, tools: bool = False, start: Judged | None = None
    ) -> tuple[Brief, tuple[ExemplarText, ...]]:
        """(the brief, exemplars held back). The exemplars begin with number `turned`."""
        found = [] if self.leave.exemplars else list(self.ranked)
        turn = turned % len(found) if found else 0
        turned_round = [*found[turn:], *found[:turn]]
        # What is to be lifted is rewritten in the corpus's style: one kernel of it is always shown.
        fit = [e for e in turned_round if e.score >= _FITS][:_SHOWN] or turned_round[: mode != "port"]
        shown = [_exemplar(e) for e in fit]
        held = [_exemplar(e) for e in turned_round if e not in fit][:_HELD]
        task = self.task
        draft = self.draft if mode == "port" else ""
        text = start.source if start is not None else draft
        names = [] if self.leave.api else self._names(mode, text, shown)
        made = Brief(
            kernel=self.spec.original.kernel,
            mode=mode,
            cuda=self.cuda,
            path=self.spec.original.source,
            entry=self.spec.port.entry,
            arguments=tuple(arguments(self.spec)),
            launch=_launch(self.spec),
            cases=tuple(_cases(self.spec)),
            tolerance=_tolerance(self.spec),
            arch=self.arch,
            facts=self.facts,
            draft=draft,
            refusals=tuple(_refusals(task)) if task is not None else (),
            exemplars=tuple(shown),
            rows=tuple(table_rows(self.cuda)),
            api=tuple(names),
            blocks=() if self.leave.api else tuple(self._blocks(shown)),
            pitfalls=pitfalls_for(self.cuda, text),
            best=_best(start) if mode != "port" else None,
            tools=tools,
        )
        if self.api is not None:
            made = replace(made, dsl=self.api.version)
        return made, tuple(held)

    def _names(self, mode: Mode, draft: str, shown: Sequence[ExemplarText]) -> list[NameLine]:
        """Names of the DSL that the kernel may need."""
        if self.api is None:
            return []
        texts = [draft, *(e.kernel for e in shown)]
        always = [e for n in (*_ALWAYS, *(_LIFTING if mode != "port" else ())) if (e := self.api.lookup(n))]
        found: list[ApiEntry] = needed(texts, self.api, [self.cuda], _MOST_NAMES)
        kept = {e.name: e for e in (*always, *found) if not e.deprecated}
        return [NameLine(e.name, e.signature, e.summary) for e in kept.values()]

    def _blocks(self, shown: Sequence[ExemplarText]) -> list[NameLine]:
        """Blocks for what CUDA has a library for, but those that stand in a shown kernel; and the functions
        that the mapping rows call."""
        there = "\n".join(e.kernel for e in shown)
        found = []
        for name in blocks_for(self.cuda)[:_MOST_BLOCKS]:
            entry, text = self.blocks.lookup(name), self.blocks.read(name)
            if entry is not None and text is not None and f"# -- block {name} " not in there:
                found.append(NameLine(name, entry.signature, self.blocks.summary(name), text))
        names = dict.fromkeys(h for rule in _rules(self.cuda) for h in rule.helpers)
        held = [helper(n) for n in names if f"def {n}(" not in self.draft][:_MOST_HELPERS]
        return found + [NameLine(h.name, "", "", "\n".join([*h.imports, "", h.source])) for h in held]


def ranked(query: Query | None, items: Sequence[Item]) -> list[Exemplar]:
    """Exemplars for a prompt and for later."""
    return exemplars(query, items, most=_SHOWN + _HELD) if query is not None else []


def facts_of(query: Query | None, task: Task | None) -> tuple[str, ...]:
    """What is known of the kernel, a line each: what it does by the table of idioms, and what a port has to
    find an answer to."""
    told: list[str] = []
    if query is not None:
        says = {r.id: r.says for r in table()}
        told += [says[i] for i in (*query.facts.idioms, *query.facts.access, *query.facts.sync) if i in says]
        if query.facts.dtypes:
            told.append(f"types: {', '.join(query.facts.dtypes)}")
    for f in task.features if task is not None else ():
        lines = ", ".join(map(str, f.lines[:8]))
        told.append(f"{f.kind}: {f.name} (line{'s' * (len(f.lines) > 1)} {lines})")
    return tuple(dict.fromkeys(told))


def arguments(spec: Spec) -> list[ArgumentLine]:
    """The entry's parameters in the order in which verify passes them."""
    plain: list[ArgumentLine] = []
    symbols: list[ArgumentLine] = []
    for arg in spec.arg:
        name = arg.port_name or arg.name
        if isinstance(arg, ScalarArg):
            plain.append(ArgumentLine(name, arg.dtype, "value", str(arg.value)))
        elif isinstance(arg, BufferArg):
            line = ArgumentLine(name, arg.dtype or "", arg.role, str(arg.elems), arg.align or 0)
            (symbols if arg.symbol else plain).append(line)
        elif isinstance(arg, StructArg):
            for f in arg.fields:
                if isinstance(f, PointerField):
                    b = f.buffer
                    line = ArgumentLine(f"{name}_{f.name}", b.dtype or "", b.role, str(b.elems), b.align or 0)
                else:
                    line = ArgumentLine(f"{name}_{f.name}", f.dtype, "value", str(f.value))
                plain.append(line)
    constants = [ArgumentLine(k, "", "constant", repr(v)) for k, v in spec.port.constants.items()]
    return [*plain, *symbols, *constants]


def _launch(spec: Spec) -> Launch:
    grid, block = (tuple(map(str, side)) for side in (spec.launch.grid, spec.launch.block))
    return Launch((grid[0], grid[1], grid[2]), (block[0], block[1], block[2]), str(spec.launch.smem))


def _cases(spec: Spec) -> list[str]:
    """As in "n=257: n = 257 (boundary)"."""
    told = []
    for case in spec.case:
        sizes = ", ".join(f"{k} = {v}" for k, v in (case.sizes | case.scalars).items())
        own = [
            f"{what} {' x '.join(map(str, s))}"
            for what, s in (("grid", case.grid), ("block", case.block))
            if s
        ]
        told.append(f"{case.name}: {'; '.join([sizes, *own])} ({case.role})")
    return told


def _tolerance(spec: Spec) -> str:
    t = spec.tolerance
    rule = {
        "fp64": f"the error against a float64 reference is at most {t.k:g} times the original's own",
        "double": f"the error against the original in double is at most {t.k:g} times the original's own",
        "original": _against_original(spec),
        None: "no less exact than the original",
    }[t.rule]
    return f"{rule}; results depend on the order of atomics" if t.order_dependent else rule


def _against_original(spec: Spec) -> str:
    """As in "f32 outputs within 1e-06 of the output's rms + 1e-05 of the element; integers exactly"."""
    floats = {t.name: t for b in spec.buffers if b.compared and b.dtype and (t := lookup(b.dtype)).is_float}
    own = spec.tolerance
    told = []
    for t in floats.values():
        flat = f"{t.atol:g} of the output's rms" if own.atol is None else f"{own.atol:g}"
        told.append(
            f"{t.name} outputs within {flat} + {t.rtol if own.rtol is None else own.rtol:g} of the element"
        )
    exact = "integers exactly" if told else "exactly"
    return f"against the original: {'; '.join([*told, exact])}"


def _refusals(task: Task) -> list[Refusal]:
    return [Refusal(r.code, r.line, f"{r.message}{f' ({r.hint})' if r.hint else ''}") for r in task.refusals]


def table_rows(cuda: str) -> list[RowLine]:
    """Rows of the mapping table for the builtins that the source calls."""
    return [_row(r) for r in _rules(cuda)]


def _row(rule: Rule) -> RowLine:
    """A row as the prompt has it; a function of CUDA's device library needs its declaration too."""
    if not rule.libdevice:
        return RowLine(rule.cuda, rule.cute, rule.caveat)
    needs = f"with `{ffi_line(rule)}` at the top of the file"
    caveat = f"{rule.caveat}; {needs}" if rule.caveat else needs
    return RowLine(rule.cuda, rule.cute.replace("{lib}", call_name(rule)), caveat)


def _rules(cuda: str) -> list[Rule]:
    found: dict[str, Rule] = {}
    for word in dict.fromkeys(_WORD.findall(cuda)):
        for rule in rows(word):
            if rule.support != "none" and rule.cute:
                found.setdefault(rule.id, rule)
    return list(found.values())[:_MOST_ROWS]


def _exemplar(e: Exemplar) -> ExemplarText:
    entry, item = e.item.entry, e.item
    name = f"{entry.family}/{entry.id}"
    return ExemplarText(name, entry.summary, e.reasons, item.text(TWIN), item.text(KERNEL), item.text(NOTES))


def _best(start: Judged | None) -> BestSoFar | None:
    if start is None:
        return None
    return BestSoFar(start.source, times_of(start.verdict) if start.verdict is not None else ())


def device_text(target: Path, spec: Spec) -> str:
    """The CUDA that verify builds. OSError, or UnicodeDecodeError where it is no text."""
    return (target / spec.original.source).read_text(encoding="utf-8")
