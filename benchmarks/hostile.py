"""Time per character of ``pii`` as a hostile text grows: it should not depend on its length."""

from __future__ import annotations

from functools import partial

from benchmarks.timing import Row, by_turns
from sfumato.policies.pii import Pii
from sfumato.text.document import Document

# What recognizers look for, again and again, so that each of them is tried everywhere.
PIECES = {
    "at signs": "@",
    "brackets": "(",
    "blanks": " ",
    "digits": "7",
    "numbers": "12 ",
    "capitals": "Ab ",
    "initials": "A. ",
    "addresses of mail": "a@",
    "streets": "12 Elm ",
    "introductions": "my name is ",
    "emoji": "🙂",
}


def run(quick: bool) -> list[Row]:
    """The same piece over and over, from 10 kB to 10 MB in one line."""
    sizes = (1_000, 10_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000)
    policy = Pii()
    rows: list[Row] = []
    for name, piece in PIECES.items():
        row: Row = {"one line of": name}
        for size in sizes:
            document = Document((piece * size)[:size])
            work = {"all": partial(policy.find, document)}
            timing = by_turns(work, 1, warm=size == sizes[0])["all"]
            row[f"µs per character, {size:,}"] = f"{1e6 * timing.cpu[0] / size:.2f}"
        rows.append(row)
    return rows
