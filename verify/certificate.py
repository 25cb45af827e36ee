"""verdict.json as a certificate: what was asked for, a seal over what was found, and reading it back."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from verify.files import read_text
from verify.verdict import Verdict


class CertificateError(Exception):
    """The file is no verdict that can be replayed; the text says why."""


def sealed(verdict: Verdict) -> Verdict:
    """The verdict with its seal. A seal shows damage and careless edits; whoever forges one can renew it, so
    belief comes from replaying."""
    return verdict.model_copy(update={"seal": seal_of(verdict.model_dump(mode="json", exclude_none=True))})


def seal_of(data: dict[str, Any]) -> str:
    """The seal that belongs to a verdict as JSON, whatever seal it holds."""
    plain = {k: v for k, v in data.items() if k != "seal"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_certificate(path: Path) -> Verdict:
    """A verdict that says what was asked for and is as it was written. CertificateError for anything else."""
    try:
        data = json.loads(read_text(path))
    except FileNotFoundError:
        raise CertificateError(f"{path}: no such file") from None
    except (OSError, ValueError, RecursionError) as e:
        raise CertificateError(f"{path}: no JSON, or not all of it: {e}") from e
    if not isinstance(data, dict):
        raise CertificateError(f"{path}: no verdict")
    if data.get("schema_version") != 1:
        raise CertificateError(f"{path}: schema {data.get('schema_version')}; this version reads 1")
    try:
        verdict = Verdict.model_validate(data)
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(str(p) for p in first["loc"])
        raise CertificateError(f"{path}: no verdict: {where}: {first['msg']}") from e
    if verdict.asked is None or not verdict.seal:
        raise CertificateError(f"{path}: written by an earlier version, which did not say what was asked for")
    if verdict.seal != seal_of(data):
        raise CertificateError(f"{path}: changed after it was written: its seal does not fit")
    return verdict
