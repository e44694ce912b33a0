"""What everybody sees first of a study: three sentences, one chart, and a row for each method."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from sfumato.calibration.curves import overlap
from sfumato.charts.numbers import count_things, interval, rounded
from sfumato.charts.overview import Axis, Overview, Stop, Track, overview_picture
from sfumato.reports.decision import Choice, Decision, Found
from sfumato.reports.page import NO, YES, Block, CellValue, Explained, Figure, Table, paragraph
from sfumato.reports.sections.tradeoff import spot_of
from sfumato.reports.series import Quantity, SeriesPoint
from sfumato.reports.studied import Studied
from sfumato.reports.words import protected_what, proven_in_words
from sfumato.results.row import LOWER, NO_PRIVACY, RANDOM_OUTPUT

_PRIVATE = (
    "Choose by what is proven. Choosing by these figures would reveal something about the private "
    "text that no guarantee covers; repeat the study on a public text that is like it to choose by "
    "figures."
)


def sentences(study: Studied, decision: Decision) -> list[tuple[str, str]]:
    """What was protected, what was found by attack, what to decide."""
    return [
        ("Protected:", _protected(study)),
        ("Found by attack:", _found(study, decision)),
        ("To decide:", _decide(study, decision)),
    ]


def _protected(study: Studied) -> str:
    # The first words of the description; the line below the title has all of it.
    corpus = study.said("corpus").partition(",")[0] or "a text that is not described"
    if not study.methods:
        return f"{corpus.rstrip('. ')}, by no method: the grid of this study holds none."
    done = "" if len(study.methods) == 1 else "each "
    methods = f"{count_things(len(study.methods), 'method')} ({_all(study.methods)})"
    return f"{corpus.rstrip('. ')}, by {methods}, {done}at one or more levels."


def _found(study: Studied, decision: Decision) -> str:
    leakage = decision.leakage
    if leakage is None:
        return "nothing was attacked yet, so nothing is known of what leaks."
    most, _ = decision.end(NO_PRIVACY)
    chance = next((one.chance for one in decision.leaked.values() if one.chance is not None), None)
    least, _ = decision.end(RANDOM_OUTPUT)
    beside = [] if most is None else [f"{_figure(most)} without privacy"]
    if chance is not None:
        beside.append(f"{rounded(chance)} by chance")
    elif least is not None:
        beside.append(f"{rounded(least.value)} in random output")
    scale = f"{leakage.said} is {' and '.join(beside)}" if beside else f"by {leakage.said}"
    shown = [(method, decision.shown(method)) for method in study.methods]
    by_kind: dict[Found, list[str]] = {}
    for method, choice in shown:
        by_kind.setdefault(choice.found if choice else Found.NOTHING, []).append(method)
    nothing = "random output" if chance is None else "chance"
    said = [f"{_all(some)} {_SAYS[kind].format(nothing=nothing)}" for kind, some in by_kind.items()]
    return f"{scale}; at the levels below, {'; '.join(said)}."


_SAYS = {
    Found.QUIET: "cannot be told from {nothing}",
    Found.LEAKS: "leak more",
    Found.UNCLEAR: "cannot be told from either, because there are too few cases",
    Found.BLIND: "were attacked in vain, and so was no privacy: this attack tells nothing",
    Found.UNTRIED: "were attacked, but nothing without privacy was",
    Found.ALONE: "have one figure without an interval, which tells nothing",
    Found.NOTHING: "were not attacked",
}


def _decide(study: Studied, decision: Decision) -> str:
    chosen = decision.recommended
    if chosen is None:
        if not study.public:
            return _PRIVATE
        return (
            "release none of these yet. No method here is proven, attacked and found quiet; the "
            "table says what each one lacks."
        )
    at = f" at {chosen.said}" if chosen.said else ""
    others = list(dict.fromkeys(one.method for one in decision.not_worse(chosen)))
    beside = f" {_all(others)} cannot be told from it in utility." if others else ""
    why = f"of all that are fit for release it keeps most: {_cost(chosen, decision)}."
    return f"take {chosen.method}{at}; {why}{beside}"


def overview(study: Studied, decision: Decision) -> list[Block]:
    """The chart and the table."""
    if not study.methods:
        return []
    parts: list[Block] = []
    figure = _chart(study, decision)
    if figure is not None:
        parts.append(figure)
    parts.append(_table(study, decision))
    if decision.leakage is not None:
        parts.append(paragraph(_CHOSEN, kind="quiet"))
    return parts


_CHOSEN = (
    "For each method the table shows the most useful level that is fit for release, or else the "
    "smallest one. Attack and measure were chosen after they were measured: those that cover most "
    "methods and levels, figures of models before figures of texts, and of an attack's figures "
    "the one that best separates no privacy from random output. All others are below."
)


def _chart(study: Studied, decision: Decision) -> Figure | None:
    leakage, utility = decision.leakage, decision.utility
    if leakage is None or utility is None:
        return None
    tracks = [
        Track(name=method, stops=tuple(_stops(decision.of_method(method))))
        for method in study.methods
    ]
    ends = [
        Track(name=name, stops=(Stop(said="", leakage=leaked, utility=kept),))
        for name in (NO_PRIVACY, RANDOM_OUTPUT)
        for leaked, kept in (tuple(map(spot_of, decision.end(name))),)
        if leaked is not None and kept is not None
    ]
    chosen = decision.recommended
    chances = {round(one.chance, 9) for one in decision.leaked.values() if one.chance is not None}
    shown = Overview(
        leakage=Axis(title=f"leaks more: {leakage.said}", better=leakage.better),
        utility=Axis(title=_useful(utility), better=utility.better),
        tracks=[track for track in tracks if track.stops],
        ends=ends,
        chance=chances.pop() if len(chances) == 1 else None,
        recommended=None if chosen is None else (chosen.method, chosen.said),
    )
    picture = overview_picture(shown)
    if picture is None:
        return None
    known = all(stop.known for track in (*tracks, *ends) for stop in track.stops)
    alone = "" if known else " Hollow marks have no interval for one of their figures."
    ring = "" if chosen is None else " The ring marks what we recommend."
    return Figure(
        title="What is kept, against what leaks.",
        description="Up is more useful, left is more private: the best place is the upper left "
        f"corner. Each line is a method from its smallest level to its largest; thin lines are "
        f"95 % intervals.{ring}{alone}{_flat(tracks)}",
        table=_data(decision, leakage, utility),
        picture=picture,
    )


def _flat(tracks: Sequence[Track]) -> str:
    """Which lines are no trends: their two ends cannot be told apart."""
    long = [track for track in tracks if len(track.stops) > 1]
    said = []
    for what, at in (("leakage", attrgetter("leakage")), ("use", attrgetter("utility"))):
        same = [one.name for one in long if overlap(at(one.stops[0]), at(one.stops[-1]))]
        if same:
            named = "every method" if len(same) == len(long) > 1 else _all(same)
            said.append(f"in {what} for {named}")
    if not said:
        return ""
    return f" The smallest and the largest level cannot be told apart {' and '.join(said)}."


def _useful(utility: Quantity) -> str:
    way = ", lower is better" if utility.better == LOWER else ""
    return f"more useful: {utility.said}{way}"


def _stops(choices: Sequence[Choice]) -> list[Stop]:
    found = []
    for one in choices:
        leaked, kept = spot_of(one.leakage), spot_of(one.utility)
        if leaked is not None and kept is not None:
            found.append(Stop(said=one.said, leakage=leaked, utility=kept))
    return found


def _data(decision: Decision, leakage: Quantity, utility: Quantity) -> Table:
    rows: list[list[CellValue]] = []
    for place in dict.fromkeys([*decision.leaked, *decision.kept]):
        leaked, kept = decision.leaked.get(place), decision.kept.get(place)
        named = leaked or kept
        rows.append(
            [named.said if named else place[0], *_with_interval(leaked), *_with_interval(kept)]
        )
    head = ("method", leakage.said, "95 % interval", utility.said, "its 95 % interval")
    return Table(caption="Leakage and utility, means over seeds", head=head, rows=rows)


def _with_interval(point: SeriesPoint | None) -> tuple[CellValue, CellValue]:
    return (None, "–") if point is None else (point.value, interval(point.low, point.high))


def _table(study: Studied, decision: Decision) -> Table:
    rows: list[list[CellValue]] = []
    for method in study.methods:
        choice = decision.shown(method)
        if choice is None:
            rows.append(
                [method, "not known yet", "not known yet", "–", "–", _waiting(study, method)]
            )
            continue
        proven = proven_in_words(choice.guarantee)
        rows.append(
            [
                f"{method}, {choice.said}" if choice.said else method,
                protected_what(choice.guarantee),
                proven
                if choice.guarantee is None
                else Explained(proven, choice.guarantee.sentence()),
                _measured(choice, decision),
                _cost(choice, decision),
                choice.verdict,
            ]
        )
    head = ("method", "protects", "proven", "measured", "cost", "fit for release?")
    caption = "Every method at the level that suits it best"
    return Table(caption=caption, head=head, rows=rows, cards=True)


def _waiting(study: Studied, method: str) -> str:
    of = [cell for cell in study.cells if cell.method == method]
    failed = sum(cell.state == "failed" for cell in of)
    return (
        f"Nothing is measured yet: of {len(of):,} computations {failed:,} failed and "
        f"{sum(cell.state == 'missing' for cell in of):,} are missing."
    )


def _measured(choice: Choice, decision: Decision) -> str:
    point = choice.leakage
    if point is None or decision.leakage is None:
        return "not attacked"
    beside = "" if point.chance is None else f"; {rounded(point.chance)} by chance"
    return f"{decision.leakage.metric} {_figure(point)}{beside}"


def _cost(choice: Choice, decision: Decision) -> str:
    point, utility = choice.utility, decision.utility
    if point is None or utility is None:
        return "not measured"
    _, best = decision.end(NO_PRIVACY)
    beside = "" if best is None else f", {rounded(best.value)} without privacy"
    return f"{utility.metric} {_figure(point)}{beside}"


def _figure(point: SeriesPoint) -> str:
    if point.low is None or point.high is None:
        return f"{rounded(point.value)} (no interval)"
    return f"{rounded(point.value)} ({rounded(point.low)} to {rounded(point.high)})"


def _all(names: Sequence[str]) -> str:
    """Names in a row.

    >>> _all(["a"]), _all(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def is_it_safe(study: Studied, decision: Decision) -> str:
    """The answer in a line."""
    kinds = [choice.verdict.kind for choice in map(decision.shown, study.methods) if choice]
    if not kinds:
        return "Nothing is measured yet."
    fit, unfit = kinds.count(YES), kinds.count(NO)
    said = f"{fit} of {count_things(len(study.methods), 'method')} fit for release"
    return f"{said}, {unfit} not, {len(study.methods) - fit - unfit} not shown."


def is_it_useful(study: Studied, decision: Decision) -> str:
    """The answer in a line."""
    if decision.utility is None:
        return "No utility was measured on what was attacked."
    shown = [one for one in map(decision.shown, study.methods) if one and one.utility]
    said = [f"{one.method} {rounded(one.utility.value)}" for one in shown if one.utility]
    _, best = decision.end(NO_PRIVACY)
    _, worst = decision.end(RANDOM_OUTPUT)
    ends = [f"{name} {rounded(one.value)}" for name, one in
            ((NO_PRIVACY, best), (RANDOM_OUTPUT, worst)) if one]  # fmt: skip
    return f"{decision.utility.said}: {'; '.join([*said, *ends])}."
