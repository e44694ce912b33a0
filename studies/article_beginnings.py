"""The beginnings of WikiText-2's test articles, for measuring models that read long rows.

    python studies/article_beginnings.py WIKITEXT/test.raw.gz FILE

FILE gets one JSON line for each of the first 30 articles of at least 600 words: its first 600
words, headings included, cut at a space. A paragraph by itself has a far larger perplexity than
running text, which papers report; these are running text, and enough documents for an interval.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sfumato.corpora.wikitext import read_wikitext

ARTICLES, WORDS = 30, 600


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("wikitext", type=Path, help="the raw test text")
    parser.add_argument("file", type=Path, help="the JSON lines to write")
    given = parser.parse_args()
    texts = (one.text for one in read_wikitext(given.wikitext, record="article"))
    lines = [json.dumps({"text": one}) + "\n" for one in islice(beginnings(texts), ARTICLES)]
    given.file.write_text("".join(lines), "utf-8")


def beginnings(texts: Iterator[str], words: int = WORDS) -> Iterator[str]:
    r"""The first words of each text that has so many.

    >>> list(beginnings(iter(["a b\nc d", "a"]), 3))
    ['a b\nc']
    """
    for text in texts:
        ends = [one.end() for one in re.finditer(r"\S+", text)]
        if len(ends) >= words:
            yield text[: ends[words - 1]]


if __name__ == "__main__":
    main()
