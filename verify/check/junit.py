"""JUnit XML as Jenkins, GitLab, Azure and others read it: a suite per target, a case per stage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from verify.check.told import Case, Suite

# What XML 1.0 can't hold, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(suites: Sequence[Suite], name: str, seconds: float) -> str:
    """The document as text; `seconds` is the whole run's wall time."""
    cases = [c for s in suites for c in s.cases]
    root = Xml.Element("testsuites", {"name": _text(name), "time": f"{seconds:.3f}", **_totals(cases)})
    for s in suites:
        attributes = {"name": _text(s.name), "time": f"{sum(c.seconds for c in s.cases):.3f}"}
        skipped = str(sum(c.state == "skipped" for c in s.cases))
        suite = Xml.SubElement(root, "testsuite", {**attributes, **_totals(s.cases), "skipped": skipped})
        if s.properties:
            held = Xml.SubElement(suite, "properties")
            for key, value in s.properties.items():
                Xml.SubElement(held, "property", {"name": _text(key), "value": _text(value)})
        for c in s.cases:
            _case(suite, s.name, c)
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


def _totals(cases: Sequence[Case]) -> dict[str, str]:
    return {
        "tests": str(len(cases)),
        "failures": str(sum(c.state == "failure" for c in cases)),
        "errors": str(sum(c.state == "error" for c in cases)),
    }


def _case(suite: Xml.Element, target: str, c: Case) -> None:
    attributes = {"name": c.name, "classname": _text(target), "time": f"{c.seconds:.3f}"}
    made = Xml.SubElement(suite, "testcase", attributes)
    if c.state != "passed":
        message = f"{c.code} {c.message}".strip()
        told = Xml.SubElement(made, c.state, {"message": _text(message.partition("\n")[0])})
        if c.state != "skipped":
            told.set("type", c.code or "failure")
        told.text = _text("\n".join(t for t in (message, c.output) if t))
    elif c.output:
        Xml.SubElement(made, "system-out").text = _text(c.output)


def _text(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
