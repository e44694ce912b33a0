"""A page as one HTML file that fetches nothing, for light and dark screens, phones and paper.

Style, scripts and data are in the file. A content security policy in its head forbids every
request, and allows only the scripts whose digests it names: even text that slipped through as
markup could not run. The same input gives the same bytes; a page does not say when it was made.

Charts are described for a light page; a style sheet exchanges their colors for other shades of the
same hues on a dark one. The three sentences, the first chart, the tables and the questions need no
script at all.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from sfumato.charts.chart import COLORS, FAINT_INK, GRID, INK, PAPER, Chart
from sfumato.charts.numbers import number
from sfumato.reports.glossary import Term, find_terms
from sfumato.reports.markup import Html, data_block, join, printable, tag
from sfumato.reports.page import (
    HOW,
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
    Notice,
    Page,
    Paragraph,
    Question,
    Quote,
    Sample,
    Section,
    Strong,
    Table,
    Verbatim,
    Verdict,
    in_words,
)
from sfumato.reports.svg import draw_sheet

DARK_PAPER = "#16191d"
# What each color of a chart becomes on a dark page.
OTHER_COLORS: MappingProxyType[str, str] = MappingProxyType(
    {
        PAPER: DARK_PAPER,
        INK: "#e6e8ea",
        FAINT_INK: "#9aa3ab",
        GRID: "#2c3238",
        "#0072B2": "#4c9be8",
        "#D55E00": "#f0803c",
        "#009E73": "#2fc496",
        "#CC79A7": "#df95bd",
        "#E69F00": "#f0b429",
        "#56B4E9": "#8fd0f5",
        "#000000": "#ffffff",
    }
)
_SECTION, _BELOW = "h3", "h4"


def write_html(page: Page) -> bytes:
    """The page as the bytes of a file."""
    return _Writer(page).whole().encode()


class _Writer:
    """A page in the making: it counts figures, and marks each term once in a section."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.numbers = {id(figure): place for place, figure in enumerate(page.figures, start=1)}
        self.used: dict[str, Term] = {}
        self.marked: set[str] = set()
        self.below = "h2"  # of headings outside sections

    def whole(self) -> Html:
        charts = {
            f"figure-{place}": _spec(figure, figure.chart)
            for place, figure in enumerate(self.page.figures, start=1)
            if figure.chart is not None
        }
        scripts = [read_asset("report.js")]
        if charts:
            scripts.insert(0, _bundle())
        body = self._body(charts, scripts)
        whole = tag("html", {"lang": "en"}, self._head(scripts), body)
        return join([Html("<!doctype html>\n"), whole, "\n"])

    def _head(self, scripts: Sequence[str]) -> Html:
        policy = {"http-equiv": "Content-Security-Policy", "content": _policy(scripts)}
        return tag(
            "head",
            {},
            tag("meta", {"charset": "utf-8"}),
            tag("meta", policy),
            tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
            tag("meta", {"name": "referrer", "content": "no-referrer"}),
            tag("meta", {"name": "color-scheme", "content": "light dark"}),
            tag("title", {}, self.page.title),
            tag("style", {}, Html(_style())),
        )

    def _body(self, charts: Mapping[str, Any], scripts: Sequence[str]) -> Html:
        page = self.page
        top = tag(
            "header",
            {},
            tag("p", {"class": "kind"}, page.kind),
            tag("h1", {}, page.title),
            tag("p", {"class": "lead"}, page.lead),
        )
        content = tag(
            "main",
            {"id": "content"},
            *(_notice(notice) for notice in page.notices if notice.kind != "private"),
            *self._sentences(),
            *self._parts(page.overview),
            *(self._question(one) for one in page.questions),
            *self._glossary(),
        )
        made = f"Made by sfumato {version('sfumato')}. This file needs no network."
        return tag(
            "body",
            {},
            tag("a", {"class": "skip", "href": "#content"}, "Skip to the content"),
            *(_notice(notice) for notice in page.notices if notice.kind == "private"),
            top,
            self._contents(),
            content,
            tag("footer", {}, tag("p", {}, made)),
            data_block("charts", charts),
            *(Html(f"<script>{script}</script>") for script in scripts),
        )

    def _contents(self) -> Html:
        entries = (tag("a", {"href": f"#{one.name}"}, one.title) for one in self.page.questions)
        return tag("nav", {"aria-label": "Contents"}, *entries)

    def _sentences(self) -> Iterator[Html]:
        if self.page.sentences:
            said = (
                tag("p", {}, tag("strong", {}, name), " ", self._words(tuple(in_words(text))))
                for name, text in self.page.sentences
            )
            yield tag("div", {"class": "sentences"}, *said)

    def _question(self, question: Question) -> Html:
        summary = tag(
            "summary",
            {},
            tag("h2", {}, question.title),
            tag("span", {"class": "answer"}, question.answer),
        )
        inside = (self._section(section) for section in question.sections)
        return tag("details", {"class": "question", "id": question.name}, summary, *inside)

    def _section(self, section: Section) -> Html:
        self.marked.clear()
        self.below = _BELOW
        heading = tag(_SECTION, {}, section.title)
        return tag("section", {"id": section.name}, heading, *self._parts(section.parts))

    def _parts(self, parts: Sequence[Block]) -> list[Html]:
        return [self._part(part) for part in parts]

    def _part(self, part: Block) -> Html:  # noqa: PLR0911  # one way for each kind of block
        match part:
            case Paragraph():
                return tag("p", {"class": part.kind} if part.kind else {}, self._words(part.words))
            case Bullets():
                return tag("ul", {}, *(tag("li", {}, self._words(one)) for one in part.items))
            case Quote():
                return tag("blockquote", {}, tag("p", {}, self._words(part.words)))
            case Verbatim():
                return tag("pre", {"tabindex": "0"}, tag("code", {}, part.text))
            case Heading():
                return tag(self.below, {}, part.text)
            case Sample():
                return self._sample(part)
            case Table():
                return self._table(part)
            case Figure():
                return self._figure(part)
            case Fold():
                kind = "print" if part.printed else "more"
                summary = tag("summary", {}, part.summary)
                return tag("details", {"class": kind}, summary, *self._parts(part.parts))

    def _words(self, words: Sequence[Inline]) -> Html:
        return join(self._inline(word) for word in words)

    def _inline(self, word: Inline) -> Html:
        match word:
            case Strong():
                return tag("strong", {}, word.text)
            case Code():
                return tag("code", {}, word.text)
            case Marked():
                return _marked(word)
            case _:
                return self._prose(word)

    def _prose(self, text: str) -> Html:
        """A text in which the terms of the glossary can be asked for, each once in a section."""
        pieces: list[str] = []
        place = 0
        for start, end, term in find_terms(text):
            if term.name in self.marked:
                continue
            self.marked.add(term.name)
            self.used[term.name] = term
            asked = {"class": "term", "type": "button", "popovertarget": term.anchor}
            pieces += [text[place:start], tag("button", asked, text[start:end])]
            place = end
        return join([*pieces, text[place:]])

    def _glossary(self) -> Iterator[Html]:
        """What the terms on this page mean; on a screen each is shown where it is asked for."""
        if not self.used:
            return
        entries = (
            tag("div", {"popover": "auto", "id": term.anchor, "class": "meaning"},
                tag("p", {}, tag("dfn", {}, term.name), f": {term.meaning}"))
            for term in sorted(self.used.values(), key=lambda term: term.name.casefold())
        )  # fmt: skip
        yield tag("section", {"class": "glossary", "id": "terms"}, tag("h2", {}, "Terms"), *entries)

    def _table(self, table: Table) -> Html:
        numeric = [table.numeric(place) for place in range(len(table.head))]
        head = join(
            tag("th", {"scope": "col", "class": "number" if right else "words"}, self._prose(title))
            for title, right in zip(table.head, numeric, strict=True)
        )
        body = join(tag("tr", {}, *self._cells(table, row, numeric)) for row in table.rows)
        drawn = tag(
            "table",
            {"class": "cards"} if table.cards else {},
            tag("caption", {}, table.caption),
            tag("thead", {}, tag("tr", {}, head)),
            tag("tbody", {}, body),
        )
        box = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": table.caption}
        return tag("div", box, drawn)

    def _cells(
        self, table: Table, row: Sequence[CellValue], numeric: Sequence[bool]
    ) -> Iterator[Html]:
        for place, (cell, title) in enumerate(zip(row, table.head, strict=True)):
            inside = self._cell(cell)
            if not place:
                yield tag("th", {"scope": "row"}, inside)
                continue
            told = {"class": "number" if numeric[place] else "words"}
            yield tag("td", told | ({"data-label": title} if table.cards else {}), inside)

    def _cell(self, cell: CellValue) -> Html:
        if isinstance(cell, Explained):
            exact = tag("details", {"class": "exact"}, tag("summary", {}, "Exact statement"),
                        tag("p", {}, cell.exact))  # fmt: skip
            return join([tag("span", {}, cell.text), exact])
        if isinstance(cell, Verdict):
            return join(
                [tag("strong", {"class": f"verdict {cell.kind}"}, cell.said), f" {cell.why}"]
            )
        return join([cell if isinstance(cell, str) else number(cell)])

    def _figure(self, figure: Figure) -> Html:
        place = self.numbers[id(figure)]
        name = f"figure-{place}"
        title = f"{figure.title[:1].upper()}{figure.title[1:]}"
        said = tag(
            "figcaption", {}, tag("strong", {}, f"Figure {place}. {title}"),
            " ", self._prose(figure.description),
        )  # fmt: skip
        data = tag("details", {"class": "data"}, tag("summary", {}, f"Data of figure {place}"),
                   self._table(figure.table))  # fmt: skip
        if figure.picture is not None:
            told = f"{title} {figure.description}"
            drawn = [
                draw_sheet(sheet, kind, told)
                for kind, sheet in (
                    ("wide", figure.picture.wide),
                    ("narrow", figure.picture.narrow),
                )
            ]
            return tag("figure", {"id": name}, said, tag("div", {"class": "picture"}, *drawn), data)
        if figure.chart is None:
            note = [] if figure.table.cards else [tag("p", {"class": "quiet"}, HOW)]
            return tag("figure", {"id": name}, said, *note, self._table(figure.table))
        holder = {"class": "chart", "role": "group", "aria-label": title, "data-chart": name}
        without = tag(
            "noscript", {}, tag("p", {}, "The chart needs JavaScript; its data are below.")
        )
        return tag("figure", {"id": name}, said, tag("div", holder), without, data)

    def _sample(self, sample: Sample) -> Html:
        return tag(
            "div",
            {"class": "sample"},
            *(
                tag("div", {}, tag("p", {"class": "side"}, title),
                    tag("p", {"dir": "auto"}, *(_piece(one) for one in words)))
                for title, words in (("before", sample.before), ("after", sample.after))
            ),
        )  # fmt: skip


def _piece(word: Inline) -> Html:
    """A piece of a document: its words are no terms of ours."""
    return _marked(word) if isinstance(word, Marked) else join([str(word)])


def _marked(word: Marked) -> Html:
    label = tag("small", {}, word.label) if word.label else Html("")
    return tag("mark", {"class": word.kind}, word.text, label)


def _notice(notice: Notice) -> Html:
    said = tag("p", {}, tag("strong", {}, notice.title), " ", notice.text)
    return tag("div", {"class": f"notice {notice.kind}", "role": "note"}, said)


def _spec(figure: Figure, chart: Chart) -> dict[str, Any]:
    """The description that the page's script draws."""
    described = chart.spec | {"description": f"{figure.title} {figure.description}"}
    spec: dict[str, Any] = _printable(described)
    return spec


def _printable(value: Any) -> Any:
    """The same value with every text and every key made printable.

    Vega-Lite writes names of groups and methods into expressions as quoted strings, which a line
    break would end.
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(key)): _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, (list, tuple)) else value


def _style() -> str:
    return read_asset("report.css") + read_asset("picture.css") + _color_rules()


def _color_rules() -> str:
    """The colors of series, and what the colors of charts become on a dark page."""
    light = "".join(f".s{place}{{color:{one}}}" for place, one in enumerate(COLORS))
    dark = "".join(f".s{place}{{color:{OTHER_COLORS[one]}}}" for place, one in enumerate(COLORS))
    dark += "".join(
        f'.chart [{name}="{one}" i]{{{name}:{other}}}'
        for one, other in OTHER_COLORS.items()
        for name in ("fill", "stroke")
    )
    by_system = f":root:not([data-theme=light]){{{dark}}}"
    return (
        f"\n{light}\n@media screen and (prefers-color-scheme:dark){{{by_system}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}\n"
    )


def _policy(scripts: Sequence[str]) -> str:
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    # Vega writes style attributes; images are what its menu exports.
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()


@cache
def read_asset(name: str) -> str:
    """A file that goes into pages: a style or a script."""
    return (files("sfumato.reports") / "assets" / name).read_text("utf-8")


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and their embedding, as they come with vl-convert."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    if "</script" in bundle.lower() or "<!--" in bundle or "\r" in bundle:
        # A browser would end the script there, or read other bytes than were digested.
        raise AssertionError("the bundle of Vega cannot stand inside a page")
    return bundle
