"""The statement of an account as one page of HTML, with the chart of its spending.

The page fetches nothing and runs no script; the chart is a drawing inside it, there if the extra
``charts`` is installed.
"""

from __future__ import annotations

from importlib.metadata import version

from sfumato.accounting.budget.statement import Statement
from sfumato.charts.chart import Chart
from sfumato.reports.html import read_asset
from sfumato.reports.markup import Html, join, tag

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
# A page for paper and files: one look, whatever the reader's screen.
_OWN_STYLE = """
.drawing { margin: 1.5rem 0; }
.drawing svg { max-width: 100%; height: auto; }
.sentence { max-width: none; }
th[scope=row] { white-space: nowrap; vertical-align: top; }
@media print { details { display: block; } }
"""


def write_statement(stated: Statement, chart: Chart | None) -> bytes:
    """The page as the bytes of a file."""
    whole = tag("html", {"lang": "en", "data-theme": "light"}, _head(), _body(stated, chart))
    return join([Html("<!doctype html>\n"), whole, "\n"]).encode()


def _head() -> Html:
    return tag(
        "head",
        {},
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"http-equiv": "Content-Security-Policy", "content": _POLICY}),
        tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", {"name": "referrer", "content": "no-referrer"}),
        tag("title", {}, "Statement of a privacy budget"),
        tag("style", {}, Html(read_asset("report.css") + _OWN_STYLE)),
    )


def _body(stated: Statement, chart: Chart | None) -> Html:
    top = tag(
        "header",
        {},
        tag("p", {"class": "kind"}, "Privacy budget"),
        tag("h1", {}, "Statement of an account"),
        tag("p", {"class": "lead"}, f"Account {dict(stated.facts)['account']}"),
    )
    drawn = [] if chart is None else [_drawing(chart)]
    content = tag(
        "main",
        {"id": "content"},
        tag("h2", {}, "In plain words"),
        *(tag("p", {}, said) for said in stated.plain),
        *drawn,
        tag("h2", {}, "Exactly"),
        tag("blockquote", {}, tag("p", {"class": "sentence"}, stated.sentence)),
        _facts(stated),
        tag("h2", {}, "Charges"),
        *_charges(stated),
    )
    made = f"Made by sfumato {version('sfumato')}. This file needs no network and runs no script."
    return tag("body", {}, top, content, tag("footer", {}, tag("p", {}, made)))


def _drawing(chart: Chart) -> Html:
    # Its texts are ours, times and numbers: nothing in it comes from a document.
    drawn = Html(chart.content("svg").decode())
    return tag("figure", {"class": "drawing"}, drawn)


def _facts(stated: Statement) -> Html:
    rows = (
        tag("tr", {}, tag("th", {"scope": "row"}, name), tag("td", {"class": "words"}, value))
        for name, value in stated.facts
    )
    return tag("div", {"class": "scroll"}, tag("table", {}, tag("tbody", {}, *rows)))


def _charges(stated: Statement) -> list[Html]:
    if not stated.rows:
        return [tag("p", {}, "None so far.")]
    head = join(tag("th", {"scope": "col", "class": "words"}, one) for one in stated.head)
    body = (
        tag(
            "tr",
            {},
            tag("th", {"scope": "row"}, row[0]),
            *(tag("td", {"class": "words"}, cell) for cell in row[1:]),
        )
        for row in stated.rows
    )
    table = tag("table", {}, tag("thead", {}, tag("tr", {}, head)), tag("tbody", {}, *body))
    earlier = [tag("p", {}, stated.earlier)] if stated.earlier else []
    return [*earlier, tag("div", {"class": "scroll"}, table)]
