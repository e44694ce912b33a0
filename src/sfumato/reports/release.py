"""The page of a privatized file: what was found and replaced, what is proven, what is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.attacks.text_target import side_path
from sfumato.charts.bars import Level, bars_picture
from sfumato.charts.numbers import as_number, count_things, epsilon_of, number
from sfumato.core.errors import InvalidArgument
from sfumato.reports.page import (
    NOT_FOR_RELEASE,
    PRIVATE_TEXT,
    Block,
    CellValue,
    Figure,
    Notice,
    Page,
    Question,
    Section,
    Table,
    paragraph,
    properties,
)
from sfumato.reports.samples import (
    FoundByType,
    Showing,
    find_all,
    open_privatized,
    read_samples,
    read_stated_policy,
    side_file_of,
)
from sfumato.reports.sections.attacked import attack_sentence, attacked, read_scores
from sfumato.reports.sections.limits import (
    at_a_glance,
    guarantee_section,
    last_questions,
    read_guarantee,
    release_limits,
    three_sentences,
)
from sfumato.reports.sections.texts import texts
from sfumato.reports.settings import lines_of

_WITHOUT_ORIGINALS = (
    "The side file does not contain the originals, and neither does this page. To see documents "
    "before and after, make a page with samples and name the originals; that page is private."
)

_MORE = "Whether more stands in the way, the guarantee says."


def release_page(path: Path, showing: Showing) -> Page:
    """The page of a privatized file, made from its side file."""
    content = side_file_of(path)
    guarantee = read_guarantee(content, side_path(path))
    settings: Mapping[str, Any] = content["settings"]
    policy, originals = read_stated_policy(settings), showing.source
    if showing.samples and originals is None:
        raise InvalidArgument("`samples=N` needs `originals=FILE`: the side file holds no text")
    found = None
    if originals is not None and policy is not None:
        found = find_all(policy, originals)
        if not found.agrees(_counts(content)):
            found = policy = None
    samples = []
    if originals is not None and showing.samples:
        samples = read_samples(open_privatized(path, settings), originals, policy, showing.samples)
    notices = [PRIVATE_TEXT] if samples else []
    if not guarantee.for_release:
        notices.append(_not_for_release(content))
    scores = read_scores(showing.scores)
    counted = _by_type(content, found)
    return Page(
        kind="Report on noisy vectors" if _of_vectors(settings) else "Report on a privatized text",
        title=path.name,
        lead=_lead(settings, _counts(content)),
        notices=notices,
        sentences=three_sentences(guarantee, attack_sentence(scores)),
        overview=[*_chart(counted), at_a_glance(guarantee)],
        questions=[
            Question(
                name="safe",
                title="Is it safe?",
                answer="The exact statement, and what attacks found.",
                sections=_known(
                    guarantee_section(guarantee, _statements(content)), attacked(scores)
                ),
            ),
            Question(
                name="useful",
                title="Is it still useful?",
                answer="What was found, what was replaced, what was left as it was.",
                sections=[
                    _found(found, showing),
                    _replace(content),
                    *_left(content),
                    texts(samples, _WITHOUT_ORIGINALS),
                ],
            ),
            *last_questions(
                guarantee,
                release_limits(guarantee),
                _made(settings, content),
                "Every setting and the version.",
            ),
        ],
    )


def _known(*sections: Section | None) -> list[Section]:
    return [one for one in sections if one is not None]


def _by_type(content: Mapping[str, Any], found: FoundByType | None) -> Mapping[str, int]:
    """How often each type was replaced: by the side file, or counted in the originals."""
    counts = _counts(content).get("by_type")
    if isinstance(counts, dict):
        return {
            str(name): int(value)
            for name, one in counts.items()
            if (value := as_number(one)) is not None
        }
    return {} if found is None else found.by_type


def _chart(counted: Mapping[str, int]) -> list[Block]:
    """How often each type was replaced."""
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    picture = bars_picture([Level(name=one, value=n, said=f"{n:,}") for one, n in ordered])
    if picture is None:
        return []
    table = Table(caption="Replaced, by type", head=("type", "replaced"), rows=ordered)
    figure = Figure(
        title="What was found and replaced, by type.",
        description=f"{count_things(sum(counted.values()), 'stretch', 'stretches')} of "
        f"{count_things(len(counted), 'type')}. What the policy did not find is not among them.",
        table=table,
        picture=picture,
    )
    return [figure]


def _not_for_release(content: Mapping[str, Any]) -> Notice:
    """Why a file must not be given away: columns without a decision, or its guarantee."""
    columns = content.get("columns")
    left = columns.get("left") if isinstance(columns, dict) else None
    undecided = [
        str(one.get("name"))
        for one in (left if isinstance(left, list) else [])
        if isinstance(one, dict) and one.get("kept") is not True
    ]
    if not undecided:
        return NOT_FOR_RELEASE
    said = "Nobody has decided about columns that were left as they were; privatize, drop or keep"
    return replace(NOT_FOR_RELEASE, text=f"{said}: {', '.join(undecided)}. {_MORE}")


def _lead(settings: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    documents = as_number(counts.get("documents"))
    said = "" if documents is None else f"{number(int(documents))} documents, "
    level = as_number(settings.get("epsilon"))
    at = "" if level is None else f" at ε = {epsilon_of(level)}"
    if _of_vectors(settings):
        return f"{said}as vectors by {settings.get('encoder')}, with noise{at}."
    return (
        f"{said}privatized by the mechanism {settings.get('mechanism')}{at}, "
        f"applied to what the policy {settings.get('policy')} finds."
    )


def _of_vectors(settings: Mapping[str, Any]) -> bool:
    return "representation" in settings


def _statements(content: Mapping[str, Any]) -> list[tuple[str, CellValue]]:
    said: list[tuple[str, CellValue]] = []
    for key, name in (("per_word", "for one word"), ("per_document", "over a document")):
        part = content.get(key)
        if isinstance(part, dict) and isinstance(part.get("statement"), str):
            said.append((name, part["statement"]))
    levels = (content.get("per_word") or {}).get("levels")
    listed = levels if isinstance(levels, list) else []
    return said + [(f"for {one.get('policy')}", str(one.get("statement"))) for one in listed]


def _counts(content: Mapping[str, Any]) -> Mapping[str, Any]:
    counts = content.get("counts")
    return counts if isinstance(counts, dict) else {}


def _found(found: FoundByType | None, showing: Showing) -> Section:
    parts: list[Block] = []
    if found is not None:
        ordered = sorted(found.by_type.items(), key=lambda item: (-item[1], item[0]))
        caption = f"Found in {found.documents:,} originals, by type"
        rows = ordered or [("nothing", 0)]
        parts.append(Table(caption=caption, head=("type", "found"), rows=rows))
        parts.append(paragraph("Counts of private text, which no guarantee covers.", kind="quiet"))
    elif showing.originals is not None:
        parts.append(
            paragraph(
                "What was found cannot be counted by type here. Either the side file does not "
                "contain the whole policy, because patterns, word lists and settings may be "
                "private, or the originals are not those of this file. A scan with the policy "
                "counts them."
            )
        )
    else:
        parts.append(
            paragraph(
                "The originals were not looked at. If the page is made with the originals, what "
                "the policy finds in them is counted here, and no text is shown."
            )
        )
    return Section(name="found", title="What was found", parts=parts)


def _replace(content: Mapping[str, Any]) -> Section:
    of_documents = content.get("per_document")
    both = {**_counts(content), **(of_documents if isinstance(of_documents, dict) else {})}
    lines = [
        (said, int(value))
        for key, said in _COUNTS
        if (value := as_number(both.get(key))) is not None
    ]
    words, privatized = (as_number(both.get(key)) for key in ("words", "privatized_words"))
    table: list[tuple[str, CellValue]] = [*lines]
    if words and privatized is not None:
        table.append(("share of words replaced", f"{privatized / words:.1%}"))
    parts = [properties("Counts, which the output reveals anyway", table)]
    return Section(name="replaced", title="What was replaced", parts=parts)


def _left(content: Mapping[str, Any]) -> list[Section]:
    """Every column that was left as it was, with what a policy finds in it."""
    columns = content.get("columns")
    if not isinstance(columns, dict) or not isinstance(columns.get("left"), list):
        return []
    rows: list[tuple[CellValue, ...]] = []
    for one in columns["left"]:
        cells, found = (as_number(one.get(key)) for key in ("cells", "found_in"))
        share = "not told" if cells is None or found is None else f"{found / max(cells, 1):.0%}"
        kept = (
            "kept on purpose" if one.get("kept") is True else "nobody has decided: not for release"
        )
        rows.append((str(one.get("name")), share, kept))
    head = ("column", "cells in which the policy finds something", "why it is there")
    caption = "Columns that stand in the output as they stood in the input"
    parts: list[Block] = [Table(caption=caption, head=head, rows=rows)] if rows else []
    if dropped := columns.get("dropped"):
        parts.append(paragraph(f"Dropped: {', '.join(map(str, dropped))}."))
    return [Section(name="columns", title="What was left as it was", parts=parts)] if parts else []


_COUNTS = (
    ("documents", "documents"),
    ("words", "words"),
    ("privatized_words", "words that were replaced"),
    ("replaced_stretches", "stretches that were replaced"),
    ("rewritten_documents", "documents that were rewritten"),
    ("uncovered_words", "words that were selected and left unchanged, because they are unknown"),
    ("privatized_words_in_median_document", "words replaced in the median document"),
    ("privatized_words_in_largest_document", "words replaced in the largest document"),
)


def _made(settings: Mapping[str, Any], content: Mapping[str, Any]) -> Section:
    lines: list[tuple[str, CellValue]] = [("sfumato", str(content.get("sfumato", "unknown")))]
    lines += lines_of(settings)
    parts = [properties("Settings and versions, from the side file", lines)]
    return Section(name="provenance", title="Settings", parts=parts)
