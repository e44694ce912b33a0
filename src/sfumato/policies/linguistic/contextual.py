"""Entities and what the grammar says about them: the contextual policy of the Selective-DP paper.

A name is only one way to say who did what to whom. This policy selects every entity and besides
the subjects, objects, proper nouns and pronouns of all sentences: about a third of all words. Of a
subject or object the head is selected (of "the old doctor" the doctor), as the share that the paper
reports suggests.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling" (Section 6 and Table 3:
    "entities, sub, obj, propon, pron", 34.8 % of the tokens of WikiText-2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.settings import FileToRead, FolderToFill
from sfumato.policies.identity import Identity
from sfumato.policies.linguistic.entities import entities_of
from sfumato.policies.linguistic.pipelines import Pipeline, load
from sfumato.policies.linguistic.span_cache import remember
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_REASONS = {
    "PRONOUN": "a pronoun",
    "PROPER_NOUN": "a proper noun",
    "SUBJECT": "the head of a subject",
    "OBJECT": "the head of an object",
}


@dataclass(frozen=True, kw_only=True)
class Contextual:
    """Named entities, pronouns, proper nouns, and the heads of subjects and objects.

    An entity is labeled with its type, another word as PRONOUN, PROPER_NOUN, SUBJECT or OBJECT,
    the first of these that it is. ``model`` is a spaCy pipeline with a tagger, a parser and named
    entities, by name or path: en_core_web_sm, or what the variable SFUMATO_SPACY_MODEL names,
    unless told. ``cache`` is a folder that keeps what was found for the next time; it is as private
    as the text.
    """

    model: FileToRead = ""
    cache: FolderToFill = field(default="", repr=False, compare=False)

    name: ClassVar[str] = "contextual"

    def find(self, document: Document) -> Spans:
        """What one document says about somebody or something."""
        return self.find_many([document])[0]

    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        """The same for each document, read in batches."""
        pipeline = load(self.model, policy=self.name)
        pipeline.require(self.name, "named entities", "a parser", "a tagger")
        return remember(
            self.cache,
            (self.name, pipeline.identity) if self.cache else (),
            [document.text for document in documents],
            lambda texts: _in_context(pipeline, texts),
        )

    def identity(self) -> Identity:
        """The pipeline with all its files; somebody's own may hold rules."""
        return Identity((self.name, load(self.model, policy=self.name).identity), private=True)


def _in_context(pipeline: Pipeline, texts: Sequence[str]) -> list[Spans]:
    def analysis(pieces: Iterable[str]) -> Iterator[Iterable[Span]]:
        return (_of(doc) for doc in pipeline.parsed(pieces))

    return pipeline.read(texts, analysis)


def _of(doc: Doc) -> Iterator[Span]:
    yield from entities_of(doc)
    for token in doc:
        label = None if token.ent_type_ else _role(token)
        if label is not None:
            end = token.idx + len(token)
            yield Span(token.idx, end, label, "contextual", _REASONS[label])


def _role(token: Token) -> str | None:
    """What a word outside all entities is, if anything that counts."""
    if token.pos_ == "PRON":
        return "PRONOUN"
    if token.pos_ == "PROPN":
        return "PROPER_NOUN"
    relation = token.dep_  # nsubj, nsubjpass, csubj, csubj:pass …; dobj, pobj, iobj, obj
    if "subj" in relation:
        return "SUBJECT"
    # "dative" is both the indirect object and the "to" before one.
    if "obj" in relation or (relation == "dative" and token.pos_ != "ADP"):
        return "OBJECT"
    return None
