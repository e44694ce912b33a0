"""What the tables of ``docs/results/equal-leakage*.md`` show, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from equal_leakage import (
    CONTROL,
    EXPOSED,
    KINDS,
    MEMBER,
    PERPLEXITY,
    Kind,
    Place,
    at_chance,
    best_at_chance,
    places,
    point,
    told_apart,
)
from equal_leakage_tables import epsilon, stated
from kept import Figures, number, shown
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT

# Which methods to set beside each other, and how: the first of each side in the order of utility.
SIDES: tuple[tuple[str, tuple[Callable[[Kind], bool], Callable[[Kind], bool]]], ...] = (
    (
        "perplexity with a policy is that of {}; with neither policy nor public pool that of {}",
        (lambda kind: kind.policy == "yes", lambda kind: kind.policy == "no"),
    ),
    (
        "perplexity of a text that can be shared is that of {}; of a model that of {}",
        (lambda kind: kind.shared == "text", lambda kind: kind.shared == "model"),
    ),
    (
        "perplexity of a method that reads private dialogues and chooses from a public pool of the "
        "same kind is that of {}; of one with neither policy nor pool that of {}",
        (lambda kind: "pool" in kind.policy, lambda kind: kind.policy == "no"),
    ),
)


def findings(found: Figures, pool: SeriesPoint | None) -> Iterator[str]:
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
    yield from _votes(found, pool)
    yield from _cost(found)
    yield from _worth_it(found)
    yield from _only_secrets(found)
    yield from _attacks_see_less(found)


def _named(found: Figures, place: Place) -> str:
    return f"{_with_level(place)}, {shown(point(found, place, PERPLEXITY))}"


def _with_level(place: Place) -> str:
    name, _, pool = place.called.partition(", ")
    called = f"{name} ({pool})" if pool else name
    return f"{called} at {place.said}" if place.said else called


def _apart(found: Figures, pair: Sequence[Place | None]) -> str:
    figures = [point(found, place, PERPLEXITY) for place in pair if place is not None]
    first, second = figures
    if first is None or second is None or not told_apart(first, second):
        return "these are not told apart"
    better = "first" if first.value < second.value else "second"
    return f"the {better} is better"


def _votes(found: Figures, pool: SeriesPoint | None) -> Iterator[str]:
    """Whether private votes add anything to texts of the pool that are chosen blindly."""
    known = {
        base: point(found, place, PERPLEXITY)
        for place in best_at_chance(found, [EXPOSED, MEMBER])
        if (base := place.base) in ("synthetic text", CONTROL)
    }
    chosen, blind = known.get("synthetic text"), known.get(CONTROL)
    if chosen is None or blind is None:
        return
    if told_apart(chosen, blind):
        said = "is told from as many texts of the pool that were chosen blindly, which have"
    else:
        said = (
            "is not told from as many texts of the pool that were chosen blindly: what it is worth "
            "is what the pool is worth, and nothing is seen of the private dialogues that voted. "
            "Blindly chosen texts have"
        )
    whole = "" if pool is None else f", and the whole pool {shown(pool)}"
    yield f"Synthetic text with {shown(chosen)} {said} {shown(blind)}{whole}."


def _cost(found: Figures) -> Iterator[str]:
    """Beside training without privacy, seed by seed on the same test texts."""
    plain = found.values(NO_PRIVACY, None, PERPLEXITY)
    told = []
    for place in best_at_chance(found, [EXPOSED]):
        mine = found.values(place.method, place.level, PERPLEXITY)
        ratios = sorted(mine[seed] / plain[seed] for seed in mine if seed in plain)
        if len(ratios) > 1:
            digits = 4 if 1 <= ratios[0] < 1.2 else 3
            ends = dict.fromkeys(number(one, digits) for one in (ratios[0], ratios[-1]))
            told.append(f"{' – '.join(ends)} times with {_with_level(place)}")
    if told:
        yield (
            "Where secrets are not told from chance, the perplexity without privacy becomes, seed "
            f"by seed on the same test texts, {', '.join(told)}. Intervals above, which are over "
            "test texts, too, are wide beside such differences; three seeds are few."
        )


def _worth_it(found: Figures) -> Iterator[str]:
    """Which methods make a better model than the one that all begin with, where nothing shows."""
    before = found.point(RANDOM_OUTPUT, None, PERPLEXITY)
    chosen = [
        (place, one)
        for place in best_at_chance(found, [EXPOSED, MEMBER])
        if place.base != CONTROL and (one := point(found, place, PERPLEXITY)) is not None
    ]
    if before is None or not chosen:
        return
    apart = [(place, one) for place, one in chosen if told_apart(one, before)]
    better = [_with_level(place) for place, one in apart if one.value < before.value]
    worse = [_with_level(place) for place, one in apart if one.value > before.value]
    alike = [_with_level(place) for place, one in chosen if not told_apart(one, before)]
    said = [
        f"{verb} {', '.join(names)}"
        for verb, names in (
            ("it is improved by", better),
            ("it is made worse by", worse),
            ("no difference shows with", alike),
        )
        if names
    ]
    yield (
        f"The public model that all begin with has a perplexity of {shown(before)}. Where neither "
        f"secrets nor dialogues are told from chance, {'; '.join(said)}."
    )


def _only_secrets(found: Figures) -> Iterator[str]:
    """Levels that look harmless by secrets, and give dialogues away."""
    told = [
        f"{_with_level(place)} (AUC {shown(point(found, place, MEMBER))})"
        for place in best_at_chance(found, [EXPOSED])
        if not at_chance(found, place, MEMBER)
    ]
    if told:
        yield (
            f"Secrets alone mislead: no leak of them is seen with {', '.join(told)}, and which "
            "dialogues were there still is."
        )


def _attacks_see_less(found: Figures) -> Iterator[str]:
    """How large a level can be at which the attack on secrets sees nothing."""
    for base in ("DP-SGD", "directional"):
        mine = [place for place in places(found) if place.base == base and stated(found, place)]
        quiet = [place for place in mine if at_chance(found, place, EXPOSED)]
        loud = [place for place in mine if place not in quiet]
        if quiet and loud:
            most = max(quiet, key=lambda place: float(stated(found, place)["epsilon"]))
            least = min(loud, key=lambda place: float(stated(found, place)["epsilon"]))
            levels = [float(stated(found, place)["epsilon"]) for place in (most, least)]
            yield (
                f"The secrets of {base} are not told from chance up to a proven ε of "
                f"{epsilon(levels[0])} for one dialogue, and have "
                f"{shown(point(found, least, EXPOSED))} bits at {epsilon(levels[1])}."
            )
