"""Which original a document was made from: by what stayed, and not without it."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks.stretches.matching import BY_ALL, BY_PRIVATE, Matching, match
from sfumato.attacks.stretches.released import Released
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.scores import Scores
from sfumato.text.document import Document
from statistical import budget
from unit.attacks.stretches.made import (
    NAMES,
    POLICY,
    Replace,
    keep,
    redact,
    released,
    surrogate,
    tickets,
)

CHECK = "attacks: stretches"
COUNT = 60


def matched(way: Replace, seed: int = 1) -> Scores:
    generator = np.random.default_rng(seed)
    originals = tickets(COUNT, generator)
    return Matching().score(
        released(originals, way, generator), originals, Randomness.reproducible(seed)
    )


def evidence(scores: Scores, value: float) -> float:
    return budget.at_most(round(value * COUNT), COUNT, scores.chance[BY_PRIVATE])


@pytest.mark.parametrize("way", [surrogate, redact])
def test_replaced_names_identify_nobody_but_the_rest_does(way: Replace) -> None:
    scores = matched(way)
    figure = scores.figure(BY_PRIVATE)
    assert not budget.rejects(CHECK, "matching", [evidence(scores, figure.value)]), figure
    # Whoever has the whole original finds it again.
    assert scores.figure(BY_ALL).value > 0.8


def test_names_that_stay_are_caught() -> None:
    scores = matched(keep)
    figure = scores.figure(BY_PRIVATE)
    assert figure.value > 0.6
    assert budget.rejects(CHECK, "matching", [evidence(scores, figure.value)])


def test_the_control_is_at_chance_or_below() -> None:
    for one in matched(keep).control.figures:
        assert one.low is not None
        assert one.low <= 1 / COUNT


def test_a_name_that_was_missed_once_gives_its_document_away() -> None:
    """The mask stands at one mention; another, in small letters inside a word list, stays."""
    generator = np.random.default_rng(3)
    originals = tickets(COUNT, generator)
    masked = released(originals, redact, generator)
    leaking = Released(
        tuple(
            Document(f"{after.text} ref {before.text.split(', ')[1]}")
            for before, after in zip(originals, masked.documents, strict=True)
        ),
        POLICY,
    )
    found = Matching().score(leaking, originals, Randomness.reproducible(1))
    assert budget.rejects(CHECK, "matching", [evidence(found, found.figure(BY_PRIVATE).value)])


def test_documents_that_fit_equally_well_count_as_a_share() -> None:
    fits = match([{"a"}, {"a"}], [{"a"}, {"a"}])
    assert fits[0, 0] == fits[0, 1]
    same = [Document(f"Dear {NAMES[0]}.")] * 4
    scores = Matching().score(Released(tuple(same), POLICY), same, Randomness.reproducible(1))
    assert scores.figure(BY_ALL).value == pytest.approx(0.25)


def test_rare_words_weigh_more() -> None:
    released_words = [{"the", "zebra"}, {"the"}, {"the"}]
    fits = match(released_words, [{"the"}, {"zebra"}])
    assert fits[0, 1] > fits[0, 0]


def test_one_document_cannot_be_confused() -> None:
    one = [Document("Hello.")]
    with pytest.raises(BadInput, match="two documents"):
        Matching().score(Released(tuple(one), POLICY), one, Randomness.reproducible(1))
    with pytest.raises(BadInput, match="the same documents"):
        Matching().score(Released(tuple(one), POLICY), one * 2, Randomness.reproducible(1))
