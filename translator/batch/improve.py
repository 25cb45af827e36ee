"""Runs with a model besides `port`: lift and tune, and going on with a run that is there."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from translator import runs
from translator.batch.assist import Came, Session, Tell, Wanted, ask, session
from translator.batch.kept import but_for_port
from translator.batch.run_file import RUN, RunFileError, alone_in, folder_of, read_run
from translator.loop.goal import Mode
from translator.loop.ledger import Entry
from translator.loop.log import logged
from translator.outcome import EXIT_DONE, EXIT_ENVIRONMENT, EXIT_FAILED, EXIT_USAGE
from translator.output import Wanted as Named
from translator.output import folder_names
from translator.settings import Settings, SettingsError
from verify.spec_file import SpecError, load_spec

# Codes that say what the machine or the endpoint lacks, not what a candidate does.
_ENVIRONMENT = frozenset({"CP0002", "CP5402", *(f"CP53{n:02d}" for n in range(1, 22))})


@dataclass(frozen=True, slots=True)
class Done:
    """What a run with a model came to; `folder` holds its logs, `problems` say what it lacks."""

    folder: str
    entries: tuple[Entry, ...]
    problems: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """3 where something is lacking, else 2 where a spec can't be used, else 1 where one did not pass,
        else 0."""
        failed = [e for e in self.entries if e.outcome != "PASSED"]
        if self.problems or any(e.code in _ENVIRONMENT for e in failed):
            return EXIT_ENVIRONMENT
        if any(e.code == "CP6001" for e in failed):
            return EXIT_USAGE
        return EXIT_FAILED if failed else EXIT_DONE


class HaltedError(KeyboardInterrupt):
    """An interruption that says how the run goes on."""


@contextlib.contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """An interruption within becomes one that names the command which goes on, once there is a run to go on
    with."""
    try:
        yield
    except KeyboardInterrupt:
        if not (folder / RUN).is_file():
            raise
        raise HaltedError(f"`cuteport runs resume {folder}` goes on") from None


def improve(mode: Mode, targets: Sequence[Path], settings: Settings, tell: Tell) -> Done:
    """Lift or tune every target folder. SettingsError, LlmError before anything is sent."""
    if not settings.model:
        raise SettingsError(
            f"{mode} asks a model: --model, CUTEPORT_MODEL or `model` in cuteport.toml names it"
        )
    for target in targets:
        if not (target / "spec.toml").is_file():
            raise SettingsError(f"{target}: no spec.toml there; {mode} takes folders of verified ports")
    places = [t.resolve() for t in targets]
    if len(set(places)) < len(places):
        raise SettingsError("a folder is named twice")
    names = folder_names([Named(t.resolve().name, "", str(t.resolve()), 0) for t in targets])
    wanted = [Wanted(n, t, settings.out / n, mode) for n, t in zip(names, targets, strict=True)]
    if inside := [str(w.out) for w in wanted if w.out.resolve().is_relative_to(w.target.resolve())]:
        raise SettingsError(f"{', '.join(inside)}: in the folder that is read; -o writes elsewhere")
    there = [str(w.out) for w in wanted if w.out.exists()]
    if there and not settings.force:
        raise SettingsError(f"{', '.join(there)}: there already; --force replaces it, -o writes elsewhere")
    folder = runs.new_folder(settings.runs)
    with _resumable(folder), alone_in(folder):
        work = session(settings, folder)
        return _done(work, ask(work, wanted, tell))


def resume(run: Path, settings: Settings, given: Collection[str], tell: Tell) -> Done:
    """Go on with what did not pass. `given` are settings of the command line, which replace the run's own.
    RunFileError, RunBusyError."""
    folder = folder_of(run, settings.runs)
    read_run(folder)  # before anything is written there
    with _resumable(folder), alone_in(folder):
        return _resumed(folder, settings, given, tell)


def _resumed(folder: Path, settings: Settings, given: Collection[str], tell: Tell) -> Done:
    held = read_run(folder)
    asked = held.run
    own = {
        n: getattr(asked, n)
        for n in ("model", "turns", "tokens", "money", "seconds", "candidates", "device", "arch")
        if n not in given
    }
    wanted = [Wanted(a.name, Path(a.target), Path(a.out), a.mode) for a in held.open]
    gone = [str(w.target) for w in wanted if not w.target.is_dir()]
    if gone:
        raise RunFileError(folder, f"gone since: {', '.join(gone)}")
    if there := [str(w.out) for w in wanted if not _free(w, folder)]:
        raise RunFileError(folder, f"there already: {', '.join(there)}")
    work = session(replace(settings, **own), folder, resumed=True)
    work.alone = True
    if wanted:
        ask(work, wanted, tell)
    return Done(str(folder), tuple(work.ledger.entries), work.problems)


def _free(w: Wanted, folder: Path) -> bool:
    """Whether `w.out` may be written: what is there is this run's own, which was killed before it said so."""
    if w.mode != "port" and not w.out.exists():
        return True
    try:
        port = w.out / load_spec(w.target).port.module
        text = port.read_text(encoding="utf-8") if port.exists() else None
    except (SpecError, OSError, ValueError):
        return w.mode == "port"  # of a spec that can't be used it is told later
    own = text is not None and logged(folder / w.name, text) is not None
    if w.mode == "port":
        return text is None or own
    return own and but_for_port(w.target, w.out, port.name)


def replay(run: Path, settings: Settings, tell: Tell) -> Done:
    """What a run's models said, judged anew; nothing but a new run folder is written. RunFileError."""
    folder = folder_of(run, settings.runs)
    asked = read_run(folder).run
    own = {n: getattr(asked, n) for n in ("model", "turns", "tokens", "candidates", "device", "arch")}
    place = runs.new_folder(settings.runs)
    wanted = [Wanted(a.name, Path(a.target), place / a.name / "out", a.mode) for a in asked.asked]
    if gone := [str(w.target) for w in wanted if not w.target.is_dir()]:
        raise RunFileError(folder, f"gone since: {', '.join(gone)}")
    with alone_in(place):
        work = session(replace(settings, **own, money=0.0, seconds=86_400.0), place, replay=folder)
        work.alone = True
        return _done(work, ask(work, wanted, tell))


def _done(work: Session, came: Sequence[Came]) -> Done:
    return Done(str(work.folder), tuple(c.entry for c in came), work.problems)
