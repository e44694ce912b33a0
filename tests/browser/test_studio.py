"""The studio in a real browser, over a real service: mouse, keyboard, dark, hostile texts."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from browser.studio_service import Running, Visitor, serve
from browser.waiting import FOREVER, wait_until
from sfumato.metrics.staying_curves import level_for, staying
from system.conftest import run_here

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Locator, Page, Route

pytestmark = pytest.mark.browser

HOSTILE = (
    "😀🇩🇪 <img src=x onerror=hacked=1> Ask Ada Lovelace, مرحبا، at ada@example.org & <b>co</b>."
)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SHORT = "Ask Ada Lovelace in Boston."


@pytest.fixture(scope="module")
def charging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    pytest.importorskip("fastapi", reason="SKIPPED WITHOUT THE EXTRA service: nothing was served")
    with serve(tmp_path_factory.mktemp("charging"), budget=True) as running:
        yield running


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    pytest.importorskip("fastapi", reason="SKIPPED WITHOUT THE EXTRA service: nothing was served")
    with serve(tmp_path_factory.mktemp("free"), budget=False) as running:
        yield running


@pytest.fixture(scope="module")
def idle(browser: Browser, charging: Running) -> Iterator[Page]:
    """The page, ready, for what needs no text in it."""
    visitor = Visitor.at(browser, charging.address, f"#token={charging.token}")
    visitor.page.wait_for_selector("html[data-ready=yes]", state="attached")
    yield visitor.page
    visitor.context.close()


@pytest.fixture
def studio(browser: Browser, charging: Running) -> Iterator[Visitor]:
    """The page, ready, with a token that may do everything; afterwards it has kept to itself."""
    visitor = Visitor.at(browser, charging.address, f"#token={charging.token}")
    visitor.page.wait_for_selector("html[data-ready=yes]", state="attached")
    yield visitor
    visitor.assert_kept_to(charging)
    visitor.context.close()


def expect(locator: Locator) -> Any:
    from playwright.sync_api import expect as expecting

    expecting.set_options(timeout=FOREVER)
    return expecting(locator)


def mark(page: Page, text: str) -> Locator:
    """A mark by what stands in it, without its label."""
    return page.locator("#marked .mark", has_text=re.compile(f"^{re.escape(text)}")).first


def content(download: Download) -> str:
    return Path(download.path()).read_text(encoding="utf-8")


def save(page: Page, name: str) -> Download:
    """What a button saves; pressed again if nothing comes, as when it is drawn anew meanwhile."""
    downloads = hearing(page)

    def pressed() -> bool:
        page.get_by_role("button", name=f"Save {name}").click()
        for _ in range(100):
            if came():
                return True
            page.wait_for_timeout(20)
        return False

    def came() -> list[Download]:
        # One that was asked for twice may still come when the next is waited for.
        return [one for one in downloads if one.suggested_filename == name]

    wait_until(page, pressed, f"a download of {name}")
    return came()[0]


def hearing(page: Page) -> list[Download]:
    """All that is saved from now on."""
    downloads: list[Download] = []
    page.on("download", lambda one: downloads.append(one))  # noqa: PLW0108  # it is marked
    return downloads


def two_files(page: Page, downloads: list[Download]) -> dict[str, str]:
    wait_until(page, lambda: len(downloads) >= 2, "two downloads")
    return {one.suggested_filename: content(one) for one in downloads}


def open_account(page: Page, kind: str, name: str, limit: str) -> None:
    page.select_option("#account-kind", kind)
    page.fill("#account-id", name)
    page.press("#account-id", "Enter")
    page.fill("#limit", limit)
    page.press("#limit", "Enter")
    expect(page.locator(".sums")).to_contain_text("Left now")


def test_markup_is_text_and_marks_stand_where_they_belong(studio: Visitor) -> None:
    """Letters of two units before a name, both directions, and markup that must stay what it is."""
    page = studio.page
    assert "token" not in page.url
    page.fill("#text", HOSTILE)
    expect(mark(page, "ada@example.org")).to_be_visible()
    name = mark(page, "Ada Lovelace")
    assert name.get_attribute("aria-label") == ("Ada Lovelace, person: stands in a list of names")
    shown = page.locator("#marked").evaluate(
        "pane => { const copy = pane.cloneNode(true);"
        " copy.querySelectorAll('small').forEach(one => one.remove()); return copy.textContent }"
    )
    assert shown == HOSTILE
    assert page.locator("#marked img, #marked b").count() == 0
    assert page.evaluate("window.hacked") is None
    # The same in the preview, in the panel of the word, and in lists.
    page.fill("#correct-word", "<b>co</b>")
    page.press("#correct-word", "Enter")
    expect(page.locator(".chip.lexicon")).to_have_text("<b>co</b>×")
    mark(page, "b").click()
    expect(page.locator("#word .focus")).to_have_text("b>co</b")
    page.locator("input[value=preview]").check(force=True)
    expect(page.locator("#marked")).to_contain_text("=x onerror=hacked=1> Ask")
    assert page.evaluate("window.hacked") is None


def test_the_policy_of_the_page_stops_what_would_get_in(idle: Page) -> None:
    """The sabotaged twin: a page that wrote markup would be stopped by the browser."""
    outcome = idle.evaluate(
        "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'written' }"
        " catch (error) { return error.name } })()"
    )
    assert outcome == "TypeError"
    sent = idle.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'stopped')")
    assert sent == "stopped"
    stored = "document.cookie + localStorage.length + sessionStorage.length"
    assert idle.evaluate(stored) == "00"


def test_corrections_become_a_lexicon_and_exceptions_that_the_command_takes(
    studio: Visitor, tmp_path: Path
) -> None:
    page = studio.page
    page.fill("#text", SHORT)
    mark(page, "Boston").click()
    page.get_by_role("button", name="Do not mark it").click()
    expect(page.locator(".chip.allowed")).to_contain_text("Boston")
    expect(page.locator("#finds")).to_have_text("1 place found: person.")
    # By a selection in the text.
    page.locator("#text").evaluate("area => { area.focus(); area.setSelectionRange(0, 3) }")
    page.get_by_role("button", name="Mark the selection").click()
    expect(mark(page, "Ask")).to_be_visible()
    assert studio.bodies("/v1/explain")[-1]["lexicon"] == ["Ask"]
    assert studio.bodies("/v1/explain")[-1]["allow_list"] == ["Boston"]
    page.select_option("#mechanism", "redact")
    for name in ("sfumato.toml", "words.txt", "exceptions.txt"):
        (tmp_path / name).write_text(content(save(page, name)), encoding="utf-8")
    settings = tomllib.loads((tmp_path / "sfumato.toml").read_text())["privatize"]
    assert settings["policy"] == ["pii", "lexicon:words.txt"]
    command = shlex.split(page.locator("#command").text_content() or "")
    assert command[:2] == ["sfumato", "privatize"]
    (tmp_path / "text.txt").write_text(SHORT, encoding="utf-8")
    for typed in (command[1:], ["privatize", "text.txt", "-o", "two.txt"]):
        assert run_here(*typed, cwd=tmp_path).returncode == 0
    for made in ("text.soft.txt", "two.txt"):
        assert (tmp_path / made).read_text() == "[LEXICON] [PERSON] in Boston."
    # Taken back, it is marked again.
    page.get_by_role("button", name="Take “Boston” off the list").click()
    expect(mark(page, "Boston")).to_be_visible()


def test_a_level_shows_what_it_does(studio: Visitor) -> None:
    page = studio.page
    page.select_option("#mechanism", "laplace")
    page.fill("#text", SHORT)
    chance = page.locator("#stays strong")
    expect(chance).to_have_text("30 %")
    mark(page, "Boston").click()
    right = page.locator("#word .figure.guess strong")
    expect(right).to_have_text(re.compile(r"^[0-9.]+\s%$"))
    expect(page.locator("#word .bars")).to_have_count(2)
    assert page.locator("#word .barrow.new").count() > 2
    assert "boston" in (page.locator("#word .barrow.guessed").first.text_content() or "")
    # A bar means the same in both lists: what hardly ever comes is not as long as the best guess.
    shares = "all => all.map((one) => Number(one.style.getPropertyValue('--share')))"
    assert max(page.locator("#word .new .fill").evaluate_all(shares)) < 1
    assert max(page.locator("#word .guessed .fill").evaluate_all(shares)) == 1
    # Few draws while something moves, many at rest.
    studio.asked.clear()
    page.focus("#epsilon")
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    expect(chance).not_to_have_text("30 %")
    now = float((chance.text_content() or "").split()[0])
    assert now > 60
    expect(page.locator("#word .figure.stay small")).to_be_visible()
    wait_until(
        page,
        lambda: any(one["draws"] == 400 for one in studio.bodies("/v1/explain")),
        "a request for many draws",
    )
    first = studio.bodies("/v1/explain")[0]
    assert first["draws"] == 50
    level = float(page.input_value("#epsilon-exact"))
    assert studio.bodies("/v1/explain")[-1]["epsilon"] == level
    assert str(level).rstrip("0").rstrip(".") in (
        page.locator("#epsilon").get_attribute("aria-valuetext") or ""
    )


def test_two_mechanisms_at_the_same_level_and_at_the_same_chance(studio: Visitor) -> None:
    page = studio.page
    page.select_option("#mechanism", "exponential")
    page.fill("#text", SHORT)
    mark(page, "Boston").click()
    page.select_option("#compare-second", "custom")
    page.locator("#compare").scroll_into_view_if_needed()
    sides = page.locator(".side")
    expect(sides).to_have_count(3)
    expect(sides.nth(2)).to_contain_text("custom")
    level = float(page.input_value("#epsilon-exact"))
    titles = [sides.nth(place).locator("h3").text_content() or "" for place in range(3)]
    assert titles[0].startswith("exponential")
    assert titles[1] == f"custom ε {level:g}"
    assert titles[2].startswith("custom")
    stays = [sides.nth(place).locator("h3 + p").text_content() for place in range(3)]
    assert stays[0] == stays[2] != stays[1]
    sides.nth(2).get_by_role("button").click()
    expect(page.locator("#mechanism")).to_have_value("custom")


def test_a_release_is_asked_for_charged_once_and_saved(studio: Visitor) -> None:
    """The connection breaks after the service has charged: sent again, it is not charged again."""
    page = studio.page
    page.select_option("#mechanism", "laplace")
    page.fill("#text", SHORT)
    expect(mark(page, "Boston")).to_be_visible()
    release = page.locator("#release")
    expect(release).to_be_disabled()
    expect(page.locator("#cost")).to_contain_text("name the account that pays")
    open_account(page, "text", "memo", "20")
    level = float(page.input_value("#epsilon-exact"))
    page.locator("input[value=preview]").check(force=True)
    expect(page.locator("#stamp")).to_have_text(re.compile("NOT FOR RELEASE"))
    expect(page.locator(".sums .spent")).to_have_text("Spent0")
    lost: list[str] = []

    def lose(route: Route) -> None:
        lost.append(route.request.headers["idempotency-key"])
        if len(lost) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/privatize", lose)
    release.click()
    dialog = page.locator("#confirm")
    expect(dialog).to_contain_text(f"ε {level:g}")
    expect(dialog).to_contain_text(f"{20 - level:.3g} of 20")
    dialog.get_by_role("button", name="Cancel").click()
    assert lost == []
    release.click()
    dialog.locator("button.main").click()
    expect(dialog).to_contain_text("not known whether this release was charged")
    downloads = hearing(page)
    dialog.get_by_role("button", name="Send it again").click()
    saved = two_files(page, downloads)
    assert len(set(lost)) == 1
    assert saved["text.soft.txt"] == page.locator("#released .out").text_content()
    told = json.loads(saved["text.soft.txt.guarantee.json"])
    assert told["guarantee"]["epsilon"] == told["budget"]["charged"] == level
    assert "memo" not in json.dumps(told)
    expect(page.locator(".sums .spent")).to_have_text(f"Spent{level:g}")
    expect(page.locator("#released")).to_contain_text("before, and not again")


def test_a_release_is_of_what_is_shown_and_costs_what_is_said(studio: Visitor) -> None:
    """Whoever is quicker than the answers releases the new text, and is told no old cost."""
    page = studio.page
    page.select_option("#mechanism", "laplace")
    page.fill("#text", SHORT)
    expect(mark(page, "Boston")).to_be_visible()
    open_account(page, "text", "quick", "1000")
    dialog, release = page.locator("#confirm"), page.locator("#release")
    expect(release).to_be_enabled()
    # In one go, so that no answer comes in between.
    change = """([id, value, event]) => {
        const field = document.getElementById(id);
        field.value = value;
        field.dispatchEvent(new Event(event));
        document.getElementById("release").click();
    }"""
    page.evaluate(change, ["epsilon-exact", "77", "change"])
    expect(dialog).not_to_be_visible()
    release.click()
    expect(dialog.locator("button.main")).to_have_text("Release for ε 77")
    dialog.get_by_role("button", name="Cancel").click()
    longer = f"{SHORT} Boston."
    page.evaluate(change, ["text", longer, "input"])
    expect(dialog).to_contain_text(f"{len(longer)} characters")
    dialog.get_by_role("button", name="Cancel").click()
    open_account(page, "author", "quick", "1000")
    expect(page.locator(".sums .next")).to_contain_text("308")  # four words
    page.evaluate(change, ["text", f"{longer} Boston.", "input"])
    expect(dialog).not_to_be_visible()  # what it costs an author is not known yet
    expect(page.locator(".sums .next")).to_contain_text("385")
    expect(release).to_be_enabled()
    assert studio.bodies("/v1/privatize") == []


def test_without_a_budget_a_release_is_not_charged_and_the_page_says_so(
    browser: Browser, free: Running
) -> None:
    visitor = Visitor.at(browser, free.address, f"#token={free.token}")
    page = visitor.page
    expect(page.locator("#budget")).to_contain_text("No budget.")
    page.fill("#text", HOSTILE)
    expect(mark(page, "Ada Lovelace")).to_be_visible()
    page.locator("#release").click()
    expect(page.locator("#confirm")).to_contain_text("nothing is charged")
    downloads = hearing(page)
    page.get_by_role("button", name="Release without a charge").click()
    expect(page.locator("#released")).to_contain_text("Nothing was charged.")
    saved = two_files(page, downloads)
    text = saved["text.soft.txt"]
    assert "Ada Lovelace" not in text
    assert "=x onerror=hacked=1> Ask " in text
    assert text.endswith(" & <b>co</b>.")
    told = json.loads(saved["text.soft.txt.guarantee.json"])
    assert told["budget"] is None
    assert told["for_release"] is True
    assert len(told["summary"]) == 3
    # A second release of the same text is another one, and that is said.
    page.locator("#release").click()
    expect(page.locator("#confirm")).to_contain_text("You released this text before")
    page.keyboard.press("Escape")
    visitor.assert_kept_to(free)
    visitor.context.close()


def test_everything_by_keyboard(studio: Visitor) -> None:
    page = studio.page
    keys = page.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(60):
            if page.locator(selector).evaluate("one => one === document.activeElement"):
                return
            keys.press("Tab")
        raise AssertionError(f"{selector} cannot be reached by the key Tab")

    keys.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    keys.press("Enter")
    tab_to("#text")
    keys.type(SHORT)
    expect(mark(page, "Boston")).to_be_visible()
    tab_to("#marked .mark[tabindex='0']")
    keys.press("End")
    expect(page.locator("#word .focus")).to_have_text("Boston")
    keys.press("Delete")
    expect(page.locator(".chip.allowed")).to_contain_text("Boston")
    expect(mark(page, "Ada Lovelace")).to_be_visible()
    tab_to("input[name=policy]:checked")
    keys.press("ArrowDown")
    expect(page.locator("#finds")).to_have_text("Nothing is found.")
    keys.press("ArrowUp")
    expect(mark(page, "Ada Lovelace")).to_be_visible()
    tab_to("#mechanism")
    keys.type("redact")
    expect(page.locator("#guarantee .lines li")).to_have_count(3)
    expect(page.locator("#guarantee")).to_contain_text("ε = 0")
    tab_to("#guarantee summary")
    keys.press("Enter")
    expect(page.locator("#guarantee .exact p")).to_contain_text("epsilon = 0")
    tab_to("#release")
    keys.press("Enter")
    expect(page.locator("#confirm")).to_be_visible()
    keys.press("Escape")
    assert page.evaluate("document.activeElement.id") == "release"


def test_looks_and_reads_well(studio: Visitor) -> None:
    """In light and dark axe finds nothing in any state of the page; nothing hangs out of it."""
    page = studio.page
    page.get_by_role("button", name="Try an example").click()
    expect(mark(page, "Boston")).to_be_visible()
    page.select_option("#mechanism", "exponential")
    mark(page, "Boston").click()
    expect(page.locator("#word .bars")).to_have_count(2)
    open_account(page, "author", "maria", "1000")
    page.locator("#compare").scroll_into_view_if_needed()
    expect(page.locator(".side")).to_have_count(3)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert studio.violations() == []
    for width in (1600, 1024, 768, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("input[value=preview]").check(force=True)
    page.locator("#release").click()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert studio.violations("#confirm") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_token_that_is_missing_over_or_lacks_rights(browser: Browser, charging: Running) -> None:
    visitor = Visitor.at(browser, charging.address)
    page = visitor.page
    expect(page.locator("#entry")).to_be_visible()
    assert visitor.violations() == []
    page.fill("#entry-token", charging.over)
    page.press("#entry-token", "Enter")
    expect(page.locator("#entry-why")).to_contain_text("its time is over")
    page.fill("#entry-token", charging.looking)
    page.press("#entry-token", "Enter")
    expect(page.locator("#budget")).to_contain_text("lacks the right “budget”")
    page.fill("#text", SHORT)
    expect(mark(page, "Ada Lovelace")).to_be_visible()
    expect(page.locator("#cost")).to_contain_text("lacks the right “release”")
    expect(page.locator("#release")).to_be_disabled()
    page.locator("input[value=preview]").check(force=True)
    expect(page.locator("#marked")).to_contain_text("lacks the right “explain”")
    expect(page.locator("#compare")).to_contain_text("lacks the right “explain”")
    assert visitor.bodies("/v1/explain") == []
    visitor.assert_kept_to(charging)
    visitor.context.close()


def test_a_service_that_is_busy_or_away_is_asked_again(studio: Visitor) -> None:
    page = studio.page
    tries: list[int] = []

    def refuse(route: Route) -> None:
        tries.append(1)
        if len(tries) == 1:
            told = json.dumps({"type": "Busy", "status": 503, "detail": "too many wait"})
            route.fulfill(
                status=503,
                headers={"Retry-After": "1", "Content-Type": "application/problem+json"},
                body=told,
            )
        elif len(tries) == 2:
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/explain", refuse)
    page.fill("#text", SHORT)
    expect(page.locator("#connection")).to_have_text("The service does not answer; trying again…")
    expect(mark(page, "Ada Lovelace")).to_be_visible()
    expect(page.locator("#connection")).to_have_text("")
    assert len(tries) >= 3


def test_a_megabyte_is_looked_at_part_by_part(studio: Visitor, tmp_path: Path) -> None:
    page = studio.page
    large = tmp_path / "large.txt"
    line = "😀 Ask Ada Lovelace about it.\r\n"
    large.write_bytes((line * (1_000_000 // len(line.encode()))).encode())
    drop = (
        "([letters, name]) => { const moved = new DataTransfer();"
        " moved.items.add(new File([letters], name));"
        " document.getElementById('text').dispatchEvent("
        "  new DragEvent('drop', { dataTransfer: moved, bubbles: true, cancelable: true })) }"
    )
    page.evaluate(drop, ["a" * ((1 << 20) + 1), "larger.txt"])
    expect(page.locator("#text-problem")).to_contain_text("larger than 1 MB")
    page.evaluate(drop, [SHORT, "small.txt"])
    expect(page.locator("#text-count")).to_contain_text("small.txt")
    expect(page.locator("#text-problem")).to_be_hidden()
    page.set_input_files("#file", large)
    expect(page.locator("#pager")).to_be_visible()
    expect(page.locator("#page-which")).to_have_text(re.compile(r"^page 1 of [0-9]{2}$"))
    expect(page.locator("#part-which")).to_have_text(re.compile(r"^part 1 of [0-9]{2}$"))
    expect(mark(page, "Ada Lovelace")).to_be_visible()
    assert len(str(studio.bodies("/v1/explain")[-1]["text"])) <= 2000
    # The part is the one in which somebody writes; what is released is all of it.
    page.locator("#text").evaluate("area => area.setSelectionRange(1e7, 1e7)")
    page.locator("#text").press("End")
    page.keyboard.type("Call Grace Hopper.")
    expect(mark(page, "Grace Hopper")).to_be_visible()
    page.locator("#part-before").click()
    expect(mark(page, "Grace Hopper")).to_have_count(0)
    page.locator("#page-after").click()
    expect(page.locator("#page-which")).to_have_text(re.compile("^page 2 of"))
    whole = "import('/studio/store.js').then(one => one.wholeText())"
    text = large.read_bytes().decode().replace("\r\n", "\n")
    kept = page.evaluate(whole)
    assert kept.replace("Call Grace Hopper.", "") == text
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_role("button", name="Try an example")).to_be_visible()


def test_curves_are_read_as_in_python(idle: Page) -> None:
    """Between the measured levels, beyond them, and back from a chance to a level."""
    asked = [
        (name, level)
        for name in ("laplace", "exponential", "custom")
        for level in (0.01, 1.3, 7.77, 900.0)
    ]
    found = idle.evaluate(
        "async (asked) => {"
        " const { chanceAt, levelAt } = await import('/studio/staying.js');"
        " const { mechanism } = await import('/studio/store.js');"
        " return asked.map(([name, level]) => {"
        "  const curve = mechanism(name).staying;"
        "  return [chanceAt(curve, level), levelAt(curve, 0.4)] }) }",
        asked,
    )
    for (name, level), (chances, back) in zip(asked, found, strict=True):
        known = staying(name, level)
        assert [chances[key] for key in ("low", "median", "high")] == pytest.approx(
            [known.low, known.median, known.high], abs=1e-9
        )
        assert back == pytest.approx(level_for(name, 0.4), rel=1e-9)
