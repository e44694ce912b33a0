"""Rows of made-up sweeps whose curves are known."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sfumato.calibration.curves import Curve, curve_of
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT, Row

LEVELS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


@dataclass(frozen=True)
class Noise:
    """Normal noise: of each figure, of a seed as a whole, and what rows say of it."""

    figure: float = 0.0
    seed: float = 0.0
    row: float | None = None


def logistic(level: float) -> float:
    return 6 / (1 + math.exp(-1.2 * (math.log(level) - 1.5))) if level > 0 else 0.0


def row(level: float | None, value: float | None, seed: int = 1, method: str = "M") -> Row:
    """A figure of leakage."""
    return Row(
        cell="c", method=method, parameter=None if level is None else "epsilon", level=level,
        seed=seed, role="leakage", by="exposure", metric="exposure", better="lower", value=value,
    )  # fmt: skip


def sweep(
    shape: Callable[[float], float],
    levels: Iterable[float],
    seeds: int,
    noise: Noise,
    generator: np.random.Generator,
) -> list[Row]:
    rows = []
    steps = list(levels)
    for seed in range(seeds):
        common = noise.seed * generator.standard_normal()
        for level in steps:
            value = shape(level) + common + noise.figure * generator.standard_normal()
            half = None if noise.row is None else 1.959964 * noise.row
            plain = row(level, value, seed)
            rows.append(
                plain if half is None else replace(plain, low=value - half, high=value + half)
            )
    return rows


def curve(rows: Sequence[Row]) -> Curve:
    return curve_of(rows, method="M", parameter="epsilon")


def useful(rows: Sequence[Row], shape: Callable[[float], float]) -> list[Row]:
    """Perplexity without noise at the levels of some rows."""
    return [
        replace(one, role="utility", by="perplexity", metric="perplexity", value=shape(one.level))
        for one in rows
        if one.level is not None
    ]


def anchors(top: float, bottom: float, seeds: int = 3) -> list[Row]:
    return [
        row(None, value, seed, method)
        for method, value in ((NO_PRIVACY, top), (RANDOM_OUTPUT, bottom))
        for seed in range(seeds)
    ]


def write_study(folder: Path, rows: Sequence[Row], *, public: bool) -> Path:
    """The folder that a study would have left, one cell for each figure."""
    entries = []
    for number, one in enumerate(rows):
        entry = {
            "key": f"k{number}", "kind": "attack", "method": one.method,
            "parameter": one.parameter, "level": one.as_dict()["level"], "seed": one.seed,
            "name": one.by, "inputs": [],
        }  # fmt: skip
        entries.append(entry)
        place = folder / "cells" / f"k{number}"
        place.mkdir(parents=True)
        done = {**entry, "state": "done", "rows": [one.as_dict()]}
        (place / "cell.json").write_text(json.dumps(done), encoding="utf-8")
    description = {"schema": 1, "name": "made up", "public": public, "cells": entries}
    (folder / "study.json").write_text(json.dumps(description), encoding="utf-8")
    return folder
