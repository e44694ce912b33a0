"""Label encyclopedia paragraphs with a spaCy pipeline, as a teacher for the tagger of ``pii``.

    python scripts/label_with_teacher.py WIKITEXT.raw.gz PIPELINE -o labels.jsonl.gz [--most 12000]

WikiText is written with its punctuation apart ("the river , which"); it is put together first, the
way people write. Articles are labeled as a whole: where the pipeline calls the same words of one
article a person in one paragraph and a company in another, the more frequent answer counts for
all of them. One JSON record per paragraph is written, in the form that ``sfumato policy score``
reads. The text is under CC BY-SA; keep the file out of the package.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

LABELS = {"PERSON": "PERSON", "GPE": "LOCATION", "LOC": "LOCATION", "FAC": "LOCATION", "ORG": "ORG"}
# Names are found without these: the recognizer has layers of its own.
UNNEEDED = ["tagger", "parser", "lemmatizer", "attribute_ruler"]
_SHORTEST = 80
_HEADING = re.compile(r"^ = [^=].*[^=] = $")
_TO_THE_LEFT = re.compile(r" (?=[,.;:!?%)\]}]|'s\b|n't\b|'(?:re|ve|ll|d|m)\b)")
_TO_THE_RIGHT = re.compile(r"(?<=[(\[{$£€]) ")
_QUOTED = re.compile(r'" ([^"]*?) "')


def put_together(line: str) -> str:
    """A line of WikiText with its punctuation where people write it.

    >>> put_together(" The 2 @-@ year plan ( 1 @,@ 000 men ) failed , he said . ")
    'The 2-year plan (1,000 men) failed, he said.'
    """
    text = re.sub(r" @([-,.])@ ", r"\1", line.strip())
    text = _TO_THE_RIGHT.sub("", _TO_THE_LEFT.sub("", text))
    return _QUOTED.sub(r'"\1"', text)


def articles(path: Path) -> Iterator[list[str]]:
    """The paragraphs of each article."""
    paragraphs: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            if _HEADING.match(line.rstrip("\n")):
                if paragraphs:
                    yield paragraphs
                paragraphs = []
            elif len(line) > _SHORTEST and not line.startswith(" ="):
                paragraphs.append(put_together(line))
    if paragraphs:
        yield paragraphs


def vote(found: list[list[tuple[int, int, str]]], texts: list[str]) -> list[list[dict[str, Any]]]:
    """The spans of an article, each with the label that its words have most often there."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text, spans in zip(texts, found, strict=True):
        for start, end, label in spans:
            votes[text[start:end]][label] += 1
    return [
        [
            {"start": start, "end": end, "label": votes[text[start:end]].most_common(1)[0][0]}
            for start, end, _ in spans
        ]
        for text, spans in zip(texts, found, strict=True)
    ]


def label(pipeline: Any, texts: list[str]) -> list[list[tuple[int, int, str]]]:
    """What the teacher finds, without the article or possessive at the edges of a name."""
    found = []
    for document in pipeline.pipe(texts, batch_size=32):
        spans = []
        for entity in document.ents:
            start, end = entity.start_char, entity.end_char
            shown = entity.text
            if shown.lower().startswith("the "):
                start, shown = start + 4, shown[4:]
            if shown.endswith("'s"):
                end -= 2
            if entity.label_ in LABELS and start < end:
                spans.append((start, end, LABELS[entity.label_]))
        found.append(spans)
    return found


def records(path: Path, pipeline: Any, most: int, every: int) -> Iterator[dict[str, Any]]:
    """Labeled paragraphs, of every so-manieth article."""
    written = 0
    for number, texts in enumerate(articles(path)):
        if number % every or written >= most:
            continue
        labeled = vote(label(pipeline, texts), texts)
        for index, (text, spans) in enumerate(zip(texts, labeled, strict=True)):
            yield {"id": f"{number}/{index}", "text": text, "spans": spans}
        written += len(texts)


def write(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write JSON lines; return how many."""
    count = 0
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def main() -> None:
    """Label a part of a WikiText file."""
    import spacy

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("pipeline")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--most", type=int, default=12_000, help="paragraphs, about")
    parser.add_argument("--every", type=int, default=1, help="take one article in so many")
    given = parser.parse_args()
    pipeline = spacy.load(given.pipeline, disable=UNNEEDED)
    count = write(given.output, records(given.file, pipeline, given.most, given.every))
    print(f"{count:,} paragraphs labeled by {pipeline.meta['name']} {pipeline.meta['version']}")


if __name__ == "__main__":
    main()
