"""One content, three renderings: what the page says, Markdown and JSON say as well."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from sfumato.cli.main import main
from sfumato.core.errors import BadInput, InvalidArgument, UnknownName
from sfumato.reports import write_report
from sfumato.reports.data import write_json
from sfumato.reports.glossary import find_terms, glossary
from sfumato.reports.html import write_html
from sfumato.reports.markdown import write_markdown
from sfumato.reports.page import Heading, Page, Paragraph, Table
from sfumato.reports.run import run_page
from sfumato.reports.samples import Showing
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores
from unit.reports.example_run import write_run
from unit.reports.reading import HOSTILE, HOSTILE_LINE, Read

# What Markdown puts around words.
MARKS = str.maketrans("`*", "  ")
SCORES = Scores(
    attack="membership", knowledge="The attacker has the texts.",
    figures=(Measured("auc", 0.71, 0.66, 0.76, 400),), chance={"auc": 0.5},
    control=Control(what="others against others", figures=(Measured("auc", 0.5, 0.4, 0.6, 200),)),
)  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(SCORES.as_dict()))
    return path


def words(text: str) -> set[str]:
    return {word for word in text.replace("\\", "").split() if word.isalpha()}


def said(page: Page) -> set[str]:
    """Every text of a page, as the page itself holds it."""
    texts = [text for lead, text in page.sentences]
    for section in page.sections:
        texts.append(section.title)
        for part in section.parts:
            if isinstance(part, Table):
                texts += [part.caption, *part.head]
            elif isinstance(part, Paragraph):
                texts += [one for one in part.words if isinstance(one, str)]
            elif isinstance(part, Heading):
                texts.append(part.text)
    return words(" ".join(texts).replace("`", " "))


def lost(page: Page, rendered: Page) -> list[set[str]]:
    """What each rendering leaves out of a page."""
    html = words(Read.of(write_html(rendered)).text())
    markdown = words(write_markdown(rendered).decode().translate(MARKS))
    data = words(json.dumps(json.loads(write_json(rendered)), ensure_ascii=False).replace('"', " "))
    return [said(page) - one for one in (html, markdown, data)]


def test_all_renderings_say_the_same(run: Path, scores: Path) -> None:
    page = run_page(run, Showing(scores=(scores,)))
    assert lost(page, page) == [set(), set(), set()]
    # The twin: a rendering without its last question lacks something.
    assert all(lost(page, replace(page, questions=page.questions[:-1])))


def test_the_name_of_the_output_or_a_format_decides(run: Path, tmp_path: Path) -> None:
    assert json.loads(write_report(run, tmp_path / "a.json").path.read_bytes())["title"] == "run"
    assert write_report(run, tmp_path / "a.md").path.read_text().startswith("# run\n")
    assert write_report(run, format="markdown").path == run.with_name("run.report.md")
    assert write_report(run, format="card").path == run.with_name("run.README.md")
    assert write_report(run, tmp_path / "b.txt").path.read_bytes().startswith(b"<!doctype html>")
    with pytest.raises(UnknownName, match="markdown"):
        write_report(run, format="markdwon")


def test_a_card_has_the_metadata_of_hugging_face(run: Path, scores: Path) -> None:
    text = write_report(run, format="card", scores=[scores]).path.read_text()
    _, front, body = text.split("---\n", 2)
    found = yaml.safe_load(front)
    assert found["pipeline_tag"] == "text-generation"
    (index,) = found["model-index"]
    values = {one["metrics"][0]["type"]: one["metrics"][0]["value"] for one in index["results"]}
    assert values == {"perplexity": 31.5, "membership: auc": 0.71}
    assert all({"type", "name"} <= one["dataset"].keys() for one in index["results"])
    assert "membership finds more than chance: auc 0.71 (0.66 to 0.76; 0.5 by chance)" in body
    assert "at most exp(7.5) times likelier" in body


def test_a_card_may_stand_in_the_run_if_it_tells_nothing_new(run: Path, scores: Path) -> None:
    card = run / "model" / "README.md"
    with pytest.raises(InvalidArgument, match="inside the run"):
        write_report(run, card, format="card", scores=[scores])
    with pytest.raises(InvalidArgument, match="inside the run"):
        write_report(run, card)
    assert write_report(run, card, format="card").path == card


def test_scores_are_shown_and_checked(run: Path, scores: Path, tmp_path: Path) -> None:
    text = Read.of(write_report(run, scores=[scores]).path.read_bytes()).text()
    assert "membership finds more than chance" in text
    assert "others against others" in text
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(BadInput):
        write_report(run, scores=[tmp_path / "other.json"], overwrite=True)


def test_the_command_takes_a_format_and_scores(run: Path, scores: Path) -> None:
    assert main(["report", str(run), "--format", "card", "--scores", str(scores)]) == 0
    assert "membership" in run.with_name("run.README.md").read_text()
    assert main(["report", str(run), "--format", "nothing"]) == 2


def test_hostile_text_stays_text_in_markdown(tmp_path: Path) -> None:
    hostile = f"# {HOSTILE_LINE} | [a](javascript:b) `c`"
    run = write_run(tmp_path / "run", model=hostile)
    text = write_report(run, format="markdown").path.read_text()
    assert "<script>" not in text
    assert "](javascript" not in text.replace("\\]", "")
    rows = [line for line in text.splitlines() if line.startswith("| model |")]
    assert len(rows) == 1
    assert rows[0].replace("\\|", "").count("|") == 3


def test_text_that_cannot_be_encoded_can_be_written() -> None:
    page = Page(kind="k", title=HOSTILE, lead="")
    for write in (write_html, write_markdown, write_json):
        assert write(page)


def test_every_term_is_found_by_each_of_its_spellings() -> None:
    for term in glossary():
        for spelling in (term.name, *term.also):
            ((start, end, found),) = find_terms(f"x, {spelling}; y")
            assert (found, end - start) == (term, len(spelling))
    assert not list(find_terms("chanced, mechanistic"))
