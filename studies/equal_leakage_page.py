"""The page ``docs/results/equal-leakage.md`` and its charts, from the kept figures of its study.

    python studies/equal_leakage_page.py > docs/results/equal-leakage.md

Every sentence with a figure is written from ``studies/figures``; what was not computed is left out
and listed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from equal_leakage import (
    CONTROL,
    EXPOSED,
    KINDS,
    MEMBER,
    MISSES,
    PERPLEXITY,
    RECALL,
    SIGNS,
    Kind,
    Place,
    at_chance,
    best_at_chance,
    calibrated,
    complete,
    draw,
    never_at_chance,
    places,
    point,
    seconds,
    told_apart,
)
from kept import Figures, number, shown, table
from sfumato.calibration.curves import LevelEstimate
from sfumato.calibration.inverse import (
    ABOVE_EVERYWHERE,
    BELOW_EVERYWHERE,
    REACHED,
    UNFIT_CURVE,
)
from sfumato.calibration.results import MethodAtTargets
from sfumato.reports.picture import draw_file
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.studies.expected import spoken

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "studies" / "figures" / "equal-leakage.json"
IMAGES = Path("docs/images")
BITS, AREA = 4.0, 0.6
COPIES = 15  # dialogues that a secret is planted in
CHARTS = {
    "equal-leakage-secrets.svg": (EXPOSED, "leaks more: bits of exposure of a planted secret"),
    "equal-leakage-dialogues.svg": (MEMBER, "leaks more: AUC of membership of a dialogue"),
}
TOLD = {
    "equal-leakage-secrets.svg": "Perplexity against exposure of planted secrets, by method",
    "equal-leakage-dialogues.svg": "Perplexity against membership of dialogues, by method",
}
ELSEWHERE = {
    BELOW_EVERYWHERE: "Less than that at every level tried",
    ABOVE_EVERYWHERE: "More than that at every level tried",
    UNFIT_CURVE: "No curve that could be read, up and down or flat",
}
# Which methods to set beside each other, and how: the first of each side in the order of utility.
SIDES: tuple[tuple[str, tuple[Callable[[Kind], bool], Callable[[Kind], bool]]], ...] = (
    (
        "perplexity with a policy has {}; without one {}",
        (lambda kind: kind.policy == "yes", lambda kind: kind.policy == "no"),
    ),
    (
        "perplexity with a text that can be shared has {}; with a model {}",
        (lambda kind: kind.shared == "text", lambda kind: kind.shared == "model"),
    ),
    (
        "perplexity with a public pool of the same kind has {}; without policy or pool {}",
        (lambda kind: "pool" in kind.policy, lambda kind: kind.policy == "no"),
    ),
)
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


def main() -> None:
    """Print the page and write its charts."""
    found = Figures.read(FIGURES)
    for name, content in charts(found).items():
        (ROOT / IMAGES / name).write_bytes(content)
    print("\n".join(page(found)))


def charts(found: Figures) -> dict[str, bytes]:
    """The charts by the names of their files."""
    whole = complete(found)
    drawn = {name: draw(whole, *asked) for name, asked in CHARTS.items()}
    return {name: draw_file(one, TOLD[name]) for name, one in drawn.items() if one is not None}


def page(computed: Figures) -> list[str]:
    """All of it in Markdown."""
    found = complete(computed)
    return [
        "# All methods at equal measured leakage",
        "",
        *introduction(found),
        "",
        f"![{TOLD['equal-leakage-secrets.svg']}](../images/equal-leakage-secrets.svg)",
        "",
        "*Better is up and left. Lines across marks are 95 % intervals over secrets and seeds; a "
        "hollow mark is a leakage that is not told from chance, so only its upper end says "
        "anything. Of made-up values and masks, the level is the recall of the policy. Another "
        "shop's pools, which are far below, are in the tables only.*",
        "",
        "## What was found",
        "",
        *(f"- {one}" for one in findings(found)),
        "",
        "## Where secrets are not told from chance",
        "",
        *section(found, [EXPOSED]),
        "",
        "## Where dialogues are not told from chance, either",
        "",
        *section(found, [EXPOSED, MEMBER]),
        "",
        f"![{TOLD['equal-leakage-dialogues.svg']}](../images/equal-leakage-dialogues.svg)",
        "",
        "## At the same middle leakage",
        "",
        *middle(found),
        "",
        "## Equal numbers are not equal privacy",
        "",
        *same_number(found),
        "",
        "## Every level",
        "",
        *everything(found),
        "",
        "## Where this was computed",
        "",
        *where(computed),
    ]


def introduction(found: Figures) -> Iterator[str]:
    """What was asked, and how it was measured."""
    exposed = found.point(NO_PRIVACY, None, EXPOSED)
    units = exposed.n if exposed is not None else 0
    yield (
        "Papers compare two or three methods, each with attacks and corpora of its own. Here every "
        "method of this package ends in the same thing, a language model of the same dialogues, so "
        "that one attack and one figure of utility serve all of them: what does each cost, where "
        "they leak equally much? "
        f"300 dialogues of CustomerSim, in which {units} secrets of six digits (“My ID is "
        "341752.”) are planted 15 times each; a one-layer LSTM with 200 numbers that has read "
        "public dialogues of another shop and is then trained with the method, or on the text that "
        f"the method made; {_seeds(found)}. "
        "Utility is the perplexity on 300 other dialogues as they are, their names and numbers "
        "included, per token of a vocabulary of 1,024."
    )
    yield ""
    yield (
        "Leakage is measured twice. *Exposure* asks for the planted secrets: a secret that was "
        "never planted has 1.44 bits on average, and 19.9 is the most. *Membership* asks for "
        "dialogues: how well does the loss tell the 300 from 300 others, which have the same "
        "secrets planted in them (AUC, 0.5 by chance)? "
        f"A model without privacy has {shown(exposed)} bits, an AUC of "
        f"{shown(found.point(NO_PRIVACY, None, MEMBER))} and a perplexity of "
        f"{shown(found.point(NO_PRIVACY, None, PERPLEXITY))}; the public model that all begin with "
        f"has {shown(found.point(RANDOM_OUTPUT, None, EXPOSED))}, "
        f"{shown(found.point(RANDOM_OUTPUT, None, MEMBER))} and "
        f"{shown(found.point(RANDOM_OUTPUT, None, PERPLEXITY))}. All intervals are of 95 %, over "
        "secrets or dialogues and seeds. **Neither attack proves anything**: a better one would "
        "find more, and what is proven is in the column of that name."
    )


def _of_one_seed(found: Figures) -> str:
    if len({row.seed for row in found.rows}) > 1:
        return ""
    return " With one seed that is about the test dialogues: another run might differ by more."


def _seeds(found: Figures) -> str:
    counts = sorted(
        one.seeds for place in places(found) if (one := point(found, place, PERPLEXITY)) is not None
    )
    if not counts:
        return "no seed yet"
    if counts[-1] == 1:
        return (
            "one seed, so that intervals are those of the secrets, dialogues and test texts that "
            "were looked at, and cover nothing of what another run would give"
        )
    few = f"{counts[0]} to {counts[-1]}" if counts[0] < counts[-1] else f"{counts[0]}"
    return f"{few} seeds, all with the same secrets"


def findings(found: Figures) -> Iterator[str]:
    """What the tables below show, in sentences."""
    for metrics, called in (
        ([EXPOSED], "secrets are not told from chance"),
        ([EXPOSED, MEMBER], "neither secrets nor dialogues are told from chance"),
    ):
        chosen = [one for one in best_at_chance(found, metrics) if one.base != CONTROL]
        for said, sides in SIDES:
            pair = [
                next((one for one in chosen if is_in(KINDS[one.base])), None) for is_in in sides
            ]
            if pair[0] is None or pair[1] is None:
                continue
            first, second = (_named(found, place) for place in pair if place is not None)
            yield f"Where {called}, the best {said.format(first, second)}: {_apart(found, pair)}."
    yield from _only_secrets(found)
    yield from _attacks_see_less(found)


def _named(found: Figures, place: Place) -> str:
    said = f"{place.base} at {place.said}" if place.said else place.base
    return f"{said}, {shown(point(found, place, PERPLEXITY))}"


def _apart(found: Figures, pair: Sequence[Place | None]) -> str:
    figures = [point(found, place, PERPLEXITY) for place in pair if place is not None]
    first, second = figures
    if first is None or second is None or not told_apart(first, second):
        return "these are not told apart"
    return "the first is better" if first.value < second.value else "the second is better"


def _only_secrets(found: Figures) -> Iterator[str]:
    """Levels that look harmless by secrets, and give dialogues away."""
    told = [
        f"{place.base} at {place.said} (AUC {shown(point(found, place, MEMBER))})"
        for place in best_at_chance(found, [EXPOSED])
        if not at_chance(point(found, place, MEMBER))
    ]
    if told:
        yield (
            f"Secrets alone mislead: {' and '.join(told)} show none of them, and still show which "
            "dialogues were there."
        )


def _attacks_see_less(found: Figures) -> Iterator[str]:
    """How large a level can be at which the attack on secrets sees nothing."""
    for base in ("DP-SGD", "directional"):
        mine = [place for place in places(found) if place.base == base and _stated(found, place)]
        quiet = [place for place in mine if at_chance(point(found, place, EXPOSED))]
        loud = [place for place in mine if place not in quiet]
        if quiet and loud:
            most = max(quiet, key=lambda place: float(_stated(found, place)["epsilon"]))
            least = min(loud, key=lambda place: float(_stated(found, place)["epsilon"]))
            levels = [float(_stated(found, place)["epsilon"]) for place in (most, least)]
            yield (
                f"The secrets of {base} are not told from chance up to a proven ε of "
                f"{_epsilon(levels[0])} for one dialogue (at most {_epsilon(COPIES * levels[0])} "
                f"for a secret that stands in {COPIES} of them), and have "
                f"{shown(point(found, least, EXPOSED))} bits at {_epsilon(levels[1])}."
            )


def _epsilon(level: float) -> str:
    return f"{level:,.0f}" if level >= 100 else f"{level:.3g}"


def section(found: Figures, metrics: Sequence[str]) -> Iterator[str]:
    """Each method at its most useful level that is not told from chance; how they rank."""
    chosen = best_at_chance(found, metrics)
    attacks = "neither attack tells" if len(metrics) > 1 else "exposure does not tell"
    yield (
        f"Of each method the level with the best perplexity at which {attacks} it from chance (the "
        "interval reaches chance). “Not told” bounds leakage by the upper end of the interval, and "
        "shows nothing smaller. Time is processor time for one model, the making of its text "
        "included."
    )
    yield ""
    head = (
        *("method", "proven level, and of what", "exposure", "AUC", "perplexity", "time"),
        *("policy", "who is trusted", "can be shared"),
    )
    yield from table(head, [_line(found, place) for place in chosen])
    yield ""
    yield from (f"- {one}" for one in ranking(found, chosen))
    missing = never_at_chance(found, metrics)
    if missing:
        yield f"- At no level that was tried: {', '.join(missing)}."


def _line(found: Figures, place: Place) -> tuple[str, ...]:
    kind = KINDS[place.base]
    return (
        f"{place.base}, {place.said}" if place.said else place.base,
        proven(found, place),
        *(shown(point(found, place, one)) for one in (EXPOSED, MEMBER, PERPLEXITY)),
        _time(found, place),
        *(kind.policy, kind.trust, kind.shared),
    )


def proven(found: Figures, place: Place) -> str:
    """The level that a method states, and what it speaks of."""
    stated = _stated(found, place)
    if not stated:
        return "–"
    speaks = speaks_of(found, place)
    if stated["notion"] == "no formal guarantee":
        return "nothing is proven"
    level = float(stated["epsilon"])
    if level == 0:
        return f"0: {speaks}"
    delta = f", δ = {stated['delta']:g}" if stated["delta"] else ""
    return f"ε = {_epsilon(level)}{delta}: {speaks}"


def speaks_of(found: Figures, place: Place) -> str:
    """What the level of a method speaks of; the policy of MDP finds every word."""
    stated = _stated(found, place)
    notion = (
        stated["notion"].removeprefix("selective ") if place.base == "MDP" else stated["notion"]
    )
    return SPEAKS[notion, stated["unit"]]


def _stated(found: Figures, place: Place) -> dict[str, Any]:
    runs = found.runs(place.method, place.level)
    return dict(runs[0].get("proven", {})) if runs else {}


def ranking(found: Figures, chosen: Sequence[Place]) -> Iterator[str]:
    """From the most useful to the least: which neighbors are told apart."""
    known = [(place, one) for place in chosen if (one := point(found, place, PERPLEXITY))]
    if len(known) < 2:
        return
    order, apart = [known[0][0].base], 0
    for (_, before), (place, one) in pairwise(known):
        differs = told_apart(before, one)
        apart += differs
        order.append(f"{'**<**' if differs else '≈'} {place.base}")
    yield (
        f"In order of perplexity: {' '.join(order)}. **<** is a difference that is larger than the "
        "intervals, ≈ is none that shows; "
        f"{apart} of {len(known) - 1} neighbors are told apart.{_of_one_seed(found)}"
    )
    pool = next((pair for pair in known if pair[0].base == CONTROL), None)
    if pool is None:
        return
    better = [place.base for place, one in known if one.value < pool[1].value]
    clear = [
        place.base for place, one in known if one.value < pool[1].value and told_apart(one, pool[1])
    ]
    yield (
        f"Public dialogues of the same kind, with no private one read, already have "
        f"{shown(pool[1])}. Clearly better than that: {', '.join(clear) or 'none'}"
        f"{_not_clear(better, clear)}."
    )


def _not_clear(better: Sequence[str], clear: Sequence[str]) -> str:
    others = [one for one in better if one not in clear]
    return f"; better, but not told apart: {', '.join(others)}" if others else ""


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
        worse = [other for other, beside in reached[place + 1 :] if one.high < beside.low]
        if worse:
            clear = True
            yield f"There {name} is more useful than {' and '.join(worse)}, beyond the intervals."
    if len(reached) > 1 and not clear:
        yield "No two of these differ by more than their intervals."
    for status, said in ELSEWHERE.items():
        some = [one.name for one in methods if one.targets[0].inversion.status == status]
        if some:
            yield f"{said}: {', '.join(some)}."


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
        if _stated(found, place)
    ]
    yield from table(("method", "what ε = 8 speaks of", "exposure", "AUC", "perplexity"), lines)
    yield ""
    yield (
        "A planted secret stands in 15 dialogues, so that a level for one dialogue holds for it "
        "with 15 times the ε (group privacy) and a larger δ. Over a dialogue, the levels of words "
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
                    *(*map(shown, figures), _time(found, place), _hidden(figures[:2])),
                )
            )
    for name, called in ((NO_PRIVACY, NO_PRIVACY), (RANDOM_OUTPUT, "public model alone")):
        figures = [found.point(name, None, one) for one in (EXPOSED, MEMBER, PERPLEXITY)]
        if all(one is not None for one in figures):
            took = _time(found, Place(name, None, None))
            lines.append((called, "–", "–", *map(shown, figures), took, _hidden(figures[:2])))
    head = (
        *("method", "level", "proven", "exposure", "AUC", "perplexity", "time"),
        "not told from chance",
    )
    yield from table(head, lines)


def _in_table(place: Place, otherwise: str) -> tuple[str, str]:
    """A method and its level; one whose policy also misses at one level is a line of its own."""
    if place.recall is None or place.level is None:
        return place.base, place.said or otherwise
    level, _, recall = place.said.partition(", ")
    return f"{place.base} at {level}", recall


def _time(found: Figures, place: Place) -> str:
    took = seconds(found, place)
    return "–" if took is None else f"{took:.0f} s"


def _hidden(figures: Sequence[SeriesPoint | None]) -> str:
    names = zip(("secrets", "dialogues"), figures, strict=True)
    return ", ".join(name for name, one in names if at_chance(one)) or "–"


def where(found: Figures) -> Iterator[str]:
    """The commands, time, what is missing and what was not asked."""
    yield "```sh"
    yield "python studies/public_dialogues.py PUBLIC"
    yield "python studies/equal_leakage_corpus.py RESOURCES/data/customersim CORPUS"
    yield (
        "SFUMATO_PUBLIC=PUBLIC SFUMATO_EQUAL=CORPUS sfumato study run studies/equal-leakage.toml "
        "--workers 1 --allow-path PUBLIC --allow-path CORPUS"
    )
    yield "```"
    yield ""
    done, cells = found.content["done"], found.content["cells"]
    took = spoken(found.content["cpu_seconds"])
    yield (
        f"{done} of {cells} cells, {took} of processor time, on a machine that others used, too. "
        "Levels, passes and rates were set by pilot runs with a seed that is not among those above."
    )
    missing = found.missing()
    if missing:
        yield ""
        yield f"Not computed yet: {'; '.join(missing)}."
    yield ""
    yield (
        "One corpus, from templates: with names and numbers gone, one dialogue is much like "
        "another, so that methods which replace just these look good here, and the membership of "
        "dialogues hardly shows what else a model remembers. Numbers are in no vocabulary, so that "
        "MDP and SMDP draw others of the same shape at every level, and exposure says nothing "
        "about their ε. What comes from a public pool cannot hold a planted secret, whatever the "
        "level. “Another shop's pool” are generated dialogues, the other pool is of the same "
        "templates as the private dialogues: the best that there could be. Whoever has such a pool "
        "could also begin every other method with a model of it, which was not tried. The same on "
        "SST-2 was not computed."
    )


if __name__ == "__main__":
    main()
