"""Compiled launches kept by all that they depend on, in memory and on disk. Host code.

Not inlined: a port may neither open files nor load code, which is what a cache on disk does. It is for the
programs around ports that start often. A port keeps what it compiled in memory, by `functools.cache`.

    arguments ─ key ─→ in memory? ─→ <folder>/<key>.<digest>.o, whole? ─→ cute.compile, then both

The key is the sha256 of: types, spaces and alignments of pointers; types of numbers; values of Constexpr
parameters; architecture and options; versions of the DSL, its libraries and Python; CUTE_DSL_* variables; the
source file, its functions as they were loaded and its plain constants. What else a launch may depend on can't
be told, and is refused: TypeError for tensors, and for Constexpr values such as lambdas.

    two threads       one compiles, the others wait: the DSL compiles one kernel at a time
    two processes     both may compile; files are written aside and renamed, so that nobody reads half of one
    damaged file      its bytes are not those of the digest in its name: removed, and compiled again
    folder            made for its owner alone. Where it can't be, or others may write there, nothing is
                      loaded or stored: to load a file is to run it
    failed compile    is raised, and not kept

`FOUND` counts where launches came from. One that was loaded has no `artifacts` (PTX, cubin). Without a GPU,
DSL 4.8.1 exports nothing unless CUTE_DSL_ARCH names the architecture too.

Processor time for a kernel of one line, the least of 15 (tests/corpus/compile_cache_run.py, speed; on a busy
Xeon without a GPU): compile 69 ms, compile and store 116, load 2.7, memory 0.28, which is the key. A launch
that is called often is kept by its caller.
Source of the technique: ccache and Triton's cache: content in the name, rename when whole.
"""

import functools
import hashlib
import inspect
import marshal
import os
import platform
import tempfile
import threading
from collections import Counter
from importlib import metadata
from pathlib import Path

import cutlass
import cutlass.cute as cute

FOUND = Counter()  # memory, disk, compiled, stored, damaged
WRITES_ONLY = ("CUTE_DSL_DUMP_DIR", "CUTE_DSL_CACHE_DIR")  # variables that say where, not what
PLAIN = (bool, int, float, str, type(None))
_KEPT, _LOADED, _LOCK = {}, {}, threading.Lock()


def constant_text(value, file: str) -> str:
    """A Constexpr value in words that are the same in every process. TypeError where there are none."""
    if isinstance(value, PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple):
        return f"({', '.join(constant_text(v, file) for v in value)})"
    if isinstance(value, cutlass.Numeric) and isinstance(value.value, PLAIN):
        return f"{type(value).__name__} {value.value!r}"
    name = getattr(value, "__qualname__", "<")
    if isinstance(value, type) or (callable(value) and "<" not in name):
        code = getattr(inspect.unwrap(value), "__code__", None)
        home = getattr(value, "__module__", "") or ""
        if home.partition(".")[0] in ("cutlass", "builtins", "_operator") or (
            code and code.co_filename == file
        ):
            return f"{home}.{name}"
    raise TypeError(f"{value!r} can't be part of a key")


def argument_text(value) -> str:
    """What a launch is compiled for of an argument that changes from call to call."""
    kind = type(value)
    if isinstance(value, cutlass.Numeric):
        return kind.__name__
    if isinstance(value, cute.Pointer):
        return "pointer " + " ".join(map(str, value.__cache_key__))
    if "stream" in kind.__name__.lower():
        return "stream"
    raise TypeError(f"{kind.__name__} can't be part of a key: pass pointers, extents and strides")


def code_text(function) -> list[str]:
    """The file of a function as it is, and what was loaded from it: both, since a file may change later.
    The DSL puts code of its own into what it compiled, so that functions are looked at once, before."""
    home = inspect.unwrap(function)
    file = home.__code__.co_filename
    if file not in _LOADED:
        codes = {
            name: getattr(inspect.unwrap(value), "__code__", None)
            for name, value in home.__globals__.items()
            if callable(value)
        }
        ours = sorted((n, marshal.dumps(c, 2)) for n, c in codes.items() if c and c.co_filename == file)
        _LOADED[file] = hashlib.sha256(repr(ours).encode()).hexdigest()
    plain = sorted(n for n, v in home.__globals__.items() if isinstance(v, PLAIN) and not n.startswith("__"))
    return [
        hashlib.sha256(Path(file).read_bytes()).hexdigest(),
        _LOADED[file],
        *(f"{n} {home.__globals__[n]!r}" for n in plain),
    ]


@functools.cache
def packages_text() -> tuple[str, ...]:
    """Python, the DSL and its libraries."""
    names = sorted({d.name for d in metadata.distributions() if "cutlass-dsl" in (d.name or "")})
    python = f"python {platform.python_version()} {platform.machine()}"
    return (python, *(f"{n} {metadata.version(n)}" for n in names))


def switches_text() -> list[str]:
    """The DSL's variables, but those that say where it writes."""
    names = sorted(n for n in os.environ if n.startswith("CUTE_DSL_") and n not in WRITES_ONLY)
    return [f"{n}={os.environ[n]}" for n in names]


def key_of(function, arguments, arch: str, options: str = "") -> str:
    """The key of a launch for these arguments, 64 hexadecimal digits. TypeError for what has none."""
    home, parts = inspect.unwrap(function), [f"{arch} {options}"]
    for parameter, value in zip(inspect.signature(home).parameters.values(), arguments, strict=True):
        constant = parameter.annotation in (cutlass.Constexpr, "cutlass.Constexpr")
        text = constant_text(value, home.__code__.co_filename) if constant else argument_text(value)
        parts.append(f"{parameter.name}: {text}")
    parts += [home.__qualname__, *packages_text(), *switches_text(), *code_text(function)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def own_folder(folder) -> Path | None:
    """`folder`, made where it was not, if it belongs to this user and nobody else may write there."""
    try:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        found = Path(folder).stat()
    except OSError:
        return None
    mine = found.st_uid == os.getuid() and not found.st_mode & 0o022
    return Path(folder) if mine and os.access(folder, os.W_OK | os.X_OK) else None


def load_whole(folder: Path, key: str, name: str):
    """The launch that is stored under a key, or None. Files that are damaged or of no use are removed."""
    for path in sorted(folder.glob(f"{key}.*.o")):
        try:
            if hashlib.sha256(path.read_bytes()).hexdigest()[:32] == path.name.split(".")[1]:
                return getattr(cute.runtime.load_module(str(path)), name)
        except Exception:
            pass  # of another version, or gone: it is compiled again
        FOUND["damaged"] += 1
        path.unlink(missing_ok=True)
    return None


def store_whole(folder: Path, key: str, name: str, launch) -> None:
    """Write a launch's object under a name of its own, then rename it. What can't be stored is not."""
    part = Path()
    try:
        content = launch.dump_to_object(name)
        handle, written = tempfile.mkstemp(dir=folder, prefix=".part.")
        part = Path(written)
        with os.fdopen(handle, "wb") as f:
            f.write(content)
        part.replace(folder / f"{key}.{hashlib.sha256(content).hexdigest()[:32]}.o")
        FOUND["stored"] += 1
    except Exception:  # a full disk, or a launch that the DSL can't export: it is in memory all the same
        if part.name:
            part.unlink(missing_ok=True)


def compiled_once(function, arguments, arch: str, options: str = "", folder=None):
    """The launch `cute.compile(function, *arguments)` for `arch`, such as sm_90a; compiled if neither memory
    nor `folder` has it. Called with the arguments that are no Constexpr."""
    with _LOCK:
        key = key_of(function, arguments, arch, options)
        if key in _KEPT:
            FOUND["memory"] += 1
            return _KEPT[key]
        name, own = f"launch_{key[:16]}", own_folder(folder) if folder else None
        launch = load_whole(own, key, name) if own else None
        if launch is not None:
            FOUND["disk"] += 1
        else:
            launch = cute.compile(function, *arguments, options=f"--gpu-arch {arch} {options}".strip())
            FOUND["compiled"] += 1
            if own:
                store_whole(own, key, name, launch)
        _KEPT[key] = launch
        return launch
