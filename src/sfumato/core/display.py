"""How results are displayed: a few lines in a terminal, a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def as_lines(title: str, facts: Iterable[tuple[str, object]]) -> str:
    """A title, and one indented line for each fact.

    >>> print(as_lines("Release", [("documents", 3), ("output", "soft.csv")]))
    Release
      documents: 3
      output: soft.csv
    """
    return "\n".join([title, *(f"  {name}: {value}" for name, value in facts)])


def as_html(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str] = ()
) -> str:
    """A table under a title, with sentences below it; everything is escaped.

    >>> as_html("a & b", ["n"], [[1]])
    '<div><strong>a &amp; b</strong><table><tr><th>n</th></tr><tr><td>1</td></tr></table></div>'
    """
    head = "".join(f"<th>{escape(str(one))}</th>" for one in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(one))}</td>" for one in row) + "</tr>" for row in rows
    )
    table = f"<table><tr>{head}</tr>{body}</table>" if heads else ""
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<div><strong>{escape(title)}</strong>{table}{below}</div>"


def interval(value: float, low: float | None, high: float | None) -> str:
    """A figure with its interval, if it has one.

    >>> interval(0.71, 0.66, 0.76), interval(2.0, None, None)
    ('0.71 (0.66 – 0.76)', '2')
    """
    return f"{value:.4g}" + ("" if low is None or high is None else f" ({low:.4g} – {high:.4g})")
