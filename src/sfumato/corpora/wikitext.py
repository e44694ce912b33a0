"""WikiText-2 in its raw form as documents: one per paragraph, or one per article.

The choice of the record decides what is protected. An article is all that was written about one
subject, but there are only about 600 articles, too few for private training; there are 17,556
paragraphs. A guarantee for paragraphs says nothing about what several paragraphs of one article
reveal together.

Reference
    Merity et al. 2017, "Pointer sentinel mixture models" (the corpus, CC BY-SA).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from sfumato.core.checks import one_of
from sfumato.core.errors import BadInput, StorageFailed
from sfumato.files.output import open_to_read
from sfumato.text.document import Document

RECORDS = ("paragraph", "article")
_HEADING = re.compile(r" (= )+.*( =)+ ?")
_TITLE = re.compile(r" = [^=](.*[^=])? = ?")


def read_wikitext(path: Path, *, record: str = "paragraph") -> Iterator[Document]:
    """The documents of a file, which may be compressed."""
    one_of("record", record, RECORDS)
    try:
        with path.open("rb") as raw, open_to_read(raw, path.suffix) as stream:
            text = stream.read().decode("utf-8")
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror or 'reading failed'}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not in utf-8") from None
    # Only a newline ends a line, not the other line breaks of Unicode.
    yield from wikitext(text.split("\n"), record=record)


def wikitext(lines: Iterable[str], *, record: str = "paragraph") -> Iterator[Document]:
    r"""The documents of some lines.

    >>> lines = [" = Title = ", " ", " One . ", " = = Part = = ", " Two . "]
    >>> [document.text for document in wikitext(lines)]
    ['One .', 'Two .']
    >>> [document.text for document in wikitext(lines, record="article")]
    ['= Title =\nOne .\n= = Part = =\nTwo .']
    """
    articles, paragraphs = 0, 0
    waiting: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        if _TITLE.fullmatch(line):
            if record == "article" and waiting:
                yield _article(waiting, articles)
            articles, waiting = articles + 1, []
        if record == "article":
            waiting.append(line.strip())
        elif not _HEADING.fullmatch(line):
            paragraphs += 1
            yield Document(line.strip(), id=f"paragraph-{paragraphs}", author=f"article-{articles}")
    if waiting:
        yield _article(waiting, articles)


def _article(lines: list[str], number: int) -> Document:
    return Document("\n".join(lines), id=f"article-{number}", author=f"article-{number}")
