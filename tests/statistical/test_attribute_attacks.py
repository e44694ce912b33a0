"""Where nothing can be told, labels, authors and properties are told no better than by a coin.

Author attributes: whoever learned from other people meets authors whose attribute was drawn by a
coin, so the number of right guesses is binomial. Property inference: in each of many worlds answers
have nothing to do with the share, and one shadow of each counts, so that is binomial as well.
Labels alone: a classifier that was trained on neither side ranks members and others as a shuffled
deck does. The twins peek: at the authors under another name, at the shadows that are judged, and
one classifier was trained on the members.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sfumato.attacks.attribute_guessing import STATIC, Known
from sfumato.attacks.author_attributes import AuthorAttributes
from sfumato.attacks.membership.attack import Membership
from sfumato.attacks.membership.candidates import Candidates
from sfumato.attacks.membership.gathering import GatheringEffort, Suspects, gather_evidence
from sfumato.attacks.membership.signals import score_signal
from sfumato.attacks.model_target import open_model
from sfumato.attacks.properties.telling import Teller, held_out, summarize
from sfumato.core.randomness import Randomness
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.request import Request
from sfumato.training.settings import Course, Privacy
from statistical.budget import fits_share, rejects
from statistical.test_membership import told_apart
from unit.attacks.membership.small import made_up, tokenizer

CHECK = "attacks: attributes"
AUTHORS, EACH = 60, 2
SIZE = 60


def by_coin(*, seed: int, name: str) -> list[Document]:
    """Authors with a word of their own and an attribute that has nothing to do with it."""
    random = np.random.default_rng(seed)
    found = []
    for author in range(AUTHORS):
        value = "ab"[random.integers(2)]
        for _ in range(EACH):
            said = f"own{author} own{author} {random.choice(['fine', 'good', 'bad'])}"
            found.append(Document(said, author=f"{name}{author}", labels=(value,)))
    return found


@pytest.mark.parametrize("peeks", [False, True])
def test_authors_whose_attribute_is_a_coin_are_guessed_like_a_coin(*, peeks: bool) -> None:
    documents = by_coin(seed=3, name="x")
    # The same people under other names are not left out.
    others = by_coin(seed=3 if peeks else 4, name="y")
    attack = AuthorAttributes(folds=2, characters=0, words=1)
    released = [Document(one.text) for one in documents]
    scores = attack.score(released, {"a": Known(documents, others)}, Randomness.reproducible(1))
    found = scores.figure(STATIC)
    assert found.n == AUTHORS
    p_value = fits_share(round(found.value * AUTHORS), AUTHORS, 0.5)
    assert rejects(CHECK, "authors", [p_value]) == peeks


def labeled(seed: int) -> list[Document]:
    """Texts whose labels mean nothing: they can only be known by heart."""
    labels = np.random.default_rng(seed).integers(4, size=SIZE).tolist()
    return [
        Document(text, labels=("abcd"[label],))
        for text, label in zip(made_up(SIZE, seed, 4), labels, strict=True)
    ]


@pytest.mark.parametrize("peeks", [False, True])
@pytest.mark.usefixtures("small_vectors")
def test_labels_of_a_classifier_that_saw_neither_side_tell_nothing(
    tmp_path: Path, *, peeks: bool
) -> None:
    members, others = labeled(1), labeled(2)
    seen = members if peeks else labeled(3)
    asked = Request(
        model="gpt-small",
        kind="classifier",
        classes=tuple("abcd"),
        privacy=Privacy(epsilon=math.inf, epochs=30, batch_sizes=(30,)),
        course=Course(learning_rate=1e-2, checkpoint_every=1000),
        tokenizer=tokenizer(),
        settings={"layers": 1, "width": 16, "heads": 2, "context": 16},
        seed=1,
    )
    train_model(asked, seen, RunFolder(tmp_path / "run"))
    signals = ("gap", "label-robustness")
    data = Suspects(candidates=Candidates.of(members, others))
    effort = GatheringEffort(shadows=0, neighbors=4, masked_model="")
    target, randomness = open_model(tmp_path / "run"), Randomness.reproducible(2)
    evidence, _ = gather_evidence(target, data, signals, effort, randomness)
    found = [score_signal(name, evidence, Membership().knobs) for name in signals]
    p_values = [told_apart(one[:SIZE], one[SIZE:]) for one in found]
    assert rejects(CHECK, "labels", p_values) == peeks


@pytest.mark.parametrize("peeks", [False, True])
def test_answers_that_know_nothing_of_the_share_tell_nothing(*, peeks: bool) -> None:
    worlds, right = 45, 0
    number = np.arange(8)
    high, half = number // 2 % 2 == 1, number % 2
    for seed in range(worlds):
        answers = np.random.default_rng(seed).normal(size=(8, 48))
        rows, weights = summarize(answers, np.arange(48) % 2 == 0, 1)
        told = (
            Teller.of(rows, high, weights).score(rows)
            if peeks
            else held_out(rows, high, half, weights)
        )
        # Which one counts is fixed, with either share in turn.
        one = 2 * (seed % 2)
        right += int((told[one] > 0) == high[one])
    assert rejects(CHECK, "properties", [fits_share(right, worlds, 0.5)]) == peeks
