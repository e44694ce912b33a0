"""The gallery says what its pages say: charts from their tables, numbers, commands, every page."""

from __future__ import annotations

import doctest
import re
import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import gallery_checks
import gallery_tables
from gallery import CHARTS, INDEX, PAGES, ROOT, Gallery
from gallery_charts import Source, cite, draw, points
from gallery_checks import COUNTED, SAID, commands_at_fault, numbers_of, words_at_fault
from gallery_tables import NUMBER, Figure, NotFound, Page, as_number, figures, plain
from sfumato.charts.shapes import Box
from sfumato.reports.picture import MARGIN

GALLERY = Gallery.read()
ENTRIES = [pytest.param(GALLERY.filled(entry), id=entry["page"]) for entry in GALLERY.entries]
COPIED = (PAGES, CHARTS, Path("studies"))


def test_page_and_charts_are_what_the_pages_give() -> None:
    assert [*GALLERY.faults(), *GALLERY.outdated()] == []


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """What the gallery is made of, to be changed."""
    for folder in COPIED:
        left_out = shutil.ignore_patterns("public-model", "__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=left_out)
    (tmp_path / "benchmarks").mkdir()
    for name in ("Makefile", "benchmarks/__main__.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_what_changes_on_a_page_or_in_the_gallery_alone_is_seen(copied: Path) -> None:
    gallery = Gallery.read(copied)
    change(copied / INDEX, "0.266 (0.161 – 0.367)", "0.276 (0.161 – 0.367)")
    shutil.copy(copied / CHARTS / "demo.svg", copied / CHARTS / "old.svg")
    stale = "is not what studies/gallery.py writes"
    left = f"{CHARTS / 'old.svg'} belongs to no entry"
    assert list(gallery.outdated()) == [f"{INDEX} {stale}", left]
    gallery.write()
    change(copied / PAGES / "groups.md", "0.266 (0.161 – 0.367)", "0.276 (0.161 – 0.367)")
    changed = [f"{INDEX} {stale}", f"{CHARTS / 'groups.svg'} {stale}", left]
    assert list(gallery.outdated()) == changed


def test_a_page_without_an_entry_and_a_number_that_is_nowhere_are_seen(copied: Path) -> None:
    (copied / PAGES / "new.md").write_text("# New\n", encoding="utf-8")
    (copied / PAGES / "federated.md").unlink()
    change(copied / PAGES / "groups.md", "0.654 (0.639 – 0.669)", "0.654 (0.638 – 0.669)")
    change(copied / PAGES / "tokenizers.md", "| ε = 16 |", "| ε = 17 |")
    assert list(Gallery.read(copied).faults()) == [
        "new.md has no entry",
        "there is no page federated.md",
        "groups.md: 'found' says (0.654, 0.639, 0.669), which the page does not",
        "groups.md: 'found' says 0.639, which the page does not",
        "tokenizers.md: no column, or several, 'ε = 16' below 'WikiText-2 by paragraph: 17,556 "
        "paragraphs, broad text'",
    ]


def test_words_take_their_figures_from_the_chart() -> None:
    table = "| a | b | c |\n|---|---|---|\n| x | 1.5 (1–2) | 3 |\n| y | 2.5 | 4 |\n"
    page, chart = Page("a.md", f"# A\n\n{table}"), {"dots": [{"columns": ["b", "c"]}]}
    assert cite("It is {x | b}, not {y | c}.", page, chart) == "It is 1.5 (1–2), not 4."
    other = Page("a.md", page.text.replace("1.5", "1.6"))
    assert cite("It is {x | b}.", other, chart) == "It is 1.6 (1–2)."
    sides = {"leakage": {"columns": ["b"]}, "utility": {"columns": ["c"]}}
    assert cite("{utility | y} at {leakage | y | b}", page, sides) == "4 at 2.5"
    for unclear in ("{x}", "{z | b}", "{y | b | c}"):
        with pytest.raises(NotFound):
            cite(unclear, page, chart)
    twice = Page("a.md", page.text.replace("| y |", "| x |"))
    with pytest.raises(NotFound):
        draw(twice, {"title": "t", **chart})


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_number_of_an_entry_may_change_on_its_page(entry: dict[str, Any]) -> None:
    words = [entry.get(key, "") for key in SAID]
    words += [entry["chart"].get(key, "") for key in ("title", "caption")]
    said = " ".join(words)
    assert not list(words_at_fault(entry, Page("itself.md", said)))
    for number in (one for one in numbers_of(said) if isinstance(one, float)):
        changed = Page("changed.md", without(said, number))
        assert any(f"says {number}," in fault for fault in words_at_fault(entry, changed)), number
    wrong = {**entry, "limit": f"{entry['limit'].removesuffix('.')}, by 0.98765."}
    assert any("says 0.98765" in fault for fault in words_at_fault(wrong, GALLERY.page(entry)))


def without(text: str, number: float) -> str:
    """The same text, in which a number is another one."""
    if number in range(2, 2 + len(COUNTED)):
        text = re.sub(rf"\b{COUNTED[int(number) - 2]}\b", "some", text, flags=re.IGNORECASE)
    return NUMBER.sub(
        lambda found: "77777" if as_number(found[0]) == number else found[0], plain(text)
    )


def test_a_figure_with_the_interval_of_another_is_seen() -> None:
    page = Page(
        "a.md", "# A\n\nIt is 0.266 (0.161 – 0.367), or 0.137 (0.066 – 0.203) with weights.\n"
    )
    entry = {"found": "It is 0.266 (0.161–0.367).", "limit": "No more.", "chart": {}}
    assert list(words_at_fault(entry, page)) == []
    wrong = {**entry, "found": "It is 0.266 (0.066–0.203)."}
    (fault,) = words_at_fault(wrong, page)
    assert "(0.266, 0.066, 0.203)" in fault
    several = {**entry, "limit": "No more. Not here."}
    assert list(words_at_fault(several, page)) == ["a.md: 'limit' is not one sentence"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_figure_of_a_chart_comes_from_its_page(entry: dict[str, Any]) -> None:
    page = GALLERY.page(entry)
    for source in sources(entry["chart"]):
        before = points(page, source)
        for point in before:
            said = re.escape(point.figure.said)
            text = re.sub(rf"(?<![\w.,]){said}(?![.,]?\d)", "98765", page.text)
            try:
                assert points(Page(page.name, text), source) != before, point
            except NotFound:
                continue  # what was quoted says another number, or a column has another name


def sources(chart: dict[str, Any]) -> list[Source]:
    """All that a chart is drawn from."""
    both = chart.get("both", {})
    given = chart.get("dots") or [{**both, **chart[side]} for side in ("leakage", "utility")]
    words = ("title", "better")
    return [Source.read({key: one[key] for key in one if key not in words}) for one in given]


@pytest.mark.parametrize("entry", ENTRIES)
def test_words_in_a_chart_stand_on_nothing_and_inside(entry: dict[str, Any]) -> None:
    sheet = draw(GALLERY.page(entry), entry["chart"]).sheet
    named = [one for one in sheet.writings() if one.kind in ("name", "level", "figure", "label")]
    over = [
        (one.text, other.text)
        for one, other in combinations(named, 2)
        if one.box.meets(other.box)
    ]  # fmt: skip
    assert over == []
    whole = Box(-MARGIN, -MARGIN, sheet.width + MARGIN, sheet.height + MARGIN)
    assert [one.text for one in sheet.writings() if not one.box.within(whole)] == []


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("0.266 (0.161 – 0.367)", [Figure("0.266", 0.266, 0.161, 0.367)]),
        ("1,020 (1,010–1,030)", [Figure("1,020", 1020, 1010, 1030)]),
        ("1.82e+07 (1.04e+07–3.19e+07)", [Figure("1.82e+07", 1.82e7, 1.04e7, 3.19e7)]),
        ("−0.002 (−0.107–0.092)", [Figure("-0.002", -0.002, -0.107, 0.092)]),
        ("-.02 (-.07–.02)", [Figure("-.02", -0.02, -0.07, 0.02)]),
        ("**0.996** (0.994 to 0.998)", [Figure("0.996", 0.996, 0.994, 0.998)]),
        ("11 to 20", [Figure("11 to 20", None, 11, 20)]),
        ("10⁻⁵", [Figure("1e-5", 1e-5)]),
        ("0.19 (0.18)", [Figure("0.19", 0.19)]),
        ("3.06, 0.75, –", [Figure("3.06", 3.06), Figure("0.75", 0.75), None]),
        ("", [None]),
    ],
)
def test_figures_are_read_however_they_are_written(cell: str, found: list[Figure | None]) -> None:
    assert figures(cell) == found


@pytest.mark.parametrize(
    "cell", ["at least 2.5", "none", "0.113 (≤ 0.05 – 0.254)", "0.7 (0.6 – 0.8) and on", "1 of 20"]
)
def test_what_is_no_figure_is_refused(cell: str) -> None:
    with pytest.raises(NotFound):
        figures(cell)


def test_examples_are_true() -> None:
    for module in (gallery_tables, gallery_checks):
        failed, tried = doctest.testmod(module)
        assert (failed, tried > 0) == (0, True)


def test_rows_columns_and_words_that_are_not_there_are_refused() -> None:
    page = Page("a.md", "# A\n\n| a | b |\n|---|---|\n| x | 1 |\n| y | – |\n\nChance is 0.5.\n")
    assert [point.figure.value for point in points(page, Source(columns=["b"]))] == [1.0]
    for source in (
        Source(columns=["c"]),
        Source(columns=["b"], only=["z"]),
        Source(columns=["b"], only=["y"]),
        Source(columns=["b"], table=2),
        Source(columns=["b"], heading="B"),
        Source(columns=["b"], part=2),
        Source(quote="Chance is 0.6"),
    ):
        with pytest.raises(NotFound):
            points(page, source)
    for chart in ({"title": "t", "dots": [{"colums": ["b"]}]}, {"tilte": "t", "dots": []}):
        with pytest.raises(NotFound):
            draw(page, chart)


STUDY = "sfumato study run studies/demo.toml"


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("make demo", ""),
        (f"SFUMATO_X=Y {STUDY} \\\n  --workers 2", ""),
        ("python -m benchmarks main_job --quick", ""),
        ("python -m benchmarks main_job --quicker", "no benchmark --quicker"),
        ("python -m benchmarks main_jobs", "no benchmark main_jobs"),
        (f"{STUDY} --worker 2", "'sfumato study run' has no --worker"),
        ("sfumato study walk studies/demo.toml", "there is no command 'sfumato study walk'"),
        ("sfumato study", "there is no command 'sfumato study'"),
        ("sfumato study run studies/gone.toml", "there is no studies/gone.toml"),
        ("python studies/dp_t5_corpus.py X --wiki Y", "studies/dp_t5_corpus.py has no --wiki"),
        ("make dmeo", "make has no target dmeo"),
        ("rm -r X", "nobody knows whether"),
    ],
)
def test_commands_name_what_there_is(command: str, fault: str) -> None:
    page = Page("a.md", f"# A\n\n    {command}\n")
    found = list(commands_at_fault(command, page, ROOT))
    assert [fault in one for one in found] == ([True] if fault else [])
    elsewhere = list(commands_at_fault(command, Page("a.md", "# A\n"), ROOT))
    assert any("neither the page nor a study has" in one for one in elsewhere)
