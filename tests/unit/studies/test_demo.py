"""The demonstration says of each part of the expected picture whether its figures show it."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT, Row

EXPOSED = "exposure at 4 repetitions"
# Perplexity, and bits of two kinds of secrets in each of two seeds.
Picture = dict[tuple[str, float | None], tuple[float, tuple[float, ...]]]
CLOSE = (1.0, 2.0, 1.2, 1.8)
BETWEEN = (1.0, 6.0, 1.2, 6.1)
A_FEW = (0.0, 5.2, 0.0, 5.3)
MUCH = (5.0, 6.0, 5.2, 6.1)
RIGHT: Picture = {
    (NO_PRIVACY, None): (4.0, MUCH),
    (RANDOM_OUTPUT, None): (200.0, CLOSE),
    ("MDP (all words)", 4.0): (170.0, CLOSE),
    ("SMDP (what the policy finds)", 4.0): (7.0, CLOSE),
    ("DP-SGD", 8.0): (140.0, CLOSE),
    ("Selective-DPSGD", 8.0): (30.0, CLOSE),
}


@pytest.fixture(scope="module")
def demo() -> Any:
    path = Path(__file__).parents[3] / "scripts" / "demo.py"
    spec = spec_from_file_location("demo", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_of(picture: Picture) -> list[Row]:
    rows = []
    for (method, level), (perplexity, bits) in picture.items():
        for seed, units in ((1, bits[:2] * 8), (2, bits[2:] * 8)):
            common: dict[str, Any] = {
                "cell": "a",
                "method": method,
                "parameter": "epsilon",
                "level": level,
                "seed": seed,
                "better": "lower",
            }
            rows += [
                Row(
                    role="utility", by="perplexity", metric="perplexity", value=perplexity, **common
                ),
                Row(
                    role="leakage",
                    by="exposure",
                    metric=EXPOSED,
                    value=sum(units) / len(units),
                    units=units,
                    least=0.0,
                    most=13.3,
                    chance=1.44,
                    **common,
                ),
            ]
    return rows


def test_the_right_picture_is_said_fact_by_fact(demo: Any) -> None:
    said = demo.facts(rows_of(RIGHT))
    assert len(said) == 5
    assert all(line.startswith("  shown: ") for line in said)


@pytest.mark.parametrize(
    ("where", "changed", "fact", "said"),
    [
        ((NO_PRIVACY, None), (4.0, BETWEEN), 0, "are less than a bit above chance, or may be."),
        (("DP-SGD", 8.0), (140.0, MUCH), 1, "DP-SGD at ε 8: 5.6 bits"),
        (("SMDP (what the policy finds)", 4.0), (7.0, A_FEW), 1, "cannot be told from no"),
        (("DP-SGD", 8.0), (20.0, CLOSE), 2, "DP-SGD predicts new dialogues better than Selective"),
        (("MDP (all words)", 4.0), (9.0, CLOSE), 3, "perplexity 9 and 7."),
        (("DP-SGD", 2.0), (140.0, CLOSE), 4, "the perplexity of DP-SGD at ε 2 cannot be told"),
    ],
)
def test_a_wrong_one_is_said(
    demo: Any,
    where: tuple[str, float | None],
    changed: tuple[float, tuple[float, ...]],
    fact: int,
    said: str,
) -> None:
    lines = demo.facts(rows_of(RIGHT | {where: changed}))
    right = demo.facts(rows_of(RIGHT))[fact].removeprefix("  shown: ").removesuffix(".")
    place = lines.index(f"  NOT SHOWN: {right}:")
    assert said in lines[place + 1]


def test_secrets_that_do_not_leak_without_privacy_are_no_trend(demo: Any) -> None:
    once = [
        replace(row, metric="exposure at 1 repetition", value=1.5, units=CLOSE[:2] * 8)
        for row in rows_of(RIGHT)
        if row.metric == EXPOSED
    ]
    (said,) = [line for line in demo.facts([*rows_of(RIGHT), *once]) if line.startswith("    ")]
    assert said.strip().startswith("exposure at 1 repetition: 1.5 bits (")
    assert said.endswith("without privacy cannot be told from chance.")
