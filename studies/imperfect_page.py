"""The page ``docs/results/imperfect-policy.md``, from the kept figures of its study.

    python studies/imperfect_page.py > docs/results/imperfect-policy.md

Every sentence with a figure is written from ``studies/figures``; what was not computed is left out
and listed at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kept import Figures, number, shown, steps_of, table
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.statistics.clusters import over_clusters
from sfumato.studies.expected import spoken

FIGURES = Path(__file__).parent / "figures" / "imperfect-policy.json"
EXPOSED, PERPLEXITY = "exposure at 10 repetitions", "perplexity"
PRIVATE, OTHER = "perplexity, private tokens", "perplexity, other tokens"
RECALLS = (0.5, 0.65, 0.8, 0.95, 1.0)
MASKS, OURS, OURS_MASKED = "masks", "Selective-DPSGD", "Selective-DPSGD, masks"
METHODS: Mapping[str, float | None] = {MASKS: None, OURS_MASKED: 8.0, OURS: 8.0}
NAMES = {
    MASKS: "masks alone",
    OURS_MASKED: "Selective-DPSGD with masks",
    OURS: "Selective-DPSGD with made-up values",
}
# What had been seen when the rest was planned.
FIRST_SEEDS, LOOKED_AT = 3, 0.8
CHANCE = 1.44  # bits that a secret has on average that was never planted


def main() -> None:
    """Print the page."""
    print("\n".join(page(Figures.read(FIGURES))))


def page(found: Figures) -> list[str]:
    """All of it in Markdown."""
    return [
        "# A policy that misses",
        "",
        *introduction(found),
        "",
        "## What was found",
        "",
        *(f"- {one}" for one in findings(found)),
        "",
        "## Exposure by recall",
        "",
        *by_recall(found, EXPOSED),
        "",
        "In bits, the mean of 24 secrets with its 95 % interval, which is over secrets and "
        f"seeds. Without privacy it is {shown(found.point(NO_PRIVACY, None, EXPOSED))}, in models "
        f"that were never trained {shown(found.point(RANDOM_OUTPUT, None, EXPOSED))}; a secret "
        f"that was never planted has {CHANCE} on average, and 19.9 is the most. These intervals "
        "count with secrets unlike those that were drawn.",
        "",
        "## What made-up values and private steps take away",
        "",
        *differences(found),
        "",
        "## Perplexity by recall",
        "",
        *by_recall(found, PERPLEXITY),
        "",
        f"Without privacy it is {shown(found.point(NO_PRIVACY, None, PERPLEXITY))}. It is per "
        "token of a vocabulary of 1,024, and of all text, private places included.",
        "",
        "## Where this was computed",
        "",
        *where(found),
    ]


def introduction(found: Figures) -> Iterator[str]:
    """What was done."""
    runs = [
        run
        for name, level in METHODS.items()
        if level is not None
        for recall in RECALLS
        for run in found.runs(f"{name}, recall {recall:g}", level)
    ]
    yield (
        "Whatever a policy misses is public text to every method that has one: no guarantee "
        "covers it. How much of it does a model then give away? Shi et al. (2022, section 5.4.2) "
        "let the policy miss one secret and find it less exposed by Selective-DPSGD than by masks "
        "alone while models are middling. Here 24 secrets of six digits (“My ID is 341752.”) are "
        "planted ten times each in 300 dialogues of CustomerSim, and a policy of recall *r* "
        "misses each place that `pii` finds, planted or not, with probability 1 − *r*: at 0.8 a "
        f"planted secret stands in the clear twice on average. {_seeds(found)} seeds, which all "
        "have the same "
        "secrets and the same misses; a one-layer LSTM with 200 numbers; all methods read public "
        f"text 15 times, Selective-DPSGD takes {steps_of(runs)} private steps at ε = 8 after that"
        f"{_deltas(runs)}. So few dialogues make for a model that remembers much: what counts is "
        "how methods compare."
    )
    yield ""
    yield (
        "Recall is that of places which `pii` finds: what it misses itself is not counted. Places "
        "are missed at random here, so that most secrets are found somewhere; a policy that does "
        "not know a form misses it every time. The level is for what the policy finds in one "
        "dialogue, and a planted secret stands in several."
    )


def _deltas(runs: Iterable[Mapping[str, Any]]) -> str:
    said = [f"{one:g}" for one in sorted({run["delta"] for run in runs})]
    return f", δ = {' to '.join(dict.fromkeys((*said[:1], *said[-1:])))}" if said else ""


def _seeds(found: Figures) -> int:
    return max(len(found.by_seed(*_place(MASKS, recall), EXPOSED)) for recall in RECALLS)


def findings(found: Figures) -> Iterator[str]:
    """Sentences about what the tables show."""
    for recall in RECALLS:
        masks, ours = exposure(found, MASKS, recall), exposure(found, OURS, recall)
        less = difference(found, recall, (MASKS, OURS))
        if masks is None or ours is None or less is None:
            continue
        yield (
            f"At a recall of {recall:g} a planted secret has {shown(masks)} bits with masks alone "
            f"and {shown(ours)} with Selective-DPSGD and made-up values: {less.told}."
        )
    yield from _what_helps(found)
    yield from _over_recall(found)


def _what_helps(found: Figures) -> Iterator[str]:
    """Whether it is private steps or made-up values that take exposure away."""
    for recall in RECALLS[:-1]:
        steps = difference(found, recall, (MASKS, OURS_MASKED))
        values = difference(found, recall, (OURS_MASKED, OURS))
        if steps is None or values is None or values.low is None or steps.low is None:
            continue
        yield (
            f"At a recall of {recall:g}, private steps after masks {steps.change}, beside masks "
            f"alone; made-up values in the place of these masks then {values.change}."
        )


@dataclass(frozen=True)
class Difference:
    """How many bits fewer a secret has with one method than with another, on average."""

    value: float
    low: float | None
    high: float | None
    seeds: int

    @property
    def shown(self) -> str:
        """With its interval."""
        if self.low is None or self.high is None:
            return f"{self.value:.2f}"
        return f"{self.value:.2f} ({self.low:.2f} – {self.high:.2f})"

    @property
    def of_seeds(self) -> str:
        """How many seeds it is of."""
        return f"{self.seeds} seed{'' if self.seeds == 1 else 's'}"

    @property
    def change(self) -> str:
        """What going from the first method to the second does, as far as its interval tells."""
        if self.low is not None and self.low > 0:
            return f"take {self.shown} bits away"
        if self.high is not None and self.high < 0:
            return f"add {self.reversed.shown} bits"
        return f"change nothing that is told from 0 ({self.shown} bits fewer)"

    @property
    def reversed(self) -> Difference:
        """How many bits more."""
        low, high = (None if one is None else -one for one in (self.high, self.low))
        return Difference(-self.value, low, high, self.seeds)

    @property
    def told(self) -> str:
        """What its interval says."""
        if self.low is None or self.high is None:
            return "a single figure, which tells nothing"
        if self.low > 0:
            return f"that is less, by {self.shown}"
        if self.high < 0:
            return f"that is more, by {self.reversed.shown}"
        return f"the two are not told apart ({self.shown} fewer)"


def difference(
    found: Figures, recall: float, methods: tuple[str, str], after: int = 0
) -> Difference | None:
    """Bits of the first less those of the second, secret by secret, in the seeds that both have.

    Seeds up to ``after`` are left out. The interval is over seeds and secrets at once and takes
    secrets that were not drawn to be like those that were: a difference has no side that is the
    safe one.
    """
    one, other = (found.by_seed(*_place(name, recall), EXPOSED) for name in methods)
    both = sorted(seed for seed in one.keys() & other.keys() if seed > after)
    if not both:
        return None
    fewer = np.array([one[seed] for seed in both]) - np.array([other[seed] for seed in both])
    low, high = over_clusters(fewer) if len(both) > 1 else (None, None)
    return Difference(float(fewer.mean()), low, high, len(both))


def differences(found: Figures) -> Iterator[str]:
    """A line for each recall: with what, and with how many seeds."""
    yield (
        "Bits fewer than with masks alone, the mean over secrets and seeds that both methods have, "
        "with its 95 % interval: each secret is compared with itself, which tells more than the "
        "two columns above do. An interval that holds 0 tells nothing, which does not show that "
        "the methods are alike; one interval in twenty is wrong by chance."
    )
    yield ""
    lines = []
    for recall in RECALLS:
        cells = [difference(found, recall, (MASKS, name)) for name in (OURS_MASKED, OURS)]
        if any(cells):
            said = ("–" if one is None else f"{one.shown}, {one.of_seeds}" for one in cells)
            lines.append((f"{recall:g}", *said))
    yield from table(("recall", NAMES[OURS_MASKED], NAMES[OURS]), lines)
    fresh = difference(found, LOOKED_AT, (MASKS, OURS), after=FIRST_SEEDS)
    if fresh is not None:
        yield ""
        yield (
            f"More seeds, and this comparison, were decided upon after the first {FIRST_SEEDS} had "
            f"shown the largest difference at a recall of {LOOKED_AT:g}, too small for them to "
            f"tell. The {fresh.seeds} that followed have, by themselves, {fresh.shown} bits fewer "
            "there with made-up values than with masks alone."
        )


def _over_recall(found: Figures) -> Iterator[str]:
    for name in (MASKS, OURS):
        known = [(recall, exposure(found, name, recall)) for recall in RECALLS]
        there = [(recall, point) for recall, point in known if point is not None]
        if len(there) < 2:
            continue
        (worst, most), (best, least) = there[0], there[-1]
        yield (
            f"With {NAMES[name]} exposure goes from {number(most.value)} bits at a recall of "
            f"{worst:g} to {number(least.value)} at {best:g}."
        )


def exposure(found: Figures, method: str, recall: float) -> SeriesPoint | None:
    """The exposure at a recall."""
    return found.point(*_place(method, recall), EXPOSED)


def _place(method: str, recall: float) -> tuple[str, float | None]:
    return f"{method}, recall {recall:g}", METHODS[method]


def by_recall(found: Figures, metric: str) -> list[str]:
    """One line for each recall, one column for each method."""
    lines = []
    for recall in RECALLS:
        points = [
            found.point(f"{name}, recall {recall:g}", level, metric)
            for name, level in METHODS.items()
        ]
        if any(point is not None for point in points):
            lines.append((f"{recall:g}", *map(shown, points)))
    return table(("recall", *NAMES.values()), lines)


def where(found: Figures) -> Iterator[str]:
    """The command, time, and what is missing."""
    yield "```sh"
    yield "python studies/public_dialogues.py PUBLIC"
    yield (
        "SFUMATO_RESOURCES=RESOURCES SFUMATO_PUBLIC=PUBLIC sfumato study run "
        "studies/imperfect-policy.toml --workers 2 --allow-path RESOURCES --allow-path PUBLIC"
    )
    yield "```"
    yield ""
    done, cells = found.content["done"], found.content["cells"]
    took = spoken(found.content["cpu_seconds"])
    yield f"{done} of {cells} cells, {took} of processor time."
    missing = found.missing()
    if missing:
        yield ""
        yield f"Not computed yet: {'; '.join(missing)}."


if __name__ == "__main__":
    main()
