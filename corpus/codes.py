"""The table of the corpus's codes, CP50xx: never renumbered, never reused. Each has a page in `pages/`."""

from __future__ import annotations

CODES: dict[str, str] = {
    "CP5001": "an entry's entry.toml is missing, unreadable or breaks its rules",
    "CP5002": "an entry lacks a file that every entry has, or one is no text",
    "CP5003": "an entry or block breaks a rule of STYLE.md",
    "CP5004": "an inlined block is not the block of the corpus",
    "CP5005": "an entry has no proof for what it is now",
    "CP5006": "an entry did not pass verification",
    "CP5007": "too many changed kernels pass an entry's cases",
    "CP5008": "an entry is slower than its CUDA twin",
    "CP5009": "the corpus has a kernel of nearly the same structure",
    "CP5010": "the licence does not allow an entry to be kept",
    "CP5011": "there is no entry of that name",
    "CP5012": "there is an entry of that name already",
    "CP5013": "the target has no verdict that an entry could rest on",
}
