"""The corpus of a study: the text to train on or to privatize, and the text to test on.

A corpus that is generated or declared public is written into the study's folder, with its canaries
and coins. A private corpus is read from its own file and never copied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count as count_from
from itertools import islice
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput
from sfumato.core.files import write_whole
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import (
    Canary,
    Manifest,
    draw_secret,
    insert_canaries,
    lone_canaries,
    plan_insertions,
)
from sfumato.corpora.coins import Coins, toss
from sfumato.corpora.customersim import generate_customersim
from sfumato.corpora.wikitext import read_wikitext
from sfumato.files.dialect import Dialect
from sfumato.files.layout import SPANS, Layout
from sfumato.files.source import Source
from sfumato.studies.kinds.context import (
    CANARIES,
    COINS,
    MEMBERS,
    OTHERS,
    TEST,
    TRAIN,
    CellResult,
    Context,
    layout_of,
)
from sfumato.studies.spec import (
    GENERATED,
    WIKITEXT,
    CanarySettings,
    CorpusSettings,
    StudySpec,
)
from sfumato.text.document import Document
from sfumato.text.span import Spans
from sfumato.vectors.load import public_words

# The label of coins and lone canaries, which belong to no group.
NOBODY = "made up"
COIN_WORDS = 15_000
_HALF = re.compile("[\ud800-\udfff]")
NO_DOCUMENT = "the corpus of the study holds no document"


def compute_corpus(context: Context) -> CellResult:
    """Write the texts that may be copied, and check that the others can be read."""
    study, here = context.study, context.here
    if study.corpus.copied:
        planted, alone = _plant(study, here)
        if study.has_made_up:
            _write(here / MEMBERS, planted, tagged=bool(study.tags))
        everything = _with_coins(study, here, [*planted, *alone])
        _write(here / TRAIN, everything, tagged=bool(study.tags))
    if study.test is not None and study.test.copied:
        _write(here / TEST, _documents(study, study.test), tagged=bool(study.tags))
    if study.others is not None and study.others.copied:
        _write(here / OTHERS, _documents(study, study.others), tagged=bool(study.tags))
    documents = sum(1 for _ in _writable(_source(study, here).documents()))
    if not documents:
        raise BadInput(NO_DOCUMENT)
    return CellResult(details={"documents": documents})


def _source(study: StudySpec, here: Path) -> Source:
    if study.corpus.copied:
        return Source.of(here / TRAIN, layout_of(study))
    path = study.path(str(study.corpus.path))
    return Source.of(path, layout_of(study), file_format=study.corpus.format)


def _documents(study: StudySpec, corpus: CorpusSettings) -> list[Document]:
    if corpus.kind == GENERATED:
        made = generate_customersim(corpus.count or 0, Randomness.reproducible(corpus.seed))
        labeled = (replace(one.document, spans=one.spans) for one in made)
        return [_shortened(one, corpus.lines) for one in labeled]
    path = study.path(str(corpus.path))
    if corpus.kind == WIKITEXT:
        return list(islice(read_wikitext(path, record=corpus.record), corpus.count))
    label, group = study.labels(corpus)
    layout = Layout(
        field=corpus.field,
        author_field=corpus.author_field,
        label_field=label,
        group_field=group,
        span_field=study.span_field(corpus),
        dialect=Dialect(header=corpus.header),
    )
    source = Source.of(path, layout, file_format=corpus.format)
    return list(islice(source.documents(), corpus.count))


def _plant(study: StudySpec, here: Path) -> tuple[list[Document], list[Document]]:
    """The documents with the secrets planted in them, and those that are secrets alone."""
    documents = _documents(study, study.corpus)
    wanted = study.canaries
    if not documents:
        raise BadInput(NO_DOCUMENT)
    if wanted is None or wanted.manifest is not None:
        return documents, []
    randomness = Randomness.reproducible(wanted.seed)
    repetitions = wanted.each_repetitions
    secrets = wanted.listed or _drawn(len(repetitions), wanted, randomness)
    canaries = tuple(Canary(wanted.template, secret) for secret in secrets)
    if wanted.alone:
        added, manifest = lone_canaries(len(documents), repetitions, canaries)
        _json(here / CANARIES, manifest.as_dict())
        return documents, [replace(one, labels=(NOBODY,)) for one in added]
    schedule = plan_insertions(len(documents), repetitions, randomness.stream(0))
    planted = list(insert_canaries(documents, schedule, canaries))
    places = tuple(place for one in planted for place in one.places)
    _json(here / CANARIES, Manifest(canaries, schedule, places).as_dict())
    return [one.document for one in planted], []


def _shortened(document: Document, lines: int | None) -> Document:
    if lines is None:
        return document
    text = "\n".join(document.text.split("\n")[:lines])
    spans = Spans(tuple(span for span in document.spans if span.end <= len(text)))
    return replace(document, text=text, spans=spans)


def _drawn(count: int, wanted: CanarySettings, randomness: Randomness) -> tuple[str, ...]:
    drawn = (draw_secret(wanted.digits, randomness.stream(place)) for place in count_from(1))
    if wanted.secrets == ():
        return tuple(islice(drawn, count))
    # Many may coincide, and two that are equal would be one that is planted more often.
    found: dict[str, None] = {}
    while len(found) < count:
        found[next(drawn)] = None
    return tuple(found)


def _with_coins(study: StudySpec, here: Path, documents: list[Document]) -> list[Document]:
    if study.coins is None:
        return documents
    randomness = Randomness.reproducible(study.coins.seed)
    tossed: Coins = toss(study.coins.count, public_words(COIN_WORDS), randomness)
    _json(here / COINS, tossed.as_dict())
    both = zip(tossed.texts, tossed.included, strict=True)
    return documents + [
        Document(text, f"coin-{number}", f"coin {number}", (NOBODY,))
        for number, (text, inside) in enumerate(both)
        if inside
    ]


def _write(path: Path, documents: Iterable[Document], *, tagged: bool = False) -> None:
    records = (_record(one, tagged=tagged) for one in _writable(documents))
    lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in records)
    write_whole(path, "".join(lines).encode())


def _writable(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, if their ids, authors and labels can be written: results contain them."""
    for number, one in enumerate(documents, start=1):
        for called in (one.id, one.author, *one.labels):
            if called is not None and not called.isascii() and _HALF.search(called):
                raise BadInput(
                    f"document {number}: its id, author or label is not valid Unicode: it has half "
                    "a character (a lone surrogate)"
                )
        yield one


def _record(document: Document, *, tagged: bool) -> dict[str, Any]:
    # A missing author or label is missing when the file is read again, which is not an error.
    label = document.labels[0] if document.labels else None
    group = {"group": document.labels[1]} if len(document.labels) > 1 else {}
    own = {"id": document.id, "text": document.text, "author": document.author, "label": label}
    if not tagged:
        return own | group
    spans = [{"start": one.start, "end": one.end, "label": one.label} for one in document.spans]
    return own | group | {SPANS: spans}


def _json(path: Path, content: dict[str, Any]) -> None:
    write_whole(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
