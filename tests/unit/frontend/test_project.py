"""Which files and kernels a project gives, with which flags, and what is said about files that give none."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.frontend.inputs import default_includes
from translator.frontend.project import KernelReading, ReadOptions, read

PLAIN = "__global__ void k(float* x, int n) { x[threadIdx.x] = n; }\n"


def kernels(paths: list[Path], **options: object) -> tuple[list[KernelReading], Sink]:
    sink = Sink()
    return read([str(p) for p in paths], ReadOptions(**options), sink), sink  # type: ignore[arg-type]


def codes(sink: Sink) -> list[str]:
    return [d.code for d in sink.items]


def write(folder: Path, name: str, text: str | bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + PLAIN.encode(),
        ("\ufeff" + PLAIN).encode("utf-16-le"),
        PLAIN.replace("\n", "\r\n").encode(),
        b"// gr\xfc\xdfe\n" + PLAIN.encode(),
        PLAIN.replace(" ", "\t").encode(),
        b"/* \xff\xfe */\n" + PLAIN.encode(),
    ],
)
def test_any_text_is_read(tmp_path: Path, data: bytes) -> None:
    found, sink = kernels([write(tmp_path, "a.cu", data)])
    assert [(r.name, r.errors) for r in found] == [("k", 0)]
    assert not sink.refused
    assert [p.spelling for p in found[0].cursor.get_arguments()] == ["x", "n"]


def test_odd_bytes_are_noted(tmp_path: Path) -> None:
    _, sink = kernels([write(tmp_path, "a.cu", b"// \xfc\n" + PLAIN.encode())])
    assert codes(sink) == ["CP1006"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\0\1\2\3", "CP1003"),
        (b"", "CP1004"),
        (b" \n\t\r\n", "CP1004"),
        (b"int main() { return 0; }\n", "CP1005"),
        (b"// __global__ void k() {}\n", "CP1005"),
        (b"__global__ void k(int);\n", "CP1005"),
        (b"#if 0\n__global__ void k() {}\n#endif\n", "CP1005"),
        (b"\x89PNG\r\n\x1a\n\0\0", "CP1003"),
        (b"}}}} not ( C at all <<<", "CP1005"),
    ],
)
def test_files_without_a_kernel(tmp_path: Path, data: bytes, code: str) -> None:
    found, sink = kernels([write(tmp_path, "a.cu", data)])
    assert found == []
    assert codes(sink) == [code]


def test_missing_and_unreadable(tmp_path: Path) -> None:
    found, sink = kernels([tmp_path / "no.cu"])
    assert (found, codes(sink)) == ([], ["CP1001"])
    if os.geteuid():
        locked = write(tmp_path, "locked.cu", PLAIN)
        locked.chmod(0)
        assert codes(kernels([locked])[1]) == ["CP1002"]


def test_folder_is_searched_in_a_fixed_order(tmp_path: Path) -> None:
    write(tmp_path, "b/two.cu", PLAIN.replace("k(", "second("))
    write(tmp_path, "a/one.cuh", PLAIN.replace("k(", "first("))
    write(tmp_path, "host.cpp", "int main() {}")
    write(tmp_path, "notes.txt", PLAIN)
    found, sink = kernels([tmp_path])
    assert [r.name for r in found] == ["first", "second"]
    assert codes(sink) == []


def test_empty_folder(tmp_path: Path) -> None:
    assert codes(kernels([tmp_path])[1]) == ["CP1005"]


def test_fragment_is_read_through_its_includer(tmp_path: Path) -> None:
    fragment = write(tmp_path, "kernels.cu", "__global__ void k(real* x) { x[0] = ONE; }\n")
    main = write(tmp_path, "main.cu", 'typedef double real;\n#define ONE 1\n#include "kernels.cu"\n')
    for paths in ([tmp_path], [fragment]):
        found, _ = kernels(paths)
        assert [(r.name, r.errors, r.unit_path) for r in found] == [("k", 0, str(main))]
        assert found[0].path == str(fragment)
        assert found[0].span.line == 1
    assert [d.code for d in kernels([fragment])[0][0].diagnostics] == ["CP1013"]


def test_includer_is_taken_for_its_launch(tmp_path: Path) -> None:
    header = write(tmp_path, "k.cuh", "template <class T> __global__ void k(T* x) { x[0] = 1; }\n")
    write(tmp_path, "main.cu", '#include "k.cuh"\nvoid run(int* x) { k<<<1, 32>>>(x); }\n')
    found, _ = kernels([header])
    assert [(r.instantiation, r.launched) for r in found] == [("k<int>", True)]


def test_broken_kernel_keeps_its_reading_and_says_why(tmp_path: Path) -> None:
    text = '#include "lost.h"\n' + PLAIN + "__global__ void bad(thing* x) { x[0] = 1; }\n"
    found, sink = kernels([write(tmp_path, "a.cu", text)])
    assert [(r.name, [d.code for d in r.diagnostics]) for r in found] == [
        ("k", []),
        ("bad", ["CP1009", "CP1008"]),
    ]
    assert "lost.h" in found[1].diagnostics[0].message
    assert codes(sink) == []


def test_error_in_a_function_that_the_kernel_calls_counts(tmp_path: Path) -> None:
    text = (
        "__device__ float helper(float v) { return v + missing; }\n"
        "__device__ float unused() { return also_missing; }\n"
        "__global__ void uses(float* x) { x[0] = helper(1); }\n"
        "__global__ void clean(float* x) { x[0] = 1; }\n"
    )
    found, _ = kernels([write(tmp_path, "a.cu", text)])
    assert [(r.name, r.errors) for r in found] == [("uses", 1), ("clean", 0)]


def test_options_reach_the_compiler(tmp_path: Path) -> None:
    write(tmp_path, "lib/size.h", "#define SIZE 4\n")
    file = write(
        tmp_path, "src/a.cu", '#include "size.h"\n#ifdef ON\n' + PLAIN.replace("= n", "= SIZE") + "#endif\n"
    )
    assert kernels([file])[0] == []
    found, _ = kernels([file], includes=(str(tmp_path / "lib"),), defines=("ON=1",))
    assert [(r.name, r.errors) for r in found] == [("k", 0)]


def test_default_include_folders(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "p" / "src").mkdir(parents=True)
    (tmp_path / "p" / "common").mkdir()
    folders = default_includes(str(tmp_path / "p" / "src" / "a.cu"))
    assert folders[:3] == [str(tmp_path / "p/src"), str(tmp_path / "p/common"), str(tmp_path / "include")]


def test_compile_commands(tmp_path: Path) -> None:
    file = write(tmp_path, "src/a.cu", '#include "size.h"\n' + PLAIN.replace("= n", "= SIZE + EXTRA"))
    write(tmp_path, "inc/size.h", "#define SIZE 4\n")
    entry = {
        "directory": str(tmp_path),
        "file": "src/a.cu",
        "command": "nvcc -Iinc -D EXTRA=2 -std=c++14 -c src/a.cu",
    }
    table = write(tmp_path, "compile_commands.json", json.dumps([entry, entry]))
    for paths in ([], [file], [tmp_path]):
        found, sink = kernels(paths, compile_commands=str(table))
        assert [(r.name, r.errors) for r in found] == [("k", 0)]
        assert codes(sink) == []


@pytest.mark.parametrize("text", ["{", "{}", '[{"file": 1}]', "[1]"])
def test_bad_compile_commands(tmp_path: Path, text: str) -> None:
    file = write(tmp_path, "a.cu", PLAIN)
    found, sink = kernels([file], compile_commands=str(write(tmp_path, "c.json", text)))
    assert codes(sink) == ["CP1007"]
    assert [r.name for r in found] == ["k"]


def test_kernels_can_be_chosen(tmp_path: Path) -> None:
    file = write(tmp_path, "a.cu", PLAIN + "namespace ns { __global__ void other() {} }\n")
    found, sink = kernels([file], kernels=("ns::other", "lost"))
    assert [r.cuda_name for r in found] == ["ns::other"]
    assert codes(sink) == ["CP1015"]


def test_same_kernel_through_two_units_is_one(tmp_path: Path) -> None:
    write(tmp_path, "k.cuh", "#pragma once\n" + PLAIN)
    write(tmp_path, "a.cu", '#include "k.cuh"\n')
    write(tmp_path, "b.cu", '#include "k.cuh"\nvoid run(float* x) { k<<<1, 2>>>(x, 3); }\n')
    found, _ = kernels([tmp_path])
    assert [(r.name, Path(r.unit_path).name) for r in found] == [("k", "b.cu")]


def test_overloads_are_two(tmp_path: Path) -> None:
    found, _ = kernels([write(tmp_path, "a.cu", PLAIN + "__global__ void k(int* x) { x[0] = 1; }\n")])
    assert [r.span.line for r in found] == [1, 2]
    assert [len(list(r.cursor.get_arguments())) for r in found] == [2, 1]


def test_a_file_of_a_folder_needs_no_kernel(tmp_path: Path) -> None:
    write(tmp_path, "k.cuh", PLAIN)
    write(tmp_path, "host.cpp", '#include "other/k.cuh"\nint main() {}\n')
    found, sink = kernels([tmp_path])
    assert [r.name for r in found] == ["k"]
    assert codes(sink) == []


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_kernels_of_a_folder_are_seen_in_utf_16_too(tmp_path: Path, mark: str) -> None:
    file = write(tmp_path, "wide.cu", ("\ufeff" + PLAIN).encode(mark))
    entry = {"directory": str(tmp_path), "file": "wide.cu", "arguments": ["nvcc", "-c", "wide.cu"]}
    table = write(tmp_path, "c.json", json.dumps([entry]))
    for paths, more in (([tmp_path], None), ([], str(table)), ([file], None)):
        found, sink = kernels(paths, compile_commands=more)
        assert [(r.name, r.errors) for r in found] == [("k", 0)]
        assert codes(sink) == []


def test_a_large_file_of_a_folder_is_told_if_it_speaks_of_kernels(tmp_path: Path) -> None:
    write(tmp_path, "good.cu", PLAIN)
    for name, text in (("big.cu", PLAIN), ("table.h", "float x[] = {0};\n")):
        with write(tmp_path, name, b"").open("wb") as file:
            file.write(b"\n" * ((1 << 20) - 3) + text.encode())  # the word lies across two blocks
            file.truncate(17_000_000)
    found, sink = kernels([tmp_path])
    assert [r.name for r in found] == ["k"]
    assert [(d.code, d.span.path) for d in sink.items] == [("CP1017", str(tmp_path / "big.cu"))]


def test_a_cuda_source_of_a_folder_that_cant_be_opened_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("good.cu", "locked.cu", "locked.h"):
        write(tmp_path, name, PLAIN)
    (tmp_path / "gone.cu").symlink_to("nowhere")
    real = Path.open

    def opened(self: Path, *args: str, **more: str) -> object:  # root may read every file
        if self.stem == "locked":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(self, *args, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr(Path, "read_bytes", lambda self: self.open("rb").read())
    found, sink = kernels([tmp_path])
    assert [r.name for r in found] == ["k"]
    assert [(d.code, d.span.path) for d in sink.items] == [("CP1002", str(tmp_path / "locked.cu"))]


def test_host_code_of_the_common_libraries_is_read(tmp_path: Path) -> None:
    text = """#include <random>
#include <thrust/device_vector.h>
template <class T> __global__ void k(T* x, typename std::common_type<T, float>::type f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = f; }
template <class T> void run(int n) {
  std::mt19937 gen(std::random_device{}()); std::uniform_real_distribution<float> dis(0.f, 1.f);
  auto start = std::chrono::steady_clock::now();
  if (FILE* f = fopen("a", "r")) { fprintf(stderr, "%f", dis(gen)); fclose(f); }
  thrust::device_vector<T> v(n); thrust::fill(v.begin(), v.end(), T(0));
  std::map<std::string, std::vector<int>> seen; seen["a"].assign(3, 4);
  k<T><<<(n + 127) / 128, 128>>>(thrust::raw_pointer_cast(v.data()), dis(gen), n);
  std::cout << std::setprecision(3) << (std::chrono::steady_clock::now() - start).count() << std::endl;
}
int main(int argc, char** argv) { run<double>(atoi(argv[1])); }
"""
    file = tmp_path / "a.cu"
    file.write_text(text, encoding="utf-8")
    sink = Sink()
    (found,) = read([str(file)], ReadOptions(), sink)
    assert (found.instantiation, found.errors, found.launched) == ("k<double>", 0, True)
    assert found.unit.errors == ()
