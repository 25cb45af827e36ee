"""The stand-in for the DSL's runtime library, called as generated host code calls it."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from verify.emulator.build import compiler
from verify.emulator.port import dsl
from verify.emulator.port.build import build_for, build_shim
from verify.emulator.port.exports import functions
from verify.emulator.port.launches import Launch, Library, Session, device_attributes
from verify.emulator.ptx.module import PtxError

OWN = [
    "_cuKernelGetAttribute",
    "_cudaDeviceGetAttribute",
    "_cudaDeviceSynchronize",
    "_cudaFuncSetAttribute",
    "_cudaGetDevice",
    "_cudaGetDeviceCount",
    "_cudaKernelSetAttributeForDevice",
    "_cudaLaunchKernelEx",
    "_cudaLibraryGetGlobal",
    "_cudaLibraryGetKernel",
    "_cudaLibraryLoadData",
    "_cudaLibraryUnload",
    "_cudaSetDevice",
    "_cudaStreamSynchronize",
    "cuda_dialect_assert_success",
    "cuda_dialect_print_on_error",
]


class Config(ctypes.Structure):
    """cudaLaunchConfig_t, written down once more."""

    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("smem", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint32),
    )


class Host:
    """A port's host code in miniature."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CUTEPORT_CACHE", str(tmp_path))
        self.path = build_for([*OWN, "_cudaGraphLaunch"])
        self.shim = ctypes.CDLL(str(self.path))
        self.launches: list[Launch] = []
        self.values: list[list[bytes]] = []
        self.fail: BaseException | None = None
        self.session = Session("sm_90a", self.run, self.symbol)
        self.session.connect(self.shim)

    def run(self, launch: Launch) -> None:
        if self.fail is not None:
            raise self.fail
        self.launches.append(launch)
        self.values.append(launch.values((8, 4)))

    def symbol(self, ptx: str, name: str) -> tuple[int, int]:
        if name != "c_coef":
            raise PtxError("CP7104", name)
        return (0x1000 if ptx == "ptx a" else 0x2000), 100

    def load(self, ptx: str) -> ctypes.c_uint64:
        library = ctypes.c_uint64()
        with self.session.loading(Library(ptx, {"k": 1024})):
            assert self.shim._cudaLibraryLoadData(ctypes.byref(library), b"cubin") == 0
        return library

    def kernel(self, library: ctypes.c_uint64, name: bytes) -> ctypes.c_uint64:
        found = ctypes.c_uint64()
        assert self.shim._cudaLibraryGetKernel(ctypes.byref(found), library, name) == 0
        return found

    def launch(self, kernel: ctypes.c_uint64, smem: int = 0, attributes: bytes = b"", count: int = 0) -> int:
        held = ctypes.create_string_buffer(attributes, max(1, len(attributes)))
        config = Config((2, 3, 4), (32, 2, 1), smem, None, ctypes.addressof(held), count)
        pointer, number = ctypes.c_uint64(0xDEADBEEF), ctypes.c_int32(-5)
        table = (ctypes.c_void_p * 2)(ctypes.addressof(pointer), ctypes.addressof(number))
        return self.shim._cudaLaunchKernelEx(ctypes.byref(config), kernel, table)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def test_a_launch_brings_its_kernel_shape_and_arguments(host: Host) -> None:
    a, b = host.load("ptx a"), host.load("ptx b")
    first, second = host.kernel(a, b"k"), host.kernel(b, b"k")
    assert host.launch(second) == 0
    assert host.launch(first, 512) == 0
    shapes = [(x.ptx, x.kernel, x.grid, x.block, x.smem, x.cluster, x.cooperative) for x in host.launches]
    assert shapes == [
        ("ptx b", "k", (2, 3, 4), (32, 2, 1), 0, (1, 1, 1), False),
        ("ptx a", "k", (2, 3, 4), (32, 2, 1), 512, (1, 1, 1), False),
    ]
    assert host.values[0] == [(0xDEADBEEF).to_bytes(8, "little"), (-5).to_bytes(4, "little", signed=True)]


def attribute(kind: int, *words: int) -> bytes:
    return (kind.to_bytes(8, "little") + b"".join(w.to_bytes(4, "little") for w in words)).ljust(72, b"\0")


def test_launch_attributes_are_read_or_refused(host: Host) -> None:
    kernel = host.kernel(host.load("ptx a"), b"k")
    listed = attribute(4, 2, 1, 1) + attribute(6, 1) + attribute(2, 1)
    assert host.launch(kernel, 0, listed, 3) == 0
    assert (host.launches[0].cluster, host.launches[0].cooperative) == ((2, 1, 1), True)
    with pytest.raises(PtxError, match="attribute 7 is not emulated"):
        host.session.call(lambda: host.launch(kernel, 0, attribute(7, 1), 1))


def test_dynamic_shared_memory_must_be_asked_for(host: Host) -> None:
    kernel = host.kernel(host.load("ptx a"), b"k")
    assert host.launch(kernel, 48 * 1024) == 0
    with pytest.raises(PtxError) as refused:
        host.session.call(lambda: host.launch(kernel, 48 * 1024 + 1))
    assert refused.value.code == "CP7108"
    assert host.shim._cudaKernelSetAttributeForDevice(kernel, 8, 100_000, 0) == 0
    assert host.launch(kernel, 100_000) == 0
    value = ctypes.c_int()
    assert host.shim._cuKernelGetAttribute(ctypes.byref(value), 1, kernel, 0) == 0
    assert value.value == 1024
    assert host.shim._cudaDeviceGetAttribute(ctypes.byref(value), 97, 0) == 0
    assert value.value == 227 * 1024 == device_attributes("sm_90a")[97]


def test_variables_are_those_of_the_library(host: Host) -> None:
    a, b = host.load("ptx a"), host.load("ptx b")
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    for library, wanted in ((b, 0x2000), (a, 0x1000)):
        got = host.shim._cudaLibraryGetGlobal(ctypes.byref(address), ctypes.byref(size), library, b"c_coef")
        assert (got, address.value, size.value) == (0, wanted, 100)
    assert host.shim._cudaLibraryGetGlobal(ctypes.byref(address), None, a, b"other") == 500
    host.session.unload(a.value)
    with pytest.raises(PtxError, match="no library that the port loaded"):
        host.session.symbol(a.value, "c_coef")


def test_what_the_shim_lacks_fails_by_name(host: Host, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PtxError, match="calls _cudaGraphLaunch, which the launch shim lacks"):
        host.session.call(lambda: host.shim._cudaGraphLaunch())
    assert "the launch shim has no _cudaGraphLaunch" in capfd.readouterr().err
    assert host.shim._cudaGraphLaunch() == 801
    host.session.call(lambda: None)  # an old error is none of the next call


def test_an_error_in_a_launch_is_raised_as_it_was(host: Host) -> None:
    kernel = host.kernel(host.load("ptx a"), b"k")
    host.fail = PtxError("CP7103", "add.weird")

    def port() -> None:
        raise RuntimeError(f"the DSL's words for error {host.launch(kernel)}")

    with pytest.raises(PtxError, match=r"add\.weird"):
        host.session.call(port)
    host.fail = None
    with pytest.raises(RuntimeError, match="error 0"):
        host.session.call(port)


def test_the_shim_is_built_once(host: Host) -> None:
    before = host.path.stat().st_mtime_ns
    assert build_for([*OWN, "_cudaGraphLaunch"]) == host.path
    assert host.path.stat().st_mtime_ns == before
    assert build_for([*OWN, "_cudaGraphLaunch", "_cudaNew"]) != host.path
    with pytest.raises(PtxError, match="lacks _cudaSetDevice"):
        build_for([f for f in OWN if f != "_cudaSetDevice"])


def test_the_installed_library_is_stood_in_for_whole() -> None:
    wanted = functions(dsl.runtime_library())
    assert set(OWN) <= set(wanted)
    assert set(functions(build_shim(dsl.runtime_library()))) == {*wanted, "cuteport_handlers"}


def test_exports_are_functions_that_others_can_call(tmp_path: Path) -> None:
    source, library = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text(
        "int seen(void) { return 1; } static int hidden(void) { return 2; } int data = 3;\n"
        'extern int puts(const char *); int other(void) { return puts("") + hidden(); }\n'
    )

    subprocess.run([*compiler(), "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    assert {f for f in functions(library) if not f.startswith("_")} == {"seen", "other"}
    (tmp_path / "b.so").write_bytes(b"\x7fELF\x02\x01 and no more")
    for bad in (source, tmp_path / "b.so"):
        with pytest.raises(ValueError, match=r"ELF|damaged"):
            functions(bad)


def test_an_unknown_version_of_the_dsl_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    dsl.check_version()
    monkeypatch.setattr(dsl.metadata, "version", lambda _: "4.9.0")
    with pytest.raises(PtxError, match=r"nvidia-cutlass-dsl 4\.9\.0: launches can be caught in 4\.8\.1 only"):
        dsl.check_version()
