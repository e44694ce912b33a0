"""The rows of a study that a calibration uses, and how many are left out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sfumato.calibration.curves import usable
from sfumato.core.errors import BadInput, InvalidArgument, UnknownName
from sfumato.results.row import HIGHER, LEAKAGE, LOWER, UTILITY, Row

PREFERRED_UTILITY = "perplexity"


@dataclass(frozen=True, kw_only=True)
class ChosenFigure:
    """The rows of one figure: what measured it, its name, and which direction is better."""

    by: str
    metric: str
    better: str
    rows: tuple[Row, ...]

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        return {"by": self.by, "metric": self.metric, "better": self.better}


@dataclass(frozen=True, kw_only=True)
class Selected:
    """Leakage, utility if there is any, and how many rows of theirs were left out, by reason."""

    leakage: ChosenFigure
    utility: ChosenFigure | None
    left_out: dict[str, int]


def select_rows(
    rows: Iterable[Row],
    *,
    attack: str | None = None,
    metric: str | None = None,
    utility: str | None = None,
    corpus: str | None = None,
) -> Selected:
    """The rows to calibrate by; without names, the first attack and its first figure.

    ``corpus`` names the corpus, because rows of several corpora are never one curve. Among figures
    by number of repetitions, that of the most comes first, because it shows leakage best. Utility
    is perplexity if it was measured, else the first figure of utility.
    """
    every = _of_corpus(list(rows), corpus)
    about_leakage = [row for row in every if row.role == LEAKAGE]
    if not about_leakage:
        raise BadInput("there is no figure of leakage among these rows: run an attack in the study")
    by = _choose("attack", attack, [row.by for row in about_leakage])
    of_attack = [row for row in about_leakage if row.by == by]
    names = [row.metric for row in of_attack]
    name = _choose(f"figure of {by}", metric, sorted(names, key=_repetitions, reverse=True))
    leaking = [row for row in of_attack if row.metric == name]
    using = _utility([row for row in every if row.role == UTILITY], utility)
    counts = {"of groups": 0, "without a finite value": 0, "without a proper level": 0}
    leakage = _figure(leaking, counts)
    if not leakage.rows:
        raise BadInput(f"{by} has no finite figure {name!r} in this study")
    useful = _figure(using, counts) if using else None
    return Selected(leakage=leakage, utility=useful, left_out=counts)


def _of_corpus(rows: list[Row], wanted: str | None) -> list[Row]:
    names = list(dict.fromkeys(row.corpus for row in rows))
    if wanted is not None:
        if wanted not in names:
            raise UnknownName("corpus", wanted, [name for name in names if name is not None])
        return [row for row in rows if row.corpus == wanted]
    if len(names) > 1:
        listed = ", ".join(str(name) for name in names)
        raise InvalidArgument(
            f"these rows are of several corpora, which are calibrated singly: name one ({listed})"
        )
    return rows


def _repetitions(metric: str) -> int:
    """How often the secrets of a figure were planted.

    >>> _repetitions("exposure at 10 repetitions"), _repetitions("largest exposure")
    (10, 0)
    """
    found = re.search(r"\bat (\d+) repetition", metric)
    return int(found[1]) if found else 0


def orient(rows: Sequence[Row], *, larger: str) -> list[Row]:
    """The rows with signs changed so that larger values mean the same in all.

    ``larger`` says what larger values mean: "worse" for leakage, "better" for utility.
    """
    turned = LOWER if larger == "better" else HIGHER
    return [_negative(row) if row.better == turned else row for row in rows]


def _negative(row: Row) -> Row:
    def minus(value: float | None) -> float | None:
        return None if value is None else -value

    return replace(
        row,
        value=minus(row.value),
        low=minus(row.high),
        high=minus(row.low),
        least=minus(row.most),
        most=minus(row.least),
    )


def _utility(rows: list[Row], wanted: str | None) -> list[Row]:
    """All rows of one figure of utility from one measure."""
    if not rows and wanted is None:
        return []
    names = [row.metric for row in rows]
    if wanted is None and PREFERRED_UTILITY in names:
        wanted = PREFERRED_UTILITY
    name = _choose("figure of utility", wanted, names)
    first = next(row for row in rows if row.metric == name)
    return [row for row in rows if (row.metric, row.by) == (name, first.by)]


def _choose(kind: str, wanted: str | None, present: Sequence[str]) -> str:
    if wanted is None:
        return present[0]
    if wanted not in present:
        raise UnknownName(kind, wanted, set(present))
    return wanted


def _figure(rows: list[Row], counts: dict[str, int]) -> ChosenFigure:
    kept = []
    for row in rows:
        if row.group_field is not None:
            counts["of groups"] += 1
        elif not usable(row):
            counts["without a finite value"] += 1
        elif row.level is not None and (math.isnan(row.level) or row.level == -math.inf):
            counts["without a proper level"] += 1
        else:
            kept.append(row)
    first = rows[0]
    if any(row.better != first.better for row in kept):
        raise BadInput(f"rows of {first.metric} disagree about which way is better")
    return ChosenFigure(by=first.by, metric=first.metric, better=first.better, rows=tuple(kept))
