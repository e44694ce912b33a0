"""What a report says: a page as plain data, which is written as HTML, Markdown or JSON.

A page has notices at its top, then three sentences (what is protected, what was found, what to
decide), then what everybody should see, then answers to questions in the order in which people ask
them. Notices say what a reader must know before passing a page on: that it contains private text,
that its figures were measured on private text, or that what it describes must not be released. A
figure always comes with its data as a table.

There is no markup here: whoever renders a page escapes every text in it (``html.py``,
``markdown.py``), so no content is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.charts.chart import Chart, needs_charts
from sfumato.charts.numbers import number
from sfumato.charts.shapes import Picture
from sfumato.core.errors import MissingExtra

HOW = "Charts need an extra: pip install 'sfumato[charts]', then make the page again."
YES, NO, UNKNOWN = "yes", "no", "unknown"


@dataclass(frozen=True)
class Strong:
    """Words that matter most in their paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """What is typed or computed with, letter by letter."""

    text: str


@dataclass(frozen=True)
class Marked:
    """A piece of a sample: found, new or kept, with the type that a policy gave it."""

    text: str
    kind: str
    label: str = ""


Inline = str | Strong | Code | Marked


@dataclass(frozen=True)
class Explained:
    """A cell in words that people read, with the exact words one click away."""

    text: str
    exact: str


@dataclass(frozen=True)
class Verdict:
    """A cell that decides: yes, no or unknown, and why."""

    kind: str
    why: str

    @property
    def said(self) -> str:
        """The decision in a word or two."""
        return {YES: "Yes", NO: "No"}.get(self.kind, "Not shown")


CellValue = str | float | int | Explained | Verdict | None


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under a caption; the first cell of a row names it. Numbers are aligned right.

    ``cards`` are tables with much text in few rows: on a narrow screen each row becomes a card.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[CellValue]]
    cards: bool = False

    def numeric(self, place: int) -> bool:
        """Whether a column holds numbers only."""
        known = [row[place] for row in self.rows if row[place] is not None]
        return bool(known) and all(isinstance(cell, (int, float)) for cell in known)


def in_words(text: str) -> Iterator[Inline]:
    """A sentence in which backquotes stand around what is typed.

    >>> list(in_words("Run `sfumato.report(OUT)` next."))
    ['Run ', Code(text='sfumato.report(OUT)'), ' next.']
    """
    for place, piece in enumerate(text.split("`")):
        if piece:
            yield Code(piece) if place % 2 else piece


def say_cell(cell: CellValue) -> str:
    """A cell as text."""
    if isinstance(cell, Explained):
        return cell.text
    if isinstance(cell, Verdict):
        return f"{cell.said}: {cell.why}"
    return cell if isinstance(cell, str) else number(cell)


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """Words in a row."""

    words: tuple[Inline, ...]
    kind: str = ""


@dataclass(frozen=True, kw_only=True)
class Bullets:
    """A list."""

    items: tuple[tuple[Inline, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Quote:
    """A statement in its own words."""

    words: tuple[Inline, ...]


@dataclass(frozen=True, kw_only=True)
class Verbatim:
    """A text that keeps its lines, such as a command or a file."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A document before and after, in marked pieces."""

    before: tuple[Inline, ...]
    after: tuple[Inline, ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart and its data. ``description`` is for readers who cannot see the chart.

    A ``chart`` needs the drawing libraries; without them the table is open. A ``picture`` is drawn
    by the page itself and needs nothing.
    """

    title: str
    description: str
    table: Table
    chart: Chart | None = None
    picture: Picture | None = None

    @property
    def drawn(self) -> bool:
        """Whether there is something to see besides the table."""
        return self.chart is not None or self.picture is not None


@dataclass(frozen=True, kw_only=True)
class Fold:
    """Content that is hidden until its summary line is clicked; some of it is open on paper."""

    summary: str
    parts: tuple[Block, ...]
    printed: bool = False


Block = Paragraph | Bullets | Quote | Verbatim | Heading | Sample | Figure | Table | Fold


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page under a heading of its own."""

    name: str
    title: str
    parts: Sequence[Block]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What people ask, the answer in a line, and the sections that show it."""

    name: str
    title: str
    answer: str
    sections: Sequence[Section]


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What a reader must know before anything else; ``kind`` is private, missing or plain."""

    kind: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of a page, in order. ``kind`` is shown above the title.

    ``sentences`` say what is protected, what was found and what to decide, each under one or two
    words; ``overview`` is what everybody sees before the questions.
    """

    kind: str
    title: str
    lead: str
    notices: Sequence[Notice] = ()
    sentences: Sequence[tuple[str, str]] = ()
    overview: Sequence[Block] = ()
    questions: Sequence[Question] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the order of their numbers."""
        parts = [*self.overview, *(part for one in self.sections for part in one.parts)]
        return list(_figures(parts))

    @property
    def sections(self) -> list[Section]:
        """The sections of all questions, in order."""
        return [section for question in self.questions for section in question.sections]


def _figures(parts: Sequence[Block]) -> Iterator[Figure]:
    for part in parts:
        if isinstance(part, Figure):
            yield part
        elif isinstance(part, Fold):
            yield from _figures(part.parts)


def charts_missing() -> bool:
    """Whether the drawing libraries are missing."""
    try:
        needs_charts()
    except MissingExtra:
        return True
    return False


def draw_figure(draw: Callable[[], Chart]) -> Chart | None:
    """A chart, or None if the drawing libraries are missing."""
    return None if charts_missing() else draw()


def paragraph(*words: Inline, kind: str = "") -> Paragraph:
    """A paragraph."""
    return Paragraph(words=words, kind=kind)


def bullets(items: Sequence[str]) -> Bullets:
    """A list."""
    return Bullets(items=tuple((item,) for item in items))


def properties(caption: str, values: Sequence[tuple[str, CellValue]]) -> Table:
    """A table of two columns: names and values."""
    return Table(caption=caption, head=("what", "value"), rows=values)


def fold(summary: str, *parts: Block, printed: bool = False) -> Fold:
    """Content behind a summary line."""
    return Fold(summary=summary, parts=parts, printed=printed)


PRIVATE_TEXT = Notice(
    kind="private",
    title="This page contains private text.",
    text="Documents are shown as they were before they were privatized. Do not pass it on.",
)
MEASURED_ON_PRIVATE_TEXT = Notice(
    kind="plain",
    title="For the owner of the data.",
    text="These figures were measured on private text, and no guarantee covers them. Groups have "
    "the names that they have in the data, and the study's file is shown with its patterns and "
    "paths.",
)
NOT_FOR_RELEASE = Notice(
    kind="missing",
    title="Not for release.",
    text="What this page describes must not be given away; the guarantee says why.",
)
