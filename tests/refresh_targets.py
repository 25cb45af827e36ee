"""Ports every target again: `python -m tests.refresh_targets [NAME …]`.

Writes port.py, line_map.json and original/device.cu from the author's source and leaves the hand-checked spec
alone. Exit code 1 if one is refused.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from translator.diag.diagnostic import Sink
from translator.emit import emit
from translator.frontend import project
from translator.frontend.build import build_model
from translator.passes import lower

TARGETS = Path(__file__).parent.parent / "targets"


def refresh(folder: Path) -> list[str]:
    """Port one target; the diagnostics that refused it, none if it was written."""
    spec = tomllib.loads((folder / "spec.toml").read_text(encoding="utf-8"))
    wanted = spec["original"]["kernel"].replace(" ", "")
    sources = [p for p in (folder / "original").glob("*.cu") if p.name != "device.cu"]
    sink = Sink()
    for reading in project.read(sources, project.ReadOptions(), sink):
        if wanted not in (reading.cuda_name.replace(" ", ""), reading.name):
            continue
        found = Sink()
        model = build_model(reading, found)
        if model is None:
            return [str(d) for d in found.items]
        lowered = lower(model, found)
        draft = emit(lowered, found)
        if found.refused:
            return [str(d) for d in found.items]
        (folder / "port.py").write_text(draft.source, encoding="utf-8")
        (folder / "original" / "device.cu").write_text(model.device_slice, encoding="utf-8")
        rows = [[line, Path(path).name, at] for line, path, at in draft.line_map]
        (folder / "line_map.json").write_text(json.dumps({"rows": rows}) + "\n", encoding="utf-8")
        return []
    return [f"{folder.name}: no kernel {wanted} found", *(str(d) for d in sink.items)]


def main(names: list[str]) -> int:
    folders = [f for f in sorted(TARGETS.iterdir()) if (f / "spec.toml").is_file()]
    folders = [f for f in folders if not names or f.name in names]
    failed = 0
    for folder in folders:
        problems = refresh(folder)
        failed += bool(problems)
        print(f"{folder.name}: {'; '.join(problems) or 'ported'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
