"""The tables of ``docs/results/equal-leakage.md``, and the sentences that are read off them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from equal_leakage import (
    CALLED,
    CONTROL,
    EXPOSED,
    KINDS,
    MEMBER,
    MISSES,
    PERPLEXITY,
    RECALL,
    SIGNS,
    Place,
    at_chance,
    best_at_chance,
    calibrated,
    never_at_chance,
    places,
    point,
    seconds,
    told_apart,
)
from kept import Figures, number, shown, table
from paired import fewer
from sfumato.calibration.curves import LevelEstimate
from sfumato.calibration.inverse import (
    ABOVE_EVERYWHERE,
    BELOW_EVERYWHERE,
    REACHED,
    UNFIT_CURVE,
)
from sfumato.calibration.results import MethodAtTargets
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT

BITS, AREA = 4.0, 0.6
ELSEWHERE = {
    BELOW_EVERYWHERE: "Less than that at every level tried",
    ABOVE_EVERYWHERE: "More than that at every level tried",
    UNFIT_CURVE: "No curve that could be read, up and down or flat",
}
# What a level speaks of, by the notion and unit that a method states.
SPEAKS = {
    ("metric differential privacy", "word"): "a word, per unit of distance between words",
    ("selective metric differential privacy", "word"): (
        "a word that the policy finds, per unit of distance between words"
    ),
    ("independence from the original", "stretch"): "a place that the policy finds",
    ("independence from the original", "record"): "all dialogues: none was read",
    ("no formal guarantee", "stretch"): "nothing",
    ("pure differential privacy", "document"): "a dialogue, told from any other as long",
    ("approximate differential privacy", "document"): "a dialogue, told from any other as long",
    ("approximate differential privacy", "record"): "a dialogue, there or not",
    ("approximate differential privacy", "example"): "a dialogue, there or not",
    ("selective differential privacy", "example"): "what the policy finds in a dialogue",
}


def section(found: Figures, metrics: Sequence[str], pool: SeriesPoint | None) -> Iterator[str]:
    """Each method at its most useful level that is not told from chance; how they rank."""
    chosen = best_at_chance(found, metrics)
    told = (
        "secret by secret, exposures are not told from those of a model that has read no secret "
        "(the public model, one of public texts, one of made-up values; any of the three)"
    )
    if len(metrics) > 1:
        told += " and the interval of the AUC reaches 0.5"
    yield (
        f"Of each method the level with the best perplexity at which, {told}. “Not told” bounds "
        "leakage by the upper end of the interval, and shows nothing smaller. Time is processor "
        "time for one model, the making of its text included."
    )
    yield ""
    head = (
        *("method", "proven level, and of what", "exposure", "AUC", "perplexity", "time"),
        *("policy", "who is trusted", "can be shared"),
    )
    yield from table(head, [_line(found, place) for place in chosen])
    yield ""
    yield from (f"- {one}" for one in ranking(found, chosen, pool))
    if len(metrics) == 1:
        yield (
            "- Levels are far apart, and a method that just shows a leak at one is here at its "
            "next lower one: the place of DP-SGD and of directional noise is also that of the "
            "levels that were tried."
        )
    yield from (f"- {one}" for one in _told_from_the_start(found, chosen))
    missing = [CALLED.get(one, one) for one in never_at_chance(found, metrics)]
    if missing:
        yield f"- At no level that was tried: {', '.join(missing)}."


def _told_from_the_start(found: Figures, chosen: Sequence[Place]) -> Iterator[str]:
    """Which of them show more than the public model, though not more than all blind models."""
    pairs = {
        place: fewer(found, (RANDOM_OUTPUT, None), (place.method, place.level), EXPOSED)
        for place in chosen
        if place.base != CONTROL
    }
    more = [
        f"{place.called}, {place.said} ({pair.value:.2f} ({pair.low:.2f} – {pair.high:.2f}) bits)"
        for place, pair in pairs.items()
        if pair is not None and pair.low > 0
    ]
    if more:
        yield (
            "Told from the public model alone, secret by secret, if not from all models that have "
            f"read no secret: {', '.join(more)}.{_without_secrets(more)}"
        )


def _without_secrets(more: Sequence[str]) -> str:
    """Whether some of them cannot have read a secret."""
    if not any(one.startswith(("synthetic text", "rewriting")) for one in more):
        return ""
    return " Texts of a pool hold no planted secret: such a difference need not be a leak."


def _line(found: Figures, place: Place) -> tuple[str, ...]:
    kind = KINDS[place.base]
    return (
        f"{place.called}, {place.said}" if place.said else place.called,
        proven(found, place),
        *(shown(point(found, place, one)) for one in (EXPOSED, MEMBER, PERPLEXITY)),
        _time(found, place),
        *(kind.policy, kind.trust, kind.shared),
    )


def proven(found: Figures, place: Place) -> str:
    """The level that a method states, and what it speaks of."""
    known = stated(found, place)
    if not known:
        return "–"
    speaks = speaks_of(found, place)
    if known["notion"] == "no formal guarantee":
        return "nothing is proven"
    level = float(known["epsilon"])
    if level == 0:
        return f"0: {speaks}"
    delta = f", δ = {known['delta']:g}" if known["delta"] else ""
    return f"ε = {epsilon(level)}{delta}: {speaks}"


def speaks_of(found: Figures, place: Place) -> str:
    """What the level of a method speaks of; the policy of MDP finds every word."""
    known = stated(found, place)
    notion = known["notion"].removeprefix("selective ") if place.base == "MDP" else known["notion"]
    return SPEAKS[notion, known["unit"]]


def stated(found: Figures, place: Place) -> dict[str, Any]:
    """What a method states at a level."""
    runs = found.runs(place.method, place.level)
    return dict(runs[0].get("proven", {})) if runs else {}


def epsilon(level: float) -> str:
    """A level in digits that count."""
    return f"{level:,.0f}" if level >= 100 else f"{level:.3g}"


def ranking(found: Figures, chosen: Sequence[Place], pool: SeriesPoint | None) -> Iterator[str]:
    """From the most useful to the least: which neighbors are told apart, and what a pool has."""
    known = [(place, one) for place in chosen if (one := point(found, place, PERPLEXITY))]
    if len(known) < 2:
        return
    order, apart = [known[0][0].called], 0
    for (_, before), (place, one) in pairwise(known):
        differs = told_apart(before, one)
        apart += differs
        order.append(f"{'**<**' if differs else '≈'} {place.called}")
    yield (
        f"In order of perplexity: {' '.join(order)}. **<** is a difference that is told, ≈ is none "
        f"that shows; {apart} of {len(known) - 1} neighbors are told apart.{_of_one_seed(found)}"
    )
    if pool is None:
        return
    better = [place.called for place, one in known if one.value < pool.value]
    clear = [
        place.called for place, one in known if one.value < pool.value and told_apart(one, pool)
    ]
    yield (
        "The same network, trained on the whole public pool of the same kind and on no private "
        f"dialogue, has {shown(pool)}. Clearly better than that: {', '.join(clear) or 'none'}"
        f"{_not_clear(better, clear)}."
    )


def _not_clear(better: Sequence[str], clear: Sequence[str]) -> str:
    others = [one for one in better if one not in clear]
    return f"; better, but not told apart: {', '.join(others)}" if others else ""


def _of_one_seed(found: Figures) -> str:
    if len({row.seed for row in found.rows}) > 1:
        return ""
    return " With one seed that is about the test dialogues: another run might differ by more."


def middle(found: Figures) -> Iterator[str]:
    """Every curve at one exposure, and at one AUC."""
    yield (
        "Where curves cross a leakage in the middle, a level is read off by interpolation "
        "([how](../how-to-calibrate.md)). *misses* is the share of places that the policy misses "
        "on purpose: nobody chooses that, but it is what leaks where a policy is not perfect, and "
        "no level covers it."
    )
    for metric, target, called in (
        (EXPOSED, BITS, f"an exposure of {BITS:g} bits"),
        (MEMBER, AREA, f"an AUC of {AREA:g}"),
    ):
        found_at = calibrated(found, metric, target)
        yield ""
        yield f"At {called}:"
        yield ""
        crossed = [one for one in found_at.methods if one.targets[0].inversion.status == REACHED]
        head = ("method", "verdict", "level there", "perplexity there")
        yield from table(head, [_at(method) for method in crossed])
        yield ""
        yield from (f"- {one}" for one in _at_target(found_at.methods))


def _at(method: MethodAtTargets) -> tuple[str, ...]:
    (at,) = method.targets
    level = "–"
    if at.inversion.level is not None:
        level = _said_level(method, at.inversion.level, at.inversion.low, at.inversion.high)
    verdict = method.fitness.verdict
    finding = method.fitness.finding
    said = verdict if finding in ("", verdict) else f"{verdict}: {finding}"
    return method.name, said, level, _estimate(at.utility)


def _said_level(
    method: MethodAtTargets, level: float, low: float | None, high: float | None
) -> str:
    name = MISSES if method.parameter == MISSES else SIGNS[method.parameter]
    ends = "" if low is None or high is None else f" ({_short(low)} – {_short(high)})"
    return f"{name} = {_short(level)}{ends}"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 100 else number(value, 2)


def _estimate(one: LevelEstimate | None) -> str:
    if one is None:
        return "–"
    if one.low is None or one.high is None:
        return number(one.value)
    return f"{number(one.value)} ({number(one.low)} – {number(one.high)})"


def _at_target(methods: Sequence[MethodAtTargets]) -> Iterator[str]:
    reached = [
        (method.name, at.utility)
        for method in methods
        for at in method.targets
        if at.utility is not None and at.utility.low is not None and at.utility.high is not None
    ]
    reached.sort(key=lambda one: one[1].value)
    clear = False
    for place, (name, one) in enumerate(reached):
        worse = [other for other, beside in reached[place + 1 :] if _below(one, beside)]
        if worse:
            clear = True
            yield f"There {name} is more useful than {' and '.join(worse)}, beyond the intervals."
    if len(reached) > 1 and not clear:
        yield "No two of these differ by more than their intervals."
    for status, said in ELSEWHERE.items():
        some = [one.name for one in methods if one.targets[0].inversion.status == status]
        if some:
            yield f"{said}: {', '.join(some)}."


def _below(one: LevelEstimate, other: LevelEstimate) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low


def same_number(found: Figures) -> Iterator[str]:
    """Methods at one and the same epsilon."""
    level = 8.0
    alike = [
        place
        for place in places(found)
        if place.parameter == "epsilon" and place.level == level and place.recall is None
    ]
    yield (
        f"Levels speak of different things, so that the same number is not the same privacy: "
        f"ε = {level:g}, of"
    )
    yield ""
    lines = [
        (
            place.base,
            speaks_of(found, place),
            *(shown(point(found, place, one)) for one in (EXPOSED, MEMBER, PERPLEXITY)),
        )
        for place in alike
        if stated(found, place)
    ]
    yield from table(("method", "what ε = 8 speaks of", "exposure", "AUC", "perplexity"), lines)
    yield ""
    yield (
        "A planted secret stands in 15 dialogues, and a level for one dialogue says little of all "
        "15: by group privacy ε is 15 times as large, and δ grows so much with it that hardly any "
        "of these levels proves anything for such a secret. Over a dialogue, the levels of words "
        "add up. What replaces a place that the policy finds may be independent of it, and what "
        "the policy misses is published as it is."
    )


def everything(found: Figures) -> Iterator[str]:
    """All figures."""
    lines = []
    for place in places(found):
        figures = [point(found, place, one) for one in (EXPOSED, MEMBER, PERPLEXITY)]
        if all(one is not None for one in figures):
            whole = "recall 1" if RECALL in place.method else "–"
            lines.append(
                (
                    *(*_in_table(place, whole), proven(found, place)),
                    *(*map(shown, figures), _time(found, place), _hidden(found, place)),
                )
            )
    for name, called in ((NO_PRIVACY, NO_PRIVACY), (RANDOM_OUTPUT, "public model alone")):
        figures = [found.point(name, None, one) for one in (EXPOSED, MEMBER, PERPLEXITY)]
        if all(one is not None for one in figures):
            place = Place(name, None, None)
            took = _time(found, place)
            lines.append((called, "–", "–", *map(shown, figures), took, _hidden(found, place)))
    head = (
        *("method", "level", "proven", "exposure", "AUC", "perplexity", "time"),
        "not told from chance",
    )
    yield from table(head, lines)


def _in_table(place: Place, otherwise: str) -> tuple[str, str]:
    """A method and its level; one whose policy also misses at one level is a line of its own."""
    if place.recall is None or place.level is None:
        return place.called, place.said or otherwise
    level, _, recall = place.said.partition(", ")
    return f"{place.base} at {level}", recall


def _time(found: Figures, place: Place) -> str:
    took = seconds(found, place)
    return "–" if took is None else f"{took:.0f} s"


def _hidden(found: Figures, place: Place) -> str:
    metrics = {"secrets": EXPOSED, "dialogues": MEMBER}
    names = [name for name, one in metrics.items() if at_chance(found, place, one)]
    return ", ".join(names) or "–"
