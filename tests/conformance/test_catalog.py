"""What every entry of the catalog must do, whoever added it."""

from __future__ import annotations

import dataclasses
import inspect
import sys

import numpy as np
import pytest

from sfumato import catalog
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.core.settings import settings_of
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms import draws
from sfumato.mechanisms.build import (
    build_mechanism,
    build_stretch_mechanism,
    rewrites_documents,
    word_mechanisms,
)
from sfumato.mechanisms.selective import Selective
from sfumato.policies.identity import policy_code
from sfumato.policies.parsing import parse_policy
from sfumato.releases.privatizer import Privatizer
from sfumato.representations import VectorMechanism, build_representation
from sfumato.testing import TEXTS, check_mechanism, check_policy
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.space import Space

ENTRIES = [entry for kind in catalog.KINDS for entry in catalog.entries(kind).values()]
WORD_MECHANISMS = word_mechanisms()
WRAPPERS = ["levels", "selective"]
TABLE = "auto"
DOCUMENTS = [name for name in catalog.entries("mechanisms") if rewrites_documents(name)]
STRETCHES = sorted(
    set(catalog.entries("mechanisms")) - {*WORD_MECHANISMS, *WRAPPERS, *DOCUMENTS, TABLE}
)
SPECS = {"regex": r"regex:\d+", "lexicon": None, "imperfect": None, "tagger": None}
# These need a trained pipeline: tests/unit/policies/linguistic holds them to the same.
SPECS |= {"contextual": None, "entities": None, "presidio": None}
POLICIES = [SPECS.get(name, name) for name in catalog.entries("policies")]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind}/{entry.name}")
def test_every_entry_loads_and_is_documented(entry: catalog.Entry) -> None:
    component = entry.load()
    assert inspect.getdoc(component)
    assert inspect.getdoc(sys.modules[component.__module__])
    assert entry.summary
    assert not entry.summary.endswith(".")
    assert catalog.search(f"{entry.kind}/{entry.name}") == [entry]


@pytest.mark.parametrize("kind", catalog.KINDS)
def test_a_mistyped_name_is_guessed(kind: str) -> None:
    name = next(iter(catalog.entries(kind)))
    with pytest.raises(UnknownName, match=f"did you mean '{name}'"):
        catalog.find(kind, name[:-1] + "_")


@pytest.mark.parametrize("name", [*WORD_MECHANISMS, *WRAPPERS, *DOCUMENTS])
def test_a_mechanism_states_its_guarantee_where_it_lives(name: str) -> None:
    component = catalog.find("mechanisms", name).load()
    statement = inspect.getdoc(sys.modules[component.__module__]) or ""
    for part in ("Guarantee", "Why it holds", "Reference"):
        assert part in statement
    assert dataclasses.is_dataclass(component)
    assert vars(component)["__dataclass_params__"].frozen


@pytest.mark.parametrize("name", catalog.entries("representations"))
def test_noise_on_vectors_states_its_guarantee_and_is_total(name: str) -> None:
    component = catalog.find("representations", name).load()
    statement = inspect.getdoc(sys.modules[component.__module__]) or ""
    for part in ("Guarantee", "Why it holds", "Care", "Reference"):
        assert part in statement
    assert vars(component)["__dataclass_params__"].frozen
    delta = 1e-6 if name == "gaussian" else 0.0
    made = build_representation(name, size=9, epsilon=2.0, delta=delta, settings={})
    assert isinstance(made, VectorMechanism)
    rows = np.array([[0.0] * 9, [1e308] * 9, [np.nan] * 9, [-1e-308] * 9])
    first, second = (made.release(rows, Randomness.secure()) for _ in range(2))
    assert first.shape == (4, made.outputs)
    assert np.isfinite(first).all()
    assert (first != second).any(axis=1).all()
    guarantee = made.guarantee()
    assert (guarantee.unit, guarantee.epsilon, guarantee.delta) == ("document", 2.0, delta)
    assert "vector of every document" in guarantee.sentence()
    assert {"sensitivity"} <= made.facts().keys()


@pytest.mark.parametrize("name", WORD_MECHANISMS)
def test_a_word_mechanism_conforms(
    small_space: Space, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Total, words out of words, no level that is none, new noise for every word and block."""
    monkeypatch.setattr(draws, "BLOCK", 50)
    check_mechanism(name, space=small_space)


def test_every_mechanism_is_of_one_sort() -> None:
    assert {"laplace", "exponential"} <= set(WORD_MECHANISMS)
    assert {"pseudonym", "redact", "surrogate", "date"} <= set(STRETCHES)
    assert "sentences" in DOCUMENTS


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_is_not_built_by_its_name(small_space: Space, name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"'{name}' wraps a word mechanism: name that one"):
        build_mechanism(name, space=small_space, epsilon=1.0)
    with pytest.raises(InvalidArgument, match=f"'{name}' wraps a word mechanism: name that one"):
        Privatizer(mechanism=name).guarantee()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_mechanism_of_documents_is_not_taken_for_one_of_words(
    small_space: Space, name: str
) -> None:
    with pytest.raises(InvalidArgument, match=f"{name!r} rewrites whole documents"):
        build_mechanism(name, space=small_space, epsilon=1.0)
    with pytest.raises(InvalidArgument):
        Privatizer(mechanism=name, policy="digits").check()


def settings_for(name: str) -> dict[str, object]:
    """A level for those that have one."""
    component = catalog.find("mechanisms", name).load()
    return {"epsilon": 1.0} if "epsilon" in settings_of(component) else {}


@pytest.mark.parametrize("name", STRETCHES)
def test_a_mechanism_of_stretches_says_what_is_proven_and_what_shows(name: str) -> None:
    component = catalog.find("mechanisms", name).load()
    statement = inspect.getdoc(sys.modules[component.__module__]) or ""
    for part in ("Guarantee\n", "What does not hold", "Reference"):
        assert part in statement
    assert vars(component)["__dataclass_params__"].frozen
    check_mechanism(name, settings=settings_for(name))
    guarantee = build_stretch_mechanism(name, settings_for(name)).guarantee()
    unproven = guarantee.notion is Notion.NONE
    assert unproven == ("baseline" in catalog.find("mechanisms", name).summary)
    assert unproven == ("Guarantee\n    None." in statement)
    assert ("Why it holds" in statement) != unproven
    assert guarantee.for_release != unproven
    assert guarantee.sentence().startswith("Nothing is proven about this output") == unproven


@pytest.mark.parametrize("name", STRETCHES)
def test_a_mechanism_of_stretches_uses_no_vectors(small_space: Space, name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name!r} replaces whole stretches"):
        build_mechanism(name, space=small_space, epsilon=1.0)
    settings = settings_for(name)
    for mechanism in (name, build_stretch_mechanism(name, settings)):
        own = settings if isinstance(mechanism, str) else {}
        with pytest.raises(InvalidArgument, match="no word vectors"):
            Privatizer(mechanism=mechanism, unknown="keep", settings=own).guarantee()
        if not settings:
            with pytest.raises(InvalidArgument, match="takes no epsilon"):
                Privatizer(mechanism=mechanism, epsilon=1.0).guarantee()


@pytest.mark.parametrize("name", STRETCHES)
@pytest.mark.parametrize("spec", [spec for spec in POLICIES if spec])
def test_what_is_found_is_replaced_and_nothing_else(name: str, spec: str) -> None:
    mechanism, policy = build_stretch_mechanism(name, settings_for(name)), parse_policy(spec)
    selective = Selective(policy=policy, mechanism=mechanism)
    documents = [Document(text) for text in TEXTS]
    for document, result in zip(
        documents, selective.privatize(documents, Randomness.secure()), strict=True
    ):
        words, spans = Words.of(document.text), policy.find(document)
        assert (result.words, result.selected) == (len(words), len(spans.select(words)))
        reached, rest = 0, result.text
        for edit in result.edited.edits:
            between = document.text[reached : edit.start] + edit.replacement
            assert rest.startswith(between)
            rest, reached = rest.removeprefix(between), edit.end
        assert rest == document.text[reached:]
        covered = {place for span in spans for place in range(span.start, span.end)}
        edited = {place for one in result.edited.edits for place in range(one.start, one.end)}
        assert covered <= edited


@pytest.mark.parametrize("name", catalog.entries("policies"))
def test_a_policy_can_be_told_from_others(name: str) -> None:
    """Without an identity no two guarantees about it would add up once they are written."""
    assert callable(getattr(catalog.find("policies", name).load(), "identity", None))


@pytest.mark.parametrize("spec", [spec for spec in POLICIES if spec])
def test_a_policy_conforms(spec: str) -> None:
    """Spans inside the text that say why, the same for a copy, and an identity."""
    check_policy(spec)
    policy = parse_policy(spec)
    assert r"\d" not in policy.name
    assert policy_code(policy) == policy_code(parse_policy(spec))
