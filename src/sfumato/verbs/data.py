"""Test data from Python: dialogues, canaries, coins, WikiText and vectors (``sfumato data …``)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import InvalidArgument
from sfumato.verbs.inputs import draws_from

if TYPE_CHECKING:
    from sfumato.corpora.canaries import Manifest
    from sfumato.corpora.classifier_canaries import ClassifierCanaries
    from sfumato.corpora.coins import Coins
    from sfumato.vectors.space import Space

# Public words that made-up documents are drawn from.
_COMMON = 15_000


def make_dialogues(
    output: str | Path, *, count: int = 1000, seed: int | None = None, overwrite: bool = False
) -> int:
    """Customer-service dialogues with gold spans, as JSON lines; everybody in them is invented."""
    from sfumato.corpora.customersim import generate_customersim
    from sfumato.files.formats import of_path
    from sfumato.files.output import write_corpus

    kind = of_path(Path(output))
    if kind is not None and kind.name != "jsonl":
        raise InvalidArgument(f"dialogues are written as JSON lines, not as {kind.name}")
    dialogues = generate_customersim(count, draws_from(seed))
    with write_corpus(Path(output), overwrite=overwrite) as stream:
        for dialogue in dialogues:
            line = json.dumps(dialogue.as_record(), ensure_ascii=False)
            stream.write(line.encode() + b"\n")
    return count


def plant_canaries(
    source: str | Path,
    output: str | Path,
    *,
    template: str = "My ID is {}.",
    secret: str | Sequence[str] = (),
    digits: int = 6,
    repetitions: int | Sequence[int] = 10,
    alone: bool = False,
    field: str = "text",
    author_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    overwrite: bool = False,
    seed: int | None = None,
) -> Manifest:
    """Plant canaries such as "My ID is 145572." and remember where.

    They stand between the sentences of documents or, with ``alone``, as documents of their own,
    each by an author of its own if there is an ``author_field``.
    ``OUTPUT.canaries.json`` says which, how often and where; attacks read it.
    """
    from sfumato.corpora.canaries import Canary, draw_secret
    from sfumato.corpora.planting import plant_alone, plant_in_file
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source

    randomness = draws_from(seed)
    given = [secret] if isinstance(secret, str) else list(secret)
    counts = [repetitions] if isinstance(repetitions, int) else list(repetitions)
    wanted = max(len(given), len(counts))
    secrets = given or [draw_secret(digits, randomness.stream(1 + i)) for i in range(wanted)]
    canaries = [Canary(template, one) for one in secrets]
    each = counts * wanted if len(counts) == 1 else counts
    layout = Layout(field=field, author_field=author_field, encoding=encoding)
    given_source = Source.of(source, layout, file_format=format)
    if alone:
        return plant_alone(given_source, Path(output), canaries, each, overwrite=overwrite)
    drawn = randomness.stream(0)
    return plant_in_file(given_source, Path(output), canaries, each, drawn, overwrite=overwrite)


def toss_coins(
    source: str | Path,
    output: str | Path,
    *,
    count: int = 1000,
    field: str = "text",
    author_field: str | None = None,
    format: str | None = None,
    overwrite: bool = False,
    seed: int | None = None,
) -> Coins:
    """Add made-up documents by fair coins, so that a model trained on the output can be audited.

    ``OUTPUT.coins.json`` says which of them are in; ``sfumato.audit`` reads it.
    """
    from sfumato.corpora.coins import mix_in, toss
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.vectors.load import public_words

    tossed = toss(count, public_words(_COMMON), draws_from(seed))
    layout = Layout(field=field, author_field=author_field)
    given = Source.of(source, layout, file_format=format)
    mix_in(given, Path(output), tossed, overwrite=overwrite)
    return tossed


def plant_classifier_canaries(
    source: str | Path,
    output: str | Path,
    *,
    label_field: str = "label",
    label: str | None = None,
    count: int = 5,
    repetitions: int = 100,
    words: int = 10,
    last: int = 1,
    candidates: int = 2000,
    field: str = "text",
    overwrite: bool = False,
    seed: int | None = None,
) -> ClassifierCanaries:
    """Plant canaries with labels, for the attack ``classifier-extraction``.

    Each canary stands many times in one class, and once, with another ending, in every other.
    """
    from sfumato.corpora import classifier_canaries as planting
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.vectors.load import public_words

    randomness = draws_from(seed)
    given = Source.of(source, Layout(field=field, label_field=label_field), file_format="jsonl")
    shape = planting.Shape(count=count, repetitions=repetitions, words=words, last=last)
    chosen = label or planting.rarest_label(list(given.documents()))
    drawn = planting.draw(chosen, public_words(candidates), shape, randomness.stream(0))
    planting.plant(given, Path(output), drawn, randomness.stream(1), overwrite=overwrite)
    return drawn


def convert_wikitext(
    source: str | Path,
    output: str | Path,
    *,
    record: str = "paragraph",
    count: int | None = None,
    overwrite: bool = False,
) -> int:
    """WikiText-2 as JSON lines, a document per paragraph or per article; how many were written."""
    from sfumato.corpora.wikitext import read_wikitext
    from sfumato.files.output import write_corpus

    written = 0
    with write_corpus(Path(output), overwrite=overwrite) as stream:
        for document in islice(read_wikitext(Path(source), record=record), count):
            row = {"id": document.id, "text": document.text, "article": document.author}
            stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            written += 1
    return written


def convert_vectors(
    source: str | Path, output: str | Path, *, limit: int | None = None, overwrite: bool = False
) -> Space:
    """Word vectors as .npy and .vocab.txt, which load at once, memory-mapped."""
    from sfumato.core.files import refuse_existing
    from sfumato.vectors.load import load_vectors, save_vectors

    refuse_existing(Path(output), overwrite=overwrite)
    space = load_vectors(Path(source), limit)
    save_vectors(space, Path(output))
    return space
