"""Named entities: the non-contextual policy of the Selective-DP paper.

What a trained model finds depends on everything around it, and nobody can say beforehand what it
misses: score it on labeled text that is like yours.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling" (Section 6: all 18
    types, 16.4 % of the tokens of WikiText-2).
    Weischedel et al. 2013, OntoNotes 5.0 (the types).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.checks import one_of
from sfumato.core.errors import UnknownName
from sfumato.core.settings import FileToRead, FolderToFill
from sfumato.policies.identity import Identity
from sfumato.policies.linguistic.pipelines import Pipeline, load
from sfumato.policies.linguistic.span_cache import remember
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

if TYPE_CHECKING:
    from spacy.tokens import Doc

TYPES = (
    "CARDINAL", "DATE", "EVENT", "FAC", "GPE", "LANGUAGE", "LAW", "LOC", "MONEY", "NORP", "ORDINAL",
    "ORG", "PERCENT", "PERSON", "PRODUCT", "QUANTITY", "TIME", "WORK_OF_ART",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Entities:
    """Named entities, each labeled with its type.

    ``types`` says which count: CARDINAL, DATE, EVENT, FAC, GPE, LANGUAGE, LAW, LOC, MONEY, NORP,
    ORDINAL, ORG, PERCENT, PERSON, PRODUCT, QUANTITY, TIME, WORK_OF_ART; all of them unless told.
    ``model`` is a spaCy pipeline, by name or path: en_core_web_sm, or what the variable
    SFUMATO_SPACY_MODEL names, unless told. ``cache`` is a folder that keeps what was found for the
    next time; it is as private as the text.
    """

    types: tuple[str, ...] = ()
    model: FileToRead = ""
    cache: FolderToFill = field(default="", repr=False, compare=False)

    argument: ClassVar[str] = "types"

    def __post_init__(self) -> None:
        check_types(self.types, TYPES)

    @property
    def name(self) -> str:
        """The word entities, with the types where they were chosen: less is found then."""
        return name_types("entities", self.types)

    def find(self, document: Document) -> Spans:
        """The entities of one document."""
        return self.find_many([document])[0]

    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        """The entities of each document, read in batches."""
        pipeline = load(self.model, policy="entities")
        pipeline.require("entities", "named entities")
        for kind in self.types:
            one_of("types", kind, pipeline.labels())
        found = remember(
            self.cache,
            ("entities", pipeline.identity) if self.cache else (),
            [document.text for document in documents],
            lambda texts: all_entities(pipeline, texts),
        )
        return [only(spans, self.types) for spans in found]

    def identity(self) -> Identity:
        """The types, and the pipeline with all its files; somebody's own may hold rules."""
        pipeline = load(self.model, policy="entities")
        return Identity(("entities", self.types, pipeline.identity), private=True)


def all_entities(pipeline: Pipeline, texts: Sequence[str]) -> list[Spans]:
    """Entities of every type."""

    def analysis(pieces: Iterable[str]) -> Iterator[Iterable[Span]]:
        return (entities_of(doc) for doc in pipeline.parsed(pieces))

    return pipeline.read(texts, analysis)


def entities_of(doc: Doc) -> Iterator[Span]:
    """The entities of a text that was read."""
    for entity in doc.ents:
        yield Span(entity.start_char, entity.end_char, entity.label_, "entities", "a named entity")


def check_types(types: Sequence[str], usual: Sequence[str]) -> None:
    """Refuse what cannot be a type; a name of a policy may hold types, but nothing else."""
    for kind in types:
        if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,39}", kind):
            raise UnknownName("value for types", kind, usual)


def only(spans: Spans, types: Sequence[str]) -> Spans:
    """The spans of some types; of all types if none is named."""
    return Spans(tuple(span for span in spans if span.label in types)) if types else spans


def name_types(policy: str, types: Sequence[str]) -> str:
    """A policy's name with the types where they were chosen."""
    return f"{policy}({', '.join(types)})" if types else policy
