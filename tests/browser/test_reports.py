"""Reports in a real browser: drawn, dark, on paper, silent, and deaf to what documents say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page

pytestmark = pytest.mark.browser

CHROMIUM = Path(os.environ.get("SFUMATO_CHROMIUM", "/usr/bin/chromium"))
READY = "html[data-ready=yes]"
FOREVER = 1_200_000.0  # milliseconds: it hangs; a busy machine takes long, too


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all; without it nothing is looked at, and that is said."""
    if not CHROMIUM.exists():
        pytest.skip(
            f"SKIPPED WITHOUT CHROMIUM: there is no {CHROMIUM}, so no page was looked at in a "
            "browser; set SFUMATO_CHROMIUM to where it is"
        )
    sync_api = pytest.importorskip(
        "playwright.sync_api",
        reason="SKIPPED WITHOUT PLAYWRIGHT: no page was looked at in a browser",
    )
    with sync_api.sync_playwright() as playwright:
        # Inside a container the kernel may not give it a sandbox; the pages are our own.
        chromium = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"], timeout=FOREVER
        )
        yield chromium
        chromium.close()


class Visit:
    """A page with everything it said, asked for or tried."""

    def __init__(self, context: BrowserContext, path: Path) -> None:
        self.said: list[str] = []
        self.requested: list[str] = []
        context.set_default_timeout(FOREVER)
        self.page: Page = context.new_page()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(READY, state="attached")

    def _hear(self, message: ConsoleMessage) -> None:
        # Vega-Lite warns where it decides something by itself; that is no fault of the page.
        if message.type == "error":
            self.said.append(message.text)

    def _dismiss(self, dialog: Dialog) -> None:
        self.said.append("dialog")
        dialog.dismiss()

    def shown(self, look: str) -> int:
        """How many charts are drawn in that look and can be seen."""
        return self.page.locator(f".chart .{look} svg.marks:visible").count()

    def charts(self) -> int:
        return self.page.locator("[data-chart]").count()

    def assert_silent(self, path: Path) -> None:
        assert self.said == []
        outside = [one for one in self.requested if not one.startswith(("data:", "blob:"))]
        assert outside == [path.as_uri()]


@pytest.fixture(scope="session")
def light(browser: Browser, study_report: Path) -> Iterator[Visit]:
    context = browser.new_context(color_scheme="light", viewport={"width": 1100, "height": 900})
    yield Visit(context, study_report)
    context.close()


def test_every_chart_is_drawn_and_nothing_is_asked_for(light: Visit, study_report: Path) -> None:
    assert light.charts() >= 9
    assert light.shown("light") == light.charts()
    assert light.shown("dark") == 0
    light.assert_silent(study_report)


def test_the_policy_forbids_requests(light: Visit) -> None:
    """A script that got in could send nothing: the page's own policy stops it."""
    answer = light.page.evaluate(
        "fetch('https://example.org/').then(() => 'sent', () => 'stopped')"
    )
    light.said.clear()  # the browser says that it was stopped
    assert answer == "stopped"
    light.requested[:] = light.requested[:1]


def test_a_tooltip_appears(light: Visit) -> None:
    tooltip = light.page.locator("#vg-tooltip-element.visible")
    # The points of the figure on groups.
    chart = light.page.locator("#groups .light svg.marks")
    chart.locator(".mark-symbol.role-mark path").first.hover()
    tooltip.wait_for()
    assert "perplexity" in tooltip.inner_text()


def test_a_chart_can_be_saved_and_goes_nowhere(light: Visit) -> None:
    menu = light.page.locator(".chart .light details").first
    menu.locator("summary").click()
    assert menu.locator("a").all_inner_texts() == ["Save as SVG", "Save as PNG"]
    with light.page.expect_download() as saved:
        menu.locator("a").first.click()
    assert saved.value.suggested_filename == "figure-1.svg"
    assert Path(saved.value.path()).read_text().startswith("<svg")


def test_the_button_changes_the_look(light: Visit) -> None:
    light.page.get_by_role("button", name="Light or dark").click()
    light.page.wait_for_function("document.querySelectorAll('.chart .dark svg.marks').length > 8")
    assert light.shown("dark") == light.charts()
    assert light.shown("light") == 0
    light.page.get_by_role("button", name="Light or dark").click()
    assert light.shown("light") == light.charts()


def test_dark_and_on_paper(browser: Browser, study_report: Path) -> None:
    context = browser.new_context(color_scheme="dark", viewport={"width": 1100, "height": 900})
    visit = Visit(context, study_report)
    page = visit.page
    assert visit.shown("dark") == visit.charts()
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(22, 25, 29)"
    # On paper everything is light, and the data stand open.
    page.emulate_media(media="print")
    assert visit.shown("light") == visit.charts()
    assert visit.shown("dark") == 0
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")
    content = page.pdf(format="A4")
    assert content.startswith(b"%PDF")
    assert len(content) > 50_000
    visit.assert_silent(study_report)
    context.close()


def test_hostile_text_does_not_run(browser: Browser, hostile_report: Path) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 800})
    visit = Visit(context, hostile_report)
    page = visit.page
    assert visit.charts() >= 5
    assert visit.shown("light") == visit.charts()
    page.locator("#groups .light svg.marks .mark-symbol.role-mark path").first.hover()
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert "<script>" in page.locator("#vg-tooltip-element").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    # On a narrow screen tables and charts scroll, and the page does not.
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    visit.assert_silent(hostile_report)
    context.close()


def test_a_script_that_got_in_would_be_stopped(
    browser: Browser, study_report: Path, tmp_path: Path
) -> None:
    """The sabotaged twin: with escaping undone, the policy alone must hold."""
    page = study_report.read_bytes()
    assert page.count(b"600 generated") == 1
    broken = tmp_path / "broken.html"
    script = b"<script>window.hacked=1</script><b onclick='window.hacked=1' id=x>x</b>"
    broken.write_bytes(page.replace(b"600 generated", script))
    context = browser.new_context()
    visit = Visit(context, broken)
    visit.page.locator("#x").click()
    assert visit.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in said for said in visit.said)
    context.close()
