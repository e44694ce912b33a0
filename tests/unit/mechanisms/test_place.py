"""Places that become others: what is looked up, what comes out, and what is claimed."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties.texts import texts
from sfumato.audits.verify import Effort, refute
from sfumato.core.arrays import Floats, Points
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.gazetteer import CITY, COUNTRY, RADIUS, fold, gazetteer
from sfumato.mechanisms.globe import GlobeNoise, GlobeRows
from sfumato.mechanisms.mechanism import StretchMechanism
from sfumato.mechanisms.place import Place, read_place
from sfumato.testing import check_mechanism
from sfumato.text.span import Span, Stretch
from sfumato.vectors.space import Space

UNMOVED = 1e6  # a level at which nothing moves


def found(*written: str) -> list[Stretch]:
    return [Stretch(0, len(one), one, Span(0, len(one), "LOCATION")) for one in written]


def named(name: str, kind: str = CITY) -> str:
    number = gazetteer(kind).find(name)
    assert number is not None
    return f"{gazetteer(kind).names[number]}, {gazetteer(kind).countries[number]}"


def some_cities(*names: str) -> Space:
    """A few cities as a space of their own."""
    known = gazetteer(CITY)
    numbers = [known.find(name) for name in names]
    assert None not in numbers
    vectors = known.space.vectors[np.array(numbers, dtype=np.intp)]
    return Space("some cities", list(names), vectors)


def test_it_is_a_mechanism_for_stretches() -> None:
    assert isinstance(Place(epsilon=1), StretchMechanism)
    check_mechanism("place", settings={"epsilon": 0.02})
    check_mechanism("place", settings={"epsilon": 0.5, "law": "laplace", "unknown": "mask"})


@pytest.mark.parametrize(
    ("name", "place"),
    [("München", "Munich, DE"), ("MUENCHEN", "Munich, DE"), ("Wien", "Vienna, AT"),
     ("Londres", "London, GB"), ("New York", "New York City, US"), ("Genf", "Geneva, CH"),
     ("Rom", "Rome, IT"), ("Boston", "Boston, US"), ("Zurich", "Zürich, CH")],
)  # fmt: skip
def test_a_city_is_known_by_its_names(name: str, place: str) -> None:
    assert named(name) == place


@pytest.mark.parametrize(
    ("name", "place"),
    [("Deutschland", "Germany, DE"), ("U.S.", "United States, US"), ("España", "Spain, ES"),
     ("royaume-uni", "United Kingdom, GB"), ("Kenya", "Kenya, KE")],
)  # fmt: skip
def test_a_country_is_known_by_its_names(name: str, place: str) -> None:
    assert named(name, COUNTRY) == place


def test_places_are_where_they_are() -> None:
    cities = gazetteer(CITY).space
    points = np.array([gazetteer(CITY).find(name) for name in ("Paris", "London")], dtype=np.intp)
    assert np.linalg.norm(cities.vectors, axis=1) == pytest.approx(RADIUS, rel=1e-6)
    # 344 km along the ground; through the earth a little less.
    assert cities.distances_from(int(points[0]))[points[1]] == pytest.approx(344, abs=2)


def test_a_place_keeps_its_kind_and_its_form() -> None:
    mechanism = Place(epsilon=0.002)
    forms = found("Paris", "PARIS", "Paris, France", "Germany", "the Netherlands")
    countries = set(gazetteer(COUNTRY).names)
    for seed in range(5):
        one, loud, full, *lands = mechanism.replace(forms, Randomness.reproducible(seed))
        assert {one, loud} <= set(gazetteer(CITY).names)
        assert full.partition(", ")[2] in countries
        assert set(lands) <= countries


def test_without_noise_places_stay_as_they_are() -> None:
    written = ["Paris", "Heidelberg", "Boston, United States", "Germany"]
    assert Place(epsilon=UNMOVED).replace(found(*written), Randomness.secure()) == written


def spell_like(text: str, name: str) -> str:
    """The twin that writes a name with the capitals of the original."""
    return name.upper() if text.isupper() else name.lower() if text.islower() else name


def test_no_name_of_a_place_shows_in_its_replacement() -> None:
    """With the same draw all names of a place, in any letters, become the same name."""
    countries = gazetteer(COUNTRY)
    for number in (countries.find("USA"), countries.find("Germany"), countries.find("UAE")):
        assert number is not None
        spelled = {countries.names[number], *countries.others[number]}
        texts = {case(one) for one in spelled for case in (str, str.upper, str.lower)}
        same = [text for text in texts if read_place(text) == read_place(countries.names[number])]
        drawn = {
            text: Place(epsilon=1e-3).replace(found(text), Randomness.reproducible(4))[0]
            for text in same
        }
        assert len(set(drawn.values())) == 1
        assert len({spell_like(text, name) for text, name in drawn.items()}) > 1
    # "U.S." has capitals whatever its writer does elsewhere, and "USA" three letters.
    for text in ("U.S.", "USA", "UK", "PERU", "peru"):
        (drawn_name,) = Place(epsilon=1e-3).replace(found(text), Randomness.secure())
        assert drawn_name in countries.names


def test_the_inequality_holds_at_the_edges_of_the_map() -> None:
    """Cities beside the antimeridian and nearest to the poles, by the way along the ground."""
    degrees = gazetteer(CITY).degrees
    edges = [*np.argsort(degrees[:, 1])[:12], *np.argsort(-degrees[:, 1])[:12]]
    edges += [*np.argsort(degrees[:, 0])[:8], *np.argsort(-degrees[:, 0])[:8]]
    numbers = np.unique(np.array(edges, dtype=np.intp))
    rows = Place(epsilon=0.02).on_globe(CITY)
    assert isinstance(rows, GlobeRows)
    logs = rows.log_rows(numbers)
    latitude, longitude = np.radians(degrees[numbers]).T[:, :, None]
    half = np.sin((latitude - latitude.T) / 2) ** 2
    half = half + np.cos(latitude) * np.cos(latitude.T) * np.sin((longitude - longitude.T) / 2) ** 2
    ground = 2 * RADIUS * np.arcsin(np.sqrt(half))
    assert worst_excess(logs, 0.02 * ground) < 1e-6
    # The twin that measures on the map has cities on either side of its edge far apart.
    flat = np.hypot(latitude - latitude.T, (longitude - longitude.T) * np.cos(latitude)) * RADIUS
    twin = -0.01 * flat - np.log(np.exp(-0.01 * flat).sum(axis=1, keepdims=True))
    assert worst_excess(twin, 0.02 * ground) > 1


def worst_excess(logs: Floats, allowed: Floats) -> float:
    """By how much the loss of any pair of rows exceeds what is allowed."""
    losses = np.array([(row - logs).max(axis=1) for row in logs])
    return float((losses - allowed).max())


def test_an_unknown_name_is_drawn_from_all_cities_whatever_it_was() -> None:
    mechanism = Place(epsilon=0.02)
    unknown = ["Narnia", "x" * 500, "Gondor, Middle-earth", "", "日本のどこか"]
    drawn = {mechanism.replace(found(one), Randomness.reproducible(4))[0] for one in unknown}
    assert len(drawn) == 1
    assert drawn <= set(gazetteer(CITY).names)
    several = mechanism.replace(found(*["Narnia"] * 50), Randomness.reproducible(5))
    assert len(set(several)) > 45
    masked = Place(epsilon=0.02, unknown="mask").replace(found("Narnia"), Randomness.secure())
    assert masked == ["[LOCATION]"]


def test_each_place_has_a_draw_of_its_own() -> None:
    drawn = Place(epsilon=0.01).replace(found(*["Heidelberg"] * 50), Randomness.reproducible(1))
    assert len(set(drawn)) > 30


@pytest.mark.parametrize("epsilon", [0.001, 0.02, 1.0])
def test_the_inequality_holds_for_all_pairs_of_countries(epsilon: float) -> None:
    """Exact rows, in the distance through the earth and so in the longer one along the ground."""
    points = Place(epsilon=epsilon).on_globe(COUNTRY)
    assert isinstance(points, GlobeRows)
    rows = points.log_rows(np.arange(len(points.space), dtype=np.intp))
    for first in range(len(rows)):
        away = points.space.distances_from(first)
        along = 2 * RADIUS * np.arcsin(np.minimum(1.0, away / (2 * RADIUS)))
        assert (away <= along * (1 + 1e-6)).all()
        losses = (rows[first] - rows).max(axis=1)
        assert (losses <= epsilon * away * (1 + 1e-9) + 1e-9 * np.abs(rows).max()).all()


def test_the_statement_says_what_a_level_per_km_means() -> None:
    stated = Place(epsilon=0.02).guarantee()
    assert (stated.notion, stated.unit) == (Notion.METRIC_DP, "stretch")
    assert "within 50 km, at most e (2.72) times likelier" in stated.sentence()
    assert stated.then(Place(epsilon=0.03).guarantee()).epsilon == pytest.approx(0.05)


def test_a_copy_takes_no_rows_along() -> None:
    mechanism = Place(epsilon=0.02)
    mechanism.replace(found("Heidelberg"), Randomness.secure())
    assert len(pickle.dumps(mechanism)) < 1000
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism


@pytest.mark.parametrize(
    "settings",
    [{"epsilon": 0}, {"epsilon": "much"}, {"epsilon": 1, "law": "planar"},
     {"epsilon": 1, "unknown": "keep"}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        Place(**settings)  # type: ignore[arg-type]


@given(st.lists(texts, max_size=4))
def test_it_is_total(written: list[str]) -> None:
    drawn = Place(epsilon=0.1).replace(found(*written), Randomness.reproducible(2))
    assert len(drawn) == len(written)
    assert all(read_place(one) is not None for one in drawn)


@given(texts)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


# Sabotaged twins.


@dataclass(frozen=True, kw_only=True)
class WholeLevel(GlobeRows):
    """Forgets that the sum of all weights depends on the original, too."""

    def log_rows(self, points: Points) -> Floats:
        return GlobeRows(space=self.space, epsilon=2 * self.epsilon).log_rows(points)


@dataclass(frozen=True, kw_only=True)
class HalfTheNoise(GlobeNoise):
    """Noise at twice the level."""

    def noise(self, count: int, randomness: Randomness) -> Floats:
        return super().noise(count, randomness) / 2


@dataclass(frozen=True, kw_only=True)
class NearestOnly(GlobeRows):
    """Draws among the three nearest places: the others are ruled out."""

    def log_rows(self, points: Points) -> Floats:
        rows = super().log_rows(points)
        third = np.sort(rows, axis=1)[:, -3][:, None]
        weights = np.where(rows >= third, np.exp(rows), 0.0)
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(weights / weights.sum(axis=1, keepdims=True))
        return logs


NEAR = ("Heidelberg", "Mannheim", "Ludwigshafen am Rhein", "Karlsruhe", "Darmstadt", "Heilbronn",
        "Frankfurt am Main", "Stuttgart")  # fmt: skip


def refuted(points: GlobeRows | GlobeNoise) -> bool:
    return refute(
        points, effort=Effort(draws=4000), randomness=Randomness.reproducible(3), confidence=0.999
    ).refuted


@pytest.mark.parametrize("twin", [WholeLevel, HalfTheNoise, NearestOnly])
def test_a_twin_is_refuted(twin: type[GlobeRows | GlobeNoise]) -> None:
    assert refuted(twin(space=some_cities(*NEAR), epsilon=0.03))


def test_the_name_looked_up_is_all_that_decides() -> None:
    """Two spellings of a place are one place: the same draws give the same outputs."""

    def draw(names: Sequence[str]) -> list[str]:
        return Place(epsilon=0.02).replace(found(*names), Randomness.reproducible(6))

    assert draw(["Munich", "Cologne"]) == draw(["München", "Köln"])
