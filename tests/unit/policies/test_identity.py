"""Identities of policies: others for whatever may be found otherwise, equal for equal settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from sfumato.core.keys import Key
from sfumato.policies.combine import Minus, Priority, Union
from sfumato.policies.identity import Identity, identity_of, policy_code
from sfumato.policies.imperfect import Imperfect
from sfumato.policies.lexicon import Lexicon
from sfumato.policies.patterns import Digits, Everything, Nothing, Regex
from sfumato.policies.pii import Pii
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.span import Spans

KEY = Key(b"a key of at least sixteen bytes", "file")
ADA, BOB = Lexicon(("ada",)), Lexicon(("bob",))

# Every two of these may find something else.
ALL: list[Policy] = [
    Digits(),
    Everything(),
    Nothing(),
    Regex("a"),
    Regex("b"),
    Regex("a", label="NAME"),
    Regex("aNA", label="ME"),
    ADA,
    BOB,
    Lexicon(("ada", "bob")),
    Lexicon(("ada bob",)),
    Lexicon(("ada",), case_sensitive=True),
    Pii(),
    Pii(types=("email",)),
    Pii(types=("phone",)),
    Pii(types=("phone",), regions=("DE",)),
    Union((ADA, Digits())),
    Union((BOB, Digits())),
    Union((Union((ADA, Digits())), Nothing())),
    Union((ADA, Union((Digits(), Nothing())))),
    Priority((ADA, Digits())),
    Priority((Digits(), ADA)),
    Minus(Everything(), ADA),
    Minus(Everything(), BOB),
    Minus(ADA, Everything()),
    Imperfect(policy=ADA, misses=0.5, seed=1),
    Imperfect(policy=BOB, misses=0.5, seed=1),
    Imperfect(policy=ADA, misses=0.5, seed=2),
    Imperfect(policy=ADA, misses=0.5000000001, seed=1),
]


def in_code(policy: Policy) -> str:
    return policy_code(policy, KEY)


def tells_all_apart(code: Callable[[Policy], str]) -> bool:
    """Whether no two of the policies have one code."""
    codes = [code(policy) for policy in ALL]
    return all(codes) and len(set(codes)) == len(codes)


def test_policies_that_may_find_something_else_have_other_identities() -> None:
    assert tells_all_apart(in_code)


@pytest.mark.parametrize(
    "twin",
    [
        lambda policy: policy.name,
        repr,
        lambda policy: "".join(map(str, _flat(identity_of(policy)))),
    ],
    ids=["the name", "what a log shows", "parts without their bounds"],
)
def test_twins_that_tell_less_are_caught(twin: Callable[[Policy], str]) -> None:
    assert not tells_all_apart(twin)


def _flat(identity: Identity | None) -> list[str]:
    def leaves(one: object) -> list[str]:
        inside = list(one) if isinstance(one, (tuple, list)) else None
        return [str(one)] if inside is None else [leaf for part in inside for leaf in leaves(part)]

    return leaves(() if identity is None else identity.parts)


@pytest.mark.parametrize("policy", ALL, ids=lambda policy: policy.name)
def test_equal_settings_have_equal_identities(policy: Policy) -> None:
    assert in_code(replace(policy)) == in_code(policy)  # type: ignore[type-var]


def test_words_of_a_lexicon_count_as_they_are_matched() -> None:
    """Order, repetition and, where it does not matter, case decide nothing."""
    assert in_code(Lexicon(("Bob", "ADA", "ada"))) == in_code(Lexicon(("ada", "bob")))
    kept = Lexicon(("Ada",), case_sensitive=True)
    assert in_code(kept) != in_code(Lexicon(("ada",), case_sensitive=True))


def test_what_is_public_needs_no_key_and_what_is_private_has_one() -> None:
    fresh = Key.fresh()
    for policy in ALL:
        found = identity_of(policy)
        assert found is not None
        kept = ("regex", "lexicon", "imperfect")
        assert found.private == any(name in policy.name for name in kept)
        assert (policy_code(policy, KEY) == policy_code(policy, fresh)) != found.private
    assert policy_code(ADA) == policy_code(ADA), "one process has one key"


def test_no_identity_shows_words() -> None:
    for policy in (ADA, Union((ADA, Digits())), Regex("ada"), Minus(Everything(), ADA)):
        assert "ada" not in repr(identity_of(policy))


@dataclass(frozen=True)
class Stranger:
    """Somebody's policy, which has no identity."""

    name: str = "stranger"

    def find(self, document: Document) -> Spans:  # noqa: ARG002
        return Spans()


@pytest.mark.parametrize(
    "policy",
    [
        Stranger(),
        Union((Digits(), Stranger())),
        Priority((Stranger(), Digits())),
        Minus(Digits(), Stranger()),
        Imperfect(policy=Stranger(), misses=0.1, seed=1),
    ],
    ids=lambda policy: policy.name,
)
def test_what_holds_a_policy_without_identity_has_none(policy: Policy) -> None:
    assert identity_of(policy) is None
    assert policy_code(policy, KEY) == ""
