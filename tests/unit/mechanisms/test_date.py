"""Dates that are moved: one shift for a document, or one for each."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties.texts import texts
from sfumato.audits.verify import Effort, refute
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.date import OUTSIDE, Date
from sfumato.mechanisms.date_forms import Clock
from sfumato.mechanisms.geometric import ExactDraws
from sfumato.mechanisms.mechanism import StretchMechanism
from sfumato.mechanisms.written_dates import read_date
from sfumato.testing import check_mechanism
from sfumato.text.span import Span, Stretch


def found(*written: str, language: str = "") -> list[Stretch]:
    return [Stretch(0, len(one), one, Span(0, len(one), "DATE"), language) for one in written]


LEAP = datetime.date(2000, 1, 1)


def days(texts: Sequence[str]) -> list[int]:
    return [datetime.date.fromisoformat(text).toordinal() for text in texts]


def test_it_is_a_mechanism_for_stretches() -> None:
    assert isinstance(Date(epsilon=1), StretchMechanism)
    check_mechanism("date", settings={"epsilon": 0.5})
    check_mechanism("date", settings={"epsilon": 1e-12, "shift": "each"})


def test_one_shift_keeps_the_intervals_of_a_document() -> None:
    written = ["2021-05-12", "2020-02-29", "2021-05-12", "1999-12-31"]
    for seed in range(20):
        moved = Date(epsilon=0.05).replace(found(*written), Randomness.reproducible(seed))
        shifts = {new - old for new, old in zip(days(moved), days(written), strict=True)}
        assert len(shifts) == 1


def test_each_date_may_have_a_shift_of_its_own() -> None:
    mechanism = Date(epsilon=0.01, shift="each")
    moved = mechanism.replace(found(*["2021-05-12"] * 30), Randomness.reproducible(1))
    assert len(set(moved)) > 20


def test_two_documents_have_two_shifts() -> None:
    randomness = Randomness.reproducible(5)
    mechanism = Date(epsilon=0.001)
    moved = {mechanism.replace(found("2021-05-12"), randomness)[0] for _ in range(30)}
    assert len(moved) > 20


def test_what_cannot_be_read_becomes_its_type() -> None:
    assert Date(epsilon=1).replace(found("yesterday", "31.02.2021"), Randomness.secure()) == [
        "[DATE]",
        "[DATE]",
    ]


def test_dates_stay_between_public_years() -> None:
    mechanism = Date(epsilon=1e-6, first=2000, last=2010)
    for text in ("1815-12-10", "9999-12-31", "2005-01-01"):
        moved = {mechanism.replace(found(text), Randomness.secure())[0][:4] for _ in range(20)}
        assert moved <= {str(year) for year in range(2000, 2011)}


def test_the_language_of_the_document_decides_about_figures() -> None:
    exact = Date(epsilon=1e6)  # so high that nothing moves
    assert exact.replace(found("13/4/2021", "3/4/21", language="de"), Randomness.secure()) == [
        "13/04/2021",
        "03/04/21",
    ]
    assert exact.replace(found("13/4/2021", language="en"), Randomness.secure()) == ["[DATE]"]


def test_a_time_of_day_is_drawn_anew_whatever_it_was() -> None:
    for pair in (("2021-05-12T14:30:00", "2021-05-12T03:00:59"), ("9:05 am", "8:15 pm")):
        drawn = [Date(epsilon=1).replace(found(t), Randomness.reproducible(8)) for t in pair]
        assert drawn[0] == drawn[1]
    hours = {
        Date(epsilon=1e6).replace(found("14:30"), Randomness.secure())[0][:2] for _ in range(99)
    }
    assert len(hours) > 12


def spell_all(document: Sequence[str], shifts: Iterable[int]) -> list[tuple[str, ...]]:
    """What comes out of a document by each shift."""
    read = [one for text in document if (one := read_date(text)) is not None]
    limits = Date(epsilon=0.1)._limits
    return [
        tuple(one.form.spell(one.form.move(one.day, shift, limits), Clock(0)) for one in read)
        for shift in shifts
    ]


# Around the present, and where dates are kept between years.
SHIFTS = [edge + n for edge in (-44_400, -400, 0, 300, 28_700) for n in range(100)]


def differ_by(first: Sequence[str], second: Sequence[str], distance: int) -> bool:
    """Whether every shift of one document gives what a shift by ``distance`` less gives.

    That is the proof: the law of both is that of the shift, and no output of one is impossible in
    the other.
    """
    return spell_all(first, (n + distance for n in SHIFTS)) == spell_all(second, SHIFTS)


WITHOUT_YEAR = [
    f"{one.day} {one:%B}" for n in range(366) if (one := LEAP + datetime.timedelta(days=n))
]


@pytest.mark.parametrize("start", [0, 57, 58, 59, 60, 364, 365])
@pytest.mark.parametrize("distance", [1, 2, 365, 366])
def test_documents_that_differ_by_the_same_number_of_days(start: int, distance: int) -> None:
    """With and without a year, and weekdays: all counted as it is said."""

    def write(number: int) -> list[str]:
        date, days = datetime.date(2021, 1, 1) + datetime.timedelta(days=number), WITHOUT_YEAR
        return [
            date.isoformat(),
            f"{date:%A}",
            days[number % 366],
            f"{date:%a} {days[number % 366]}",
        ]

    assert differ_by(write(start), write(start + distance), distance)


def test_calendar_days_are_not_compared_where_no_year_says_whether_it_is_a_leap_year() -> None:
    """One day on in 2021 is two in the year of 366 days: they have no output in common."""
    first, second = ["2021-02-28", "28 February"], ["2021-03-01", "1 March"]
    assert not any(differ_by(first, second, distance) for distance in (1, 2))
    outputs = [set(spell_all(one, range(-999, 999))) for one in (first, second)]
    assert not outputs[0] & outputs[1]
    assert "in a year of 366 days" in Date(epsilon=0.1).guarantee().neighbors
    # Alone each is compared.
    assert differ_by(first[:1], second[:1], 1)
    assert differ_by(first[1:], second[1:], 2)


def test_the_statement_says_what_is_charged_and_what_shows() -> None:
    whole, each = Date(epsilon=0.1).guarantee(), Date(epsilon=0.1, shift="each").guarantee()
    assert whole.notion is each.notion is Notion.METRIC_DP
    assert (whole.unit, each.unit) == ("document", "stretch")
    assert "counts once, being one draw" in whole.sentence()
    assert "within 10 days, at most e (2.72) times likelier" in whole.sentence()
    assert "adds up across its privatized stretches" in each.sentence()
    assert any("how many days lie between" in leak for leak in whole.leaks)
    assert not any("how many days lie between" in leak for leak in each.leaks)
    assert whole.then(whole).epsilon == pytest.approx(0.2)
    assert OUTSIDE in whole.uncovered
    assert OUTSIDE in each.uncovered


@pytest.mark.parametrize(
    "settings",
    [{"epsilon": 0}, {"epsilon": -1}, {"epsilon": float("nan")}, {"epsilon": "much"},
     {"epsilon": 1, "shift": "week"}, {"epsilon": 1, "first": 2000, "last": 1999},
     {"epsilon": 1, "first": 0}, {"epsilon": 1, "last": 10_000}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        Date(**settings)  # type: ignore[arg-type]


@given(st.lists(texts, max_size=4), st.sampled_from(["document", "each"]))
def test_it_is_total(written: list[str], shift: str) -> None:
    replaced = Date(epsilon=0.3, shift=shift).replace(found(*written), Randomness.reproducible(2))
    assert len(replaced) == len(written)


# Sabotaged twins: what the claim would be, and what is drawn.


@dataclass(frozen=True, kw_only=True)
class HalfTheNoise(Date):
    """Claims epsilon and draws at twice that."""

    @property
    def _rate(self) -> Fraction:
        return Fraction(self.epsilon) * 2


@dataclass(frozen=True, kw_only=True)
class WithinAMonth(Date):
    """Draws again until the date stays in its month: the noise is shaped by the original."""

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        (stretch,) = stretches
        draws, here = ExactDraws(randomness), datetime.date.fromisoformat(stretch.text)
        while True:
            there = here + datetime.timedelta(days=draws.geometric(self._rate))
            if (there.year, there.month) == (here.year, here.month):
                return [there.isoformat()]


@pytest.mark.parametrize("twin", [HalfTheNoise, WithinAMonth])
def test_a_twin_is_refuted(twin: type[Date]) -> None:
    (points,) = twin(epsilon=0.4).points()
    verdict = refute(
        points, effort=Effort(draws=1200), randomness=Randomness.reproducible(3), confidence=0.999
    )
    assert verdict.refuted


@dataclass(frozen=True, kw_only=True)
class ChargedOnce(Date):
    """A shift for each date, claimed as if it were one for the document."""

    def guarantee(self) -> Guarantee:
        return replace(super().guarantee(), unit="document")


def test_a_shift_for_each_date_must_not_be_charged_once() -> None:
    """Two dates of a document, both moved by d: with two draws the loss is 2·epsilon·d."""
    honest, twin = Date(epsilon=0.5), ChargedOnce(epsilon=0.5, shift="each")
    here, there = found("2021-05-12", "2021-05-14"), found("2021-05-13", "2021-05-15")

    def chance(mechanism: Date, document: list[Stretch]) -> float:
        hits, source = 0, Randomness.reproducible(1)
        for _ in range(4000):
            moved = days(mechanism.replace(document, source))
            hits += moved[0] <= days(["2021-05-12"])[0] and moved[1] <= days(["2021-05-14"])[0]
        return hits / 4000

    allowed = 1.6487212707  # exp(0.5·1), charged once
    assert chance(honest, here) / chance(honest, there) < allowed * 1.1
    assert chance(twin, here) / chance(twin, there) > allowed * 1.2
