"""The contextual policy: everything the entities are, and the grammar's part besides."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from properties.texts import texts
from sfumato.core.errors import MissingModel
from sfumato.policies.linguistic import pipelines
from sfumato.policies.linguistic.contextual import Contextual
from sfumato.policies.linguistic.entities import Entities
from sfumato.text.document import Document
from sfumato.text.words import Words


def found(policy: Contextual, text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.label) for span in policy.find(Document(text))]


def test_every_word_says_what_it_is(grammar_pipeline: Path) -> None:
    policy = Contextual(model=str(grammar_pipeline))
    assert found(policy, "She gave Zorg the pill; the doctor gave it to Ann.") == [
        ("She", "PRONOUN"),
        ("Zorg", "PROPER_NOUN"),
        ("pill", "OBJECT"),
        ("doctor", "SUBJECT"),
        ("Ann", "PERSON"),
    ]


def test_the_indirect_object_counts_and_the_word_before_it_does_not(grammar_pipeline: Path) -> None:
    policy = Contextual(model=str(grammar_pipeline))
    assert found(policy, "gave to clerk") == [("clerk", "OBJECT")]


def test_whatever_lacks_a_parser_or_tagger_is_refused(entity_pipeline: Path) -> None:
    with pytest.raises(MissingModel, match=r"rules lacks a parser and a tagger.*'contextual'"):
        Contextual(model=str(entity_pipeline)).find(Document("Ann"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts)
def test_spans_lie_on_tokens_inside_any_text(grammar_pipeline: Path, text: str) -> None:
    odd = f"She{text} doctor {text}"
    doc = pipelines.load(str(grammar_pipeline), policy="contextual").language(odd)
    tokens = {(token.idx, token.idx + len(token)) for token in doc}
    spans = Contextual(model=str(grammar_pipeline)).find(Document(odd))
    assert any(span.label == "SUBJECT" for span in spans)
    for span in spans:
        assert 0 <= span.start < span.end <= len(odd)
        assert (span.start, span.end) in tokens


@pytest.mark.resources
def test_entities_are_among_what_a_trained_pipeline_selects(real_pipeline: Path) -> None:
    policy = Contextual(model=str(real_pipeline))
    text = "Yesterday she told the old doctor that Marie Curie had left him a letter in Paris."
    document, words = Document(text), Words.of(text)
    entities = Entities(model=str(real_pipeline)).find(document)
    spans = policy.find(document)
    assert set(entities) <= set(spans)
    selected = {words[index] for index in spans.select(words)}
    assert {"she", "doctor", "Marie", "Curie", "him", "letter", "Paris"} <= selected
    assert not {"told", "the", "old", "had", "left", "in"} & selected
    labels = {text[span.start : span.end]: span.label for span in spans}
    assert labels["she"] == labels["him"] == "PRONOUN"
    assert labels["doctor"] == labels["letter"] == "OBJECT"
