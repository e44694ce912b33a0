"""Mechanisms by name, ours or from a module or a file; and the small space of colors."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.audits.candidates import candidates, color_space, load_class
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.mechanisms.claims import euclidean
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space

OWN = """
from __future__ import annotations
from dataclasses import dataclass
from sfumato import Guarantee, Space
from sfumato.guarantees.guarantee import metric_dp

class Plain:
    def __init__(self, space: Space, epsilon: float, size: int = 3, name="x"):
        self.space, self.epsilon, self.size, self.name = space, epsilon, size, name
    def guarantee(self) -> Guarantee:
        return metric_dp(epsilon=self.epsilon, metric=self.space.metric)
    def privatize(self, points, randomness):
        return points * 0

@dataclass(frozen=True, kw_only=True)
class Settled:
    space: Space
    epsilon: float
    size: int = 3
    guarantee = Plain.guarantee
    privatize = Plain.privatize

@dataclass(frozen=True, kw_only=True)
class OnlyLarge(Settled):
    def __post_init__(self):
        from sfumato.core.errors import InvalidArgument
        if self.space.dimension == 3 and self.space.name != "small":
            raise InvalidArgument("more dimensions, please")

class Silent:
    def __init__(self, space, epsilon):
        self.space = space
    def privatize(self, points, randomness):
        return points

class Bragging(Silent):
    def guarantee(self):
        return "very private"

class Failing(Silent):
    def guarantee(self):
        raise KeyError("epsilon")

NOT_A_CLASS = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "json.py").write_text(OWN, encoding="utf-8")  # the name of somebody else's module
    (tmp_path / "my_mechanisms.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_mechanisms", raising=False)
    return "json.py"


def test_a_name_of_the_catalog_is_built_over_both_spaces(small_space: Space) -> None:
    found = candidates("laplace", space=small_space, epsilon=2.0)
    assert [type(one) for one in found.mechanisms] == [Laplace, Laplace]
    points = [one for one in found.mechanisms if isinstance(one, PointMechanism)]
    assert points[0].space is small_space
    assert points[1].space.name == "40 names of colors"
    assert {one.guarantee().epsilon for one in points} == {2.0}


@pytest.mark.parametrize("place", ["json.py", "my_mechanisms", "./json.py"])
@pytest.mark.parametrize("name", ["Plain", "Settled"])
def test_a_class_of_ones_own_is_built_with_settings(
    small_space: Space, own: str, place: str, name: str
) -> None:
    found = candidates(f"{place}:{name}", space=small_space, epsilon=2.0, settings={"size": "7"})
    assert [vars(one)["size"] for one in found.mechanisms] == [7, 7]
    assert "json" in sys.modules
    assert hasattr(sys.modules["json"], "dumps"), "a file took the place of a module"


def test_a_mechanism_that_cannot_work_on_colors_is_tried_without(
    small_space: Space, own: str
) -> None:
    found = candidates(f"{own}:OnlyLarge", space=small_space, epsilon=1.0)
    assert len(found.mechanisms) == 1
    assert found.notes == ("not tried over colors: more dimensions, please",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Silent", r"Silent is no mechanism on points; it lacks guarantee\(\)"),
        ("Bragging", "must give a Guarantee, not str"),
        ("Failing", "Failing.*could not be made: KeyError"),
        ("Plane", "did you mean 'Plain'"),
        ("NOT_A_CLASS", "unknown class"),
    ],
)
def test_what_is_no_mechanism_is_told_what_is_missing(
    small_space: Space, own: str, name: str, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        candidates(f"{own}:{name}", space=small_space, epsilon=1.0)


def test_settings_nobody_has_are_refused(small_space: Space, own: str) -> None:
    for name in ("Plain", "Settled"):
        with pytest.raises(UnknownName, match="did you mean 'size'"):
            candidates(f"{own}:{name}", space=small_space, epsilon=1.0, settings={"sise": "2"})
        with pytest.raises(InvalidArgument, match="size='two' must be a whole number"):
            candidates(f"{own}:{name}", space=small_space, epsilon=1.0, settings={"size": "two"})


@pytest.mark.parametrize("place", ["nowhere.py", "nowhere_at_all"])
def test_a_place_that_is_not_there_is_named(own: str, place: str) -> None:
    with pytest.raises(InvalidArgument, match=place):
        load_class(f"{place}:Plain")


def test_code_that_cannot_be_imported_says_why(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("1 / 0\n", encoding="utf-8")
    with pytest.raises(InvalidArgument, match="failed: ZeroDivisionError"):
        load_class(f"{tmp_path / 'bad.py'}:Plain")


def test_code_that_leaves_the_program_is_not_taken_for_verified(
    tmp_path: Path, small_space: Space
) -> None:
    (tmp_path / "leaving.py").write_text("import sys; sys.exit(0)\n", encoding="utf-8")
    with pytest.raises(InvalidArgument, match="failed: SystemExit"):
        load_class(f"{tmp_path / 'leaving.py'}:Plain")
    later = "import sys\nclass Plain:\n    def __init__(self, space, epsilon): sys.exit(0)\n"
    (tmp_path / "later.py").write_text(later, encoding="utf-8")
    with pytest.raises(InvalidArgument, match="could not be made: SystemExit"):
        candidates(f"{tmp_path / 'later.py'}:Plain", space=small_space, epsilon=1.0)


@pytest.mark.parametrize(
    ("name", "settings", "inputs"),
    [
        ("date", {"shift": "each"}, [7]),
        ("number", {"step": "0.1"}, [7]),
        ("place", {}, [19_000, 200]),
    ],
)
def test_a_mechanism_of_stretches_brings_its_own_points(
    small_space: Space, name: str, settings: dict[str, object], inputs: list[int]
) -> None:
    made = candidates(name, space=small_space, epsilon=0.5, settings=settings).mechanisms
    found = [one for one in made if isinstance(one, PointMechanism)]
    assert [one.guarantee().epsilon for one in found] == [0.5] * len(inputs)
    assert all(len(one.space) >= size for one, size in zip(found, inputs, strict=True))
    with pytest.raises(UnknownName, match="setting of"):
        candidates(name, space=small_space, epsilon=0.5, settings={"colour": "red"})


def test_baselines_claim_nothing(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="nothing is claimed"):
        candidates("pseudonym", space=small_space, epsilon=1.0)


def test_the_search_path_is_left_as_it_was(small_space: Space, own: str) -> None:
    before = list(sys.path)
    candidates("my_mechanisms:Plain", space=small_space, epsilon=1.0)
    with pytest.raises(InvalidArgument):
        load_class("nowhere_at_all:Plain")
    assert sys.path == before


def test_colors_stand_where_their_codes_say() -> None:
    space = color_space(4.0)
    assert len(set(space.words)) == len(space) == 40
    assert space.vectors[space.point_of("white")].tolist() == [1.0, 1.0, 1.0]
    assert space.vectors[space.point_of("navy")] == pytest.approx([0, 0, 128 / 255])


def test_some_share_a_place_and_some_are_near_duplicates() -> None:
    space = color_space(1.0)
    away = euclidean(space, space.point_of("aqua"))
    assert away[space.point_of("cyan")] == 0
    assert 0 < euclidean(space, space.point_of("navy"))[space.point_of("darkblue")] < 0.2


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e3])
def test_the_scale_makes_claims_alike_at_every_level(epsilon: float) -> None:
    space = color_space(epsilon)
    bounds = np.stack([epsilon * euclidean(space, point) for point in range(41)])
    assert bounds.max() == pytest.approx(4.0 * 3**0.5, rel=1e-5)
