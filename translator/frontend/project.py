"""Sources in, kernel readings out: every kernel instantiation of a project, each from its best unit.

A kernel in a file that another file includes may only parse through that other file, so each unit is
parsed and the reading of a kernel with the fewest errors is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from translator.diag.diagnostic import Diagnostic, Sink, Span
from translator.frontend import ast, clang, lost, relations, templates
from translator.frontend.fence import holds
from translator.frontend.host import index_of
from translator.frontend.included import readable
from translator.frontend.inputs import Inputs, ReadOptions, UnitInput, collect, decode, read_text
from translator.frontend.reach import Chunks, reach
from translator.frontend.relations import Cursor

__all__ = ["KernelReading", "ReadOptions", "read", "read_units"]

_UNITS_KEPT = 6
_NAMELESS = "a pack, lambda or pointer"


@dataclass(slots=True)
class KernelReading:
    """One kernel instantiation. `unit` and `cursor` are parsed when asked for.

    `instantiation` is `k<float, 8>`, "" for a plain kernel; `cuda_name` the same with its namespaces.
    `errors` counts parse errors in the kernel and in what it uses; a reading with errors carries CP1008.
    """

    name: str
    cuda_name: str
    instantiation: str
    path: str
    span: Span
    unit_path: str
    template_args: tuple[tuple[str, str], ...] = ()
    errors: int = 0
    launched: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()
    usr: str = ""
    _load: Callable[[], clang.Unit] | None = None

    @property
    def unit(self) -> clang.Unit:
        assert self._load is not None
        return self._load()

    @property
    def cursor(self) -> Cursor:
        """The kernel's definition: for an instantiation, the function with its typed body."""
        unit = self.unit
        for kernel in clang.kernels_in(unit):
            if kernel.cursor.get_usr() == self.usr:
                return kernel.cursor
        return index_of(unit).named[self.usr]


@dataclass(slots=True)
class _Found:
    """A kernel definition or template seen in one unit."""

    place: tuple[str, int, str]  # real path, line, name
    source: UnitInput
    suffix: str
    cursor_usr: str
    pattern_usr: str
    span: Span
    name: str
    qualified: str
    args: tuple[tuple[str, str], ...] | int = ()
    is_template: bool = False
    params: tuple[templates.Parameter, ...] = ()
    errors: int = 0
    own_errors: int = 0  # those inside the kernel itself
    first_error: str = ""
    error_span: Span | None = None  # where that is
    missing: tuple[str, ...] = ()
    launched: bool = False
    guess: str = ""

    @property
    def instantiation(self) -> str:
        if self.is_template or not isinstance(self.args, tuple) or not self.args:
            return ""
        return f"{self.name}<{', '.join(text for _, text in self.args)}>"

    @property
    def identity(self) -> tuple[str, int, str, str]:
        return (*self.place, self.instantiation or str(self.args) + self.cursor_usr * (self.args != ()))

    @property
    def named(self) -> tuple[str, str]:
        return self.place[0], self.name

    def rank(self) -> tuple[int, bool, bool, bool]:
        own = str(Path(self.source.path).resolve()) == self.place[0]
        return self.errors, not self.launched, not own, bool(self.suffix)


@dataclass(slots=True)
class _Project:
    options: ReadOptions
    sink: Sink
    inputs: Inputs
    lost: list[lost.Lost] = field(default_factory=list)
    texts: dict[str, str | None] = field(default_factory=dict)  # unit path → text in the file's place
    cache: list[tuple[tuple[UnitInput, str], clang.Unit]] = field(default_factory=list)

    def unit(self, source: UnitInput, suffix: str = "") -> clang.Unit:
        """The parsed unit with `suffix` after its own text; the last few are kept."""
        key = (source, suffix)
        for known, unit in self.cache:
            if known == key:
                return unit
        text = self.texts.get(source.path)
        if suffix:
            own = text if text is not None else Path(source.path).read_bytes().decode("utf-8", "replace")
            text = own.removeprefix("\ufeff") + suffix
        unit = self._parse(source, text, ())
        odd = [f for f in relations.user_files(unit) if f != source.path and _needs_copy(f)]
        if odd:  # included files that aren't UTF-8 would break reading their tokens
            unit = self._parse(source, text, tuple((f, _decoded(f)) for f in odd))
        self.cache.append((key, unit))
        del self.cache[:-_UNITS_KEPT]
        return unit

    def _parse(self, source: UnitInput, text: str | None, more: tuple[tuple[str, str], ...]) -> clang.Unit:
        return clang.parse(
            source.path,
            text=text,
            includes=source.includes,
            defines=source.defines,
            std=source.std,
            extra_unsaved=more,
        )


def read(paths: Sequence[str], options: ReadOptions, sink: Sink) -> list[KernelReading]:
    """The kernels of `paths` (files or folders), by file, line and instantiation.

    Problems with files go to `sink`; what concerns one kernel is in its reading's diagnostics.
    """
    return read_units(collect(paths, options, sink), options, sink)


def read_units(inputs: Inputs, options: ReadOptions, sink: Sink) -> list[KernelReading]:
    """As `read`, of units collected before: a part of a project may be read in another process."""
    project = _Project(options, sink, inputs)
    found: list[_Found] = []
    for source in project.inputs.units:
        found += _scan(project, source, requested=True)
    for source in project.inputs.includers:
        settled = {f.place for f in found if f.launched and not f.errors}
        wanted = {f.place for f in found} - settled
        gone = {one.place for one in project.lost} - {f.named for f in found}
        if not wanted and not gone:
            break
        more = _scan(project, source, requested=False)
        found += (f for f in more if f.place in wanted or f.named in gone)
    lost.tell(project.lost, {f.named for f in found}, options.kernels, sink)
    asked = set(options.kernels)
    found = [f for f in found if not asked or asked & {f.name, f.qualified}]
    for name in options.kernels:
        if not any(name in (f.name, f.qualified) for f in found):
            sink.report("CP1015", kernel=name)
    found = _instantiate(project, found)
    ordered = sorted(_best(found), key=lambda f: (f.place, f.span.column, f.instantiation))
    return [_reading(project, f) for f in ordered]


def _best(found: Iterable[_Found]) -> list[_Found]:
    best: dict[tuple[str, int, str, str], _Found] = {}
    for candidate in found:
        known = best.get(candidate.identity)
        if known is None or candidate.rank() < known.rank():
            best[candidate.identity] = candidate
    return list(best.values())


def _scan(project: _Project, source: UnitInput, *, requested: bool) -> list[_Found]:
    """The kernels of one unit; a requested file that holds none is reported."""
    text = read_text(source.path, project.sink if requested else Sink())
    if text is None:
        return []
    project.texts[source.path] = text.text
    told = project.sink if requested else Sink()
    below = project.options.below
    if not readable(source.path, text.data, source.includes, source.defines, told, below):
        return []
    try:
        unit = project.unit(source)
    except (OSError, ValueError) as problem:
        if requested:
            project.sink.report("CP1016", Span(source.path), path=source.path, reason=str(problem))
        return []
    for file in relations.user_files(unit) if below else ():  # macros can make a name that nothing above saw
        if not holds(below, file):
            told.report("CP5503", Span(source.path), path=source.path, name=file)
            return []
    project.lost += (gone := lost.lost_in(unit) if requested else [])
    suffix = ""
    explicit = templates.explicit(unit)
    if explicit:
        suffix = templates.wrapper(explicit)
        unit = project.unit(source, suffix)
    found = _kernels(unit, source, suffix)
    if source.named and not found and not gone:
        project.sink.report("CP1005", Span(source.path), hint=lost.why_none(unit), path=source.path)
    return found


def _kernels(unit: clang.Unit, source: UnitInput, suffix: str) -> list[_Found]:
    """Kernels defined in the unit's user files, with one entry more per instantiation that is referred to."""
    found: list[_Found] = []
    patterns = [k.cursor for k in clang.kernels_in(unit)]
    if not patterns:
        return found
    index = index_of(unit)
    launched = {raw.callee.get_usr() for raw in index.launches}
    chunks: Chunks | None = Chunks(unit) if unit.errors else None
    for pattern in patterns:
        is_template = pattern.kind.name == "FUNCTION_TEMPLATE"
        own = _found(unit, source, suffix, pattern, pattern, chunks)
        own.launched = pattern.get_usr() in launched
        if is_template:
            own.params = templates.parameters(unit, pattern)
        found.append(own)
        for usr, function in index.named.items():
            template = relations.specialized_template(function)
            if is_template and template is not None and template.canonical.get_usr() == own.pattern_usr:
                if function.location.offset != pattern.location.offset:
                    continue  # an explicit specialisation, which is a kernel of its own
                made = _found(unit, source, suffix, function, pattern, chunks)
                made.launched = usr in launched
                found.append(made)
    return found


def _found(
    unit: clang.Unit, source: UnitInput, suffix: str, cursor: Cursor, pattern: Cursor, chunks: Chunks | None
) -> _Found:
    span = clang.span_of(pattern)
    is_template = cursor.kind.name == "FUNCTION_TEMPLATE"
    made = _Found(
        place=(str(Path(span.path).resolve()), span.line, cursor.spelling),
        source=source,
        suffix=suffix,
        cursor_usr=cursor.get_usr(),
        pattern_usr=pattern.canonical.get_usr(),
        span=span,
        name=cursor.spelling,
        qualified=templates.qualified_name(cursor),
        args=() if is_template else templates.arguments(unit, cursor),
        is_template=is_template,
    )
    if chunks is not None:
        made.own_errors = len(unit.errors_in(*ast.offsets(pattern)))
        inside = _errors(unit, chunks, cursor)
        made.errors = len(inside)
        if inside:
            first = inside[0]
            made.first_error = lost.said(first)
            same = Path(first.path).resolve() == Path(made.span.path).resolve()
            path = made.span.path if same else first.path
            made.error_span = Span(path, first.line, first.column, first.line, first.column + 1)
        made.missing = tuple(relations.missing_headers(unit)) if made.errors else ()
    return made


def _errors(unit: clang.Unit, chunks: Chunks, kernel: Cursor) -> list[clang.ClangError]:
    """Errors inside the kernel or a declaration it needs."""
    faulty = [(p, chunks.at(p.path, p.offset)) for p in unit.errors]
    if all(chunk is None for _, chunk in faulty):
        return []
    needed = {id(c) for c in reach(chunks, kernel)}
    return [problem for problem, chunk in faulty if chunk is not None and id(chunk) in needed]


# ---- templates


def _instantiate(project: _Project, found: list[_Found]) -> list[_Found]:
    """Replace each template by its instantiations: asked for, seen, or guessed."""
    made = [f for f in found if not f.is_template]
    used: set[str] = set()
    for template in _best(f for f in found if f.is_template):
        asked = [t for t in project.options.instantiate if _names(t, template)]
        if asked:
            made = [f for f in made if f.place != template.place]
            used.update(asked)
            for text in asked:
                made += _asked(project, template, text)
        elif not any(f.place == template.place for f in made):
            made += _guessed(project, template)
    for text in project.options.instantiate:
        if text not in used:
            project.sink.report("CP1012", text=text, reason="no kernel template has this name")
    return made


def _names(text: str, template: _Found) -> bool:
    return text.partition("<")[0].strip().removeprefix("::") in (template.name, template.qualified)


def _forced(project: _Project, template: _Found, text: str) -> tuple[_Found | None, str]:
    """The template instantiated as `text` (arguments in <…>), or None and why clang didn't."""
    suffix = template.suffix + templates.wrapper([template.qualified + text], "forced")
    unit = project.unit(template.source, suffix)
    function = templates.forced(unit)
    if function is None:
        problems = [e.message for e in unit.errors]
        return None, problems[-1] if problems else "it names no function"
    pattern = relations.specialized_template(function) or function
    inside = unit.errors_in(*ast.offsets(pattern))
    if len(inside) > template.own_errors:
        return None, inside[-1].message
    chunks = Chunks(unit) if unit.errors else None
    return _found(unit, template.source, suffix, function, pattern, chunks), ""


def _asked(project: _Project, template: _Found, text: str) -> list[_Found]:
    made, reason = _forced(project, template, text[text.find("<") :] if "<" in text else "<>")
    if made is None:
        reason = templates.too_few(text, template.params) or reason
        project.sink.report("CP1012", template.span, text=text, reason=reason)
        return []
    return [made]


def _guessed(project: _Project, template: _Found) -> list[_Found]:
    tried: list[str] = []
    guesses = templates.guesses(template.params)
    for guess in guesses[:1] if template.own_errors else guesses:
        text = f"<{', '.join(guess)}>"
        tried.append(text)
        made, _ = _forced(project, template, text)
        if made is not None and made.errors <= template.errors:
            made.guess = made.instantiation
            return [made]
    shown = ", ".join(tried[:3]) + (" …" if len(tried) > 3 else "")
    shown = shown or "nothing: its parameters can't be guessed"
    project.sink.report("CP1011", template.span, kernel=template.qualified, tried=shown)
    return []


def _reading(project: _Project, found: _Found) -> KernelReading:
    own = Sink()
    if isinstance(found.args, int):
        own.report("CP1014", found.span, kernel=found.name, index=found.args + 1, what=_NAMELESS)
    if found.errors:
        for header in found.missing:
            own.report("CP1009", found.span, header=header)
        count = "1 error" if found.errors == 1 else f"{found.errors} errors"
        place = found.error_span or found.span
        own.report("CP1008", place, kernel=found.name, errors=count, first=found.first_error)
    if found.guess:
        own.report("CP1010", found.span, kernel=found.name, instantiation=found.guess)
    if str(Path(found.source.path).resolve()) != found.place[0] and not found.source.requested:
        own.report("CP1013", found.span, kernel=found.name, unit=found.source.path)
    source, suffix = found.source, found.suffix
    text = found.instantiation
    return KernelReading(
        name=found.name,
        cuda_name=found.qualified + text[len(found.name) :] if text else found.qualified,
        instantiation=text,
        path=found.span.path,
        span=found.span,
        unit_path=source.path,
        template_args=found.args if isinstance(found.args, tuple) else (),
        errors=found.errors,
        launched=found.launched,
        diagnostics=tuple(own.items),
        usr=found.cursor_usr,
        _load=lambda: project.unit(source, suffix),
    )


def _needs_copy(path: str) -> bool:
    try:
        Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return True
    return False


def _decoded(path: str) -> str:
    try:
        data = Path(path).read_bytes()
    except OSError:
        return ""
    text = decode(data, Span(path), Sink())
    if text is None:
        return ""
    return text.text if text.text is not None else data.decode("utf-8")
