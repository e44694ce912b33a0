"""Sentences that a reader of a calibration must know to judge it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.calibration.fitness import CANNOT_TELL
from sfumato.calibration.inverse import REACHED, Inversion
from sfumato.calibration.results import Method, Single
from sfumato.calibration.selecting import Selected

# A sweep that covers less than this share of what lies between the anchors says little.
NARROW = 0.1
# A step between two neighbouring levels that is larger than this share of the whole range.
JUMP = 0.5


def notes_of(
    methods: Sequence[Method], anchors: Sequence[Single], selected: Selected
) -> Iterator[str]:
    """What is missing, what was left out, and what the levels tried do not show."""
    missing = [one.name for one in anchors if one.leakage is None]
    if missing:
        yield f"not measured, and not drawn: the anchor(s) {', '.join(missing)}"
    for reason, count in selected.left_out.items():
        if count:
            yield f"left out: {count} row(s) {reason}"
    unsure = [one.name for one in methods if one.fitness.verdict == CANNOT_TELL]
    if unsure:
        names = ", ".join(unsure)
        yield f"{names}: levels assume a monotone curve, which these figures do not show"
    for method in methods:
        yield from _of_method(method, anchors)


def _of_method(method: Method, anchors: Sequence[Single]) -> Iterator[str]:
    if method.fit is None:
        return
    if method.leakage.noise.errors is None:
        yield f"{method.name}: one seed and no intervals in its rows, so no interval is known"
    whole = max(method.fit) - min(method.fit)
    ends = [one.leakage.value for one in anchors if one.leakage is not None]
    if len(ends) == 2 and whole < NARROW * abs(ends[0] - ends[1]):
        share = 100 * whole / abs(ends[0] - ends[1])
        yield f"{method.name}: its levels cover {share:.0f} % of what lies between the anchors"
    gaps = {_jump(method, one.inversion, whole) for one in method.targets}
    for low, high in sorted(gap for gap in gaps if gap is not None):
        yield f"{method.name}: leakage jumps between {low:g} and {high:g}; try levels between them"


def _jump(method: Method, found: Inversion, whole: float) -> tuple[float, float] | None:
    """The two neighbouring levels around an answer, if most of the curve lies between them."""
    if found.status != REACHED or found.level is None or method.fit is None:
        return None
    levels = method.leakage.levels
    for index in range(len(levels) - 1):
        low, high = levels[index], levels[index + 1]
        if low < found.level < high and abs(method.fit[index + 1] - method.fit[index]) > (
            JUMP * whole
        ):
            return low, high
    return None
