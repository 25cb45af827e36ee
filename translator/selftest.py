"""The main job on a bundled kernel: read it, port it, compile the port. For `cuteport doctor`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from importlib import metadata
from importlib.resources import as_file, files
from pathlib import Path

from translator.batch.work import Part, Ported, translate_part
from translator.diag.diagnostic import Sink
from translator.frontend.inputs import ReadOptions, collect
from translator.output import write_folder


class SelfTestError(Exception):
    """A self test failed; the text says at what."""


def read_canary() -> str:
    """Read the bundled kernel with libclang; what was done, in words. Raises SelfTestError."""
    with as_file(files("translator").joinpath("canary", "canary.cu")) as source:
        from translator.frontend.project import read

        sink = Sink()
        found = read([str(source)], ReadOptions(), sink)
        problems = [*sink.items, *(d for r in found for d in r.diagnostics)]
        if len(found) != 1 or problems:
            raise SelfTestError(
                str(problems[0]) if problems else "the bundled kernel was not found in its file"
            )
    return f"libclang {metadata.version('libclang')} read the bundled kernel"


def compile_canary() -> str:
    """Port the bundled kernel and compile the port in a child; in words. Raises SelfTestError."""
    from verify.run import Options, verify_target

    with (
        as_file(files("translator").joinpath("canary", "canary.cu")) as source,
        tempfile.TemporaryDirectory(prefix="cuteport-doctor-") as held,
    ):
        folder = Path(held) / "canary"
        options = ReadOptions()
        ported = translate_part(Part(collect([str(source)], options, Sink()), options))
        write_folder(folder, dict(_only(ported).files))
        verdict = verify_target(folder, Options(stages=("static", "compile")))
    compiled = verdict.stage("compile")
    if compiled is None or compiled.compile is None:
        raise SelfTestError(f"{verdict.status}: {verdict.proven}")
    facts = compiled.compile
    return f"the bundled kernel's port compiles for {facts.arch} in {facts.compile_seconds:.2f} s"


def _only(ported: Sequence[Ported]) -> Ported:
    if len(ported) != 1 or not ported[0].files:
        said = [f"{f.code} {f.message}" for p in ported for f in p.outcome.findings]
        raise SelfTestError(f"the bundled kernel is not translated: {'; '.join(said) or 'nothing was said'}")
    return ported[0]
