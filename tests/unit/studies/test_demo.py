"""The demonstration says which part of the expected picture its figures do not show."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT, Row

EXPOSED = "exposure at 4 repetitions"
# Perplexity, and bits of two kinds of secrets in each of two seeds.
Picture = dict[tuple[str, float | None], tuple[float, tuple[float, ...]]]
CLOSE = (1.0, 2.0, 1.2, 1.8)
RIGHT: Picture = {
    (NO_PRIVACY, None): (4.0, (5.0, 6.0, 5.2, 6.1)),
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


def test_the_right_picture_needs_no_words(demo: Any) -> None:
    assert demo.surprises(rows_of(RIGHT)) == []


@pytest.mark.parametrize(
    ("where", "changed", "said"),
    [
        ((NO_PRIVACY, None), (4.0, CLOSE), "Without privacy the model does not clearly give"),
        (("DP-SGD", 8.0), (140.0, (5.0, 6.0, 5.2, 6.1)), "DP-SGD at ε 8 gives away more"),
        (("DP-SGD", 8.0), (20.0, CLOSE), "DP-SGD predicts new dialogues better than Selective"),
        (("MDP (all words)", 4.0), (9.0, CLOSE), "MDP (all words) is not far behind SMDP"),
    ],
)
def test_a_wrong_one_is_said(
    demo: Any,
    where: tuple[str, float | None],
    changed: tuple[float, tuple[float, ...]],
    said: str,
) -> None:
    (sentence,) = demo.surprises(rows_of(RIGHT | {where: changed}))
    assert sentence.startswith(said)
