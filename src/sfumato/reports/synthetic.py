"""The page of a synthetic corpus: what is proven, how it was made, what it does not show.

It is made from the corpus and its side file, both of which may be released, so nothing on it is
private. What was measured on the originals is not here: that is for whoever holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from sfumato.attacks.text_target import side_path
from sfumato.charts.numbers import as_number, epsilon_of, number
from sfumato.core.errors import InvalidArgument
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.reports.page import (
    NOT_FOR_RELEASE,
    Block,
    CellValue,
    Page,
    Question,
    Section,
    Table,
    paragraph,
    properties,
)
from sfumato.reports.samples import Showing, side_file_of
from sfumato.reports.sections.limits import (
    at_a_glance,
    guarantee_section,
    last_questions,
    read_guarantee,
    synthetic_limits,
    three_sentences,
)
from sfumato.reports.settings import lines_of
from sfumato.synthesis.corpus import (
    MECHANISMS,
    PRIVATE_EVOLUTION,
    PRIVATE_PREDICTION,
    PRIVATE_TRAINING,
)

_NOT_ATTACKED = (
    "no attack is part of this page. A membership attack, distances and accuracy need the "
    "originals, and are for whoever holds them"
)
# How each way makes a text, and the settings that say how it was done here.
_HOW = {
    PRIVATE_EVOLUTION: (
        "A generator that saw no record made candidates. Each record voted for those nearest to "
        "it, the counts got noise, and the texts here were chosen by what came of that.",
        ("generator", "rounds", "votes", "candidates", "noise", "noise_share", "labels"),
    ),
    PRIVATE_PREDICTION: (
        "A language model read many prompts, each with a private record. What they said of the "
        "next token was cut to a window and averaged, and the token was drawn at a temperature; a "
        "record was read for one text only.",
        ("model", "prompts", "shots", "tokens", "clip", "temperature", "output_tokens", "labels"),
    ),
    PRIVATE_TRAINING: (
        "A model was trained on the records with a guarantee, and wrote these texts afterwards. "
        "Whatever is done with such a model costs nothing more.",
        ("method", "model", "labels", "shares", "temperature", "top", "tokens"),
    ),
}


def is_synthetic(path: Path) -> bool:
    """Whether a file with a side file was synthesized, not privatized."""
    settings = side_file_of(path)["settings"]
    return settings.get("mechanism") in MECHANISMS


def synthetic_page(path: Path, showing: Showing) -> Page:
    """The page of a synthetic corpus, made from it and from its side file."""
    if showing.originals is not None or showing.scores:
        raise InvalidArgument(
            "a synthetic text has no original: compare the corpora with "
            "`sfumato.evaluate_synthetic(OUT, originals=IN, held_out=FILE)`"
        )
    content = side_file_of(path)
    guarantee = read_guarantee(content, side_path(path))
    settings: Mapping[str, Any] = content["settings"]
    return Page(
        kind="Report on a synthetic corpus",
        title=path.name,
        lead=_lead(content, settings),
        notices=[] if guarantee.for_release else [NOT_FOR_RELEASE],
        sentences=three_sentences(guarantee, f"{_NOT_ATTACKED}."),
        overview=[at_a_glance(guarantee)],
        questions=[
            Question(
                name="safe",
                title="Is it safe?",
                answer="The exact statement.",
                sections=[guarantee_section(guarantee, _replaced(content))],
            ),
            Question(
                name="useful",
                title="What is in it?",
                answer="How it was made, and some of its texts.",
                sections=[_how(settings), _texts(path, showing.samples)],
            ),
            *last_questions(
                guarantee,
                synthetic_limits(guarantee),
                _made(settings, content),
                "Every setting and the version.",
            ),
        ],
    )


def _lead(content: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    counts = content.get("counts")
    documents = as_number(counts.get("documents")) if isinstance(counts, dict) else None
    said = "Synthetic texts" if documents is None else f"{number(int(documents))} synthetic texts"
    how = content.get("how")
    return f"{said}, {how}." if isinstance(how, str) else f"{said} by {settings['mechanism']}."


def _replaced(content: Mapping[str, Any]) -> list[tuple[str, CellValue]]:
    other = content.get("replacement")
    level = as_number(other.get("epsilon")) if isinstance(other, dict) else None
    return [] if level is None else [("ε if a unit is replaced", f"≤ {epsilon_of(level)}")]


def _how(settings: Mapping[str, Any]) -> Section:
    said, names = _HOW[settings["mechanism"]]
    told = {name: settings[name] for name in names if name in settings}
    parts: list[Block] = [paragraph(said), properties("What it was made with", lines_of(told))]
    return Section(name="made", title="How it was made", parts=parts)


def _texts(path: Path, samples: int | None) -> Section:
    """Texts as they stand in the file; none of them is a private one."""
    if not samples:
        parts: list[Block] = [paragraph("None were asked for: `samples=10` shows ten.")]
        return Section(name="texts", title="Some texts", parts=parts)
    found = islice(Source.of(path, Layout()).documents(), samples)
    rows: list[tuple[CellValue, ...]] = [(one.text,) for one in found]
    table = Table(caption="Synthetic texts", head=("text",), rows=rows)
    return Section(name="texts", title="Some texts", parts=[table])


def _made(settings: Mapping[str, Any], content: Mapping[str, Any]) -> Section:
    lines: list[tuple[str, CellValue]] = [("sfumato", str(content.get("sfumato", "unknown")))]
    lines += lines_of(settings)
    parts = [properties("Settings and versions, from the side file", lines)]
    return Section(name="provenance", title="Settings", parts=parts)
