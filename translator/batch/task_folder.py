"""The folder of a refused kernel: the original, a spec drafted from it alone, and what was refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from translator.analysis.constructs import census
from translator.analysis.features import features
from translator.diag.diagnostic import Diagnostic, Sink
from translator.frontend.slice_lines import author_name
from translator.model.kernel import KernelModel
from translator.output import TASK, sha256

if TYPE_CHECKING:
    from translator.emit import Draft
    from translator.frontend.project import KernelReading

Files = tuple[tuple[str, str | bytes], ...]


def task_files(
    reading: KernelReading,
    made: Mapping[str, KernelModel | Draft | str],
    refused: Sequence[Diagnostic],
    stage: str,
    sink: Sink,
    opt_level: int | None,
) -> Files:
    """(name, content) of each file. `made` is what the stages gave up to `stage`, which ended the kernel.

    The spec's questions go to `sink`. OSError where the source can't be read again.
    """
    from translator.pipeline import outline
    from translator.task import Feature, Refusal, Task, to_text

    whole = made.get("model")
    known = outline(reading, whole if isinstance(whole, KernelModel) else None, sink, opt_level)
    for name, kind in known.unknown:
        sink.report("CP3108", reading.span, param=name, type=kind)
    model, draft = known.model, made.get("emit")
    spec = known.spec + "".join(_question(name, kind) for name, kind in known.unknown)
    task = Task.model_validate(
        {
            "kernel": reading.name,
            "instantiation": reading.instantiation,
            "cuda_name": reading.cuda_name,
            "source": reading.path,
            "line": reading.span.line,
            "entry": known.names.entry,
            "stage": stage,
            "refusals": [
                Refusal(code=d.code, path=d.span.path, line=d.span.line, message=d.message, hint=d.hint)
                for d in dict.fromkeys(refused)
            ],
            "whole": not model.partial,
            "launch_seen": bool(model.launches),
            "constructs": census(model),
            "features": [
                Feature.model_validate({"kind": f.kind, "name": f.name, "lines": list(f.lines)})
                for f in features(model.device_slice)
            ],
            "lines": max(0, reading.span.end_line - reading.span.line + 1) if reading.span.line else 0,
            "draft": None if draft is None or isinstance(draft, str | KernelModel) else draft.source,
            "spec_sha256": sha256(spec.encode("utf-8", "surrogateescape")),
        }
    )
    path = Path(model.source.path)
    return (
        (f"original/{author_name(path.name)}", path.read_bytes()),
        ("original/device.cu", model.device_slice),
        ("spec.toml", spec),
        (TASK, to_text(task)),
    )


def _question(name: str, kind: str) -> str:
    from translator.analysis.spec_text import quoted
    from translator.diag.codes import CODES

    text = CODES["CP3108"].message.format(param=name, type=kind)
    return f'\n[[question]]\ncode = "CP3108"\ntext = {quoted(text)}\n'
