"""The share of words that stay: of the mechanism, never of the text, and carried everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.mechanisms.redact import Redact
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.staying import share_expected_to_stay
from sfumato.verbs.privatize import privatize


def share(**settings: object) -> float | None:
    made = Privatizer(policy="digits", **settings)  # type: ignore[arg-type]
    return share_expected_to_stay(made.selective)


def test_the_share_grows_with_the_level_and_masks_have_none() -> None:
    low, high = (share(mechanism="laplace", epsilon=epsilon) for epsilon in (2, 40))
    assert low is not None
    assert high is not None
    assert low < 0.2
    assert high > 0.9
    assert share(mechanism="redact") is None


def test_tables_and_levels_have_the_share_of_their_words() -> None:
    alone = share(mechanism="laplace", epsilon=40)
    assert share(mechanism="laplace", epsilon=40, by_type={"PERSON": Redact()}) == alone
    levels = Privatizer(mechanism="laplace", levels=[(2, "digits"), (40, "regex:x")])
    assert share_expected_to_stay(levels.selective) == alone


def stored(folder: Path, text: str, **settings: object) -> dict[str, object]:
    source, output = folder / "in.txt", folder / "out.txt"
    source.write_text(text, encoding="utf-8")
    privatize(source, output, policy="digits", overwrite=True, **settings)  # type: ignore[arg-type]
    found: dict[str, object] = json.loads((folder / "out.txt.guarantee.json").read_text())
    return found


def test_it_stands_in_the_side_file_and_does_not_depend_on_the_text(tmp_path: Path) -> None:
    one = stored(tmp_path, "Room 12", mechanism="laplace", epsilon=40)
    other = stored(tmp_path, "many words 1 2 3 four x99y", mechanism="laplace", epsilon=40)
    found = one["guarantee"]
    assert isinstance(found, dict)
    assert found["stays"] > 0.9
    assert one["guarantee"] == other["guarantee"]
    assert one["summary"] == other["summary"]
    assert "stay as they are" in str(one["sentence"])


@pytest.mark.parametrize("settings", [{"mechanism": "redact"}, {"mechanism": "pseudonym"}])
def test_baselines_have_no_share(tmp_path: Path, settings: dict[str, object]) -> None:
    found = stored(tmp_path, "Room 12", **settings)["guarantee"]
    assert isinstance(found, dict)
    assert "stays" not in found
