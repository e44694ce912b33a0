"""Dates moved by a random number of days, written in the same form.

Guarantee
    Metric DP at level ``epsilon`` in days. With ``shift="document"`` (the default) one number of
    days is drawn for a document and added to all of its dates: two documents whose dates have the
    same forms, and differ by the same number d of days throughout, give any output with chances
    that differ by at most the factor exp(epsilon·d). That is charged once, however many dates there
    are. Dates without a year are counted in a year of 366 days that begins again after its end, and
    weekdays that stand without a year in a week.
    With ``shift="each"`` every date has a draw of its own, the statement is about one date, and a
    document costs the sum over its dates.

Why it holds
    The shift is two-sided geometric noise on all whole numbers (``geometric``), drawn exactly.
    Dates are read into a form and a number of days; what comes out is a function of the forms,
    which are the same in both documents, and of the numbers after the shift. Keeping the dates
    between the years ``first`` and ``last`` and writing them again are functions of these alone,
    hence post-processing. With one shift for all, the numbers of two such documents differ by d
    throughout, so a shift that is d larger in one of them gives the same output. A form is a way to
    write that any day could have been written in (``written_dates``): no zero, name, order or
    language in it depends on the day.

    A time of day is drawn anew, all times being equally likely, and its zone is written as UTC: of
    those nothing shows but that they stand there and how.

What does not hold
    With one shift per document all intervals between its dates show, and so do equal dates. Two
    documents with other intervals are not compared; with ``shift="each"`` they are. That goes for
    dates with a year beside dates without one, too: from 28 February to 1 March two days are
    counted where no year is written and one in 2021, so documents that lie on either side of that
    day, or years apart, do not differ by the same number throughout.
    The form shows. So does that something cannot be read ("yesterday", 31 February, 13/4 where the
    month comes first): it becomes its type in square brackets. A year alone counts as its 1st of
    July, a month of a year as its 15th day: a shift of some days rarely changes a year.
    What stands outside of the dates that were found stays. A weekday there shows the shift up to
    whole weeks; the recognizer of the policy ``pii`` takes one beside a date along with it.

Care
    A date alone without a year is no farther from another than the shorter way round. ``day_first``
    says how 3/4/2021 is read; without it the month comes first in English and where no language is
    known. Names come out in the language of the document: set it where that is not English. The
    levels of ``number`` and ``place`` are in other distances, and do not add up with this one.

Reference
    Chatzikokolakis et al. 2013, "Broadening the scope of differential privacy using metrics"; the
    shift of all dates of a record by one number of days follows the practice for medical records
    (MIMIC, i2b2), which draws it from an interval and proves nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.date_forms import Clock
from sfumato.mechanisms.geometric import ExactDraws
from sfumato.mechanisms.line import WINDOW, OnLine, spread
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.redact import TYPE_LEAK, mask
from sfumato.mechanisms.written_dates import WrittenDate, read_date
from sfumato.text.span import Stretch

SHIFTS = ("document", "each")
METRIC = "days between dates"
FORM_LEAK = (
    "how a date is written (the order of its parts, names or figures, capitals, how many digits a "
    "year has, what stands between, which parts are missing), and that something found as a date "
    "could not be read as one, be it because there is no such day in the order that applies"
)
INTERVAL_LEAK = "how many days lie between the dates of a document, and which of them are equal"
OUTSIDE = "what tells a date outside of those that were found (a weekday, a feast, an age)"
SAME_SHIFT = (
    "documents whose dates have the same forms and are all moved by the same number of days, those "
    "without a year in a year of 366 days"
)
_EARLIEST, _LATEST = 1, 9999
_DAY = 24 * 60 * 60


@dataclass(frozen=True, kw_only=True)
class Date:
    """Move dates by a random number of days; ``epsilon`` is per day.

    >>> from sfumato.text.span import Span
    >>> texts = ["12 May 2021", "Friday, 14 May 2021", "soon"]
    >>> found = [Stretch(0, len(text), text, Span(0, len(text), "DATE")) for text in texts]
    >>> Date(epsilon=0.1).replace(found, Randomness.reproducible(4))
    ['13 May 2021', 'Saturday, 15 May 2021', '[DATE]']
    """

    epsilon: float
    shift: str = "document"
    day_first: bool | None = None
    first: int = 1900
    last: int = 2100

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_level(self.epsilon))
        one_of("shift", self.shift, SHIFTS)
        at_least("first", self.first, _EARLIEST, _LATEST)
        at_least("last", self.last, _EARLIEST, _LATEST)
        if self.first > self.last:
            raise InvalidArgument(f"first={self.first} must not be after last={self.last}")

    def guarantee(self) -> Guarantee:
        """Metric DP in days, about a document with one shift, or about each date."""
        stated = metric_dp(
            epsilon=self.epsilon,
            metric=METRIC,
            unit="document" if self.shift == "document" else "stretch",
            about=("dates", self.first, self.last, self.day_first),
        )
        if self.shift == "document":
            stated = replace(
                stated,
                scope="all dates of a document together",
                neighbors=SAME_SHIFT,
            ).leaking(INTERVAL_LEAK)
        else:
            stated = replace(stated, scope="every date", neighbors="any two dates of the same form")
        return stated.leaking(FORM_LEAK, TYPE_LEAK).not_covering(OUTSIDE)

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        """Each date moved and written in its own form; what cannot be read becomes its type."""
        draws = ExactDraws(randomness)
        written = [read_date(one.text, one.language, self.day_first) for one in stretches]
        together = draws.geometric(self._rate) if self.shift == "document" and written else None
        replaced = []
        for stretch, date in zip(stretches, written, strict=True):
            if date is None:
                replaced.append(mask(stretch))
                continue
            days = draws.geometric(self._rate) if together is None else together
            replaced.append(self._move(date, days, draws))
        return replaced

    def points(self) -> tuple[OnLine]:
        """The same over some dates of a public window, to put its claim to the test."""
        low, high = self._limits
        places = spread(self.epsilon, (high - low) // 2) + (low + high) // 2
        if len(np.unique(np.clip(places, low, high))) < WINDOW:
            raise InvalidArgument("first and last leave too few days to look at")
        window = OnLine(
            mechanism=self,
            texts=[datetime.date.fromordinal(place).isoformat() for place in places.tolist()],
            places=places,
            unit=1.0,
            read=_number_of_days,
            label="DATE",
        )
        return (window,)

    def _move(self, date: WrittenDate, days: int, draws: ExactDraws) -> str:
        form = date.form
        clock = Clock(0)
        if "hour" in form.fields:
            # A time of day is not moved but drawn: nothing of the old one goes on from here.
            clock = Clock(draws.below(_DAY), draws.below(10**form.fraction_digits))
        return form.spell(form.move(date.day, days, self._limits), clock)

    @property
    def _rate(self) -> Fraction:
        return Fraction(self.epsilon)

    @property
    def _limits(self) -> tuple[int, int]:
        first, last = datetime.date(self.first, 1, 1), datetime.date(self.last, 12, 31)
        return first.toordinal(), last.toordinal()


def _number_of_days(text: str) -> int:
    return datetime.date.fromisoformat(text).toordinal()
