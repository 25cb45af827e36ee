"""Settings: file under environment under flags, and errors that name the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.settings import ARCHES, Settings, SettingsError, load
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
    ],
)
def test_a_bad_file_names_what_is_wrong(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "cuteport.toml").write_text(text)
    with pytest.raises(SettingsError, match=word):
        load({}, {}, tmp_path)


def test_architectures_are_those_the_verifier_compiles_for() -> None:
    assert ARCHES == verify_compile.ARCHES
