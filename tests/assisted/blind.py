"""What a model does without this tool: one request, one answer, then the same judgement.

    python -m tests.assisted.blind TASK… --model M [--base-url U] [--out FILE]

TASK is a task folder of `cuteport port --tasks`, or a target. The request has the CUDA source and what must
be known to be called at all: the function's name, its parameters, that grid and block come with the call.
Nothing of the corpus, the index of names, the draft, the pitfalls, and no second try. What is refused as a
port is judged once more without the rules for ports: whether its values are right is a question of its own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from unittest.mock import patch

import verify.run as run
from translator.llm.client import OpenAIClient
from translator.llm.extract import extract
from translator.llm.messages import LlmError, Message, Problem
from translator.loop.material import arguments, device_text
from translator.loop.workshop import Bench, Workshop
from translator.settings import load
from verify.spec_file import load_spec
from verify.verdict import StageResult, Status

ASK = """\
Port this CUDA kernel to NVIDIA's CuTe DSL (Python package nvidia-cutlass-dsl 4.8.1, target {arch}).

Write one file. It defines `{entry}({names}, *, grid, block, smem=0, stream=None)`,
which launches the port on the stream given, and `compile_{entry}()` (cached), which compiles it with
`cute.compile` and returns the compiled function. Pointers are passed as integer device addresses or CUDA
tensors, `grid` and `block` as tuples of three, the stream as an integer handle. Import only cutlass, torch,
cuda.bindings and the standard library.

Parameters:
{rows}

```cuda
{cuda}
```

Answer with the whole file in one ```python block.
"""


def request(target: Path, arch: str = "sm_90a") -> str:
    """What is asked about a target folder."""
    spec = load_spec(target)
    found = arguments(spec)
    return ASK.format(
        arch=arch,
        entry=spec.port.entry,
        names=", ".join(a.name for a in found),
        rows="\n".join(f"- {a.name}: {a.dtype}, {a.role}, {a.elems}" for a in found),
        cuda=device_text(target, spec),
    )


def blind(target: Path, client: OpenAIClient) -> dict[str, object]:
    """One answer, judged."""
    spec = load_spec(target)
    row: dict[str, object] = {"target": target.name}
    try:
        reply = client.ask([Message("user", request(target))])
    except LlmError as error:
        return row | {"status": "NO_ANSWER", "why": str(error)}
    row |= {"prompt_tokens": reply.usage.prompt, "answer_tokens": reply.usage.answer}
    found = extract(reply.content, (spec.port.entry,))
    if isinstance(found, Problem):
        return row | {"status": "NO_CODE", "why": found.message}
    with tempfile.TemporaryDirectory() as scratch:
        shop = Workshop.of(target, Path(scratch) / "t", spec.port.module, None, Bench())
        judged = shop.compared(found.code)
    assert judged.verdict is not None
    stage = judged.failed
    why = "" if stage is None else f"{stage.stage} {stage.code} {stage.message.splitlines()[0][:200]}"
    return row | {"status": str(judged.verdict.status), "why": why, "source": found.code}


def without_gate(target: Path, code: str) -> tuple[str, str]:
    """Status and reason where nothing is asked of the text: it is compiled and compared all the same."""

    def passed(place: Path, *_: object) -> StageResult:
        return StageResult(stage="static", target=str(place), status=Status.PASSED)

    spec = load_spec(target)
    # undone afterwards: the next answer is held to the rules again
    with tempfile.TemporaryDirectory() as scratch, patch.object(run, "check_static", passed):
        shop = Workshop.of(target, Path(scratch) / "t", spec.port.module, None, Bench())
        judged = shop.compared(code)
    assert judged.verdict is not None
    stage = judged.failed
    why = "" if stage is None else f"{stage.stage} {stage.code} {stage.message.splitlines()[0][:200]}"
    return str(judged.verdict.status), why


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tasks", nargs="+", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    client = OpenAIClient(load({"model": given.model, "base_url": given.base_url or None}))
    rows = []
    for task in given.tasks:
        rows.append(blind(task, client))
        if rows[-1]["status"] == Status.REJECTED_STATIC:
            rows[-1]["values"], rows[-1]["values_why"] = without_gate(task, str(rows[-1]["source"]))
        print({k: v for k, v in rows[-1].items() if k != "source"}, flush=True)
        if given.out:
            given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
