"""Places become other places, the likelier the nearer.

Guarantee
    Metric DP at level ``epsilon`` per km, about places of one kind that the gazetteer knows: what
    comes out is at most exp(epsilon·d) times likelier for one city than for another that is d km
    away. So with ``epsilon=0.02`` two cities within 50 km differ by a factor of e at most. The same
    holds among countries, each of which stands where its capital is.

Why it holds
    A name is looked up in a public gazetteer, and only the place goes on from there. It becomes
    another place of the same kind by a mechanism on points of the globe (``globe``); its name, with
    its country if one was found, is a function of that place, hence post-processing.

What does not hold
    The kind shows (a city, a country, a city with its country). Capitals do not: names are written
    as the gazetteer has them, since "U.S." is in capitals where "Peru" is not. Which of several
    places of a name was meant is not known: the most populous is taken, as for everybody. A name
    that the gazetteer does not know has no place. It becomes a city drawn from all of them alike
    (``unknown="draw"``), whatever the name was, or its type in square brackets
    (``unknown="mask"``). A name that is known is not hidden among those that are not.

Care
    A level per km means little without its scale: countries are hundreds of km apart, and at 0.02
    almost all of them stay as they are. A place that stands twice gets two draws, and costs twice.
    Cities have 30,000 people at least; a village is an unknown name. Draws have the precision of
    all mechanisms with rows (``rows``).

Reference
    Andrés, Bordenabe, Chatzikokolakis and Palamidessi 2013, "Geo-indistinguishability: differential
    privacy for location-based systems". Places: GeoNames, CC BY 4.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from sfumato.core.checks import one_of
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.gazetteer import CITY, COUNTRY, gazetteer
from sfumato.mechanisms.geometric import ExactDraws
from sfumato.mechanisms.globe import METRIC, GlobeNoise, GlobeRows
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.redact import TYPE_LEAK, mask
from sfumato.text.span import Stretch

LAWS = ("exponential", "laplace")
UNKNOWN = ("draw", "mask")
LONGEST = 100  # characters; no name is longer
FORM_LEAK = "whether a place is a city, a country or a city with its country"
UNKNOWN_LEAK = "whether the gazetteer knows a name, as far as that can be told from its replacement"


@dataclass(frozen=True, slots=True)
class WrittenPlace:
    """A place by its number among those of its kind, and the form in which it is named."""

    kind: str
    number: int
    with_country: bool

    def spell(self, number: int) -> str:
        """The name of another place of the kind, in this form."""
        known = gazetteer(self.kind)
        name = known.names[number]
        if self.with_country:
            name = f"{name}, {_country_names().get(known.countries[number], '')}".rstrip(", ")
        return name


@dataclass(frozen=True, kw_only=True)
class Place:
    """Replace places by others, the likelier the nearer; ``epsilon`` is per km.

    >>> from sfumato.text.span import Span
    >>> found = [Stretch(0, 10, "Heidelberg", Span(0, 10, "LOCATION"))]
    >>> Place(epsilon=0.1).replace(found, Randomness.reproducible(1))
    ['Ludwigshafen am Rhein']
    """

    epsilon: float
    law: str = "exponential"
    unknown: str = "draw"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_level(self.epsilon))
        one_of("law", self.law, LAWS)
        one_of("unknown", self.unknown, UNKNOWN)

    def guarantee(self) -> Guarantee:
        """Metric DP in km, among places of one kind."""
        known = (gazetteer(CITY).space, gazetteer(COUNTRY).space)
        stated = metric_dp(epsilon=self.epsilon, metric=METRIC, unit="stretch", about=known)
        return replace(
            stated,
            scope="every place that the gazetteer knows",
            neighbors="any two places of the same kind, named in the same form",
        ).leaking(FORM_LEAK, UNKNOWN_LEAK, TYPE_LEAK)

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        """Another place for each, with a draw of its own."""
        written = [read_place(one.text) for one in stretches]
        draws = ExactDraws(randomness)
        replaced = [self._replace_unknown(one, draws) for one in stretches]
        for kind in (CITY, COUNTRY):
            mine = {n: one for n, one in enumerate(written) if one is not None and one.kind == kind}
            points = np.array([one.number for one in mine.values()], dtype=np.intp)
            drawn = self.on_globe(kind).privatize(points, randomness).tolist() if mine else []
            # Only the drawn places go on from here, and the forms.
            for (place, form), number in zip(mine.items(), drawn, strict=True):
                replaced[place] = form.spell(number)
        return replaced

    def points(self) -> tuple[GlobeRows | GlobeNoise, ...]:
        """The same over all cities and over all countries, to put its claim to the test."""
        return self.on_globe(CITY), self.on_globe(COUNTRY)

    def on_globe(self, kind: str) -> GlobeRows | GlobeNoise:
        """The mechanism on the places of a kind."""
        if kind not in self._on_globe:
            made = GlobeRows if self.law == "exponential" else GlobeNoise
            self._on_globe[kind] = made(space=gazetteer(kind).space, epsilon=self.epsilon)
        return self._on_globe[kind]

    @cached_property
    def _on_globe(self) -> dict[str, GlobeRows | GlobeNoise]:
        return {}

    def _replace_unknown(self, stretch: Stretch, draws: ExactDraws) -> str:
        if self.unknown == "mask":
            return mask(stretch)
        # Nothing of the name is looked at, not even its letters.
        cities = gazetteer(CITY).names
        return cities[draws.below(len(cities))]

    def __getstate__(self) -> dict[str, Any]:
        # The settings only: which rows are kept shows which places were privatized.
        return {field.name: getattr(self, field.name) for field in fields(self)}


def read_place(text: str) -> WrittenPlace | None:
    """The place that a text names; nothing if the gazetteer knows none.

    >>> read_place("Paris, France").with_country, read_place("FRANKREICH").kind
    (True, 'country')
    """
    if len(text) > LONGEST:
        return None
    before, comma, after = text.partition(",")
    if comma:
        country = _find(COUNTRY, after)
        code = None if country is None else gazetteer(COUNTRY).countries[country]
        city = None if code is None else gazetteer(CITY).find(before, code)
        return None if city is None else WrittenPlace(CITY, city, True)
    for kind in (COUNTRY, CITY):
        number = _find(kind, text)
        if number is not None:
            return WrittenPlace(kind, number, False)
    return None


def _find(kind: str, name: str) -> int | None:
    found = gazetteer(kind).find(name)
    if found is None and name.strip().lower().startswith("the "):
        found = gazetteer(kind).find(name.strip()[4:])
    return found


@cache
def _country_names() -> dict[str, str]:
    known = gazetteer(COUNTRY)
    return dict(zip(known.countries, known.names, strict=True))
