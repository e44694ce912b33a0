"""Presidio as a policy: its types, our pipeline, and no connection to anywhere."""

from __future__ import annotations

import pickle
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from properties.texts import texts
from sfumato.core.errors import InvalidArgument, MissingExtra, UnknownName
from sfumato.core.keys import Key
from sfumato.policies.identity import policy_code
from sfumato.policies.linguistic import presidio as adapter
from sfumato.policies.linguistic.presidio import Presidio
from sfumato.policies.parsing import parse_policy
from sfumato.text.document import Document

TEXT = "👩‍👧 Ann: mail zoe@example.co.uk, card 4111 1111 1111 1111, host 192.168.7.1"


@pytest.fixture(scope="module", autouse=True)
def _presidio(installed: None) -> None:
    pytest.importorskip(
        "presidio_analyzer",
        reason="SKIPPED WITHOUT PRESIDIO: nothing was checked about the policy presidio; "
        "pip install 'sfumato[nlp]'",
    )


class ConnectionOpened(Exception):
    """Somebody tried to reach the network."""


@pytest.fixture
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionOpened

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def found(policy: Presidio, text: str) -> set[tuple[str, str]]:
    return {(text[span.start : span.end], span.label) for span in policy.find(Document(text))}


@pytest.mark.usefixtures("_no_network")
def test_it_finds_with_the_network_blocked_and_writes_nothing(
    entity_pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TLDEXTRACT_CACHE", str(tmp_path / "tld"))
    adapter._analyzer.cache_clear()
    hits = found(Presidio(model=str(entity_pipeline)), TEXT)
    assert {
        ("Ann", "PERSON"),
        ("zoe@example.co.uk", "EMAIL_ADDRESS"),
        ("4111 1111 1111 1111", "CREDIT_CARD"),
        ("192.168.7.1", "IP_ADDRESS"),
    } <= hits
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_no_network")
def test_twin_that_fetches_the_suffix_list_is_caught(tmp_path: Path) -> None:
    from tldextract import TLDExtract

    urls = ("https://publicsuffix.org/list/public_suffix_list.dat",)
    fetching = TLDExtract(cache_dir=str(tmp_path), suffix_list_urls=urls)
    with pytest.raises(ConnectionOpened):
        fetching("zoe@example.co.uk")


def test_some_types_above_a_score(entity_pipeline: Path) -> None:
    model = str(entity_pipeline)
    policy = Presidio(types=("EMAIL_ADDRESS", "PERSON"), model=model)
    assert found(policy, TEXT) == {("zoe@example.co.uk", "EMAIL_ADDRESS"), ("Ann", "PERSON")}
    assert policy.name == "presidio(EMAIL_ADDRESS, PERSON)"
    strict = Presidio(threshold=0.95, model=model)
    assert strict.name == "presidio(at least 0.95)"
    assert ("Ann", "PERSON") not in found(strict, TEXT)
    assert ("zoe@example.co.uk", "EMAIL_ADDRESS") in found(strict, TEXT)
    settings = {"presidio.model": model, "presidio.threshold": "0.95"}
    assert parse_policy("presidio", settings) == strict


def test_what_is_no_type_or_no_score_is_refused(entity_pipeline: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'PERSON'"):
        Presidio(types=("PERSONS",), model=str(entity_pipeline)).find(Document("Ann"))
    with pytest.raises(InvalidArgument, match="threshold"):
        Presidio(threshold=2)


def test_without_presidio_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(MissingExtra, match=r"'presidio' needs an extra: .*sfumato\[nlp\]"):
        Presidio().find(Document("Ann"))


def test_reasons_name_the_recognizer_and_hold_no_text(entity_pipeline: Path) -> None:
    policy = Presidio(model=str(entity_pipeline))
    spans = policy.find(Document(TEXT))
    reasons = {span.label: span.reason for span in spans}
    assert reasons["EMAIL_ADDRESS"] == "by EmailRecognizer"
    assert not any("zoe" in span.reason or "4111" in span.reason for span in spans)
    assert pickle.loads(pickle.dumps(policy)) == policy


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(text=texts)
def test_places_are_right_in_any_text(entity_pipeline: Path, text: str) -> None:
    odd = f"{text} zoe@example.org {text}"
    policy = Presidio(model=str(entity_pipeline), types=("EMAIL_ADDRESS",))
    assert any("zoe@example.org" in hit for hit, _ in found(policy, odd))
    spans = Presidio(model=str(entity_pipeline)).find(Document(odd))
    assert all(0 <= span.start < span.end <= len(odd) for span in spans)


def test_many_at_once_find_the_same_as_one_by_one(entity_pipeline: Path) -> None:
    policy = Presidio(model=str(entity_pipeline))
    documents = [Document(text) for text in (TEXT, "", "Ann", TEXT[5:])]
    assert policy.find_many(documents) == [policy.find(document) for document in documents]


def test_presidio_is_told_apart_by_settings_pipeline_and_versions(
    entity_pipeline: Path, grammar_pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, model = Key(b"a key of at least sixteen bytes", "file"), str(entity_pipeline)
    policies = [
        Presidio(model=model),
        Presidio(model=str(grammar_pipeline)),
        Presidio(model=model, threshold=0.5),
        Presidio(model=model, types=("PERSON",)),
    ]
    codes = [policy_code(policy, key) for policy in policies]
    assert len(set(codes)) == len(codes)
    assert policy_code(Presidio(model=model, cache="anywhere"), key) == codes[0]
    monkeypatch.setattr(adapter, "version", lambda name: f"another {name}")
    assert policy_code(Presidio(model=model), key) not in codes
