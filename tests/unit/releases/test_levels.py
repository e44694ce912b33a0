"""The Privatizer with levels."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from sklearn.base import clone

from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.levels import Levels
from sfumato.policies.patterns import Digits, Regex
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.sidefile import side_file
from sfumato.vectors.space import Space

TEXT = "Room 12, ask Okafor twice."
SECRET = "Okafor"


def levelled(*levels: Any, **changes: Any) -> Privatizer:
    return Privatizer(levels=list(levels), **changes)


def test_each_policy_has_its_level() -> None:
    privatizer = levelled((1e6, "digits"), (0.01, "regex:Room"), seed=1)
    (after,) = privatizer.privatize([TEXT])
    assert after.split()[1] == "12,", "at such a level nothing changes"
    assert not after.startswith("Room")
    assert after.endswith(" ask Okafor twice.")
    assert privatizer.guarantee().epsilon == 1e6
    assert privatizer.guarantee().notion is Notion.SELECTIVE_METRIC_DP
    assert (privatizer.tally_.words, privatizer.tally_.selected) == (5, 2)


def test_the_strictest_wins_where_they_overlap() -> None:
    privatizer = levelled((1e6, "everything"), (0.01, "digits"), seed=1)
    (after,) = privatizer.privatize(["room 12 ask paris"])
    first, number, *rest = after.split()
    assert [first, *rest] == ["room", "ask", "paris"], "at such a level nothing changes"
    assert number != "12"


def test_equal_levels_are_joined_and_policies_may_be_objects() -> None:
    privatizer = levelled((2, "digits"), (8, ["regex:ask", "regex:twice"]), (2.0, Regex("Room")))
    assert isinstance(privatizer.selective, Levels)
    named = [(one.epsilon, one.policy.name) for one in privatizer.selective.levels]
    assert named == [(2.0, "digits + regex"), (8.0, "regex + regex")]
    assert privatizer.key is None
    assert privatizer.resumable


def test_the_settings_show_names_and_levels_and_no_pattern() -> None:
    privatizer = levelled((2, f"regex:{SECRET}"), (8.25, "digits"), mechanism="vickrey")
    settings = privatizer.public_settings()
    assert settings["levels"] == [
        {"epsilon": 2.0, "policy": "regex"},
        {"epsilon": 8.25, "policy": "digits"},
    ]
    assert settings["policy"] == "levels(2: regex, 8.25: digits)"
    assert (settings["mechanism"], settings["epsilon"]) == ("vickrey", 8.25)
    assert settings["mechanism_settings"] == {"t": 0.5}
    privatizer.privatize([TEXT])
    written = side_file(privatizer, privatizer.tally_, has_fields=True)
    assert [one["epsilon"] for one in written["per_word"]["levels"]] == [2.0, 8.25]
    assert "exp(2·d)" in written["per_word"]["levels"][0]["statement"]
    assert SECRET not in json.dumps(written) + repr(privatizer)
    assert json.loads(json.dumps(settings)) == settings, "or no run could be resumed"


def test_copies_and_seeds() -> None:
    privatizer = levelled((1, "digits"), (2, "everything"), seed=3)
    first = privatizer.privatize([TEXT] * 5)
    for made in (clone(privatizer), pickle.loads(pickle.dumps(privatizer))):
        assert made.privatize([TEXT] * 5) == first
    assert not privatizer.guarantee().for_release
    free = levelled((1, "digits"), (2, "everything"))
    assert free.privatize([TEXT] * 5) != free.privatize([TEXT] * 5)


def test_one_space_serves_all_levels(small_space: Space) -> None:
    privatizer = levelled((1, "digits"), (2, "everything"), vectors=small_space)
    guarantee = privatizer.guarantee()
    assert guarantee.then(guarantee).epsilon == 4.0


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"epsilon": 5}, "leave out policy and epsilon"),
        ({"policy": "digits"}, "leave out policy and epsilon"),
        ({"policy": Digits()}, "leave out policy and epsilon"),
        ({"mechanism": "redact"}, "'redact' replaces whole stretches"),
        ({"mechanism": "levels"}, "'levels' wraps a word mechanism"),
        ({"mechanism": Laplace}, "levels need the name of a word mechanism"),
        ({"mechanism": "truncated"}, "levels with a different metric"),
        ({"levels": [(2, "pii"), 5]}, "levels are pairs"),
        ({"levels": "2=pii"}, "levels are pairs"),
        ({"levels": [(0, "pii")]}, "epsilon=0 must be greater than 0"),
        ({"levels": [("2", "pii")]}, "epsilon='2' must be a number"),
        ({"levels": [(2, "pi")]}, "did you mean 'pii'"),
        ({"levels": [(2, None)]}, "policy must be a name"),
        ({"levels": [(2, "pii"), (3, "nothing")]}, "selects no word"),
    ],
)
def test_bad_levels_are_refused(changes: dict[str, Any], complaint: str) -> None:
    given: dict[str, Any] = {"levels": [(2, "digits"), (8, "everything")]} | changes
    with pytest.raises(InvalidArgument, match=complaint):
        Privatizer(**given).guarantee()


def test_a_truncated_distance_that_is_the_same_for_all_levels_will_do() -> None:
    privatizer = levelled((2, "digits"), (8, "pii"), mechanism="truncated", settings={"gamma": "5"})
    assert "or 5 where that is smaller" in privatizer.guarantee().metric
