"""What the loop's tests are made of: a model that says what a test wrote down, and verdicts without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from translator.grounding.blocks import corpus_blocks
from translator.llm.budget import Budget
from translator.llm.messages import LlmError, Message, Reply, Tool, ToolCall, Usage
from translator.loop.attempt import Conversation
from translator.loop.goal import Goal, Mode
from translator.loop.judged import Judged
from translator.loop.log import Log
from translator.loop.purse import Purse
from translator.loop.tools import Desk
from translator.loop.workshop import Bench, Workshop
from translator.prompts.brief import ArgumentLine, BestSoFar, Brief, ExemplarText, Launch
from verify.facts import CompileFacts, Difference, ParityFacts, RunFacts
from verify.options import Options
from verify.verdict import StageResult, Status, Verdict, conclude

Said = str | ToolCall | list[ToolCall] | LlmError

RIGHT = "# right\nimport cutlass\n\n\ndef k(x, stream=None):\n    pass\n\n\ndef compile_k():\n    pass\n"


def wrong(number: int, text: str = "") -> str:
    """A candidate whose first bad element is `number`."""
    return RIGHT.replace("# right", f"# wrong {number} {text}".rstrip())


def fenced(code: str) -> str:
    return f"Here it is.\n\n```python\n{code}```\n"


class Model:
    """Says `said`, one a turn, and keeps what it was asked."""

    tools = True

    def __init__(self, *said: Said, tools: bool = False) -> None:
        self.said = list(said)
        self.asked: list[tuple[Message, ...]] = []
        self.tools = tools

    def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Reply:
        self.asked.append(tuple(messages))
        if not self.said:
            raise AssertionError("the loop asked once more than the test expects")
        said = self.said.pop(0)
        if isinstance(said, LlmError):
            raise said
        text = said if isinstance(said, str) else ""
        calls = () if isinstance(said, str) else tuple(said) if isinstance(said, list) else (said,)
        return Reply(text, calls, Usage(100, 10), "stop", 0.0, "scripted")


COMPILED = CompileFacts(
    arch="sm_90a", compile_seconds=0, ptx_bytes=1, ptx_sha256="", cubin_bytes=1, cubin_sha256="", kernels=[]
)


def verdict(source: str, options: Options) -> Verdict:
    """What the first line of a candidate says: `# right`, `# wrong N`, `# static N`, `# suspect`."""
    word, _, rest = source.partition("\n")[0].removeprefix("# ").partition(" ")
    stages = [_stage("static", Status.PASSED)]
    if word == "static":
        stages = [_stage("static", Status.REJECTED_STATIC, "CP6003", f"imports os at {rest}", line=1)]
    else:
        stages.append(_stage("compile", Status.PASSED, compile=COMPILED))
        if "parity" in options.stages:
            stages.append(_parity(word, rest))
    status, proven = conclude(stages)
    return Verdict(target="t", kernel="k", status=status, proven=proven, stages=stages)


def _parity(word: str, rest: str) -> StageResult:
    if word == "suspect":
        return _stage("parity", Status.ORIGINAL_SUSPECT, "CP8011", "a race")
    if word == "gap":
        return _stage("parity", Status.NOT_RUN, "CP7103", f"case n=8: {rest} is not supported")
    number = int((rest or "0").split()[0])
    run = RunFacts(case="n=8", seed=0, values="spec", grid=(1, 1, 1), block=(32, 1, 1), counted=True)
    off = Difference(output="x", dtype="float32", rule="exact", elements=8)
    if word == "wrong":
        off = off.model_copy(
            update={"bad": number, "first_bad": number, "port_value": "1", "original_value": "2"}
        )
    facts = ParityFacts(
        runs=[run], outputs=[off], rule="exact", deterministic=True, order_dependent=False, port_repeats=1
    )
    if word == "wrong":
        return _stage("parity", Status.WRONG_VALUES, "CP7012", f"case n=8: x[{number}] is 1", parity=facts)
    return _stage("parity", Status.PASSED, parity=facts)


def _stage(
    name: str, status: Status, code: str | None = None, message: str = "", **facts: object
) -> StageResult:
    return StageResult.model_validate(
        {"stage": name, "target": "t", "status": status, "code": code, "message": message, **facts}
    )


def brief(mode: Mode = "port", *, tools: bool = False, exemplars: int = 0) -> Brief:
    return Brief(
        kernel="k",
        mode=mode,
        cuda="__global__ void k(float* x) { x[threadIdx.x] = 1; }",
        path="original/device.cu",
        entry="k",
        arguments=(ArgumentLine("x", "float32", "out", "8"),),
        launch=Launch(("1", "1", "1"), ("8", "1", "1")),
        cases=("n=8",),
        tolerance="exact",
        arch="sm_90a",
        exemplars=tuple(exemplar(n) for n in range(exemplars)),
        best=BestSoFar(RIGHT) if mode != "port" else None,
        tools=tools,
    )


def exemplar(number: int) -> ExemplarText:
    return ExemplarText(f"family/entry{number}", f"entry {number}", (), f"cuda {number}", f"kernel {number}")


def talk(
    model: Model,
    folder: Path,
    *,
    mode: Mode = "port",
    turns: int = 20,
    exemplars: int = 0,
    hidden: int = 0,
    judge: Callable[[Path, Options], Verdict] | None = None,
    start: str = "",
) -> Conversation:
    """A conversation with `model` whose candidates are judged by their first line."""
    folder.mkdir(exist_ok=True)

    def by_first_line(target: Path, options: Options) -> Verdict:
        return verdict((target / "port.py").read_text(), options)

    shop = Workshop(folder, "port.py", None, Bench(), judge or by_first_line)
    begun = Judged(start, (), verdict(start, Options())) if start else None
    return Conversation(
        model,
        brief(mode, tools=model.tools, exemplars=exemplars),
        Desk(shop, None, corpus_blocks(), []),
        Goal(mode, begun),
        Purse(Budget(turns, 1_000_000, 0.0, 600.0)),
        Log(folder),
        hidden=[exemplar(90 + n) for n in range(hidden)],
    )
