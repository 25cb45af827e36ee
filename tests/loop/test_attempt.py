"""One conversation: what ends it, what the model is told, when the strategy changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.loop.scripted import RIGHT, Model, fenced, talk, wrong
from translator.llm.messages import LlmError, Reply, ToolCall, Usage


def test_the_first_candidate_that_passes_ends_it(tmp_path: Path) -> None:
    model = Model(fenced(wrong(3)), fenced(RIGHT))
    ended = talk(model, tmp_path).run()
    assert ended.best is not None and ended.best.source == RIGHT
    assert (ended.code, len(model.asked)) == ("", 2)


def test_the_model_is_told_the_first_bad_element(tmp_path: Path) -> None:
    model = Model(fenced(wrong(3)), fenced(RIGHT))
    talk(model, tmp_path).run()
    said = model.asked[1][-1].content
    assert model.asked[1][-1].role == "user"
    assert "x[3]" in said and "CP7012" in said
    assert "n=8" in said


def test_an_answer_without_code_is_answered_with_what_is_missing(tmp_path: Path) -> None:
    model = Model("I think it should work.", fenced(RIGHT))
    ended = talk(model, tmp_path).run()
    assert ended.best is not None
    assert "whole file" in model.asked[1][-1].content


def test_the_same_text_twice_changes_the_strategy_at_once(tmp_path: Path) -> None:
    # told to step smaller, then shown another exemplar, then begun anew with the best, then given up
    worst, best = fenced(wrong(7)), fenced(wrong(2))
    model = Model(worst, best, best, best, best, best)
    ended = talk(model, tmp_path, hidden=1).run()
    assert (ended.best, ended.code) == (None, "CP5404")
    steps = [e["step"] for e in _events(tmp_path) if e["what"] == "step"]
    assert steps == ["smaller step", "other exemplar", "back to best", "give up"]
    assert "kernel 90" in model.asked[4][-1].content
    assert "this text was tried before, with the same result." in model.asked[4][-1].content
    fresh = model.asked[5]
    assert len(fresh) == 2 and "# wrong 2" in fresh[1].content and "# wrong 7" not in fresh[1].content


def test_the_same_fault_in_other_words_is_noticed_too(tmp_path: Path) -> None:
    model = Model(*(fenced(wrong(4, f"try {n}")) for n in range(8)))
    ended = talk(model, tmp_path).run()
    assert ended.code == "CP5404"
    assert len(model.asked) == 8  # each change of strategy gets two tries


def test_going_back_and_forth_between_two_texts_is_noticed(tmp_path: Path) -> None:
    a, b = fenced(wrong(4)), fenced("# static 9\n" + RIGHT.partition("\n")[2])
    model = Model(*[a, b] * 4)
    assert talk(model, tmp_path).run().code == "CP5404"
    assert len(model.asked) <= 8


def test_the_budget_ends_it_before_another_request(tmp_path: Path) -> None:
    model = Model(*(fenced(wrong(20 - n)) for n in range(9)))
    ended = talk(model, tmp_path, turns=3).run()
    assert (ended.code, len(model.asked)) == ("CP5403", 3)
    assert "3 turns" in ended.why


def test_a_fault_of_the_original_ends_it(tmp_path: Path) -> None:
    model = Model(fenced("# suspect\n" + RIGHT.partition("\n")[2]))
    ended = talk(model, tmp_path).run()
    assert ended.code == "CP5406" and "race" in ended.why


def test_what_the_emulator_lacks_is_told_and_another_candidate_may_do_without(tmp_path: Path) -> None:
    model = Model(fenced("# gap tensormap\n" + RIGHT.partition("\n")[2]), fenced(RIGHT))
    assert talk(model, tmp_path).run().best is not None
    assert "tensormap is not supported" in model.asked[1][-1].content


def test_too_long_for_the_model_drops_exemplars_by_rank(tmp_path: Path) -> None:
    long = LlmError.of("CP5312", model="m", reason="8192 tokens")
    model = Model(long, long, fenced(RIGHT))
    assert talk(model, tmp_path, exemplars=2).run().best is not None
    shown = [[n for n in (0, 1) if f"kernel {n}" in asked[1].content] for asked in model.asked]
    assert shown == [[0, 1], [0], []]


def test_too_long_with_nothing_left_to_drop_ends_it(tmp_path: Path) -> None:
    long = LlmError.of("CP5312", model="m", reason="8192 tokens")
    ended = talk(Model(long), tmp_path).run()
    assert ended.code == "CP5312"


def test_a_long_conversation_is_begun_again_with_its_best(tmp_path: Path) -> None:
    long = LlmError.of("CP5312", model="m", reason="8192 tokens")
    model = Model(fenced(wrong(5)), long, fenced(RIGHT))
    assert talk(model, tmp_path).run().best is not None
    assert len(model.asked[2]) == 2 and "# wrong 5" in model.asked[2][1].content


def test_an_error_of_the_endpoint_ends_it_with_its_code(tmp_path: Path) -> None:
    ended = talk(Model(LlmError.of("CP5302", endpoint="e", reason="401")), tmp_path).run()
    assert (ended.code, ended.fatal) == ("CP5302", True)


def test_an_answer_that_was_cut_is_asked_for_again_and_paid_for(tmp_path: Path) -> None:
    cut = Reply("import", (), Usage(100, 4096), "length", 0.0, "m")
    model = Model(LlmError.of("CP5313", reply=cut, model="m", tokens=4096), fenced(RIGHT))
    made = talk(model, tmp_path)
    assert made.run().best is not None
    assert "cut off" in model.asked[1][-1].content
    assert made.purse.spent.answer == 4096 + 10


def test_answers_that_stay_empty_end_it(tmp_path: Path) -> None:
    empty = LlmError.of("CP5310", model="m", reason="no content")
    model = Model(*[empty] * 9)
    assert talk(model, tmp_path).run().code == "CP5310"
    assert len(model.asked) == 5


# ---- with tools


def call(name: str, /, **arguments: object) -> ToolCall:
    return ToolCall(f"c-{name}", name, json.dumps(arguments))


def test_submit_ends_it_where_it_passes(tmp_path: Path) -> None:
    model = Model(call("submit", source=wrong(1)), call("submit", source=RIGHT), tools=True)
    ended = talk(model, tmp_path).run()
    assert ended.best is not None
    answer = model.asked[1][-1]
    assert (answer.role, answer.call_id) == ("tool", "c-submit") and "x[1]" in answer.content


def test_edits_change_the_last_file(tmp_path: Path) -> None:
    model = Model(
        call("check", source=wrong(1)),
        call("submit", edits=[{"old": "# wrong 1", "new": "# right"}]),
        tools=True,
    )
    ended = talk(model, tmp_path).run()
    assert ended.best is not None and ended.best.source == RIGHT
    assert "compiles" in model.asked[1][-1].content


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (call("submit", edits=[{"old": "nowhere", "new": "x"}]), "no file yet"),
        (call("look_up", names=["a"]), "no such tool"),
        (ToolCall("c", "submit", '{"source": "a'), "read"),
        (call("submit", source=RIGHT, mode="x"), "mode"),
        (ToolCall("c", "submit", '{"source": "\\ud800"}'), "no text"),
        (call("read_block", name="../../etc/passwd"), "no block"),
        (call("read_entry", id="../../etc"), "no entry"),
        (
            call("submit", source=RIGHT.replace("k", "k"), edits=[{"old": "pass", "new": "x"}]),
            "occurs 2 times",
        ),
    ],
)
def test_a_call_that_cannot_be_made_is_answered(tmp_path: Path, made: ToolCall, said: str) -> None:
    model = Model(made, call("submit", source=RIGHT), tools=True)
    assert talk(model, tmp_path).run().best is not None
    assert said in model.asked[1][-1].content


def test_every_call_of_one_answer_gets_its_own(tmp_path: Path) -> None:
    calls = [call("read_block", name="lane_reduce"), call("submit", source=wrong(2))]
    model = Model(calls, call("submit", source=RIGHT), tools=True)
    talk(model, tmp_path).run()
    block, judged = model.asked[1][-2:]
    assert "def lane_reduce" in block.content and "x[2]" in judged.content


def test_one_answer_does_not_buy_many_judgements(tmp_path: Path) -> None:
    many = [ToolCall(f"c{n}", "verify", json.dumps({"source": wrong(n + 1)})) for n in range(20)]
    model = Model(many, call("submit", source=RIGHT), tools=True)
    made = talk(model, tmp_path)
    assert made.run().best is not None
    answers = [m.content for m in model.asked[1] if m.role == "tool"]
    assert len(answers) == 20 and sum("Not done" in a for a in answers) == 16
    assert made.log.candidates == 5


# ---- lift and tune


def test_lift_takes_what_passes_and_is_another_text(tmp_path: Path) -> None:
    other = RIGHT.replace("# right", "# right 0 tiles")
    model = Model(fenced(RIGHT), fenced(wrong(1)), fenced(other))
    ended = talk(model, tmp_path, mode="lift", start=RIGHT).run()
    assert ended.best is not None and ended.best.source == other


def test_what_is_left_behind_tells_the_story(tmp_path: Path) -> None:
    talk(Model(fenced(wrong(3)), fenced(RIGHT)), tmp_path).run()
    names = {p.name for p in tmp_path.iterdir()}
    assert {"50-prompt-1.md", "51-answer-1.md", "52-candidate-2.py", "60-verdict-2.json"} <= names
    reached = [e["reached"] for e in _events(tmp_path) if e["what"] == "candidate"]
    assert reached == ["VALUES", "PASSED"]


def _events(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def test_an_endpoint_that_takes_no_tools_is_not_told_of_them_again(tmp_path: Path) -> None:
    model = Model(fenced(wrong(3)), fenced(RIGHT), tools=False)
    conversation = talk(model, tmp_path)
    conversation.brief = replace(conversation.brief, tools=True)  # as when the client did not know yet
    assert conversation.run().best is not None
    first, second = model.asked
    assert "Call `submit`" in first[0].content
    assert not any("`submit`" in m.content for m in second), "the answer is to be a whole file"
    assert "in one fence" in second[0].content
