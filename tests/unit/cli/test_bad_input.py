"""Whatever it is given, cuteport answers with a message and a documented exit code, and never half a port."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from translator.batch import driver, fanout
from translator.batch.work import Part, Ported
from translator.cli.main import run

ROOT = Path(__file__).resolve().parents[3]
GOOD = """\
__global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = a * x[i];
}
"""


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def port(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of `cuteport port … --no-verify --json`; nothing else may be on stdout."""
    code = run(["port", "--no-verify", "--json", "-j", "2", *arguments])
    said = capfd.readouterr()
    assert "Traceback" not in said.out + said.err
    document: dict[str, Any] = json.loads(said.out)
    assert document["summary"]["exit_code"] == code
    return code, document


def codes(document: dict[str, Any]) -> set[str]:
    return {d["code"] for k in document["kernels"] for d in k["diagnostics"] if d["severity"] == "error"}


def write(name: str, content: str | bytes) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return name


@pytest.mark.parametrize(
    ("name", "content", "exit_code", "code"),
    [
        ("missing.cu", None, 2, "CP1001"),
        ("empty.cu", b"", 1, "CP1004"),
        ("blank.cu", b" \n\t\n", 1, "CP1004"),
        ("notes.cu", b"Dear reader, this is no CUDA at all.\n", 1, "CP1005"),
        ("host.cu", b"int main() { return 0; }\n", 1, "CP1005"),
        ("binary.cu", bytes(range(256)) * 40, 1, "CP1003"),
        ("broken.cu", GOOD.replace("if (i", "if ((i"), 1, "CP1008"),
        ("cut.cu", GOOD[:90], 1, "CP1008"),
        ("unknown.cu", GOOD.replace("a * x[i]", "a * frobnicate(x[i])"), 1, "CP1008"),
    ],
)
def test_bad_files(
    capfd: pytest.CaptureFixture[str], name: str, content: str | bytes | None, exit_code: int, code: str
) -> None:
    if content is not None:
        write(name, content)
    got, document = port(capfd, name)
    assert (got, codes(document)) == (exit_code, {code})
    assert all(k["status"] == "REFUSED" and k["out"] is None for k in document["kernels"])
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "text",
    [
        '#include "/dev/zero"\n',
        "#  include </dev/zero> // endless\n",
        '#define WHERE "/dev/zero"\n#include WHERE\n',
        '#inc\\\nlude /* " */ "/dev/zero"\n',
        '%:include "/dev/zero"\n',
        '#include "pipe.h"\n',
        '#include "outer.h"\n',
        '#include "link.h"\n',
    ],
)
def test_what_has_no_end_is_never_included(capfd: pytest.CaptureFixture[str], text: str) -> None:
    os.mkfifo("pipe.h")
    write("outer.h", '#include "outer.h"\n#include "inner/more.h"\n')
    write("inner/more.h", '#include "../pipe.h"\n')
    Path("link.h").symlink_to("/dev/zero")
    code, document = port(capfd, write("k.cu", text + GOOD), write("other.cu", GOOD))
    assert (code, codes(document)) == (1, {"CP1018"})
    assert document["summary"]["statuses"] == {"NOT_RUN": 1, "REFUSED": 1}


def test_a_folder_of_an_includes_name_is_passed_by(capfd: pytest.CaptureFixture[str]) -> None:
    write("include/utils", "#define TWO 2\n")
    Path("utils").mkdir()
    code, document = port(capfd, write("k.cu", '#include "utils"\n' + GOOD.replace("a *", "TWO *")))
    assert code == 0, document


def test_sources_have_a_largest_size(capfd: pytest.CaptureFixture[str]) -> None:
    with Path("large.h").open("wb") as f:
        f.truncate(3 << 30)  # a hole: it takes no room, and reading it would
    write("k.cu", '#include "large.h"\n' + GOOD)
    code, document = port(capfd, "large.h", "k.cu")
    assert (code, codes(document)) == (1, {"CP1017"})
    said = [d["message"] for k in document["kernels"] for d in k["diagnostics"]]
    assert {s.rpartition("/")[2] for s in said} == {"large.h has 3221 MB; sources of up to 16 MB are read"}
    assert port(capfd, write("good.cu", GOOD))[0] == 0  # its neighbours are looked at, and not read


def bomb(depth: int) -> str:
    """A macro E that stands for 10 to the power of `depth` terms."""
    lines = ["#define E0 +1", *(f"#define E{k} {f'E{k - 1} ' * 10}" for k in range(1, depth + 1))]
    return "\n".join([*lines, f"#define E E{depth}", GOOD.replace("a *", "a E *")])


def test_macros_without_end_are_cut_off(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fanout, "FOREIGN_SECONDS", 0.5)
    code, document = port(capfd, write("k.cu", bomb(12)), write("good.cu", GOOD))
    assert (code, codes(document)) == (1, {"CP0004"})
    assert document["summary"]["statuses"] == {"NOT_RUN": 1, "TIMEOUT": 1}
    (said,) = [d["message"] for k in document["kernels"] for d in k["diagnostics"] if d["code"] == "CP0004"]
    assert said == "reading k.cu took longer than 0.5 s"


def test_a_source_that_ends_the_parser_is_no_bug_of_ours(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = driver.translate_part

    def crashes(part: Part) -> list[Ported]:
        if part.inputs.units[0].path == "k.cu":
            fanout.foreign(begins=True)  # a million nested terms do it, in seconds
            os.kill(os.getpid(), signal.SIGKILL)
        return real(part)

    monkeypatch.setattr(driver, "translate_part", crashes)
    code, document = port(capfd, write("k.cu", GOOD), write("good.cu", GOOD))
    assert (code, codes(document)) == (1, {"CP1016"})
    said = [d["message"] for k in document["kernels"] for d in k["diagnostics"] if d["code"] == "CP1016"]
    assert "SIGKILL while libclang read it" in said[0]


def test_one_bad_file_never_stops_the_others(capfd: pytest.CaptureFixture[str]) -> None:
    paths = [write("a/good.cu", GOOD), "gone.cu", write("b.cu", b"\0\1"), write("c/good.cu", GOOD)]
    code, document = port(capfd, *paths)
    assert code == 2
    written = [k["out"] for k in document["kernels"] if k["out"]]
    assert len(written) == 2
    assert all(Path(w, "port.py").is_file() for w in written)
    assert document["summary"]["statuses"] == {"NOT_RUN": 2, "REFUSED": 2}


@pytest.mark.parametrize(
    "name", ["two words.cu", "größe-日本.cu", "quo'te$(x).cu", "-dash.cu", "a/../b.cu", "k"]
)
def test_odd_names(capfd: pytest.CaptureFixture[str], name: str) -> None:
    Path("a").mkdir()
    write(name, GOOD)
    code, document = port(capfd, "--", name) if name.startswith("-") else port(capfd, name)
    assert code == 0, document
    assert document["kernels"][0]["out"] == "out/scale"
    assert Path("out/scale/original", Path(name).name).read_text() == GOOD


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace("  ", "\t").encode(),
        b"// gr\xf6\xdfe \xb5m\n" + GOOD.encode(),
        ("// größe\n" + GOOD).encode("utf-16"),
        GOOD.rstrip("\n").encode(),
    ],
    ids=["bom", "crlf", "tabs", "latin-1", "utf-16", "no end of line"],
)
def test_odd_encodings_are_read(capfd: pytest.CaptureFixture[str], content: bytes) -> None:
    code, document = port(capfd, write("k.cu", content))
    assert code == 0, document
    assert Path("out/scale/original/k.cu").read_bytes() == content
    compile(Path("out/scale/port.py").read_bytes(), "port.py", "exec")


def test_a_kernel_of_2000_lines(capfd: pytest.CaptureFixture[str]) -> None:
    lines = [f"  t{k} = t{(k * 7 + 3) % 50} * {k}.5f + t{(k * 11) % 50};" for k in range(50)] * 40
    declared = "  float " + ", ".join(f"t{k} = x[{k}]" for k in range(50)) + ";\n"
    body = declared + "\n".join(lines) + "\n  x[0] = " + " + ".join(f"t{k}" for k in range(50)) + ";\n"
    start = time.monotonic()
    code, document = port(capfd, write("long.cu", "__global__ void long_one(float* x) {\n" + body + "}\n"))
    assert code == 0, document
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("depth", [200, 5_000])
def test_deep_nesting_is_an_answer(capfd: pytest.CaptureFixture[str], depth: int) -> None:
    nested = "(" * depth + "x[0]" + " + 1)" * depth
    code, document = port(capfd, write("deep.cu", f"__global__ void k(int* x) {{ x[0] = {nested}; }}\n"))
    assert code in (0, 1), document
    if code == 0:
        compile(Path("out/k/port.py").read_bytes(), "port.py", "exec")


def test_more_parentheses_than_python_takes(capfd: pytest.CaptureFixture[str]) -> None:
    nested = "sinf(" * 250 + "x[1]" + ")" * 250
    code, document = port(capfd, write("deep.cu", f"__global__ void k(float* x) {{ x[0] = {nested}; }}\n"))
    assert (code, codes(document)) == (1, {"CP4007"})


@pytest.mark.parametrize("where", ["named.cu", "folder/k.cu", "k.h", "cuteport.toml", "commands.json"])
def test_a_pipe_is_not_waited_for(capfd: pytest.CaptureFixture[str], where: str) -> None:
    Path("folder").mkdir()
    write("Makefile", "")  # so that the whole folder is searched for what includes k.cu
    write("folder/good.cu", GOOD)
    os.mkfifo(where)
    if where == "cuteport.toml":
        assert run(["port", "folder"]) == 2
    elif where == "commands.json":
        code, document = port(capfd, "folder", "--compile-commands", where)
        assert (code, codes(document)) == (2, {"CP1007"})
    else:
        code, document = port(
            capfd, "folder" if "/" in where else "folder/good.cu" if "h" in where else where
        )
        assert (code, codes(document)) == ((1, {"CP1002"}) if where == "named.cu" else (0, set()))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_is_not_read(capfd: pytest.CaptureFixture[str]) -> None:
    code, document = port(capfd, "/dev/zero")
    assert (code, codes(document)) == (1, {"CP1002"})


def test_an_empty_path_is_no_folder(capfd: pytest.CaptureFixture[str]) -> None:
    write("k.cu", GOOD)
    code, document = port(capfd, "")
    assert (code, codes(document)) == (2, {"CP1001"})


def test_a_file_name_that_is_no_text(capfd: pytest.CaptureFixture[str]) -> None:
    code, document = port(capfd, write("\udcff.cu", GOOD), write("k.cu", GOOD))
    assert (code, codes(document)) == (1, {"CP1002"})
    assert document["summary"]["statuses"] == {"REFUSED": 1, "NOT_RUN": 1}
    child = cuteport("port", "\udcff.cu", "--no-verify", stdout=subprocess.PIPE)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 1
    assert "CP1002" in out and "Traceback" not in out + err


def test_compile_commands_nested_without_end(capfd: pytest.CaptureFixture[str]) -> None:
    code, document = port(capfd, write("k.cu", GOOD), "--compile-commands", write("c.json", "[" * 100_000))
    assert (code, codes(document)) == (2, {"CP1007"})


def test_output_that_cannot_be_written(capfd: pytest.CaptureFixture[str]) -> None:
    write("taken", "a file, not a folder")
    code, document = port(capfd, write("k.cu", GOOD), "-o", "taken")
    assert (code, codes(document)) == (3, {"CP0002"})
    assert Path("taken").read_text() == "a file, not a folder"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write to")
def test_output_without_permission(capfd: pytest.CaptureFixture[str]) -> None:
    code, document = port(capfd, write("k.cu", GOOD), "-o", "/proc/cuteport")
    assert (code, codes(document)) == (3, {"CP0002"})


def test_an_edited_port_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    source = write("k.cu", GOOD)
    port(capfd, source)
    Path("out/scale/port.py").write_text("# tuned by hand\n")
    code, document = port(capfd, source)
    assert (code, codes(document)) == (1, {"CP0003"})
    assert Path("out/scale/port.py").read_text() == "# tuned by hand\n"
    assert port(capfd, source, "--force")[0] == 0


def test_wrong_usage_is_2_and_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    source = write("k.cu", GOOD)
    for arguments in (
        ["port"],
        ["port", source, "--no-such"],
        ["port", source, "--arch", "sm_1"],
        ["nonsense"],
    ):
        assert run(arguments) == 2
        said = capfd.readouterr()
        assert said.out == ""
        assert said.err
    code, document = port(capfd, source, "-k", "other")
    assert (code, codes(document)) == (2, {"CP1015"})
    code, document = port(capfd, source, "--instantiate", "other<int>")
    assert (code, codes(document)) == (2, {"CP1012"})


def test_a_bug_is_cp0001_with_its_folder_and_no_traceback(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(part: Part) -> list[Ported]:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(driver, "translate_part", fails)
    code, document = port(capfd, write("k.cu", GOOD))
    assert (code, codes(document)) == (4, {"CP0001"})
    folder = Path(document["summary"]["run_folder"])
    assert any("planted" in p.read_text() for p in folder.glob("*.traceback.txt"))


def test_a_child_that_dies_loses_its_own_file_only(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = driver.translate_part

    def dies(part: Part) -> list[Ported]:
        if any(u.path == "bad.cu" for u in part.inputs.units):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(part)

    monkeypatch.setattr(driver, "translate_part", dies)
    paths = [
        write("bad.cu", GOOD),
        write("uses_bad.cu", f'#include "bad.cu"\n{GOOD.replace("scale", "other")}'),
    ]
    code, document = port(capfd, *paths)
    assert code == 4
    assert {k["kernel"]: k["status"] for k in document["kernels"] if k["source"] == "bad.cu"}[""] == "CRASHED"
    assert any(k["kernel"] == "other" and k["out"] for k in document["kernels"]), document["kernels"]


def cuteport(*arguments: str, code: str = "", **more: Any) -> subprocess.Popen[str]:
    """The command in a process of its own; `code` runs in it first."""
    program = f"{code}\nfrom translator.cli.main import main\nmain()"
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **more,
    )


def test_ctrl_c_keeps_what_is_whole_and_leaves_no_process(tmp_path: Path) -> None:
    slow = (
        "import os, pathlib, time\n"
        "from translator.batch import driver\n"
        "def slow(part):\n"
        "    pathlib.Path('child').write_text(str(os.getpid())); time.sleep(60)\n"
        "driver.translate_part = slow"
    )
    child = cuteport("port", write("k.cu", GOOD), "--json", code=slow, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not (Path("child").exists() and Path("child").read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert "Traceback" not in err
    assert json.loads(out)["summary"]["interrupted"] is True
    assert "interrupted: 0 of 1 files read, no kernel written" in err
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path("child").read_text()), 0)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["child", "k.cu"]


def test_a_full_disk_leaves_no_half_port() -> None:
    write("k.cu", GOOD)

    def tiny_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))  # every longer write fails, as on a full disk

    child = cuteport("port", "k.cu", "--no-verify", preexec_fn=tiny_files, stdout=subprocess.PIPE)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 3, err
    assert "CP0002" in out
    assert "Traceback" not in out + err
    assert list(Path("out").iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_stdout_is_said_on_stderr() -> None:
    with Path("/dev/full").open("w") as full:
        child = cuteport("schema", "port", stdout=full)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 3
    assert "No space left" in err
    assert "Traceback" not in err


def test_a_closed_pipe_is_silent() -> None:
    read, held = os.pipe()
    os.close(read)
    child = cuteport("schema", "port", stdout=held)
    os.close(held)
    _, err = child.communicate(timeout=60)
    assert err == ""
    assert child.returncode in (1, 141)  # 1 where the parser notices first


def test_folders_without_kernels_are_no_failures_beside_one_that_has_some(
    capfd: pytest.CaptureFixture[str],
) -> None:
    write("with/scale.cu", GOOD)
    write("with/host.cpp", "int main() { return 0; }\n")
    write("with/only_declared.h", "__global__ void other(float* x);\n")
    write("without/host.cu", "int main() { return 0; }\n")
    code, document = port(capfd, "with", "without")
    assert code == 0
    assert [k["kernel"] for k in document["kernels"]] == ["scale"]


@pytest.mark.parametrize("text", ["int main() { return 0; }\n", "__global__ void k(float* x);\n"])
def test_nothing_in_any_folder_is_said_once_a_folder(capfd: pytest.CaptureFixture[str], text: str) -> None:
    write("a/host.cu", text)
    write("b/host.cu", text)
    code, document = port(capfd, "a", "b")
    assert code == 1
    assert codes(document) == {"CP1005"}
    assert [k["source"] for k in document["kernels"]] == ["a", "b"]
