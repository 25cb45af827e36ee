"""A pinned optimisation level stands in the port and in its spec; without one, neither says a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.batch.work import Part, translate_part
from translator.diag.diagnostic import Sink
from translator.frontend.inputs import ReadOptions, collect
from translator.settings import SettingsError, load
from verify.spec_file import parse_spec

KERNEL = """
__global__ void k(const int* a, int* o, int n) { int i = threadIdx.x; if (i < n) o[i] = a[i]; }
void f(const int* a, int* o, int n) { k<<<1, 32>>>(a, o, n); }
"""


def ported(folder: Path, level: int | None) -> tuple[str, str]:
    """port.py and spec.toml."""
    source = folder / "k.cu"
    source.write_text(KERNEL)
    options = ReadOptions(opt_level=level)
    (only,) = translate_part(Part(collect([str(source)], options, Sink()), options))
    files = dict(only.files)
    return str(files["port.py"]), str(files["spec.toml"])


def test_a_pinned_level(tmp_path: Path) -> None:
    port, spec = ported(tmp_path, 1)
    plain_port, plain_spec = ported(tmp_path, None)
    line = '        options="--opt-level 1",\n'
    assert port.replace(line, "") == plain_port and line in port
    assert spec.replace("opt_level = 1\n", "") == plain_spec
    assert (parse_spec(spec).port.opt_level, parse_spec(plain_spec).port.opt_level) == (1, None)


def test_only_levels_that_there_are() -> None:
    assert load({"opt_level": 0}, {}).opt_level == 0
    assert load({}, {}).opt_level == -1
    with pytest.raises(SettingsError, match="0 to 3"):
        load({"opt_level": 4}, {})
