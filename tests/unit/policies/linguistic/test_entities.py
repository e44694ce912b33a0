"""Entities: the right characters, the right types, and nothing loaded before it is needed."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from properties.texts import texts
from sfumato.core.errors import UnknownName
from sfumato.policies.linguistic import pipelines
from sfumato.policies.linguistic.entities import TYPES, Entities
from sfumato.policies.parsing import parse_policy
from sfumato.text.document import Document
from sfumato.text.words import Words

TEXTS = [
    "",
    "😀\u200d \r\n",
    "Ann, Zoë!",
    "👩‍👧 e\u0301 Ann\u00a0\n\n Paris",
    "New  York, New York",
]


def found(policy: Entities, text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.label) for span in policy.find(Document(text))]


def test_each_entity_has_its_type_and_its_characters(entity_pipeline: Path) -> None:
    policy = Entities(model=str(entity_pipeline))
    assert found(policy, TEXTS[2]) == [("Ann", "PERSON"), ("Zoë", "PERSON")]
    assert found(policy, TEXTS[3]) == [("Ann", "PERSON"), ("Paris", "GPE")]
    assert found(policy, TEXTS[4]) == [("New York", "GPE")]
    for text in TEXTS:
        spans = policy.find(Document(text))
        assert list(spans) == sorted(spans)
        assert all(span.rule == "entities" and span.reason for span in spans)


def test_some_types_only(entity_pipeline: Path) -> None:
    policy = Entities(types=("GPE",), model=str(entity_pipeline))
    assert found(policy, "Ann in Paris") == [("Paris", "GPE")]
    assert policy.name == "entities(GPE)"
    assert Entities().name == "entities"


def test_typed_on_a_command_line(entity_pipeline: Path) -> None:
    policy = parse_policy("entities:PERSON, GPE", {"entities.model": str(entity_pipeline)})
    assert policy == Entities(types=("PERSON", "GPE"), model=str(entity_pipeline))


def test_a_type_that_nobody_has_is_refused(entity_pipeline: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'PERSON'"):
        Entities(types=("person",))
    with pytest.raises(UnknownName, match="LAW"):
        Entities(types=("LAW",), model=str(entity_pipeline)).find(Document("Ann"))


def test_many_at_once_find_the_same_as_one_by_one(entity_pipeline: Path) -> None:
    policy = Entities(model=str(entity_pipeline))
    documents = [Document(text) for text in TEXTS * 30]
    assert policy.find_many(documents) == [policy.find(document) for document in documents]
    assert policy.find_many([]) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts)
def test_spans_lie_on_tokens_inside_any_text(entity_pipeline: Path, text: str) -> None:
    doc = pipelines.load(str(entity_pipeline), policy="entities").language(text)
    starts = {token.idx for token in doc}
    ends = {token.idx + len(token) for token in doc}
    names = {"ann", "zoë", "7", "cat", "paris", "new york"}
    for span in Entities(model=str(entity_pipeline)).find(Document(text)):
        assert 0 <= span.start < span.end <= len(text)
        assert span.start in starts
        assert span.end in ends
        assert text[span.start : span.end].lower() in names


def test_a_policy_travels_to_a_worker_without_its_pipeline(entity_pipeline: Path) -> None:
    policy = Entities(model=str(entity_pipeline))
    policy.find(Document("Ann"))
    sent = pickle.dumps(policy)
    assert len(sent) < 1000
    assert pickle.loads(sent) == policy
    assert len(pickle.loads(sent).find(Document("Ann"))) == 1


def test_nothing_is_loaded_at_import_or_construction() -> None:
    program = (
        "import sys\n"
        "from sfumato.policies.linguistic.contextual import Contextual\n"
        "from sfumato.policies.linguistic.entities import Entities\n"
        "from sfumato.policies.linguistic.presidio import Presidio\n"
        "Entities(), Contextual(), Presidio()\n"
        "assert not {'spacy', 'presidio_analyzer', 'tldextract'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.resources
def test_a_trained_pipeline_knows_all_18_types(real_pipeline: Path) -> None:
    pipeline = pipelines.load(str(real_pipeline), policy="entities")
    assert pipeline.labels() == set(TYPES)
    assert len(TYPES) == 18
    text = "Marie Curie was born in Warsaw on 7 November 1867."
    policy = Entities(model=str(real_pipeline))
    labels = dict(found(policy, text))
    assert labels["Marie Curie"] == "PERSON"
    assert labels["Warsaw"] == "GPE"
    words = Words.of(text)
    selected = [words[index] for index in policy.find(Document(text)).select(words)]
    assert {"Marie", "Curie", "Warsaw", "1867"} <= set(selected)


@pytest.mark.resources
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(text=texts)
def test_a_trained_pipeline_keeps_to_its_tokens_too(real_pipeline: Path, text: str) -> None:
    language = pipelines.load(str(real_pipeline), policy="entities").language
    tokens = [(token.idx, token.idx + len(token)) for token in language.make_doc(text)]
    for span in Entities(model=str(real_pipeline)).find(Document(text)):
        assert span.start in {start for start, _ in tokens}
        assert span.end in {end for _, end in tokens}
