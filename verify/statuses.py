"""The status that each code of the parity stage stands for."""

from __future__ import annotations

from verify.verdict import Status

_STATUS = {
    "CP7007": Status.SANITIZER,
    "CP7021": Status.LAUNCH_ERROR,
    "CP7011": Status.LAUNCH_ERROR,
    "CP7003": Status.LAUNCH_ERROR,
    "CP7004": Status.CRASHED,
    "CP7005": Status.TIMEOUT,
    "CP6101": Status.COMPILE_ERROR,
    "CP6004": Status.COMPILE_ERROR,
    "CP7032": Status.MISCOMPILED,
    "CP7001": Status.AMBIGUOUS,
    "CP7019": Status.AMBIGUOUS,
    "CP7025": Status.AMBIGUOUS,
    "CP7026": Status.AMBIGUOUS,
    "CP7027": Status.AMBIGUOUS,
    "CP7099": Status.AMBIGUOUS,
    "CP7101": Status.AMBIGUOUS,
    "CP7041": Status.LAUNCH_ERROR,
    "CP7104": Status.AMBIGUOUS,
    "CP7105": Status.AMBIGUOUS,
    "CP7107": Status.AMBIGUOUS,
    "CP7108": Status.LAUNCH_ERROR,
    # What the emulator can't run says nothing about the port.
    "CP7102": Status.NOT_RUN,
    "CP7103": Status.NOT_RUN,
    "CP7106": Status.NOT_RUN,
    "CP7109": Status.NOT_RUN,
    "CP7110": Status.NOT_RUN,
    "CP9001": Status.NOT_RUN,
    "CP9002": Status.AMBIGUOUS,
}
SUSPECT = frozenset({"CP7002", "CP7006", "CP7008", "CP7010", "CP7016", "CP7031"})


def status_of(code: str) -> Status:
    """The status that a parity code stands for."""
    if code in SUSPECT:
        return Status.ORIGINAL_SUSPECT
    if code in ("CP7017", "CP7018", "CP7022", "CP7028", "CP7029"):
        return Status.AMBIGUOUS
    return _STATUS.get(code, Status.WRONG_VALUES)
