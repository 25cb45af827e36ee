"""What machine instructions a cubin consists of, by nvdisasm, where that is installed."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

_SECONDS = 60
_LINE = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)((?:\.\w+)*)", re.MULTILINE)
_ACCESS = re.compile(r"(?:LD|ST)[GSL]?")
_WIDTH = re.compile(r"\.(U8|S8|U16|S16|64|128)\b")
_BITS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128}

# Mnemonics by what they are for, the longest beginnings first. What is in no row is integer work, most of
# it on addresses.
_CLASSES = (
    ("matrix", r"[HIDQB]G?MMA|UTC\w*MMA"),
    ("memory", r"LD|ST|ATOM|RED|CCTL|UBLK|UTMA|SYNCS|ERRBAR"),
    ("sync", r"BAR|MEMBAR|DEPBAR|WARPSYNC|NANOSLEEP|FENCE|B2R|R2B|ACQBULK"),
    ("warp", r"SHFL|VOTE|MATCH|REDUX|ELECT"),
    ("control", r"BRA|BRX|JMP|JMX|EXIT|CALL|RET|BSSY|BSYNC|BREAK|BMOV|ENDCOLLECTIVE|YIELD|BPT|KILL|RPCMOV"),
    ("special", r"MUFU|FCHK"),
    ("convert", r"[FI]2[FI]P?|FRND|[FI]2I|I2FP|F2FP"),
    ("move", r"U?MOV|C?S2U?R|R2UR|U?LDC|P2R|R2P|U?SEL|PRMT|UPRMT"),
    ("float", r"F(?:ADD|MUL|FMA|MNMX|SEL|SET|SWZ)|D(?:ADD|MUL|FMA|MNMX|SET)|H(?:ADD|MUL|FMA|MNMX|SET)"),
)
_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _CLASSES)
_CONSTANT = re.compile(r"U?LDC")


@functools.cache
def find_nvdisasm() -> str | None:
    """Path of nvdisasm: the toolkit's by CUDA_HOME or CUDA_PATH, then PATH, a wheel's, the usual place."""
    roots = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"))
    places = [f"{r}/bin/nvdisasm" for r in roots if r]
    if on_path := shutil.which("nvdisasm"):
        places.append(on_path)
    places += [str(p) for e in sys.path for p in sorted(Path(e or ".").glob("nvidia/*/bin/nvdisasm"))]
    return next((p for p in [*places, "/usr/local/cuda/bin/nvdisasm"] if os.access(p, os.X_OK)), None)


def machine_code_mix(cubin: bytes) -> dict[str, int]:
    """Machine instructions by class, and accesses to memory by width in bits ("LDG 128"); empty where there
    is no nvdisasm or it does not read the cubin."""
    tool = find_nvdisasm()
    if tool is None:
        return {}
    with tempfile.TemporaryDirectory(prefix="cuteport-sass-") as folder:
        path = Path(folder) / "cubin"
        path.write_bytes(cubin)
        try:
            done = subprocess.run(
                [tool, "-c", str(path)], capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return {}
    return read_sass(done.stdout) if done.returncode == 0 else {}


def read_sass(text: str) -> dict[str, int]:
    """The same from nvdisasm's text. What pads a function is no instruction."""
    found: Counter[str] = Counter()
    for match in _LINE.finditer(text):
        mnemonic, modifiers = match[1], match[2]
        if mnemonic == "NOP":
            continue
        found["instructions"] += 1
        found[_class_of(mnemonic)] += 1
        if _ACCESS.fullmatch(mnemonic):
            width = _WIDTH.search(modifiers)
            found[f"{mnemonic} {_BITS[width[1]] if width else 32}"] += 1
    return dict(sorted(found.items()))


def _class_of(mnemonic: str) -> str:
    if _CONSTANT.fullmatch(mnemonic):
        return "move"  # parameters and constants
    return next((name for name, pattern in _PATTERNS if pattern.match(mnemonic)), "integer")
