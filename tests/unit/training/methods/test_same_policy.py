"""Selective promises add up under one and the same policy, and a name does not say which it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.core.keys import Key
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.policies.imperfect import Imperfect
from sfumato.policies.lexicon import Lexicon
from sfumato.policies.patterns import Digits, Regex
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import build_method
from sfumato.training.methods.promise import LINK_LEAK, PolicyPromise
from sfumato.training.methods.selective import SelectiveTraining
from sfumato.training.plan import Plan
from sfumato.training.request import Request
from sfumato.training.settings import Privacy
from unit.training.runs import tokenizer

KEY = Key(b"a key of at least sixteen bytes", "file")
ADA, BOB = Lexicon(("ada",)), Lexicon(("bob",))
DIFFERENT: list[tuple[Policy, Policy]] = [
    (ADA, BOB),
    (Regex("a+"), Regex("b+")),
    (
        Imperfect(policy=Digits(), misses=0.5, seed=1),
        Imperfect(policy=Digits(), misses=0.5, seed=2),
    ),
]

Add = Callable[[Guarantee, Guarantee], Guarantee]


# Rényi divergences, because they are quick.
PRIVACY = Privacy(epsilon=8.0, delta=1e-2, epochs=1, batch_sizes=(2,), accountant="rdp")


@cache
def plan() -> Plan:
    return PRIVACY.plan(9)


def promised(policy: Policy, name: str = "selective", key: Key | None = None) -> Guarantee:
    return build_method(name).promise(plan().guarantee(), PolicyPromise(policy, key=key))


def written(guarantee: Guarantee) -> Guarantee:
    """As it comes back from a run's folder."""
    return Guarantee.from_dict(json.loads(json.dumps(guarantee.as_dict())))


def refuses_another_policy(add: Add) -> bool:
    """Whether two policies of one name are never added up, in memory or from files."""
    for one, other in DIFFERENT:
        assert one.name == other.name
        for first, second in [(promised(one), promised(other)), (promised(other), promised(one))]:
            for mine, theirs in [(first, second), (written(first), written(second))]:
                try:
                    add(mine, theirs)
                except IncomparableGuarantees:
                    continue
                return False
    return True


def by_name_alone(first: Guarantee, second: Guarantee) -> Guarantee:
    """The twin: what was done before policies had an identity."""
    return replace(first, policy="", about=(0,)).then(replace(second, policy="", about=(0,)))


def test_two_policies_of_one_name_do_not_add_up() -> None:
    assert refuses_another_policy(Guarantee.then)
    assert not refuses_another_policy(by_name_alone)


@pytest.mark.parametrize("name", ["selective", "twice", "interleaved"])
def test_the_message_says_why(name: str) -> None:
    with pytest.raises(IncomparableGuarantees, match=r"same name.*not the same policy") as refused:
        promised(ADA, name).then(promised(BOB, name))
    assert "ada" not in str(refused.value).lower()
    assert "bob" not in str(refused.value).lower()


@pytest.mark.parametrize("policy", [ADA, Digits(), DIFFERENT[1][0], DIFFERENT[2][0]])
@pytest.mark.parametrize("name", ["selective", "twice", "interleaved"])
def test_the_same_policy_adds_up_in_memory_and_from_files(policy: Policy, name: str) -> None:
    first, second = promised(policy, name), promised(replace(policy), name)  # type: ignore[type-var]
    assert first.notion is Notion.SELECTIVE_DP
    for mine in (first, written(first)):
        for theirs in (second, written(second)):
            both = mine.then(theirs)
            assert both.epsilon == first.epsilon + second.epsilon
            assert both.delta == first.delta + second.delta
            assert both.policy == first.policy


def test_a_file_that_does_not_say_which_policy_it_was_adds_up_with_nothing() -> None:
    """Files of older versions know the name only."""
    values = promised(Digits()).as_dict()
    del values["policy"]
    old = Guarantee.from_dict(values)
    for first, second in [(old, old), (old, promised(Digits())), (promised(Digits()), old)]:
        with pytest.raises(IncomparableGuarantees, match="which policy"):
            first.then(second)


def test_no_word_of_a_policy_is_written_and_no_guess_can_be_tested() -> None:
    under_key = promised(ADA, key=KEY)
    assert "ada" not in json.dumps(under_key.as_dict()).lower()
    other = Key(b"another key of sixteen bytes", "file")
    codes = {promised(ADA, key=one).policy for one in (KEY, other, Key.fresh(), None)}
    assert len(codes) == 4, "whoever lacks the key can make the code of a guess"
    assert LINK_LEAK in under_key.leaks
    assert LINK_LEAK not in promised(Digits()).leaks


def test_under_one_key_runs_of_different_processes_are_compared(tmp_path: Path) -> None:
    key = tmp_path / "policy.key"
    key.write_bytes(KEY.secret)
    program = (
        "import sys; from sfumato.core.keys import Key\n"
        "from sfumato.policies.identity import policy_code\n"
        "from sfumato.policies.lexicon import Lexicon\n"
        "from sfumato.policies.patterns import Digits\n"
        "key = Key.from_file(sys.argv[1])\n"
        "print(policy_code(Lexicon(('ada',)), key), policy_code(Lexicon(('ada',))),"
        " policy_code(Digits()))"
    )
    command = [sys.executable, "-c", program, str(key)]
    there = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert promised(ADA, key=Key.from_file(key)).policy == there[0]
    assert promised(ADA).policy != there[1], "a key that nobody named must be forgotten"
    assert promised(Digits()).policy == there[2]


@dataclass(frozen=True)
class Homemade:
    """A policy that says nothing about itself but its name."""

    word: str
    name: str = "homemade"

    def find(self, document: Document) -> Spans:
        start = document.text.find(self.word)
        found = [Span(start, start + len(self.word), "X", "homemade", "it is")]
        return Spans.of(found if start >= 0 else [])


def test_a_policy_without_identity_adds_up_with_its_equal_in_memory_only() -> None:
    mine = promised(Homemade("ada"))
    assert mine.policy == ""
    assert mine.then(promised(Homemade("ada"))).epsilon == 2 * mine.epsilon
    with pytest.raises(IncomparableGuarantees):
        mine.then(promised(Homemade("bob")))
    with pytest.raises(IncomparableGuarantees, match="which policy"):
        written(mine).then(written(mine))


def test_run_folders_hold_what_tells_policies_apart(tmp_path: Path) -> None:
    texts = ["ada and bob met", "bob wrote", "ada read", "ada or bob", "nobody", "bob, ada"]
    found = []
    for number, policy in enumerate([ADA, BOB]):
        folder = RunFolder(tmp_path / str(number))
        request = Request(
            model="lstm",
            settings={"embedding": 4, "hidden": 4, "context": 32},
            tokenizer=tokenizer(),
            privacy=PRIVACY,
            method=SelectiveTraining(public_epochs=1),
            protection=PolicyPromise(policy),
            seed=5,
        )
        trained = train_model(request, [Document(text) for text in texts], folder)
        content: dict[str, Any] = json.loads(folder.guarantee.read_bytes())
        found.append(Guarantee.from_dict(content["guarantee"]))
        assert found[-1] == trained.guarantee
    ada, bob = found
    assert ada.then(ada).epsilon == 2 * ada.epsilon
    with pytest.raises(IncomparableGuarantees, match="not the same policy"):
        ada.then(bob)


def test_a_key_is_read_from_its_file_and_needs_a_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.key"
    path.write_bytes(KEY.secret)
    found = PolicyPromise.of(ADA, key=path)
    assert found is not None
    assert found.selective(plan().guarantee()).policy == promised(ADA, key=KEY).policy
    with pytest.raises(InvalidArgument, match="give `policy=NAME`, too"):
        PolicyPromise.of(None, key=path)
