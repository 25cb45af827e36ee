"""Settings: file under environment under flags, and errors that name the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.settings import ARCHES, Settings, SettingsError, load, price
from verify import compile as verify_compile


def test_flags_win_over_environment_over_file(tmp_path: Path) -> None:
    (tmp_path / "cuteport.toml").write_text('jobs = 2\nout = "a"\ninclude = ["x", "y"]\n')
    found = load({"out": "c", "jobs": None}, {"CUTEPORT_OUT": "b", "CUTEPORT_VERIFY": "no"}, tmp_path)
    assert found.jobs == 2
    assert found.out == Path("c")
    assert found.include == ("x", "y")
    assert found.verify is False


def test_without_anything_the_defaults(tmp_path: Path) -> None:
    assert load({}, {}, tmp_path) == Settings()
    assert Settings().workers >= 1


def test_environment_lists_are_split(tmp_path: Path) -> None:
    assert load({}, {"CUTEPORT_DEFINE": "A:B=2"}, tmp_path).define == ("A", "B=2")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("colour = 1", "colour"),
        ("jobs = 'many'", "jobs"),
        ("jobs = 1.5", "jobs"),
        ("jobs = -1", "jobs"),
        ("jobs = inf", "jobs"),
        ("unit_timeout = inf", "unit_timeout"),
        ("compile_timeout = nan", "compile_timeout"),
        ('out = "a\\u0000b"', "out"),
        ("define = ['']", "define"),
        ("define = ['A B']", "define"),
        ("verify = 'perhaps'", "verify"),
        ("include = [1]", "include"),
        ("arch = 'sm_1'", "arch"),
        ("std = 'c++03'", "std"),
        ("unit_timeout = 0", "timeout"),
        ("jobs = = 2", "cuteport.toml"),
        ("model = ' gpt'", "`model` can't be ' gpt'"),
        ('model = "a\\nb"', "`model` can't be"),
        ("base_url = 'localhost:8000'", "`base_url` .* http://localhost:8000/v1"),
        ("base_url = 'ftp://host/v1'", "`base_url` .* http:// or https://"),
        ("base_url = 'http:///v1'", "`base_url` .* no host"),
        ("base_url = 'http://host:x/v1'", "`base_url` .* port"),
        ("base_url = 'http://host:70000/v1'", "`base_url` .* port"),
        ("base_url = 'http://[::1/v1'", "`base_url` .* no URL"),
        ("base_url = 'http://a b/v1'", "`base_url` .* blanks"),
        ("prices = ['gpt']", "`prices` can't hold 'gpt': it takes MODEL=IN/OUT"),
        ("prices = ['gpt=1']", "`prices` can't hold 'gpt=1'"),
        ("prices = ['gpt=-1/2']", "`prices` can't hold 'gpt=-1/2'"),
        ("prices = ['gpt=nan/2']", "`prices` can't hold 'gpt=nan/2'"),
        ("prices = ['=1/2']", "`prices` can't hold '=1/2'"),
        ("prices = ['gpt=1/2', 'gpt=1/3']", "has a price already"),
        ("turns = 0", "`turns` can't be 0: it takes 1 to"),
        ("tokens = -5", "`tokens` can't be -5"),
        ("candidates = 65", "`candidates` can't be 65"),
        ("money = -0.5", "`money` can't be -0.5"),
        ("seconds = 0", "`seconds` can't be 0"),
        ("seconds = 1e9", "`seconds` can't be 1e.09"),
        ("request_timeout = -1", "`request_timeout` can't be -1"),
    ],
)
def test_a_bad_file_names_what_is_wrong(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "cuteport.toml").write_text(text)
    with pytest.raises(SettingsError, match=word):
        load({}, {}, tmp_path)


def test_an_endpoint_that_can_not_be_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "cuteport.toml").write_text("base_url = 'ftp://me:secret@host/v1'")
    with pytest.raises(SettingsError) as raised:
        load({}, {}, tmp_path)
    assert "secret" not in str(raised.value)


def test_a_price_may_name_a_model_with_slashes_and_equals_signs() -> None:
    assert price("org/m=a-7b=0.25/1") == ("org/m=a-7b", 0.25, 1.0)
    assert price("local=0/0") == ("local", 0.0, 0.0)


def test_an_endpoint_and_a_budget_are_read(tmp_path: Path) -> None:
    flags = {"model": "m", "base_url": "http://u:p@[::1]:8000/v1?x=1", "prices": ("m=1/2",), "money": 0.5}
    found = load(flags, {"CUTEPORT_TURNS": "3", "CUTEPORT_SECONDS": "0.5"}, tmp_path)
    assert (found.model, found.prices, found.money, found.turns, found.seconds) == (
        "m",
        ("m=1/2",),
        0.5,
        3,
        0.5,
    )


def test_architectures_are_those_the_verifier_compiles_for() -> None:
    assert ARCHES == verify_compile.ARCHES
