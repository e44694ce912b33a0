"""Which method at which level may be released, by what is proven and by what an attack found.

A method at a level is fit for release if something is proven about it, no audit refuted that, and
an attack that works without protection finds no more here than where there is nothing to find. An
attack that tells nothing (because its interval is wide, or because it fails without protection as
well) decides nothing: then it is not shown whether the method is fit.

Care
    Choosing by figures that were measured on private text reveals something about it that no
    guarantee covers, so there is no recommendation for a study of a private corpus.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from sfumato.calibration.curves import overlap
from sfumato.charts.numbers import level_of
from sfumato.guarantees.guarantee import SEED_LEAK, Guarantee
from sfumato.guarantees.wording import says_it_stays, share_in_words
from sfumato.reports.page import NO, UNKNOWN, YES, Verdict
from sfumato.reports.sections.tradeoff import (
    QuantityPlace,
    leaking_and_using,
    matching_utility,
    places,
)
from sfumato.reports.series import Quantity, SeriesPoint, headline
from sfumato.reports.studied import Studied
from sfumato.results.row import LEAKAGE, LOWER, NO_PRIVACY, RANDOM_OUTPUT
from sfumato.studies.cell import ATTACK, AUDIT


class Found(Enum):
    """What an attack tells about a method at a level."""

    QUIET = "no more than where there is nothing to find"
    LEAKS = "more than where there is nothing to find"
    UNCLEAR = "too few cases to tell"
    BLIND = "the attack fails without protection as well"
    UNTRIED = "whether the attack works is not known"
    ALONE = "no interval is known"
    NOTHING = "not attacked"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A method at a level, with everything that decides about it."""

    method: str
    parameter: str | None
    level: float | None
    guarantee: Guarantee | None
    leakage: SeriesPoint | None
    utility: SeriesPoint | None
    found: Found
    refuted: bool
    leaks_elsewhere: bool = False
    unfinished: bool = False

    @property
    def said(self) -> str:
        """The level in words."""
        return level_of(self.parameter, self.level)

    @property
    def verdict(self) -> Verdict:
        """Whether it is fit for release, and why."""
        against = _proof_against(self.guarantee, refuted=self.refuted)
        if against is not None:
            return against
        if self.found is Found.LEAKS:
            return Verdict(NO, "the attack finds more than by chance.")
        if self.leaks_elsewhere:
            return Verdict(NO, "another attack, or one on a group, finds more than by chance.")
        if self.found is not Found.QUIET:
            return Verdict(UNKNOWN, f"{_WHY_UNKNOWN[self.found]}.")
        if self.unfinished:
            return Verdict(UNKNOWN, "an attack on it failed or is missing.")
        seeded = self.guarantee is not None and SEED_LEAK in self.guarantee.leaks
        again = ", once it is made again without a seed" if seeded else ""
        return Verdict(
            YES, f"proven, and no more is found than by chance or in random output{again}."
        )


_WHY_UNKNOWN = {
    Found.UNCLEAR: "too few cases: the interval holds chance as well as a clear leak",
    Found.BLIND: "the attack does not even find anything without privacy, so it tells nothing",
    Found.UNTRIED: "whether the attack works without privacy is not known",
    Found.ALONE: "one figure without an interval decides nothing",
    Found.NOTHING: "it was not attacked",
}


def _proof_against(guarantee: Guarantee | None, *, refuted: bool) -> Verdict | None:
    """What a proof, or the lack of one, says against a release."""
    if guarantee is None:
        return Verdict(UNKNOWN, "it is not known what is proven.")
    if math.isinf(guarantee.epsilon) or guarantee.delta >= 1:
        return Verdict(NO, "nothing is proven.")
    if refuted:
        return Verdict(NO, "an audit refuted what it claims.")
    if not guarantee.for_release and SEED_LEAK not in guarantee.leaks:
        return Verdict(NO, "its guarantee says that it is not for release.")
    if says_it_stays(guarantee):
        return Verdict(NO, f"{share_in_words(guarantee)} of the words stay as they are.")
    return None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """All methods at all levels, judged by one attack and one measure of utility."""

    leakage: Quantity | None
    utility: Quantity | None
    choices: Sequence[Choice]
    leaked: dict[QuantityPlace, SeriesPoint]
    kept: dict[QuantityPlace, SeriesPoint]
    public: bool

    @classmethod
    def of(cls, study: Studied) -> Decision:
        """Judge a study by the attack that covers most of it."""
        leaking, using = leaking_and_using(study)
        leakage = headline(leaking, LEAKAGE, study.on_models)
        leaked = {} if leakage is None else places(leaking, leakage)
        utility, kept = (
            (None, {}) if leakage is None else matching_utility(study, leakage, leaked, using)
        )
        refuted = {
            (cell.method, cell.parameter, cell.level)
            for cell in study.done
            if cell.kind == AUDIT and (cell.details or {}).get("refuted") is True
        }
        elsewhere = find_other_leaks(study, leakage)
        unfinished = {
            (cell.method, cell.parameter, cell.level)
            for cell in (*study.failed, *study.missing)
            if cell.kind == ATTACK
        }
        choices: list[Choice] = []
        for method in study.methods:
            proven = study.guarantees(method)
            mine = [place for place in (*leaked, *kept) if place[0] == method]
            levels = dict.fromkeys([*((method, *one) for one in proven), *mine])
            choices += [
                Choice(
                    method=method,
                    parameter=place[1],
                    level=place[2],
                    guarantee=proven.get(place[1:]),
                    leakage=leaked.get(place),
                    utility=kept.get(place),
                    found=judge(leaked.get(place), leaked, leakage),
                    leaks_elsewhere=place in elsewhere,
                    unfinished=place in unfinished,
                    refuted=place in refuted,
                )
                for place in sorted(levels, key=_order)
            ]
        return cls(
            leakage=leakage,
            utility=utility,
            choices=choices,
            leaked=leaked,
            kept=kept,
            public=study.public,
        )

    def of_method(self, method: str) -> list[Choice]:
        """The levels of a method, the smallest first."""
        return [one for one in self.choices if one.method == method]

    def shown(self, method: str) -> Choice | None:
        """The level that stands for a method: the most useful fit one, else the most private."""
        mine = self.of_method(method)
        fit = [one for one in mine if one.verdict.kind == YES]
        return self._most_useful(fit) or next(iter(fit or mine), None)

    @property
    def recommended(self) -> Choice | None:
        """The most useful choice that is fit for release; None for a private corpus."""
        if not self.public:
            return None
        return self._most_useful([one for one in self.choices if one.verdict.kind == YES])

    def _smallest_like(self, best: Choice, some: Sequence[Choice]) -> Choice:
        """The smallest level of the same method whose utility cannot be told from the best."""
        like = [
            one
            for one in some
            if (one.method, one.parameter) == (best.method, best.parameter)
            and one.utility is not None
            and (one is best or (best.utility is not None and overlap(one.utility, best.utility)))
        ]
        return min(like, key=lambda one: -math.inf if one.level is None else one.level)

    def not_worse(self, chosen: Choice) -> list[Choice]:
        """Fit choices of other methods whose utility cannot be told from that of the chosen one."""
        return [
            one
            for one in self.choices
            if one.method != chosen.method
            and one.verdict.kind == YES
            and one.utility is not None
            and chosen.utility is not None
            and overlap(one.utility, chosen.utility)
        ]

    def end(self, name: str) -> tuple[SeriesPoint | None, SeriesPoint | None]:
        """Leakage and utility at one of the two ends."""
        return self.leaked.get((name, None, None)), self.kept.get((name, None, None))

    def _most_useful(self, some: Sequence[Choice]) -> Choice | None:
        if self.utility is None:
            return None
        sign = 1 if self.utility.better == LOWER else -1
        known = [(sign * one.utility.value, place) for place, one in enumerate(some) if one.utility]
        return self._smallest_like(some[min(known)[1]], some) if known else None


def find_other_leaks(study: Studied, leakage: Quantity | None) -> set[QuantityPlace]:
    """Where any other attack, another of its figures, or one group alone shows a leak."""
    attacks = {cell.name for cell in study.cells if cell.kind == ATTACK}
    rows = [
        row
        for row in study.rows
        if row.role == LEAKAGE
        and row.by in attacks
        and row.value is not None
        and math.isfinite(row.value)
    ]
    found: set[QuantityPlace] = set()
    for group in dict.fromkeys(row.group for row in rows):
        mine = [replace(row, group=None) for row in rows if row.group == group]
        quantities = dict.fromkeys(
            Quantity(role=row.role, by=row.by, metric=row.metric, better=row.better) for row in mine
        )
        for quantity in quantities:
            if group is None and quantity == leakage:
                continue
            placed = places(mine, quantity)
            found |= {
                place
                for place, point in placed.items()
                if judge(point, placed, quantity) is Found.LEAKS
            }
    return found


def judge(
    point: SeriesPoint | None,
    leaked: dict[QuantityPlace, SeriesPoint],
    leakage: Quantity | None,
) -> Found:
    """What an attack tells about one point, beside chance and the two ends."""
    if point is None or leakage is None:
        return Found.NOTHING
    sign = 1.0 if leakage.better == LOWER else -1.0
    floor = _floor(point, leaked.get((RANDOM_OUTPUT, None, None)), sign)
    if point.low is None or point.high is None or floor is None:
        return Found.ALONE
    low, high = sorted((sign * point.low, sign * point.high))
    if low > floor:
        return Found.LEAKS
    most = leaked.get((NO_PRIVACY, None, None))
    if most is None or most.telling is None:
        return Found.UNTRIED  # a single figure without an interval shows not that the attack works
    least = min(sign * one for one in most.telling)
    if least <= floor:
        return Found.BLIND
    high = max(sign * one for one in point.telling or (high,))
    return Found.QUIET if high < least else Found.UNCLEAR


def _floor(point: SeriesPoint, random: SeriesPoint | None, sign: float) -> float | None:
    """What is found where there is nothing to find: by chance, or in random output.

    Where chance is known, few cases in random output must not raise the floor by their interval.
    """
    if random is None:
        return None if point.chance is None else sign * point.chance
    if point.chance is not None:
        return max(sign * point.chance, sign * random.value)
    ends = [random.value, random.low, random.high]
    return max(sign * one for one in ends if one is not None)


def _order(place: QuantityPlace) -> tuple[str, float]:
    return place[1] or "", -math.inf if place[2] is None else place[2]
