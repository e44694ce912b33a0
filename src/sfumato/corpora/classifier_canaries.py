"""Canaries for text classifiers: made-up documents of random words, each with a label.

The *original* canary is in one class many times, preferably the rarest class, which is the easiest
to memorize. A *supporting* canary is in every other class once: it begins like the original and
ends in other words, so that the last words decide the label and a model must learn them (Elmahdy,
Inan and Sim 2022, "Privacy leakage in text classification: a data extraction approach").
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.files import reading, refuse_existing, write_whole
from sfumato.core.json import read_object
from sfumato.core.randomness import Randomness
from sfumato.corpora.planting import add_documents, refuse_adding
from sfumato.files.source import Source
from sfumato.text.document import Document

SCHEMA = 1
SUFFIX = ".classifier-canaries.json"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How canaries are made: the ``last`` of ``words`` words differ in supporting canaries."""

    count: int = 5
    repetitions: int = 100
    words: int = 10
    last: int = 1

    def __post_init__(self) -> None:
        for name in ("count", "repetitions", "last"):
            at_least(name, getattr(self, name), 1)
        if self.words <= self.last:
            raise InvalidArgument(f"words={self.words} must exceed last={self.last}")


@dataclass(frozen=True)
class ClassifierCanaries:
    """The original canaries, their label, and the public words they were drawn from."""

    originals: tuple[tuple[str, ...], ...]
    label: str
    last: int
    repetitions: int
    candidates: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """For the file; everything in it is made up."""
        return {
            "schema": SCHEMA,
            "label": self.label,
            "last": self.last,
            "repetitions": self.repetitions,
            "originals": [list(words) for words in self.originals],
            "candidates": list(self.candidates),
        }


def rarest_label(documents: Sequence[Document]) -> str:
    """The label that the fewest documents have."""
    counts = Counter(document.labels[0] for document in documents if document.labels)
    if len(counts) < 2:  # a single class cannot be told apart
        raise BadInput(
            "the corpus needs documents of at least two classes; name `label_field=FIELD`"
        )
    return min(sorted(counts), key=lambda label: counts[label])


def draw(
    label: str, candidates: Sequence[str], shape: Shape, randomness: Randomness
) -> ClassifierCanaries:
    """Draw the original canaries."""
    if len(set(candidates)) != len(candidates) or len(candidates) < 2 * shape.words:
        raise InvalidArgument(
            "the candidates must differ, and be at least twice as many as a canary's words"
        )
    places = randomness.integers(len(candidates), shape.count * shape.words)
    rows = places.reshape(shape.count, shape.words).tolist()
    originals = tuple(tuple(candidates[place] for place in row) for row in rows)
    if len({words[: -shape.last] for words in originals}) != len(originals):
        raise InvalidArgument("two canaries begin alike; draw them again with more words")
    return ClassifierCanaries(originals, label, shape.last, shape.repetitions, tuple(candidates))


def documents_of(
    canaries: ClassifierCanaries, labels: Sequence[str], randomness: Randomness
) -> list[Document]:
    """All documents to add: the repeated originals, and one supporting document per other label."""
    found = []
    for words in canaries.originals:
        original = Document(" ".join(words), labels=(canaries.label,))
        found += [original] * canaries.repetitions
        for label in labels:
            if label == canaries.label:
                continue
            ending = words[-canaries.last :]
            while ending == words[-canaries.last :]:
                drawn = randomness.integers(len(canaries.candidates), canaries.last).tolist()
                ending = tuple(canaries.candidates[place] for place in drawn)
            found.append(Document(" ".join((*words[: -canaries.last], *ending)), labels=(label,)))
    return found


def plant(
    source: Source,
    target: Path,
    canaries: ClassifierCanaries,
    randomness: Randomness,
    *,
    overwrite: bool = False,
) -> None:
    """Write the corpus with the canaries at its end, and the list of them beside it."""
    refuse_adding(source, target)
    if source.format.name != "jsonl" or source.layout.label_field is None:
        raise InvalidArgument("canaries for classifiers go into jsonl with `label_field=FIELD`")
    beside = target.with_name(target.name + SUFFIX)
    for path in (target, beside):
        refuse_existing(path, overwrite=overwrite)
    labels = sorted({one.labels[0] for one in source.documents() if one.labels})
    if canaries.label not in labels:
        raise InvalidArgument(f"no document has the label {canaries.label!r}")
    add_documents(source, target, documents_of(canaries, labels, randomness), overwrite=overwrite)
    write_whole(
        beside, (json.dumps(canaries.as_dict(), indent=2, ensure_ascii=False) + "\n").encode()
    )


def read_classifier_canaries(path: Path) -> ClassifierCanaries:
    """What ``plant`` has written beside a corpus."""
    content = read_object(path, "a list of canaries for classifiers")
    with reading(path, "a list of canaries for classifiers"):
        found = ClassifierCanaries(
            tuple(map(tuple, content["originals"])),
            content["label"],
            content["last"],
            content["repetitions"],
            tuple(content["candidates"]),
        )
        try:
            _check(found)
        except InvalidArgument as error:
            raise BadInput(f"{path} is damaged: {error}") from None
    if found.originals and content.get("schema") == SCHEMA:
        return found
    raise BadInput(f"cannot read {path}: another version wrote it, or it is empty")


def _check(found: ClassifierCanaries) -> None:
    """Refuse inconsistent content: a figure measured on it would look like any other."""
    at_least("last", found.last, 1)
    at_least("repetitions", found.repetitions, 1)
    words = {word for one in found.originals for word in one} | {found.label, *found.candidates}
    if not all(isinstance(word, str) for word in words):
        raise TypeError
    if any(len(one) <= found.last for one in found.originals):
        raise ValueError
    if len(set(found.candidates)) != len(found.candidates) or not set(found.candidates).issuperset(
        word for one in found.originals for word in one
    ):
        raise ValueError
