"""One conversation with a model about one kernel: ask, judge, tell what is wrong, until it is right or spent.

    opening ▸ ask ▸ candidate ▸ names ▸ verify ▸ what is wrong ▸ ask …

With an endpoint that takes tools the model calls them; without, each answer holds one whole file.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from translator.llm.extract import extract
from translator.llm.messages import Client, LlmError, Message, Problem, Reply, Tool
from translator.llm.patient import StoppedError
from translator.llm.transcript import UnwrittenError
from translator.loop.feedback import passed, told
from translator.loop.goal import Goal
from translator.loop.judged import Judged, Reached
from translator.loop.log import Log
from translator.loop.policy import Policy, Step
from translator.loop.purse import Purse
from translator.loop.tools import JUDGING, TOOLS, Answer, Desk
from translator.output import unwritten
from translator.prompts.brief import Brief, ExemplarText
from translator.prompts.feedback import Feedback, Repeated, ToolProblem
from translator.prompts.render import brief_marker, feedback, opening, without_exemplar

_CONTEXT = "CP5312"  # longer than the model's context
# Answers that can't be used, and what is said of them.
_UNUSABLE = {
    "CP5310": "Your answer was empty. Send the whole file.",
    "CP5313": "Your answer was cut off at its longest. Send the whole file again, with less beside it.",
}
# Candidates of one answer that are judged; each is an attempt, and one answer is paid for as one turn.
_MOST_JUDGED = 4
_NOT_DONE = f"Not done: at most {_MOST_JUDGED} candidates of one answer are judged, none after the end."
_COMPILES = "It compiles. Nothing was run."


@dataclass(frozen=True, slots=True)
class Ended:
    """How a conversation ended: `code` and `why` are empty where it reached its goal. `fatal`: no other
    conversation with this endpoint can do better."""

    best: Judged | None
    code: str = ""
    why: str = ""
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class Next:
    """What follows from an answer: what to say of it, and the change of strategy, with its reason."""

    items: tuple[Feedback, ...] = ()
    step: Step = Step.GO_ON
    why: str = ""


@dataclass(slots=True)
class Conversation:
    """`cuda` are the lines of the device source; `hidden` are exemplars held back, best first; `of_draft` is
    what was found wrong with the draft that the first request shows."""

    client: Client
    brief: Brief
    desk: Desk
    goal: Goal
    purse: Purse
    log: Log
    cuda: Sequence[str] = ()
    hidden: list[ExemplarText] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    of_draft: Sequence[Feedback] = ()
    policy: Policy = field(default_factory=Policy)
    messages: list[Message] = field(default_factory=list)
    ended: Ended | None = None

    def run(self) -> Ended:
        """Talk until the goal is reached, the budget spent, or nothing changes any more; or until the disk is
        full (CP0002), which costs nothing that has passed."""
        try:
            return self._talk()
        except OSError as error:
            if isinstance(error, UnwrittenError) and error.reply is not None:
                self.purse.add(error.reply)
            return Ended(self.goal.best, "CP0002", unwritten(error, self.log.folder), fatal=True)

    def _talk(self) -> Ended:
        self._begin()
        while self.ended is None:
            if self.log.unwritten is not None:
                raise self.log.unwritten
            if self.stop.is_set():
                return Ended(self.goal.best, "", "another candidate got there first")
            if why := self.purse.over(self.messages, self._tools):
                return Ended(self.goal.best, "CP5403", why)
            try:
                reply = self.client.ask(self.messages, self._tools)
            except StoppedError:
                continue
            except LlmError as error:
                if error.reply is not None:
                    self.purse.add(error.reply)  # received and paid for, though it is of no use
                if self._can_go_on(error):
                    continue
                return Ended(self.goal.best, error.code, error.message, error.fatal)
            self.purse.add(reply)
            self.log.reply(reply)
            if self.brief.tools and not getattr(self.client, "tools", True):
                self._without_tools()
            self._follow(self._called(reply) if reply.calls else self._answered(reply))
        return self.ended

    @property
    def _tools(self) -> Sequence[Tool]:
        return TOOLS if self.brief.tools else ()

    def _without_tools(self) -> None:
        """The endpoint turned out to take no tools: what is asked from here on does not speak of them. The
        beginning, which did, is told anew."""
        self.brief = replace(self.brief, tools=False)
        if all(m.role != "assistant" for m in self.messages):
            self._begin()

    def _can_go_on(self, error: LlmError) -> bool:
        """Whether asking in another way may help: with less, or after saying what was wrong."""
        if error.code == _CONTEXT:
            return self._shorter()
        if error.code not in _UNUSABLE:
            return False
        self.log.step("ask again", error.message)
        if self.policy.empty()[0] is not Step.GO_ON:
            return False
        self._say(_UNUSABLE[error.code])
        return True

    # ---- one answer

    def _called(self, reply: Reply) -> Next:
        """The model called tools: each gets its answer; the last candidate decides what comes next."""
        self.messages.append(Message("assistant", reply.content, reply.calls))
        then = Next()
        judged = 0
        for call in reply.calls:
            judged += call.name in JUDGING
            over = judged > _MOST_JUDGED or self.stop.is_set() or self.purse.seconds_left <= 0
            if over or self.ended is not None:
                self.messages.append(Message("tool", _NOT_DONE, call_id=call.id))
                continue
            answer = self.desk.call(call)
            text = answer.text
            if answer.problem:
                schema = json.dumps(dict(answer.schema)) if answer.schema else ""
                text = self._worded([ToolProblem(call.name, answer.problem, schema)])
            elif answer.judged is not None:
                then = self._weigh(answer)
                text = self._worded(then.items) if then.items else _COMPILES
            self.messages.append(Message("tool", text, call_id=call.id))
            self.log.answer(call.name, text)
        return replace(then, items=())

    def _answered(self, reply: Reply) -> Next:
        """The model answered in words: one whole file is expected in them."""
        self.messages.append(Message("assistant", reply.content))
        entry = self.brief.entry
        found = extract(reply.content, (entry, f"compile_{entry}"))
        if isinstance(found, Problem):
            step, why = self.policy.empty()
            self._say(found.say)
            return Next((), step, why)
        self.desk.source = found.code
        return self._weigh(Answer(judged=self.desk.workshop.compared(found.code), submitted=True))

    def _weigh(self, answer: Answer) -> Next:
        """What becomes of a candidate."""
        judged = answer.judged
        assert judged is not None
        if self.stop.is_set() and not judged.passed:
            return Next()  # no verdict: whoever said stop may have ended the children that judged
        self.log.judged(judged)
        if answer.compiled_only and judged.failed is None and not judged.unknown:
            return Next()  # nothing is known of it but that it compiles
        if judged.hopeless:
            assert judged.verdict is not None
            self.ended = Ended(self.goal.best, "CP5406", judged.verdict.proven)
            return Next()
        self.goal.note(judged)
        if self.goal.reached(submitted=answer.submitted):
            self.ended = Ended(self.goal.best)
            return Next()
        step, why = self.policy.note(judged)
        if judged.passed and judged.verdict is not None:
            return Next((passed(judged.verdict),))
        return Next(tuple(told(judged, self.cuda)), step, why)

    # ---- what comes next

    def _follow(self, then: Next) -> None:
        """Say what is wrong, and change the strategy where it has to be changed."""
        if self.ended is not None:
            return
        if then.step is Step.GIVE_UP:
            self.log.step(then.step, then.why)
            self.ended = Ended(self.goal.best, "CP5404", then.why)
            return
        items = list(then.items)
        if then.step is not Step.GO_ON:
            self.log.step(then.step, then.why)
            items = self._changed(then)
        if items:
            self._say(self._worded(items))

    def _changed(self, then: Next) -> list[Feedback]:
        """The feedback with its change of strategy; a new conversation where that is the change."""
        best = self.policy.best
        if then.step is Step.BACK_TO_BEST and best is not None:
            self._begin()
            self.desk.source = best.source
            return [Repeated(then.why, "back to best", best=best.source), *told(best, self.cuda)]
        if then.step is Step.OTHER_EXEMPLAR and self.hidden:
            shown = self.hidden.pop(0)
            return [*then.items, Repeated(then.why, "other exemplar", exemplar=shown)]
        return [*then.items, Repeated(then.why, "smaller step")]

    def _shorter(self) -> bool:
        """Begin again with less: one exemplar fewer, and of the conversation only its best candidate. False
        where nothing is left to leave out."""
        if not self.brief.exemplars and len(self.messages) <= 2:
            return False
        self.brief = without_exemplar(self.brief)
        self.log.step(Step.BACK_TO_BEST, "the conversation is too long for the model")
        best = self.policy.best
        self._begin()
        if best is not None and best.reached > Reached.NAMES:
            again = Repeated("the conversation got too long", "back to best", best=best.source)
            self._say(self._worded([again, *told(best, self.cuda)]))
        return True

    def _begin(self) -> None:
        system, user = opening(self.brief)
        self.messages = [Message("system", system), Message("user", user)]
        if self.of_draft and self.brief.draft:
            self._say(f"The draft was tried as it stands.\n\n{self._worded(self.of_draft)}")
        self.log.prompt(self.messages)

    def _worded(self, items: Sequence[Feedback]) -> str:
        return feedback(
            items, brief_marker(self.brief), tools=self.brief.tools, turns_left=self.purse.turns_left
        )

    def _say(self, text: str) -> None:
        last = self.messages[-1]
        if last.role == "user":  # two in a row are refused by some endpoints
            self.messages[-1] = replace(last, content=f"{last.content}\n\n{text}")
        else:
            self.messages.append(Message("user", text))
        self.log.said(text)
