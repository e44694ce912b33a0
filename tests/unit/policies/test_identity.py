"""Identities of policies: others for whatever may be found otherwise, equal for equal settings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass, replace
from typing import Any

import pytest

from sfumato.core.errors import IncomparableGuarantees
from sfumato.core.keys import Key
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.policies import identity as identities
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


class Listed(Digits):
    """Ours, with words of its own that what it inherits does not speak of."""

    def __init__(self, words: tuple[str, ...]) -> None:
        object.__setattr__(self, "words", words)


@dataclass(frozen=True)
class Titled(Lexicon):
    """Ours, with a field more."""

    titles: tuple[str, ...] = ()


class Slotted(Digits):
    """Ours, with a slot more."""

    __slots__ = ("words",)

    def __init__(self, words: tuple[str, ...]) -> None:
        object.__setattr__(self, "words", words)


class Held(Digits, tuple[str, ...]):
    """Ours, and a list of words."""

    def __init__(self, words: tuple[str, ...]) -> None: ...


class Renamed(Lexicon):
    """Ours, with nothing more."""

    name = "renamed"


class Saying(Listed):
    """It says itself what it holds."""

    words: tuple[str, ...]

    def identity(self) -> Identity:
        return Identity(("saying", *self.words))


def in_function(words: tuple[str, ...]) -> Policy:
    class Closed(Digits):
        def find(self, document: Document) -> Spans:
            return Lexicon(words).find(document)

    return Closed()


def of_table(words: tuple[str, ...]) -> Policy:
    kind: Any = type("Renamed", (Digits,), {"words": words})
    made: Policy = kind()
    return made


def in_the_name_of_python(words: tuple[str, ...]) -> Policy:
    kind: Any = make_dataclass("Made", [], bases=(Digits,), namespace={"words": words}, frozen=True)
    kind.__module__ = "types"  # where Python 3.11 says that it is from
    made: Policy = kind()
    return made


MAKERS: dict[str, Callable[[tuple[str, ...]], Policy]] = {
    "an attribute": Listed,
    "a field": lambda words: Titled(("ada",), titles=words),
    "a slot": Slotted,
    "entries": Held,
    "a variable of a function": in_function,
    "an attribute of a class without a file": of_table,
    "a class in the name of Python": in_the_name_of_python,
}


@pytest.mark.parametrize("what", MAKERS)
def test_what_is_inherited_does_not_speak_of_what_was_added(what: str) -> None:
    policy = MAKERS[what](("ada",))
    assert identity_of(policy) is None
    assert identity_of(Union((policy, Digits()))) is None
    assert policy_code(policy, KEY) == ""


@pytest.mark.parametrize("what", ["an attribute", "a field", "a slot"])
def test_twin_that_believes_what_is_inherited_takes_two_policies_for_one(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "_is_all_said", lambda _: True)
    first, second = (policy_code(MAKERS[what](words), KEY) for words in (("ada",), ("bob",)))
    assert first == second != ""


def test_what_is_inherited_holds_where_nothing_was_added() -> None:
    codes = [in_code(policy) for policy in (Renamed(("ada",)), Renamed(("bob",)), ADA)]
    assert all(codes)
    assert len(set(codes)) == 3
    used = Renamed(("ada",))
    used.find(Document("Ada"))  # what it computes for itself is nothing more
    assert in_code(used) == codes[0]
    assert in_code(Saying(("ada",))) != in_code(Saying(("bob",))) != ""


def test_guarantees_about_policies_with_more_than_they_say_do_not_add_up() -> None:
    from sfumato.training.methods.promise import PolicyPromise

    plain = Guarantee(
        notion=Notion.APPROXIMATE_DP, unit="example", neighbors="n", epsilon=1.0, delta=1e-6
    )
    policies = [Titled(("ada",), titles=(one,)) for one in ("Dr", "Bob")]
    first, second = (PolicyPromise(one).selective(plain) for one in policies)
    assert first.then(first).epsilon == 2.0
    with pytest.raises(IncomparableGuarantees, match="only for the same policy"):
        first.then(second)


def test_code_that_is_not_ours_is_never_told_without_a_key() -> None:
    """A class may hold words, and what is guessed of its file could be tested."""
    policies = (Renamed(("ada",)), Saying(("ada",)), Union((Saying(("ada",)), Digits())))
    for policy in policies:
        found = identity_of(policy)
        assert found is not None
        assert found.public_code is None
        assert policy_code(policy, KEY) != policy_code(policy, Key.fresh())


def test_a_class_of_a_script_has_to_say_itself_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words that it looks for may stand in the script, outside of the class."""
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "__main__", module)
    for kind in (Renamed, Saying, Listed):
        monkeypatch.setattr(kind, "__module__", "__main__")
    assert identity_of(Renamed(("ada",))) is None
    assert in_code(Saying(("ada",)))
