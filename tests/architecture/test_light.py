"""The command line starts light, and heavy packages stay in verify's child process."""

from __future__ import annotations

import ast
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"torch", "cutlass", "cuda", "numpy", "clang", "pydantic", "openai", "mcp", "jinja2"}
LIMIT = 0.3  # seconds for `cuteport --help`


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_is_fast_and_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from translator.cli.main import run\n"
        "code = run(['--help'])\n"
        "print('loaded:', *{m.split('.')[0] for m in sys.modules})\n"
        "sys.exit(code)"
    )
    times = []
    for _ in range(3):  # CPU time, the best of three: other work on the machine is not the program's
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = run(code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert "port" in out
    assert not HEAVY & set(out.rpartition("loaded:")[2].split())
    assert min(times) < LIMIT


@pytest.mark.parametrize(
    "module", ["translator.pipeline", "translator.batch.driver", "verify.run", "verify.__main__"]
)
def test_importing_does_not_load_the_dsl_or_torch(module: str) -> None:
    out = run(f"import sys, {module}; print(*{{m.split('.')[0] for m in sys.modules}})")
    assert not {"torch", "cutlass", "cuda"} & set(out.split())


def imported(path: Path) -> set[str]:
    """Top-level packages that a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def sources(package: str) -> list[Path]:
    return sorted(p for p in (ROOT / package).rglob("*.py"))


def test_the_translator_never_imports_the_dsl_torch_or_numpy() -> None:
    found = {
        str(p.relative_to(ROOT)): imported(p) & {"torch", "cutlass", "cuda", "numpy"}
        for p in sources("translator")
    }
    helpers = "translator/mapping/helpers/"  # text that emitted ports inline; never imported
    assert {k: v for k, v in found.items() if v and not k.startswith(helpers)} == {}


def test_only_the_frontend_imports_libclang() -> None:
    users = {str(p.relative_to(ROOT)) for p in sources("translator") if "clang" in imported(p)}
    assert all(u.startswith("translator/frontend/") for u in users), users


def test_nobody_imports_targets_and_verify_stands_alone() -> None:
    for package in ("translator", "verify", "corpus"):
        for path in sources(package):
            assert "targets" not in imported(path), path
    for path in sources("verify"):
        assert not {"translator", "corpus", "clang"} & imported(path), path
