"""The Privatizer in memory: lists, scikit-learn, pandas, Hugging Face datasets."""

from __future__ import annotations

import pickle
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.laplace import Laplace
from sfumato.policies.patterns import Digits
from sfumato.releases.privatizer import Privatizer
from sfumato.vectors.space import Space

CANARY = "145572"
TEXTS = [f"My ID is {CANARY}.", "No number here.", "Room 7, floor 12"]


def digits(**changes: Any) -> Privatizer:
    given: dict[str, Any] = {"policy": "digits", "mechanism": "laplace", "epsilon": 5.0} | changes
    return Privatizer(**given)


def test_a_list_gives_a_list_and_only_the_selected_words_change() -> None:
    after = digits().privatize(TEXTS)
    assert isinstance(after, list)
    assert after[1] == TEXTS[1]
    assert after[0].startswith("My ID is ")
    assert after[0].endswith(".")
    assert CANARY not in after[0]


def test_objects_may_stand_for_names(small_space: Space) -> None:
    mechanism = Laplace(space=small_space, epsilon=2.0)
    privatizer = Privatizer(policy=Digits(), mechanism=mechanism)
    (after,) = privatizer.privatize(["cat 12"])
    assert after.split()[0] == "cat"
    assert after.split()[1] in small_space.words
    assert privatizer.guarantee().epsilon == 2.0


def test_the_settings_of_the_mechanism_are_written_down() -> None:
    privatizer = digits(mechanism="mahalanobis", settings={"lambda": "0.3"})
    assert privatizer.public_settings()["mechanism_settings"] == {"lambda": 0.3}


def test_two_calls_use_fresh_noise_and_a_seed_repeats_it() -> None:
    long = ["1 2 3 4 5 6 7 8 9 10 11 12"] * 4
    secure = digits(epsilon=1.0)
    assert secure.privatize(long) != secure.privatize(long)
    one, two = digits(epsilon=1.0, seed=3), digits(epsilon=1.0, seed=3)
    assert one.privatize(long) == two.privatize(long)
    assert one.privatize(long) == two.privatize(long)
    assert not one.guarantee().for_release
    assert digits().guarantee().for_release


def test_a_copy_in_another_process_does_not_share_the_noise() -> None:
    privatizer = digits(epsilon=1.0)
    long = ["1 2 3 4 5 6 7 8 9 10 11 12"] * 4
    privatizer.privatize(long)
    twin = pickle.loads(pickle.dumps(privatizer))
    assert twin.privatize(long) != privatizer.privatize(long)


def test_the_guarantee_names_the_policy_and_everything_is_plain_metric_privacy() -> None:
    assert digits().guarantee().notion is Notion.SELECTIVE_METRIC_DP
    assert "'digits'" in digits().guarantee().sentence()
    assert digits(policy="everything").guarantee().notion is Notion.METRIC_DP
    assert digits(policy="nothing").guarantee().notion is Notion.NONE


def test_kept_unknown_words_are_counted_by_the_guarantee() -> None:
    privatizer = digits(unknown="keep")
    assert CANARY in privatizer.privatize(TEXTS)[0]
    assert any("1 selected words outside" in line for line in privatizer.guarantee().uncovered)


def test_capitals_come_back_only_when_asked_and_are_listed() -> None:
    shouted = digits(policy="everything", case="restore", epsilon=1e6).privatize(["LONDON Paris"])
    assert shouted == ["LONDON Paris"]
    assert digits(policy="everything", epsilon=1e6).privatize(["LONDON Paris"]) == ["london paris"]
    assert "capitals" in digits(case="restore").guarantee().sentence()
    assert "capitals" not in digits().guarantee().sentence()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"epsilon": None}, "epsilon is missing"),
        ({"epsilon": 0}, "epsilon=0 must be greater than 0"),
        ({"epsilon": "5"}, "epsilon='5' must be a number"),
        ({"policy": "digit"}, "did you mean 'digits'"),
        ({"policy": None}, "policy must be a name"),
        ({"mechanism": 3}, "mechanism must be a name"),
        ({"mechanism": "laplac"}, "did you mean 'laplace'"),
        ({"unknown": "drop"}, "unknown value for unknown"),
        ({"seed": -1}, "seed=-1 must be at least 0"),
        ({"settings": {"lamda": 1}}, "unknown setting of laplace 'lamda'"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        digits(**changes).privatize(TEXTS)


@pytest.mark.parametrize(
    "texts", ["one text", b"bytes", 5, {"a": "b"}, {"a set"}, pd.DataFrame({"text": ["a"]})]
)
def test_one_text_is_not_many(texts: object) -> None:
    with pytest.raises(BadInput, match="takes many texts"):
        digits().privatize(texts)


def test_something_that_is_not_text_is_named_by_its_place() -> None:
    with pytest.raises(BadInput, match=r"item 1 is not a text \(int\)"):
        digits().privatize(["a", 5])


def test_a_lone_surrogate_is_named_by_its_place_and_not_quoted() -> None:
    with pytest.raises(BadInput, match=r"item 1: .* lone surrogate at character 7") as caught:
        digits().privatize(["fine", "secret \ud800"])
    assert "secret" not in str(caught.value)


def test_missing_values_stay_missing() -> None:
    assert digits().privatize(["a 1", None, float("nan")])[1:] == [None, None]


def test_a_series_keeps_its_index_name_and_kind() -> None:
    series = pd.Series([*TEXTS, None], index=list("abcd"), name="note")
    after = digits().privatize(series)
    assert isinstance(after, pd.Series)
    assert (after.name, list(after.index)) == ("note", list("abcd"))
    assert after.dtype == series.dtype
    assert after["b"] == TEXTS[1]
    assert after.isna()["d"]
    assert series.iloc[:2].map(digits())["b"] == TEXTS[1]


def test_a_categorical_series_does_not_carry_the_originals_in_its_type() -> None:
    secret = pd.Series(["Ngozi Okafor", "London"], dtype="category")
    after = digits(policy="everything").privatize(secret)
    assert not hasattr(after.dtype, "categories")
    assert after.notna().all()
    assert b"Okafor" not in pickle.dumps(after)


def test_an_array_gives_an_array() -> None:
    after = digits().privatize(np.array(TEXTS, dtype=object))
    assert isinstance(after, np.ndarray)
    assert after[1] == TEXTS[1]


def test_a_step_of_a_pipeline() -> None:
    pipeline = make_pipeline(digits(), CountVectorizer(), LogisticRegression())
    pipeline.fit(["good 1", "bad 2", "good 3", "bad 4"], [1, 0, 1, 0])
    assert pipeline.predict(["good 9"]).tolist() == [1]
    assert "privatizer" in repr(pipeline)


def test_cloning_and_changing_parameters_forgets_what_was_built() -> None:
    privatizer = digits()
    privatizer.privatize(TEXTS)
    other = clone(privatizer).set_params(epsilon=1.0)
    assert other.guarantee().epsilon == 1.0
    assert privatizer.set_params(epsilon=2.0).guarantee().epsilon == 2.0
    with pytest.raises(InvalidArgument, match="not a parameter: epsilom"):
        privatizer.set_params(epsilom=1.0)


def test_a_dataset_is_mapped_batched_or_row_by_row() -> None:
    data = datasets.Dataset.from_dict({"text": TEXTS, "label": [1, 0, 1]})
    for batched in (True, False):
        after = data.map(digits().column("text"), batched=batched)
        assert after["text"][1] == TEXTS[1]
        assert CANARY not in after["text"][0]
        assert list(after["label"]) == [1, 0, 1]
    with pytest.raises(BadInput, match="there is no column 'txt'"):
        digits().column("txt")({"text": "a"})
