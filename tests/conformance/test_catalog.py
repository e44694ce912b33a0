"""What every entry of the catalog must do, whoever added it."""

from __future__ import annotations

import dataclasses
import inspect
import math
import pickle
import sys

import numpy as np
import pytest

from sfumato import catalog
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms import draws
from sfumato.mechanisms.build import build, build_baseline, word_mechanisms
from sfumato.mechanisms.mechanism import Mechanism, PointMechanism, StretchMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.identity import Identified, policy_code
from sfumato.policies.parsing import parse_policy
from sfumato.policies.policy import Policy
from sfumato.releases.privatizer import Privatizer
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.space import Space

ENTRIES = [entry for kind in catalog.KINDS for entry in catalog.entries(kind).values()]
WORD_MECHANISMS = word_mechanisms()
WRAPPERS = ["levels", "selective"]
BASELINES = sorted(set(catalog.entries("mechanisms")) - {*WORD_MECHANISMS, *WRAPPERS})
SPECS = {"regex": r"regex:\d+", "lexicon": None, "imperfect": None}
# These need a trained pipeline: tests/unit/policies/linguistic holds them to the same.
SPECS |= {"contextual": None, "entities": None, "presidio": None}
POLICIES = [SPECS.get(name, name) for name in catalog.entries("policies")]
TEXTS = ["", "😀\u200d \r\n", "My ID is 145572, call Zoë at 555-0142!", "日本 12 שלום 🇩🇪" * 50]


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


@pytest.mark.parametrize("name", [*WORD_MECHANISMS, *WRAPPERS])
def test_a_mechanism_states_its_guarantee_where_it_lives(name: str) -> None:
    component = catalog.find("mechanisms", name).load()
    statement = inspect.getdoc(sys.modules[component.__module__]) or ""
    for part in ("Guarantee", "Why it holds", "Reference"):
        assert part in statement
    assert dataclasses.is_dataclass(component)
    assert vars(component)["__dataclass_params__"].frozen


@pytest.mark.parametrize("name", WORD_MECHANISMS)
def test_a_mechanism_is_total_and_gives_words_of_the_vocabulary(
    small_space: Space, name: str
) -> None:
    mechanism = build(name, space=small_space, epsilon=1.0)
    assert isinstance(mechanism, PointMechanism)
    points = np.arange(len(small_space) + 1, dtype=np.intp).repeat(20)  # the unknown one included
    outputs = mechanism.privatize(points, Randomness.reproducible(1))
    assert outputs.shape == points.shape
    assert ((outputs >= 0) & (outputs < len(small_space))).all()
    assert (points == np.arange(len(small_space) + 1).repeat(20)).all(), "the input was changed"
    assert len(mechanism.privatize(points[:0], Randomness.secure())) == 0
    guarantee = mechanism.guarantee()
    assert guarantee.epsilon == 1.0
    assert guarantee.sentence().endswith(".")
    over = OverVocabulary(points=mechanism)
    assert isinstance(over, Mechanism)
    assert set(over.privatize(["", "CANARY-77", "paris"], Randomness.secure())) <= set(
        small_space.words
    )
    assert isinstance(pickle.loads(pickle.dumps(mechanism)), type(mechanism))


@pytest.mark.parametrize("name", WORD_MECHANISMS)
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e6])
def test_every_output_is_a_word_at_any_level(small_space: Space, name: str, epsilon: float) -> None:
    points = np.tile(np.arange(len(small_space) + 1), 40)
    mechanism = build(name, space=small_space, epsilon=epsilon)
    outputs = mechanism.privatize(points, Randomness.secure())
    assert outputs.shape == points.shape
    assert outputs.min() >= 0
    assert outputs.max() < len(small_space)


@pytest.mark.parametrize("name", WORD_MECHANISMS)
@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "much"])
def test_a_level_that_is_none_is_refused(small_space: Space, name: str, epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match="epsilon="):
        build(name, space=small_space, epsilon=epsilon)


@pytest.mark.parametrize("name", WORD_MECHANISMS)
def test_noise_is_new_for_every_word_and_every_block(
    small_space: Space, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draws, "BLOCK", 50)
    mechanism = build(name, space=small_space, epsilon=0.2)
    outputs = mechanism.privatize(np.zeros(500, np.intp), Randomness.reproducible(1))
    seen = {tuple(outputs[start : start + 50].tolist()) for start in range(0, 500, 50)}
    assert len(seen) == 10


def test_every_mechanism_is_of_one_sort() -> None:
    assert {"laplace", "exponential"} <= set(WORD_MECHANISMS)
    assert {"pseudonym", "redact"} <= set(BASELINES)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_is_not_built_by_its_name(small_space: Space, name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"'{name}' wraps a word mechanism: name that one"):
        build(name, space=small_space, epsilon=1.0)
    with pytest.raises(InvalidArgument, match=f"'{name}' wraps a word mechanism: name that one"):
        Privatizer(mechanism=name).guarantee()


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_says_that_it_guarantees_nothing_and_what_shows(name: str) -> None:
    component = catalog.find("mechanisms", name).load()
    statement = inspect.getdoc(sys.modules[component.__module__]) or ""
    for part in ("Guarantee\n    None.", "What does not hold", "Reference"):
        assert part in statement
    assert vars(component)["__dataclass_params__"].frozen
    assert "baseline" in catalog.find("mechanisms", name).summary
    guarantee = build_baseline(name).guarantee()
    assert guarantee.notion is Notion.NONE
    assert guarantee.epsilon == math.inf
    assert not guarantee.for_release
    assert guarantee.leaks
    assert guarantee.sentence().startswith("Nothing is proven about this output")


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_has_no_level_and_no_vectors(small_space: Space, name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"'{name}' takes no epsilon"):
        build(name, space=small_space, epsilon=1.0)
    for mechanism in (name, build_baseline(name)):
        with pytest.raises(InvalidArgument, match="takes no epsilon"):
            Privatizer(mechanism=mechanism, epsilon=1.0).guarantee()
        with pytest.raises(InvalidArgument, match="no word vectors"):
            Privatizer(mechanism=mechanism, unknown="keep").guarantee()


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("spec", [spec for spec in POLICIES if spec])
def test_a_baseline_replaces_what_is_found_and_nothing_else(name: str, spec: str) -> None:
    mechanism, policy = build_baseline(name), parse_policy(spec)
    assert isinstance(mechanism, StretchMechanism)
    assert mechanism.replace([]) == []
    assert isinstance(pickle.loads(pickle.dumps(mechanism)), type(mechanism))
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
            assert edit.replacement.isprintable()
            rest, reached = rest.removeprefix(between), edit.end
        assert rest == document.text[reached:]
        covered = {place for span in spans for place in range(span.start, span.end)}
        edited = {place for one in result.edited.edits for place in range(one.start, one.end)}
        assert covered <= edited


@pytest.mark.parametrize("name", catalog.entries("policies"))
def test_a_policy_can_be_told_from_others(name: str) -> None:
    """Without an identity no two guarantees about it would add up once they are written."""
    assert callable(getattr(catalog.find("policies", name).load(), "identity", None))
    spec = SPECS.get(name, name)
    if spec is not None:
        policy = parse_policy(spec)
        assert isinstance(policy, Identified)
        assert policy_code(policy) == policy_code(parse_policy(spec))


@pytest.mark.parametrize("spec", [spec for spec in POLICIES if spec])
def test_a_policy_finds_spans_inside_the_text_and_says_why(spec: str) -> None:
    policy = parse_policy(spec)
    assert isinstance(policy, Policy)
    assert policy.name
    assert r"\d" not in policy.name
    for text in TEXTS:
        spans = policy.find(Document(text))
        assert list(spans) == sorted(spans)
        for span in spans:
            assert 0 <= span.start < span.end <= len(text)
            assert span.label
            assert span.rule
            assert span.reason
            words = list(Words.of(text[span.start : span.end]))
            assert not any(word in span.reason.split() for word in words if len(word) > 4)
    assert pickle.loads(pickle.dumps(policy)).name == policy.name
