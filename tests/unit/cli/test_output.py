"""Writing: folder names that don't depend on order, and folders that are whole or untouched."""

from __future__ import annotations

import errno
import itertools
import json
from pathlib import Path

import pytest

from translator import output
from translator.output import EditedError, Wanted, edited, file_safe, folder_names, line_map, write_folder


def port_files(body: str, spec: str = "name = 'k'\n") -> dict[str, str | bytes]:
    return {
        "original/k.cu": b"// k",
        "spec.toml": spec,
        "line_map.json": line_map("k", [(1, "k.cu", 1)], {}, body, spec),
        "port.py": body,
    }


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("k", "k"),
        ("float, 8>", "float_8"),
        ("größe", "gr_e"),
        ("../../etc", "etc"),
        ("", "kernel"),
        ("><", "kernel"),
    ],
)
def test_names_are_safe(text: str, name: str) -> None:
    assert file_safe(text) == name


def test_long_names_are_cut_and_stay_apart() -> None:
    a, b = file_safe("a" * 300 + "1"), file_safe("a" * 300 + "2")
    assert len(a) <= 100
    assert a != b


def test_collisions_are_resolved_whatever_the_order() -> None:
    wanted = [
        Wanted("k", "", "a/x.cu", 3),
        Wanted("k", "", "b/x.cu", 9),
        Wanted("k", "", "c/y.cu", 1),
        Wanted("k", "k<float, 8>", "a/x.cu", 3),
        Wanted("K", "", "c/y.cu", 20),
        Wanted("f", "f<int>", "z.cu", 1),
        Wanted("f", "f<int>", "z.cu", 50),
    ]
    names = dict(zip(wanted, folder_names(wanted), strict=True))
    assert len({n.casefold() for n in names.values()}) == len(wanted)
    assert names[wanted[3]] == "k__float_8"
    for order in itertools.islice(itertools.permutations(wanted), 0, 5040, 97):
        assert dict(zip(order, folder_names(order), strict=True)) == names


def test_a_new_folder_holds_all_files_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_folder(tmp_path / "out" / "k", port_files("one"))
    assert contents(tmp_path / "out" / "k")["port.py"] == b"one"
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["k"]


def test_a_second_port_replaces_the_first_and_keeps_what_it_does_not_write(tmp_path: Path) -> None:
    folder = tmp_path / "k"
    write_folder(folder, port_files("one"))
    (folder / "reference.py").write_text("mine")
    assert write_folder(folder, port_files("two")) == set()
    assert contents(folder)["port.py"] == b"two"
    assert contents(folder)["reference.py"] == b"mine"


def test_an_edited_port_is_never_overwritten_unless_forced(tmp_path: Path) -> None:
    folder = tmp_path / "k"
    write_folder(folder, port_files("one"))
    (folder / "port.py").write_text("tuned by hand")
    before = contents(folder)
    with pytest.raises(EditedError):
        write_folder(folder, port_files("two"))
    assert contents(folder) == before
    write_folder(folder, port_files("two"), force=True)
    assert contents(folder)["port.py"] == b"two"


def test_an_edited_spec_is_kept_and_stays_known_as_edited(tmp_path: Path) -> None:
    folder = tmp_path / "k"
    write_folder(folder, port_files("one"))
    (folder / "spec.toml").write_text("answered")
    for body in ("two", "three"):
        assert write_folder(folder, port_files(body)) == {"spec.toml"}
        assert contents(folder)["spec.toml"] == b"answered"
        assert edited(folder) == {"spec.toml"}


def test_a_port_of_unknown_origin_counts_as_edited(tmp_path: Path) -> None:
    folder = tmp_path / "k"
    folder.mkdir()
    (folder / "port.py").write_text("whose?")
    with pytest.raises(EditedError):
        write_folder(folder, port_files("two"))


@pytest.mark.parametrize("name", ["port.py", "spec.toml", "original/k.cu"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("exists", [True, False])
def test_a_full_disk_or_ctrl_c_leaves_the_state_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException, exists: bool
) -> None:
    folder = tmp_path / "out" / "k"
    if exists:
        write_folder(folder, port_files("one"))
    before = contents(tmp_path)
    real = output._write

    def write(path: Path, content: str | bytes) -> None:
        if str(path).endswith(name):
            path.parent.mkdir(exist_ok=True)
            path.write_text("half")
            raise error
        real(path, content)

    monkeypatch.setattr(output, "_write", write)
    with pytest.raises(type(error)):
        write_folder(folder, port_files("two"))
    assert contents(tmp_path) == before
    assert [p.name for p in (tmp_path / "out").iterdir()] == (["k"] if exists else [])


def test_line_map_is_small_and_readable() -> None:
    made = json.loads(line_map("k", [(3, "k.cu", 7)], {"in": "in_"}, "p", "s"))
    assert made["lines"] == [[3, "k.cu", 7]]
    assert made["renames"] == {"in": "in_"}
