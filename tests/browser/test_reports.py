"""Reports in a real browser: drawn, dark, on paper, silent, and deaf to what documents say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.waiting import FOREVER

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page

pytestmark = pytest.mark.browser

READY = "html[data-ready=yes]"


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

    def shown(self) -> int:
        """How many charts of the library are drawn and can be seen."""
        return self.page.locator(".chart svg.marks:visible").count()

    def charts(self) -> int:
        return self.page.locator("[data-chart]").count()

    def open_all(self) -> None:
        """Open every question."""
        self.page.evaluate("document.querySelectorAll('.question').forEach(one => one.open = true)")

    def widest(self) -> int:
        """How wide the page is, with what hangs out of it."""
        return int(self.page.evaluate("document.documentElement.scrollWidth"))

    def violations(self) -> list[str]:
        """What axe-core objects to."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page, options={"resultTypes": ["violations"]}).response
        return [
            f"{one['id']}: {node['html'][:120]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def assert_silent(self, path: Path) -> None:
        assert self.said == []
        outside = [one for one in self.requested if not one.startswith(("data:", "blob:"))]
        assert outside == [path.as_uri()]


@pytest.fixture(scope="session")
def light(browser: Browser, study_report: Path) -> Iterator[Visit]:
    context = browser.new_context(color_scheme="light", viewport={"width": 1280, "height": 900})
    visit = Visit(context, study_report)
    visit.open_all()
    yield visit
    context.close()


@pytest.fixture(scope="session")
def phone(browser: Browser, study_report: Path) -> Iterator[Visit]:
    context = browser.new_context(
        color_scheme="light", viewport={"width": 360, "height": 740}, has_touch=True
    )
    yield Visit(context, study_report)
    context.close()


def test_every_chart_is_drawn_and_nothing_is_asked_for(light: Visit, study_report: Path) -> None:
    assert light.charts() >= 8
    assert light.shown() == light.charts()
    assert light.page.locator(".picture svg.wide:visible").count() >= 5
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
    chart = light.page.locator("#groups svg.marks").first
    chart.locator(".mark-symbol.role-mark path").first.hover()
    tooltip.wait_for()
    assert "perplexity" in tooltip.inner_text()


def test_a_chart_can_be_saved_and_goes_nowhere(light: Visit) -> None:
    menu = light.page.locator(".chart details").first
    menu.locator("summary").click()
    assert menu.locator("a").all_inner_texts() == ["Save as SVG", "Save as PNG"]
    with light.page.expect_download() as saved:
        menu.locator("a").first.click()
    assert saved.value.suggested_filename == "figure-6.svg"
    assert Path(saved.value.path()).read_text().startswith("<svg")


def test_a_term_is_explained_by_pointer_and_keyboard(light: Visit) -> None:
    term = light.page.locator("button.term").first
    meaning = light.page.locator(f"#{term.get_attribute('popovertarget')}")
    assert not meaning.is_visible()
    term.hover()
    assert meaning.is_visible()
    light.page.mouse.move(2, 2)
    assert not meaning.is_visible()
    term.focus()
    assert meaning.is_visible()
    light.page.keyboard.press("Escape")
    assert not meaning.is_visible()


def test_nobody_is_left_out(light: Visit, phone: Visit) -> None:
    """axe-core finds nothing, on a screen and on a phone."""
    assert light.violations() == []
    assert phone.violations() == []


def test_what_leaves_somebody_out_is_found(phone: Visit) -> None:
    """The sabotaged twin: text that can hardly be seen."""
    style = phone.page.add_style_tag(content=".lead { color: #ddd !important; }")
    assert any(one.startswith("color-contrast") for one in phone.violations())
    style.evaluate("one => one.remove()")


def test_the_button_changes_the_look(light: Visit) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    ink = """getComputedStyle(
        document.querySelector('.chart svg .mark-text.role-axis-title text')).fill"""
    before = light.page.evaluate(ink)
    light.page.get_by_role("button", name="Light or dark").click()
    assert light.page.evaluate(paper) == "rgb(22, 25, 29)"
    assert light.page.evaluate(ink) not in ("", before)
    light.page.get_by_role("button", name="Light or dark").click()
    assert light.page.evaluate(paper) == "rgb(255, 255, 255)"
    assert light.page.evaluate(ink) == before


@pytest.mark.parametrize("width", [360, 480, 768, 1600])
def test_no_width_cuts_a_column(browser: Browser, study_report: Path, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    visit = Visit(context, study_report)
    visit.open_all()
    assert visit.widest() <= width
    # What is wider than the page can be scrolled to, in a box of its own.
    cut = visit.page.evaluate(CUT)
    assert cut == []
    context.close()


CUT = """[...document.querySelectorAll('main table, main svg.marks')].filter(one => {
  for (let box = one.parentElement; box; box = box.parentElement) {
    if (getComputedStyle(box).overflowX === 'auto') return false;
  }
  return one.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
}).map(one => one.outerHTML.slice(0, 80))"""


def test_a_phone_gets_cards_and_its_own_chart(phone: Visit) -> None:
    page = phone.page
    assert page.locator(".picture svg.narrow").first.is_visible()
    assert not page.locator(".picture svg.wide").first.is_visible()
    cell = page.locator("table.cards td").first
    label = cell.evaluate("one => getComputedStyle(one, '::before').content")
    assert label == '"protects"'
    box = cell.bounding_box()
    assert box is not None
    assert box["width"] > 250
    term = page.locator("button.term").first
    term.tap()
    meaning = page.locator(f"#{term.get_attribute('popovertarget')}")
    place = meaning.bounding_box()
    assert place is not None
    assert place["x"] >= 0
    assert place["x"] + place["width"] <= 360
    page.keyboard.press("Escape")


# The room on a page of A4 within its margins, in pixels: 180 mm by 265 mm.
ACROSS, DOWN = 680, 1001
SWOLLEN = ".chart svg.marks { width: 900px !important; max-width: none !important; }"
DRAWN = "document.querySelectorAll('.chart svg.marks, .picture svg.wide')"
TOO_LARGE = f"""[...{DRAWN}].filter(one => {{
  const box = one.getBoundingClientRect();
  return !box.width || box.right > {ACROSS} + 1 || box.height > {DOWN};
}}).length"""


def test_dark_and_on_paper(browser: Browser, study_report: Path) -> None:
    context = browser.new_context(color_scheme="dark", viewport={"width": ACROSS, "height": DOWN})
    visit = Visit(context, study_report)
    page = visit.page
    assert visit.violations() == []
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(22, 25, 29)"
    # On paper everything is light, every question is open, terms are listed, no chart is cut.
    page.emulate_media(media="print")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    assert visit.shown() == visit.charts()
    assert page.evaluate(TOO_LARGE) == 0
    whole = "getComputedStyle(document.querySelector('.chart')).breakInside"
    assert page.evaluate(whole) == "avoid"
    assert page.locator("#terms .meaning").first.is_visible()
    assert page.locator("#figure-2 details.data table").is_visible()
    # The twin: charts that keep their size do not fit.
    style = page.add_style_tag(content=SWOLLEN)
    assert page.evaluate(TOO_LARGE) > 0
    style.evaluate("one => one.remove()")
    page.emulate_media(media="screen")
    content = page.pdf(format="A4")
    assert content.startswith(b"%PDF")
    assert len(content) > 50_000
    visit.assert_silent(study_report)
    context.close()


@pytest.mark.parametrize("kind", ["run", "file"])
def test_runs_and_files_have_the_same_frame(
    browser: Browser, kind: str, run_report: Path, file_report: Path
) -> None:
    path = run_report if kind == "run" else file_report
    context = browser.new_context(viewport={"width": 360, "height": 740})
    visit = Visit(context, path)
    visit.open_all()
    assert visit.page.locator(".sentences p").count() == 3
    assert visit.page.locator(".picture svg.narrow:visible").count() == 1
    assert visit.widest() <= 360
    assert visit.violations() == []
    visit.assert_silent(path)
    context.close()


def test_hostile_text_does_not_run(browser: Browser, hostile_report: Path) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 800})
    visit = Visit(context, hostile_report)
    page = visit.page
    visit.open_all()
    assert visit.charts() >= 3
    assert visit.shown() == visit.charts()
    page.locator("#groups svg.marks .mark-symbol.role-mark path").first.hover()
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
    assert page.count(b"600 generated") >= 1
    broken = tmp_path / "broken.html"
    script = b"<script>window.hacked=1</script><b onclick='window.hacked=1' id=x>x</b>"
    broken.write_bytes(page.replace(b"600 generated", script, 1))
    context = browser.new_context()
    visit = Visit(context, broken)
    visit.page.locator("#x").click()
    assert visit.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in said for said in visit.said)
    context.close()
