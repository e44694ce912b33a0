"""Where nothing can be found, membership inference finds nothing; intervals hold what they say.

Members and others are drawn alike and the target has seen neither. Signals do not learn who is
what, so the labels are exchangeable, and the number of pairs in the right order follows the law of
Mann and Whitney exactly, once ties are broken at random. Twins that must be rejected: a target that
was trained on the members, others of another kind, and intervals of half the width.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sfumato.attacks.attack import Inputs
from sfumato.attacks.membership.attack import Membership
from sfumato.attacks.membership.candidates import decoys
from sfumato.attacks.membership.classifier import fold_scores
from sfumato.attacks.membership.gathering import gather_evidence
from sfumato.attacks.membership.signals import COPIES, LABELS, score_signal
from sfumato.attacks.membership.signals import SIGNALS as EVERY
from sfumato.attacks.model_target import open_model
from sfumato.attacks.token_scores import token_scores
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary
from sfumato.results.measured import Measured
from sfumato.statistics.ranking import accuracy_at_median, advantage, hits_at, measure_auc
from statistical.budget import rejects
from unit.attacks.membership.small import documents, made_up, trained, written

# Neighbors of a text are made of words near its own: of few, which is quicker.
pytestmark = pytest.mark.usefixtures("small_vectors")
CHECK = "membership: nothing to find"
# Those of labels need a classifier.
SIGNALS = [name for name, one in EVERY.items() if one.needs not in (LABELS, COPIES)]
SIZE = 60
MEMBERS, OTHERS = made_up(SIZE, 41, 4), made_up(SIZE, 42, 4)


def told_apart(members: Floats, others: Floats) -> float:
    """The exact p-value of scores that rank members and others like this, if labels are chance."""
    jitter = np.random.default_rng(7).permutation(len(members) + len(others))
    order = np.lexsort((jitter, np.concatenate([members, others])))
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    high, low = ranks[: len(members)], ranks[len(members) :]
    return float(stats.mannwhitneyu(high, low, method="exact").pvalue)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """All but the target; shadows are trained by the first test and found by the second."""
    folder = tmp_path_factory.mktemp("nothing")
    return Inputs(
        target=folder,
        members=written(folder / "members.jsonl", MEMBERS),
        others=written(folder / "others.jsonl", OTHERS),
        references=tuple(
            trained(folder / f"reference{seed}", made_up(200, seed, 4), epochs=3, seed=seed)
            for seed in (8, 9)
        ),
        cache=folder / "cache",
    )


def p_values(given: Inputs, run: Path, seen: list[str]) -> dict[str, float]:
    """Of every signal, on a target that was trained on ``seen``."""
    attack = Membership(shadows=4, neighbors=4)
    target, data = attack.opened(replace(given, target=trained(run, seen, epochs=30)))
    evidence, _ = gather_evidence(target, data, SIGNALS, attack.effort, Randomness.reproducible(1))
    found = {}
    for name in SIGNALS:
        values = score_signal(name, evidence, attack.knobs)
        found[name] = told_apart(values[:SIZE], values[SIZE:])
    return found


def test_no_signal_tells_members_of_a_model_that_has_seen_none(
    given: Inputs, tmp_path: Path
) -> None:
    found = p_values(given, tmp_path / "run", made_up(SIZE, 43, 4))
    assert not rejects(CHECK, "signals", found.values())


def test_a_model_that_has_seen_them_is_caught_by_every_signal(
    given: Inputs, tmp_path: Path
) -> None:
    found = p_values(given, tmp_path / "run", MEMBERS)
    for name, value in found.items():
        assert rejects(CHECK, "signals", [value] * len(SIGNALS)), name


def secrets_against_decoys(folder: Path, seen: list[str], secrets: tuple[Canary, ...]) -> float:
    target = open_model(trained(folder, seen, epochs=25))
    scores = [
        np.array([one.total for one in token_scores(target, documents([c.text for c in side]))])
        for side in (secrets, decoys(secrets, Randomness.reproducible(2)))
    ]
    return told_apart(scores[0], scores[1])


def test_secrets_that_were_not_planted_are_like_decoys(tmp_path: Path) -> None:
    drawn = np.random.default_rng(9).choice(10**6, SIZE, replace=False)
    secrets = tuple(Canary(secret=f"{number:06d}") for number in drawn.tolist())
    honest = secrets_against_decoys(tmp_path / "run", made_up(SIZE, 43, 4), secrets)
    assert not rejects(CHECK, "secrets", [honest])
    # The twin: secrets that share a beginning, which decoys do not have.
    alike = tuple(replace(one, secret="00" + one.secret[2:]) for one in secrets)
    texts = [one.text for one in alike]
    assert rejects(CHECK, "secrets", [secrets_against_decoys(tmp_path / "twin", texts, alike)])


@pytest.mark.parametrize("shifted", [False, True])
def test_without_the_model_nothing_tells_them_apart(*, shifted: bool) -> None:
    members = made_up(200, 51)
    others = [f"{text} again" if shifted else text for text in made_up(200, 52)]
    folds = fold_scores(members, others, Randomness.reproducible(3))
    found = [told_apart(high, low) for high, low in folds]
    assert rejects(CHECK, "without the model", found) == shifted


def missed(figure: Measured, truth: float, width: float) -> bool:
    """Whether an interval, scaled by ``width`` around the figure, lies beside the truth."""
    assert figure.low is not None
    assert figure.high is not None
    low = figure.value - width * (figure.value - figure.low)
    high = figure.value + width * (figure.high - figure.value)
    return not low <= truth <= high


@pytest.mark.parametrize(("width", "wrong"), [(1.0, False), (0.4, True)])
def test_intervals_hold_the_truth_as_often_as_they_say(width: float, *, wrong: bool) -> None:
    """Of scores that know nothing, some of them tied; a bootstrap may miss in 10 % of cases."""
    rng, randomness = np.random.default_rng(11), Randomness.reproducible(11)
    rounds, misses = 300, np.zeros(4, dtype=np.int64)
    for _ in range(rounds):
        members, others = np.round(rng.normal(size=(2, 60)), 1)
        figures = (
            (measure_auc("auc", members, others, randomness), 0.5),
            (advantage("advantage", members, others, randomness), 0.0),
            (accuracy_at_median("accuracy", members, others), 0.5),
            (hits_at("tpr", rng.normal(size=60), rng.normal(size=60), 0.1), 0.1),
        )
        misses += [missed(figure, truth, width) for figure, truth in figures]
    found = [float(stats.binom.sf(count - 1, rounds, 0.1)) for count in misses.tolist()]
    assert rejects(CHECK, "intervals", found) == wrong
