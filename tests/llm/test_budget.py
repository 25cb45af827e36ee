"""What may be spent, what was, and what a price that isn't known does to a limit of money."""

# ruff: noqa: E501  (a row of a table is a line)

from __future__ import annotations

import pytest

from translator.llm.budget import Budget, Left, Price, Spent, estimate, price_of, prices
from translator.llm.messages import LlmError, Message, Tool, ToolCall, Usage
from translator.settings import Settings

PRICE = Price(2.0, 10.0)
BUDGET = Budget(3, 1000, 0.01, 60.0)


def test_answers_add_up() -> None:
    spent = Spent().plus(Usage(100, 20), PRICE).plus(Usage(200, 30, estimated=True), PRICE)
    assert (spent.turns, spent.prompt, spent.answer, spent.tokens) == (2, 300, 50, 350)
    assert spent.money == pytest.approx((300 * 2 + 50 * 10) / 1e6)
    assert spent.estimated
    assert not Spent().plus(Usage(1, 1), PRICE).estimated


def test_money_stays_unknown_once_an_answer_had_no_price() -> None:
    assert Spent().plus(Usage(1, 1)).plus(Usage(1, 1), PRICE).money is None


def test_what_is_left() -> None:
    spent = Spent(1, 600, 100, 0.004)
    assert BUDGET.left(spent, 10.0) == Left(2, 300, pytest.approx(0.006), 50.0)
    assert BUDGET.left(Spent(9, 5000, 0, 1.0), 100.0) == Left(0, 0, 0.0, 0.0)
    assert Budget(1, 1, 0.0, 1.0).left(Spent(), 0.0).money is None


@pytest.mark.parametrize(
    ("spent", "elapsed", "ahead", "reason"),
    [
        (Spent(), 0.0, 0, None),
        (Spent(2, 998, 1, 0.0099), 59.9, 1, None),
        (Spent(3), 0.0, 0, "all 3 turns are used"),
        (Spent(), 60.0, 0, "60 s of 60 s are over"),
        (Spent(1, 900, 100, 0.0), 0.0, 0, "1000 of 1000 tokens are used"),
        (Spent(1, 900, 0, 0.0), 0.0, 101, "the next prompt of about 101 tokens is more than the 100 left"),
        (Spent(1, 900, 0, 0.0, True), 0.0, 101, "the next prompt of about 101 tokens is more than the about 100 left"),
        (Spent(1, 1, 1, 0.01), 0.0, 0, "0.0100 of 0.01 dollars are used"),
        (Spent(1, 1, 1, 0.0099), 0.0, 60, "the next prompt costs about 0.0001 dollars, more than the 0.0001 left"),
        (Spent(1, 1, 1, None), 0.0, 0, "what 1 turns cost is not known, and money is limited"),
    ],
)  # fmt: skip
def test_the_first_limit_that_is_reached_is_named(
    spent: Spent, elapsed: float, ahead: int, reason: str | None
) -> None:
    assert BUDGET.over(spent, elapsed, ahead, PRICE) == reason


def test_without_a_limit_of_money_it_is_not_asked_for() -> None:
    assert Budget(3, 1000, 0.0, 60.0).over(Spent(1, 1, 1, None), 0.0, 5) is None


def test_prices_are_a_table() -> None:
    assert prices(("a=1/2", "org/b=0.5/.25")) == {"a": Price(1.0, 2.0), "org/b": Price(0.5, 0.25)}


def test_a_price_is_never_guessed() -> None:
    assert price_of(Settings(model="a", prices=("a=1/2",), money=1.0)) == Price(1.0, 2.0)
    assert price_of(Settings(model="b", prices=("a=1/2",))) is None
    with pytest.raises(LlmError) as raised:
        price_of(Settings(model="a-mini", prices=("a=1/2",), money=1.5))
    assert (raised.value.code, raised.value.fatal) == ("CP5322", True)
    assert raised.value.message == "money is limited to 1.5 dollars, and the price of a-mini is not known"


def test_a_budget_is_that_of_the_settings() -> None:
    assert Budget.of(Settings(turns=2, tokens=5, money=0.5, seconds=9.0)) == Budget(2, 5, 0.5, 9.0)


def test_an_estimate_is_a_quarter_of_the_characters() -> None:
    call = ToolCall("id", "look", '{"a": 1}')  # 12 characters; the id is not text
    tool = Tool("look", "Looks.", {"a": 1})  # 4 + 6 + 8
    assert estimate([Message("user", "x" * 41)]) == 11
    assert estimate([Message("assistant", "", (call,))], [tool]) == (12 + 18 + 3) // 4
