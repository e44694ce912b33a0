"""Methods at equal measured leakage, from the figures that ``equal-leakage.toml`` left.

A *place* is a method at one of its levels. Where the policy of a method misses on purpose, the
share that it misses is its level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from kept import Figures
from paired import fewer
from sfumato.calibration import basis, calibrate_methods, select_rows
from sfumato.calibration.results import Calibration
from sfumato.charts.overview import Axis, Overview, Stop, Track, overview_picture
from sfumato.charts.shapes import Sheet
from sfumato.charts.sweeps import Spot
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT, Row

EXPOSED, MEMBER, PERPLEXITY = "exposure at 15 repetitions", "auc loss", "perplexity"
ATTACKS = {EXPOSED: "exposure", MEMBER: "membership"}
RECALL, MISSES = ", recall ", "misses"
SIGNS = {"epsilon": "ε", "sigma": "σ"}
# The level at which these were also run with policies that miss.
MISSED_AT = {"SMDP": 15.0, "Selective-DPSGD": 8.0}
# What the study calls so are as many texts of the pool as synthetic text has, chosen blindly.
CONTROL = "public pool alone"
CALLED = {CONTROL: "synthetic text by votes of noise"}
IN_CHARTS = "votes of noise"
ANOTHER = (", another shop's pool", ", other reviews as the pool")


@dataclass(frozen=True)
class Kind:
    """What a method needs besides the dialogues, and what can be handed on."""

    policy: str
    trust: str
    shared: str


_NOBODY, _WHOEVER_TRAINS, _COUNTS = "nobody", "whoever trains", "whoever counts votes"
KINDS = {
    "MDP": Kind("no", _NOBODY, "text"),
    "SMDP": Kind("yes", _NOBODY, "text"),
    "made-up values": Kind("yes", _NOBODY, "text"),
    "masks": Kind("yes", _NOBODY, "text"),
    "rewriting": Kind("no; a public pool", _NOBODY, "text"),
    **{f"rewriting{pool}": Kind("no; a public pool", _NOBODY, "text") for pool in ANOTHER},
    "synthetic text": Kind("no; a public pool", _COUNTS, "text"),
    **{f"synthetic text{pool}": Kind("no; a public pool", _COUNTS, "text") for pool in ANOTHER},
    "DP-SGD": Kind("no", _WHOEVER_TRAINS, "model"),
    "Selective-DPSGD": Kind("yes", _WHOEVER_TRAINS, "model"),
    "directional": Kind("no", "whoever computes a gradient", "model"),
    CONTROL: Kind("no; a public pool", "nobody, nothing is read", "text"),
}


@dataclass(frozen=True)
class Place:
    """A method of the study at one level; ``recall`` is that of a policy that misses on purpose."""

    method: str
    parameter: str | None
    level: float | None

    @property
    def base(self) -> str:
        """The method without the recall of its policy."""
        return self.method.partition(RECALL)[0]

    @property
    def called(self) -> str:
        """The method for people.

        >>> Place("public pool alone", "epsilon", 4.0).called
        'synthetic text by votes of noise'
        """
        return CALLED.get(self.base, self.base)

    @property
    def recall(self) -> float | None:
        """The share that the policy finds of what it would find; None if all of it."""
        said = self.method.partition(RECALL)[2]
        return float(said) if said and float(said) < 1 else None

    @property
    def said(self) -> str:
        """The level in words; empty where there is none.

        >>> Place("MDP", "epsilon", 8.0).said, Place("masks, recall 0.8", None, None).said
        ('ε = 8', 'recall 0.8')
        """
        sign = SIGNS.get(self.parameter or "", "")
        known = self.level is not None and sign and self.base != CONTROL
        levels = [f"{sign} = {self.level:,g}"] if known else []
        if self.recall is not None:
            levels.append(f"recall {self.recall:g}")
        return ", ".join(levels)


def places(found: Figures) -> list[Place]:
    """All of them, method by method, from the smallest level on; the anchors are left out."""
    every = [Place(*one) for one in found.settings]
    order = list(KINDS)
    return sorted(
        (one for one in every if one.base in KINDS),
        key=lambda one: (order.index(one.base), -(one.recall or 1.0), one.level or 0.0),
    )


def complete(found: Figures) -> Figures:
    """The figures of those seeds alone with which most was computed.

    A seed that is not finished would widen intervals of some methods, and not of others.
    """
    cells = Counter(row.seed for row in found.rows)
    most = max(cells.values(), default=0)
    whole = {seed for seed, count in cells.items() if count == most}
    kept = {
        part: [one for one in found.content[part] if one["seed"] in whole]
        for part in ("rows", "runs")
    }
    return Figures({**found.content, **kept})


def point(found: Figures, place: Place, metric: str) -> SeriesPoint | None:
    """A figure of a method at a level."""
    return found.point(place.method, place.level, metric)


def at_chance(found: Figures, place: Place, metric: str) -> bool:
    """Whether a figure is not told from that of models that have read no secret, or no record.

    Exposures are compared secret by secret, seeds averaged, with those of each model that has read
    no secret: the public one, one of public texts, one of made-up values. Models differ by more
    than secrets, so only what shows beside all of them is a leak; and it does not pass because
    runs vary. Where a secret's figures are not known, and for records, the interval must reach
    chance.
    """
    one = point(found, place, metric)
    if one is None or one.low is None:
        return False
    if metric != EXPOSED:
        return one.low <= (one.chance or 0.0)
    own = place.method, place.level
    pairs = [fewer(found, blind, own, EXPOSED) for blind in _blind(found) if blind != own]
    known = [one for one in pairs if one is not None]
    if place.base == CONTROL:
        return True
    return any(one.low <= 0 for one in known) if known else one.low <= (one.chance or 0.0)


def _blind(found: Figures) -> list[tuple[str, float | None]]:
    """Models that have read no planted secret."""
    named = (RANDOM_OUTPUT, CONTROL, f"made-up values{RECALL}1")
    return [place for place in found.places() if place[0] in named]


def best_at_chance(found: Figures, metrics: Sequence[str]) -> list[Place]:
    """Of each method the level with the best perplexity at which no figure is told from chance.

    A recall is not a level that anybody could choose, so policies find what they can here. The most
    useful method comes first.
    """
    chosen = []
    for base in KINDS:
        fit = [
            (known.value, place)
            for place in places(found)
            if place.base == base
            and place.recall is None
            and all(at_chance(found, place, metric) for metric in metrics)
            and (known := point(found, place, PERPLEXITY)) is not None
        ]
        if fit:
            chosen.append(min(fit, key=lambda one: one[0]))
    return [place for _, place in sorted(chosen, key=lambda one: one[0])]


def never_at_chance(found: Figures, metrics: Sequence[str]) -> list[str]:
    """Methods that were computed and have no such level."""
    there = {place.base for place in best_at_chance(found, metrics)}
    known = dict.fromkeys(place.base for place in places(found))
    return [base for base in known if base not in there]


def told_apart(first: SeriesPoint, second: SeriesPoint) -> bool:
    """Whether two figures differ by more than their intervals."""
    one, other = first.telling, second.telling
    if one is None or other is None:
        return False
    return one[1] < other[0] or other[1] < one[0]


def seconds(found: Figures, place: Place) -> float | None:
    """Processor time for a model, the making of its text included; the mean over seeds."""
    took = [
        run["cpu_seconds"] + run.get("text_cpu_seconds", 0.0)
        for run in found.runs(place.method, place.level)
    ]
    return fmean(took) if took else None


def curves(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows of methods with several levels; a share that is missed on purpose is a level, too."""
    every = list(rows)
    levels: dict[str, set[float | None]] = {}
    for row in every:
        levels.setdefault(row.method, set()).add(row.level)
    missing = {row.method.partition(RECALL)[0] for row in every if RECALL in row.method}
    for row in every:
        place = Place(row.method, row.parameter, row.level)
        if row.anchor or (RECALL not in row.method and len(levels[row.method]) > 1):
            yield row
        fixed = MISSED_AT.get(place.base)
        if RECALL in row.method or (place.base in missing and row.level == fixed is not None):
            at = "" if fixed is None else f" at ε = {fixed:g}"
            missed = round(1 - (place.recall or 1.0), 6)
            yield replace(row, method=f"{place.base}{at}", parameter=MISSES, level=missed)


def calibrated(found: Figures, metric: str, target: float) -> Calibration:
    """Every curve at the level where an attack finds so much."""
    selected = select_rows(
        curves(found.rows), attack=ATTACKS[metric], metric=metric, utility=PERPLEXITY
    )
    return calibrate_methods(selected, [target], basis=basis(public=True))


def draw(found: Figures, metric: str, title: str) -> Sheet | None:
    """Utility against leakage: a line for each method, hollow where leakage is only bounded."""
    tracks: dict[str, list[Stop]] = {}
    chance = None
    for place in places(found):
        leaks, use = point(found, place, metric), point(found, place, PERPLEXITY)
        if leaks is None or use is None or (place.recall and place.base in MISSED_AT):
            continue
        if place.base.endswith(ANOTHER):
            continue  # so bad that all others would be drawn in one place
        chance = leaks.chance
        bounded = at_chance(found, place, metric)
        stop = Stop(said=place.said, leakage=_spot(leaks), utility=_spot(use), bounded=bounded)
        tracks.setdefault(place.base, []).append(stop)
    ends = []
    if CONTROL in tracks:
        ends.append(Track(name=IN_CHARTS, stops=tuple(tracks.pop(CONTROL))))
    leaks, use = found.point(NO_PRIVACY, None, metric), found.point(NO_PRIVACY, None, PERPLEXITY)
    if leaks is not None and use is not None:
        stop = Stop(said="", leakage=_spot(leaks), utility=_spot(use))
        ends.append(Track(name=NO_PRIVACY, stops=(stop,)))
    shown = Overview(
        leakage=Axis(title=title, better="lower"),
        utility=Axis(title="more useful: perplexity", better="lower"),
        tracks=[Track(name=name, stops=tuple(stops)) for name, stops in tracks.items()],
        ends=ends,
        chance=chance,
    )
    picture = overview_picture(shown)
    return None if picture is None else picture.wide


def _spot(one: SeriesPoint) -> Spot:
    return Spot(value=one.value, low=one.low, high=one.high)
