"""The report in a browser: no errors, nothing loaded, nothing wider than the screen; keys and clicks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import chromium
import pytest
import report_targets as targets

from verify.report.command import make

PROGRAM = chromium.find()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on PATH, and CHROMIUM names none")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("report")
    targets.passed(home / "t/good")
    targets.racy(
        home / "t/racy", message="race </script><script>document.title = 'broken'</script>" + "x" * 5000
    )
    targets.wrong(home / "t/wrong")
    long = targets.passed(home / "t/long")
    (long / "port.py").write_bytes(b"y = 1  # CP2103\n" * 10_000 + b"x = '" + b"a" * 200_000 + b"'\n")
    targets.write_folder(home / "t/never")
    broken = targets.passed(
        home / "t/a-very-long-name-of-a-kernel-that-goes-on-and-on-without-any-space-in-it"
    )
    (broken / "verdict.json").write_text('{"schema_version": 1, "target')
    make([home / "t"], home / "report.html")
    return home / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Browser]:
    assert PROGRAM is not None
    with chromium.Browser(PROGRAM) as made:
        yield made


PAGES = ["", "#k-good", "#k-racy/p10", "#k-wrong", "#k-long", "#k-never", "#no-such-kernel"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_every_page_fits_and_tells_no_errors(
    browser: chromium.Browser, document: Path, width: int, dark: bool
) -> None:
    browser.screen(width, 900, dark=dark)
    for place in PAGES:
        browser.open(document, place)
        browser.until("document.readyState === 'complete'")
        assert browser.value("document.documentElement.scrollWidth") <= width, place
        assert browser.troubles == [], place
        assert browser.loaded == [document.as_uri()], place
        assert browser.value("document.title").endswith("cuteport report")
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")


def _names(browser: chromium.Browser) -> list[str]:
    return list(
        browser.value("[...document.querySelectorAll('#kernels tbody tr:not([hidden]) a')].map(a => a.text)")
    )


def test_the_table_sorts_and_filters(browser: chromium.Browser, document: Path) -> None:
    browser.screen(1280, 900)
    browser.open(document)
    assert _names(browser)[-2:] == ["good", "long"]
    head = "document.querySelectorAll('#kernels thead th')"
    browser.value(f"{head}[1].firstChild.click()")
    assert _names(browser) == sorted(_names(browser))
    browser.value(f"{head}[1].firstChild.click()")
    assert _names(browser) == sorted(_names(browser), reverse=True)
    assert browser.value(f"{head}[1].ariaSort") == "descending"
    browser.value(f"{head}[4].firstChild.click()")  # errors; what has none comes last
    assert _names(browser)[:3] == ["long", "good", "wrong"]
    browser.key("/")
    for letter in "wro":
        browser.key(letter)
    assert _names(browser) == ["wrong"]
    assert browser.value("document.getElementById('shown').value") == "1 shown"
    browser.value("text.value = ''; text.dispatchEvent(new Event('input'))")
    browser.value("document.querySelector('.chips [data-status=PASSED]').click()")
    assert sorted(_names(browser)) == ["good", "long"]
    browser.value("document.querySelector('.chips [data-status=PASSED]').click()")
    assert len(_names(browser)) == 6


def _marked(browser: chromium.Browser, kind: str) -> list[str]:
    return list(browser.value(f"[...document.querySelectorAll('.shown .l.{kind}')].map(l => l.id)"))


def test_lines_lead_to_the_lines_they_came_from(browser: chromium.Browser, document: Path) -> None:
    browser.screen(1280, 900)
    browser.open(document)
    browser.value("document.querySelector('#kernels a[href=\"#k-racy\"]').focus()")
    browser.key("Enter")
    browser.until("document.querySelector('#k-racy.shown .l')")
    assert browser.value("getComputedStyle(summary).display") == "none"
    browser.value("document.getElementById('k-racy/p10').querySelector('code').click()")
    browser.until("location.hash === '#k-racy/p10'")
    browser.until("document.querySelector('.l.at')")
    assert _marked(browser, "at") == ["k-racy/p10"]
    assert _marked(browser, "from") == ["k-racy/c6", "k-racy/c7"]
    browser.value("document.getElementById('k-racy/c5').querySelector('a').click()")
    browser.until("document.querySelector('.l.at')?.id === 'k-racy/c5'")
    assert _marked(browser, "from") == ["k-racy/p9"]
    browser.value("document.querySelector('.shown .scroll[data-key=c]').focus()")
    browser.key("ArrowDown")
    browser.until("document.querySelector('.l.at')?.id === 'k-racy/c6'")
    said = browser.value("document.getElementById('k-racy/p10').nextSibling.textContent")
    assert said.startswith("CP8011 race </script>")
    browser.value("history.back()")
    browser.until("!summary.classList.contains('away')")
    assert browser.value("document.activeElement.getAttribute('href')") == "#k-racy"


def test_colours_stand_where_the_words_are(browser: chromium.Browser, document: Path) -> None:
    browser.open(document, "#k-good")
    browser.until("document.querySelector('.shown .l')")
    line = "document.getElementById('k-good/p10').querySelector('code')"
    assert browser.value(f"{line}.textContent") == "        x[i] = x[i] + 1.5  # CP2103: not the same"
    spans = browser.value(f"[...{line}.children].map(s => [s.className, s.textContent])")
    assert spans == [["nu", "1.5"], ["c", "# CP2103: not the same"]]


def test_the_theme_is_kept(browser: chromium.Browser, document: Path) -> None:
    browser.screen(1280, 900)
    browser.open(document)
    browser.value("theme.click()")
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    browser.open(document)
    assert browser.value("theme.textContent") == "theme: dark"
    browser.value("theme.click(); theme.click()")
    assert browser.value("document.documentElement.dataset.theme") is None


def test_without_scripts_the_facts_are_there(browser: chromium.Browser, document: Path) -> None:
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.ask("Page.navigate", url=document.as_uri() + "#k-wrong")
        browser.until("location.hash === '#k-wrong' && document.readyState === 'complete'")
        pages = "[...document.querySelectorAll('.page')]"
        shown = f"{pages}.filter(p => getComputedStyle(p).display !== 'none').map(p => p.id)"
        assert browser.value(shown) == ["k-wrong"]
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)
