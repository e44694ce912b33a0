"""As proven first; what a paper would print stands beside it, and is marked."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest

from sfumato.training.plan import Plan
from sfumato.training.sampling import Shuffled
from sfumato.training.spending import compare_accountants
from sfumato.training.stages import Stage

STAGE = Stage(steps=60, batch_size=50, noise_multiplier=1.0)


def plan(**changes: Any) -> Plan:
    return Plan(**{"units": 1000, "stages": (STAGE,), **changes})


@pytest.mark.parametrize("own", ["pld", "rdp"])
def test_the_own_accountant_comes_first_and_the_paper_last(own: str) -> None:
    made = plan(accountant=own).with_epsilon(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the paper's delta is not the user's
        rows = compare_accountants(made, 3.0)
    assert rows[0].name == own
    assert {row.name for row in rows[:3]} == {"pld", "rdp", "pure"}
    assert rows[0].epsilon == made.epsilon()
    assert rows[0].noise_multiplier == made.noise_multiplier
    by_name = {row.name: row for row in rows}
    needed = [by_name[name].noise_multiplier for name in ("pld", "rdp", "pure")]
    assert None not in needed
    assert needed == sorted(needed, key=lambda value: value or math.inf)
    paper = rows[-1]
    assert (paper.name, paper.delta, paper.proven) == ("as in papers", 1 / 1000, True)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sampling": Shuffled()}, "as if sampled by Poisson"),
        ({"neighbors": "replacement", "accountant": "rdp"}, "for a unit removed"),
    ],
    ids=str,
)
def test_what_the_paper_borrows_is_marked_as_not_proven(
    changes: dict[str, Any], words: str
) -> None:
    made = plan(**changes)
    *proven, paper = compare_accountants(made, None)
    assert all(row.proven for row in proven)
    assert not paper.proven
    assert words in paper.remark
    assert "NOT PROVEN" in paper.remark
    assert paper.epsilon is not None
    assert paper.epsilon < made.epsilon()


def test_an_accountant_without_an_answer_gives_none() -> None:
    rows = {row.name: row for row in compare_accountants(plan(neighbors="replacement"), None)}
    assert rows["pure"].epsilon is None
    assert rows["pld"].noise_multiplier is None


def test_without_noise_there_is_nothing_to_compare() -> None:
    bare = plan(stages=(Stage(steps=5, batch_size=50, noise_multiplier=0.0),))
    for row in compare_accountants(bare, math.inf):
        assert row.as_dict()["epsilon"] == "inf"
        assert row.noise_multiplier is None
