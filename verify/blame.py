"""What an original is suspected of: an author's bug and a compiler's one are different news."""

from __future__ import annotations

_OF = {
    "CP7002": "does not run",
    "CP7006": "takes longer than the limit",
    "CP7008": "writes out of bounds",
    "CP7010": "changes an input that the spec calls read-only",
    "CP7016": "gives other results from run to run",
    "CP7031": "is miscompiled",
    "CP8001": "goes out of bounds",
    "CP8002": "goes out of bounds",
    "CP8003": "goes out of bounds",
    "CP8004": "has a misaligned access",
    "CP8005": "reads memory that nothing wrote",
    "CP8006": "reads memory that nothing wrote",
    "CP8007": "reads memory that nothing wrote",
    "CP8008": "reads beyond its parameters",
    "CP8011": "has a race",
    "CP8012": "has a race",
    "CP8014": "loses updates",
    "CP8021": "meets a barrier or warp operation on different paths",
    "CP8022": "waits wrongly at a barrier",
    "CP8023": "waits wrongly at a barrier",
    "CP8024": "never ends",
    "CP8031": "fails an assertion",
    "CP8032": "traps",
    "CP8041": "never ends, as far as was waited",
    "CP8051": "has results that depend on the order of its threads",
    "CP8061": "has a fault that compute-sanitizer tells",
}


def blame(code: str | None) -> str:
    """The first words of a message with `code` about an ORIGINAL_SUSPECT: `the original has a race`."""
    return f"the original {_OF.get(code or '', 'is at fault')}"
