"""The page of a privatized file: what was found and replaced, what is proven, what is not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.attacks.text_target import side_path
from sfumato.charts.numbers import as_number, epsilon_of, number
from sfumato.core.errors import BadInput, InvalidArgument, SfumatoError
from sfumato.core.json import read_json
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import Guarantee
from sfumato.releases.sidefile import SCHEMA
from sfumato.reports.markup import CellValue, Html, Table, properties
from sfumato.reports.originals import (
    FoundByType,
    Showing,
    find_all,
    read_samples,
    read_stated_policy,
)
from sfumato.reports.page import Page
from sfumato.reports.parts import NOT_FOR_RELEASE, PRIVATE_TEXT, Section, paragraph
from sfumato.reports.sections.limits import guarantee_section, release_limits
from sfumato.reports.sections.texts import texts

_WITHOUT_ORIGINALS = (
    "The side file does not hold the originals, and neither does this page. To see documents "
    "before and after, ask for a page with samples and give the originals; that one is private."
)


def release_page(path: Path, showing: Showing) -> Page:
    """A page from the file and what stands beside it."""
    content = side_file_of(path)
    guarantee = _guarantee(content, path)
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
        notices.append(NOT_FOR_RELEASE)
    return Page(
        kind="Report on a privatized text",
        title=path.name,
        lead=_lead(settings, _counts(content)),
        notices=notices,
        sections=[
            guarantee_section(guarantee, _statements(content)),
            _found(found, showing),
            _replace(content),
            texts(samples, _WITHOUT_ORIGINALS),
            _made(settings, content),
            release_limits(guarantee),
        ],
    )


def side_file_of(privatized: Path) -> Mapping[str, Any]:
    """What stands beside a privatized file, checked to be that."""
    path = side_path(privatized)
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("settings"), dict):
        raise BadInput(f"{path} is not the side file of a privatized text")
    if content.get("schema") != SCHEMA:
        raise BadInput(f"{path} was not written by this version; privatize again")
    return content


def _guarantee(content: Mapping[str, Any], path: Path) -> Guarantee:
    try:
        return Guarantee.from_dict(content["guarantee"])
    except (SfumatoError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{side_path(path)} holds no guarantee that can be read") from None


def open_privatized(path: Path, settings: Mapping[str, Any]) -> Source:
    """How to read a privatized file, as its side file says."""
    field = settings.get("field", "text")
    layout = Layout(
        field=tuple(map(str, field)) if isinstance(field, list) else str(field),
        several=True,
        encoding=str(settings.get("encoding", "utf-8")),
        whole_file=settings.get("whole_file") is True,
    )
    return Source.of(path, layout, file_format=_text(settings.get("format")))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _lead(settings: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    documents = as_number(counts.get("documents"))
    said = "" if documents is None else f"{number(int(documents))} documents, "
    level = as_number(settings.get("epsilon"))
    at = "" if level is None else f" at ε = {epsilon_of(level)}"
    return (
        f"{said}privatized by the mechanism {settings.get('mechanism')}{at}, "
        f"applied to what the policy {settings.get('policy')} finds."
    )


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
    parts: list[Html] = []
    if found is not None:
        ordered = sorted(found.by_type.items(), key=lambda item: (-item[1], item[0]))
        caption = f"Found in {found.documents:,} originals, by type"
        rows = ordered or [("nothing", 0)]
        parts.append(Table(caption=caption, head=("type", "found"), rows=rows).html())
        parts.append(
            paragraph("These are counts over private text, which nothing covers.", kind="quiet")
        )
    elif showing.originals is not None:
        parts.append(
            paragraph(
                "What was found cannot be counted by type here: the side file does not show the "
                "policy in full, because patterns, word lists and settings may be private, or the "
                "originals are not those of this file. A scan with the policy counts them."
            )
        )
    else:
        parts.append(
            paragraph(
                "Types are not written beside a privatized file. With the originals they are "
                "counted here, and no text is shown for that."
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
    parts = [properties("Counts that the output shows anyway", table)]
    return Section(name="replaced", title="What was replaced", parts=parts)


_COUNTS = (
    ("documents", "documents"),
    ("words", "words"),
    ("privatized_words", "words that were replaced"),
    ("replaced_stretches", "stretches that were replaced"),
    ("uncovered_words", "words selected and left as they are, for they are unknown"),
    ("privatized_words_in_median_document", "replaced in the median document"),
    ("privatized_words_in_largest_document", "replaced in the largest document"),
)


def _made(settings: Mapping[str, Any], content: Mapping[str, Any]) -> Section:
    lines: list[tuple[str, CellValue]] = [("sfumato", str(content.get("sfumato", "unknown")))]
    for key, value in settings.items():
        if value is not None and value != {}:
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines.append((key.replace("_", " "), said))
    parts = [properties("Settings and versions, from the side file", lines)]
    return Section(name="provenance", title="How this was made", parts=parts)
