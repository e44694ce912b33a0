"""Figures from what was found: means by repetitions, the largest exposure, and the controls.

Intervals of a mean are over canaries: with enumeration the rank of a canary has no error, but
another canary would have another rank. They are those that a study draws over several seeds
(``statistics.clusters``), for a single one: canaries of which none leaks do not show that none
does. A single canary says nothing about others, and has no interval; with sampling, it has that of
its share of likelier candidates.

``chapter`` makes what a report shows of many attempts, from what ``details`` has written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.attacks.attack import Attempt
from sfumato.attacks.exposure.ranks import ExposedCanary, SpaceFindings, mean_by_chance
from sfumato.charts.chapter import Chapter, Drawing, Folded, Listing, ListingCell, Topic
from sfumato.charts.exposure import MeanExposure, exposure_chart, repetitions_chart
from sfumato.charts.numbers import as_number, interval, number
from sfumato.core.arrays import Floats
from sfumato.results.measured import CONFIDENCE, POSITIVE, SHARE, Ends, Measured, Range, inside
from sfumato.statistics.clusters import over_clusters
from sfumato.statistics.intervals import clopper_pearson, student

# The share of controls that reach this many bits is reported too; by chance it is 1/16.
SHARE_AT = 4

# The most exposed secrets are listed; the others are in the results of the cells.
MOST_SECRETS = 60
SECRETS = Topic(
    name="secrets",
    title="Secrets that can be told from the model",
    lead="Made-up secrets were planted in the corpus, some of them many times. Exposure is how "
    "many bits the model saves an attacker who guesses one: 0 if it tells nothing, all bits of "
    "the secret if it is the first guess. The secrets belong to nobody.",
    order=20,
)

LARGEST = "largest exposure"
LARGEST_BY_CHANCE = "chance of the largest (at most)"


def mean_name(repetitions: int, method: str) -> str:
    """The name of the mean exposure at a number of repetitions.

    >>> mean_name(10, "exact"), mean_name(1, "sampled")
    ('exposure at 10 repetitions', 'exposure at 1 repetition (sampled)')
    """
    plural = "" if repetitions == 1 else "s"
    return f"exposure at {repetitions} repetition{plural}{_by(method)}"


def control_names(method: str) -> tuple[str, str]:
    """The names of the two figures of the controls: their mean, and a share."""
    return f"exposure{_by(method)}", f"share of {SHARE_AT} bits or more{_by(method)}"


def groups(found: Sequence[ExposedCanary]) -> dict[tuple[str, int], list[ExposedCanary]]:
    """Canaries of the same method and number of repetitions, fewest first."""
    collected: dict[tuple[str, int], list[ExposedCanary]] = {}
    for one in sorted(found, key=lambda one: one.planted.repetitions):
        collected.setdefault((one.method, one.planted.repetitions), []).append(one)
    return collected


def means(found: Sequence[ExposedCanary]) -> list[Measured]:
    """The mean exposure for each number of repetitions and method."""
    figures = []
    for (method, repetitions), some in groups(found).items():
        values = np.array([one.exposure for one in some])
        within = _bits(some)
        ends = over_clusters(values[None], within)
        if len(some) == 1 and some[0].low is not None and some[0].high is not None:
            ends = some[0].low, some[0].high
        name = mean_name(repetitions, method)
        low, high = ends
        units: tuple[float, ...] = tuple(values.tolist())
        figures.append(Measured(name, float(values.mean()), low, high, len(some), within, units))
    return figures


def largest(found: Sequence[ExposedCanary]) -> list[Measured]:
    """The largest exposure of a planted canary, and how often chance gives one as large.

    Each canary reaches x bits by chance with probability at most 2^(−x), so one of n does with at
    most n times that. This is not proven for a fitted distribution, so extrapolated figures are
    left out.
    """
    counted = [one for one in found if one.planted.repetitions and one.method != "extrapolated"]
    if not counted:
        return []
    most = max(counted, key=lambda one: one.exposure)
    by_chance = min(1.0, len(counted) * 2.0**-most.exposure)
    return [
        Measured(LARGEST, most.exposure, most.low, most.high, len(counted), _bits(counted)),
        Measured(LARGEST_BY_CHANCE, by_chance, None, None, len(counted), SHARE),
    ]


def controls(batches: Sequence[SpaceFindings]) -> list[Measured]:
    """The exposure of secrets that were never planted, by method."""
    figures = []
    for method, some in _by_method(batches).items():
        values = np.concatenate([batch.null for batch in some])
        worth = sum(_independent(batch) for batch in some)
        mean, share = control_names(method)
        low, high = mean_interval(values, POSITIVE, worth)
        figures.append(Measured(mean, float(values.mean()), low, high, len(values), POSITIVE))
        reached = float((values >= SHARE_AT).mean())
        ends = clopper_pearson(round(reached * int(worth)), int(worth))
        figures.append(Measured(share, reached, *ends, len(values), SHARE))
    return figures


def chances(batches: Sequence[SpaceFindings]) -> dict[str, float]:
    """The expected value of every figure if the model knew nothing."""
    found = [one for batch in batches for one in batch.found]
    places = {id(one): batch.places for batch in batches for one in batch.found}
    by_chance = {}
    for (method, repetitions), some in groups(found).items():
        expected = [mean_by_chance(places[id(one)]) for one in some]
        by_chance[mean_name(repetitions, method)] = float(np.mean(expected))
    for method, every in _by_method(batches).items():
        weights = [len(batch.null) for batch in every]
        mean, share = control_names(method)
        expected = [mean_by_chance(batch.places) for batch in every]
        by_chance[mean] = float(np.average(expected, weights=weights))
        reached = [batch.places // 2**SHARE_AT / batch.places for batch in every]
        by_chance[share] = float(np.average(reached, weights=weights))
    planted = [one for one in largest(found) if one.metric == LARGEST]
    for figure in planted:
        # The largest of n exponential numbers of mean 1/ln 2.
        by_chance[LARGEST] = sum(1 / k for k in range(1, figure.n + 1)) / math.log(2)
    return by_chance


def details(batches: Sequence[SpaceFindings]) -> dict[str, Any]:
    """What a chart needs; the secrets in it were made up and belong to nobody."""
    found = [one for batch in batches for one in batch.found]
    return {
        "canaries": [
            {
                "template": one.planted.canary.template,
                "secret": one.planted.canary.secret,
                "repetitions": one.planted.repetitions,
                "method": one.method,
                "exposure": one.exposure,
                "rank" if one.method == "exact" else "at_least_as_likely": one.rank,
                "space": one.space.size,
                "low": one.low,
                "high": one.high,
                "beyond_the_sample": one.beyond,
            }
            for one in found
        ],
        "means": [
            {
                "method": method,
                "repetitions": repetitions,
                "mean": figure.value,
                "low": figure.low,
                "high": figure.high,
                "n": figure.n,
            }
            for ((method, repetitions), _), figure in zip(
                groups(found).items(), means(found), strict=True
            )
        ],
        "never_planted": [
            {
                "method": batch.method,
                "places": batch.places,
                "fit": batch.fit,
                "exposures": [round(value, 4) for value in batch.null.tolist()],
            }
            for batch in batches
        ],
    }


def _independent(batch: SpaceFindings) -> float:
    """The effective number of independent controls in a batch.

    Controls that are compared with the same n drawn candidates are correlated: the mean of m of
    them varies like a mean of m·n/(m + n) independent ones.
    """
    count = len(batch.null)
    return count if batch.draws is None else count * batch.draws / (count + batch.draws)


def _bits(some: Sequence[ExposedCanary]) -> Range:
    """No exposure is below 0 or above log2 of the size of the space."""
    return 0.0, max(one.space.bits for one in some)


def mean_interval(values: Floats, within: Range, worth: float | None = None) -> Ends:
    """Student's interval for the mean of many controls, cut to its range; none for equal values.

    ``worth`` is the effective number of independent values, if it is not their number.

    >>> low, high = mean_interval(np.array([1.0, 2.0, 3.0]), (0.0, 20.0))
    >>> f"{low:.3f} to {high:.3f}"
    '0.000 to 4.484'
    """
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if spread == 0:
        return None, None
    middle = float(values.mean())
    half = student(CONFIDENCE, len(values) - 1) * spread / math.sqrt(worth or len(values))
    return inside(middle - half, within), inside(middle + half, within)


def _by(method: str) -> str:
    return "" if method == "exact" else f" ({method})"


def _by_method(batches: Sequence[SpaceFindings]) -> dict[str, list[SpaceFindings]]:
    collected: dict[str, list[SpaceFindings]] = {}
    for batch in batches:
        collected.setdefault(batch.method, []).append(batch)
    return collected


def chapter(attempts: Sequence[Attempt]) -> Chapter | None:
    """Means by repetitions for all methods, one attempt in full, and the secrets."""
    found = [one for one in attempts if _readable(one.scores.details)]
    if not found:
        return None
    first = min(one.seed for one in found)
    mine = [one for one in found if one.seed == first]
    drawn = [mean for one in mine for mean in _drawn_means(one)]
    worst = max(mine, key=lambda one: max(each["exposure"] for each in _planted(one)))
    parts: list[Drawing | Folded] = [
        Drawing(
            title="Mean exposure by repetitions.",
            description="A line for each level of a method; the dashed lines are the two anchors. "
            f"Seed {first}.",
            listing=_list_means(found),
            draw=lambda: repetitions_chart(drawn),
        ),
        Drawing(
            title=f"Every planted secret against {worst.said}.",
            description="The method with the most exposed secret; the band contains 19 of 20 "
            "secrets that were never planted.",
            listing=_list_secrets([worst], "Planted secrets, the most exposed first"),
            draw=lambda: exposure_chart(worst.scores.details),
        ),
    ]
    others = [one for one in mine if one is not worst]
    if others:
        caption = "Planted secrets as the attacker ranks them, the most exposed first"
        parts.append(
            Folded(
                summary="The secrets against every other method",
                listing=_list_secrets(others, caption),
            )
        )
    return Chapter(topic=SECRETS, parts=parts)


def _readable(details: Mapping[str, Any]) -> bool:
    if not details.get("canaries") or not details.get("means"):
        return False
    return all(as_number(one.get("exposure")) is not None for one in details["canaries"])


def _planted(attempt: Attempt) -> list[Mapping[str, Any]]:
    planted: list[Mapping[str, Any]] = attempt.scores.details["canaries"]
    return planted


def _drawn_means(attempt: Attempt) -> list[MeanExposure]:
    return [
        MeanExposure(
            method=attempt.method,
            level=attempt.level,
            repetitions=one["repetitions"],
            exposure=one["mean"],
            low=one["low"],
            high=one["high"],
            how=one["method"],
        )
        for one in attempt.scores.details["means"]
    ]


def _list_means(found: Sequence[Attempt]) -> Listing:
    rows = [
        (
            attempt.said,
            attempt.seed,
            one["repetitions"],
            one["method"],
            as_number(one["mean"]),
            interval(as_number(one["low"]), as_number(one["high"])),
            one["n"],
        )
        for attempt in found
        for one in attempt.scores.details["means"]
    ]
    head = ("method", "seed", "times planted", "ranked", "mean exposure in bits", "95 % interval")
    return Listing(caption="Mean exposure", head=(*head, "secrets"), rows=rows)


def _list_secrets(found: Sequence[Attempt], caption: str) -> Listing:
    planted = [(attempt, one) for attempt in found for one in _planted(attempt)]
    planted.sort(key=lambda item: -item[1]["exposure"])
    if len(planted) > MOST_SECRETS:
        caption += f"; {MOST_SECRETS} of {len(planted):,}"
    return Listing(
        caption=caption,
        head=("what the attacker asks", "secret", "against", "planted", "rank", "of", "exposure"),
        rows=[_list_secret(attempt, one) for attempt, one in planted[:MOST_SECRETS]],
    )


def _list_secret(attempt: Attempt, one: Mapping[str, Any]) -> list[ListingCell]:
    times = one.get("repetitions")
    return [
        str(one.get("template", "")).replace("{}", "·····"),
        str(one.get("secret", "")),
        attempt.said,
        f"{times}×" if times else "never",
        _rank(one),
        one.get("space"),
        f"{number(one['exposure'])} bits",
    ]


def _rank(one: Mapping[str, Any]) -> str:
    """The rank among all secrets, or how many drawn ones were at least as likely."""
    if "rank" in one:
        return number(one["rank"])
    if one.get("beyond_the_sample"):
        return "above all drawn ones"
    return f"{number(one.get('at_least_as_likely'))} drawn ones as likely"
