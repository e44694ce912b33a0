"""A page as JSON, with all digits: for programs, and for whoever wants to draw it differently."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from sfumato.core.json import write_number
from sfumato.reports.glossary import terms_in
from sfumato.reports.page import (
    Block,
    Bullets,
    CellValue,
    Code,
    Explained,
    Figure,
    Fold,
    Heading,
    Inline,
    Marked,
    Page,
    Sample,
    Strong,
    Table,
    Verbatim,
    Verdict,
)

SCHEMA = 1


def write_json(page: Page) -> bytes:
    """The page as the bytes of a JSON file."""
    content = {
        "schema": SCHEMA,
        "sfumato": version("sfumato"),
        "kind": page.kind,
        "title": page.title,
        "lead": page.lead,
        "notices": [asdict(one) for one in page.notices],
        "sentences": [{"about": lead.rstrip(":"), "said": said} for lead, said in page.sentences],
        "overview": [_block(one) for one in page.overview],
        "questions": [
            {
                "question": question.title,
                "answer": question.answer,
                "sections": [
                    {
                        "name": section.name,
                        "title": section.title,
                        "parts": [_block(one) for one in section.parts],
                    }
                    for section in question.sections
                ],
            }
            for question in page.questions
        ],
        "metadata": dict(page.metadata),
    }
    text = json.dumps(content, ensure_ascii=False)
    content["terms"] = {term.name: term.meaning for term in terms_in([text])}
    whole = json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
    # Half a character, as a damaged text may hold, cannot be written in UTF-8.
    return (whole + "\n").encode("utf-8", "backslashreplace")


def _block(part: Block) -> dict[str, Any]:  # noqa: PLR0911  # one way for each kind of block
    match part:
        case Table():
            return {
                "table": part.caption,
                "columns": list(part.head),
                "rows": [[_cell(cell) for cell in row] for row in part.rows],
            }
        case Figure():
            drawn = {"figure": part.title, "description": part.description}
            return {**drawn, "data": _block(part.table)}
        case Fold():
            return {"fold": part.summary, "parts": [_block(one) for one in part.parts]}
        case Heading():
            return {"heading": part.text}
        case Verbatim():
            return {"verbatim": part.text}
        case Sample():
            return {"before": _pieces(part.before), "after": _pieces(part.after)}
        case Bullets():
            return {"list": [_words(one) for one in part.items]}
        case _:
            return {"text": _words(part.words)}


def _cell(cell: CellValue) -> Any:
    if isinstance(cell, Explained):
        return {"text": cell.text, "exact": cell.exact}
    if isinstance(cell, Verdict):
        return {"fit": cell.kind, "why": cell.why}
    return write_number(cell) if isinstance(cell, float) else cell


def _words(words: Sequence[Inline]) -> str:
    return "".join(
        word.text if isinstance(word, (Strong, Code, Marked)) else word for word in words
    )


def _pieces(words: Sequence[Inline]) -> list[Any]:
    return [
        {"text": word.text, "mark": word.kind, "label": word.label}
        if isinstance(word, Marked)
        else str(word)
        for word in words
    ]
