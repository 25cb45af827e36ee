"""Which paths a tool may be given: below the folders of --allow, and below the run folder."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from translator.diag.codes import CODES
from translator.frontend.fence import holds


class RefusedError(Exception):
    """A call that is answered with a code. `kind` is refused, usage, environment or bug, as in documents."""

    def __init__(self, code: str, kind: str = "usage", **args: str) -> None:
        self.code = code
        self.kind = kind
        self.message = CODES[code].message.format(**args)
        super().__init__(f"{code}: {self.message}")


@dataclass(frozen=True, slots=True)
class Roots:
    """`allowed` are folders that the user gave, links followed; relative paths are those of the first. `run`
    is the run folder, which may not be there yet."""

    allowed: tuple[Path, ...]
    run: Path

    @property
    def below(self) -> tuple[str, ...]:
        return tuple(map(str, (*self.allowed, self.run)))

    def path(self, given: str) -> Path:
        """The file or folder that `given` names, links followed. RefusedError CP5502 for one outside, whether
        it exists or not, CP1001 where there is none, CP5504 for pipes, devices, sockets and circles."""
        place = self.allowed[0] / given
        try:
            real = place.resolve()
        except (OSError, RuntimeError):
            raise RefusedError("CP5504", path=given) from None
        if not holds(self.below, real):
            raise RefusedError("CP5502", path=given)
        try:
            mode = real.stat().st_mode
        except OSError:
            raise RefusedError("CP1001", path=given) from None
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise RefusedError("CP5504", path=given)
        return real

    def folder(self, given: str) -> Path:
        """As `path`, of a folder."""
        real = self.path(given)
        if not real.is_dir():
            raise RefusedError("CP1001", path=given)
        return real
