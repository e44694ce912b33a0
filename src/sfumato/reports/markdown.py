"""A page as Markdown, for repositories, wikis and model cards.

Charts are left out; their data are there as tables. Texts are escaped, so that nothing in a
document or in the name of a method becomes a heading, a link or markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from sfumato.reports.glossary import terms_in
from sfumato.reports.markup import printable
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
    Paragraph,
    Quote,
    Sample,
    Strong,
    Table,
    Verbatim,
    in_words,
    say_cell,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$])")


def write_markdown(page: Page) -> bytes:
    """The page as the bytes of a Markdown file."""
    return (_body(page) + "\n").encode()


def write_card(page: Page) -> bytes:
    """The page of a model as a model card: its metadata in front, in the format of Hugging Face."""
    return f"---\n{_front_matter(page.metadata)}\n---\n\n{_body(page)}\n".encode()


def _body(page: Page) -> str:
    written = list(_blocks(page))
    used = terms_in(written)
    if used:
        written.append("## Terms")
        written += [f"- **{_text(term.name)}**: {_text(term.meaning)}" for term in used]
    written.append(f"Made by sfumato {version('sfumato')}.")
    return "\n\n".join(written)


def _blocks(page: Page) -> Iterator[str]:
    yield f"# {_text(page.title)}"
    yield from (f"> **{_text(one.title)}** {_text(one.text)}" for one in page.notices)
    yield _text(page.lead)
    yield from (
        f"**{_text(lead)}** {_words(tuple(in_words(said)))}" for lead, said in page.sentences
    )
    numbers = {id(figure): place for place, figure in enumerate(page.figures, start=1)}
    for part in page.overview:
        yield from _block(part, numbers)
    for question in page.questions:
        yield f"## {_text(question.title)}"
        yield _text(question.answer)
        for section in question.sections:
            yield f"### {_text(section.title)}"
            for part in section.parts:
                yield from _block(part, numbers)


def _block(part: Block, numbers: Mapping[int, int]) -> Iterator[str]:  # noqa: C901  # one way each
    match part:
        case Paragraph():
            yield _words(part.words)
        case Bullets():
            yield "\n".join(f"- {_words(one)}" for one in part.items)
        case Quote():
            yield f"> {_words(part.words)}"
        case Verbatim():
            yield _fenced(part.text)
        case Heading():
            yield f"#### {_text(part.text)}"
        case Sample():
            yield f"> **before** {_words(part.before)}"
            yield f"> **after** {_words(part.after)}"
        case Table():
            yield from _table(part)
        case Figure():
            yield f"**Figure {numbers[id(part)]}. {_text(part.title)}** {_text(part.description)}"
            yield from _table(part.table)
        case Fold():
            yield f"**{_text(part.summary)}**"
            for one in part.parts:
                yield from _block(one, numbers)


def _words(words: Sequence[Inline]) -> str:
    return "".join(_inline(word) for word in words)


def _inline(word: Inline) -> str:
    match word:
        case Strong():
            return f"**{_text(word.text.strip())}** "
        case Code():
            return _code(word.text)
        case Marked():
            label = f" ({_text(word.label)})" if word.label else ""
            return f"**{_text(word.text.strip())}**{label}"
        case _:
            return _text(word)


def _text(text: str) -> str:
    r"""A text that means nothing but itself.

    >>> print(_text("a|b *c* <d> 1 & 2"))
    a\|b \*c\* \<d\> 1 &amp; 2
    """
    flat = " ".join(printable(text).splitlines())
    return _SPECIAL.sub(r"\\\1", flat.replace("&", "&amp;"))


def _code(text: str) -> str:
    ticks = "`" * (1 + max((len(one) for one in re.findall("`+", text)), default=0))
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{room}{' '.join(printable(text).splitlines())}{room}{ticks}"


def _fenced(text: str) -> str:
    fence = "`" * max(3, 1 + max((len(one) for one in re.findall("`+", text)), default=0))
    return f"{fence}\n{printable(text).rstrip()}\n{fence}"


def _table(table: Table) -> Iterator[str]:
    head = "| " + " | ".join(_text(one) for one in table.head) + " |"
    aligned = ["---:" if table.numeric(place) else "---" for place in range(len(table.head))]
    rows = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in table.rows]
    yield f"*{_text(table.caption)}*"
    yield "\n".join([head, "| " + " | ".join(aligned) + " |", *rows])


def _cell(cell: CellValue) -> str:
    said = _text(say_cell(cell))
    return f"{said}<br>*{_text(cell.exact)}*" if isinstance(cell, Explained) else said


def _front_matter(metadata: Mapping[str, Any]) -> str:
    """YAML; every value is written as JSON, which is YAML too."""
    return "\n".join(
        f"{key}: {json.dumps(one, ensure_ascii=True)}" for key, one in metadata.items()
    )
