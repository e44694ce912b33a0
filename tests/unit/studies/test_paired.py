"""Models are compared document by document, where their own intervals tell nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

STUDIES = Path(__file__).parents[3] / "studies"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    monkeypatch.syspath_prepend(str(STUDIES))
    return __import__("paired"), __import__("kept")


def model(method: str, losses: list[float], tokens: list[int], seed: int = 1) -> dict[str, Any]:
    place = {"method": method, "level": None, "seed": seed}
    return {**place, "losses": losses, "tokens": tokens}


def documents() -> tuple[list[float], list[int]]:
    """Losses per token from 2 to 6: perplexities of 7 to 400."""
    drawn = np.random.default_rng(1)
    tokens = drawn.integers(50, 150, size=30)
    return (tokens * drawn.uniform(2, 6, size=30)).tolist(), tokens.tolist()


def test_a_difference_that_every_document_has_is_told(modules: tuple[Any, Any]) -> None:
    paired, kept = modules
    losses, tokens = documents()
    worse = [one + 0.05 * count for one, count in zip(losses, tokens, strict=True)]
    found = kept.Figures(
        {"documents": [model("a", losses, tokens), model("b", worse, tokens)], "rows": []}
    )
    ratio = paired.ratio(found, ("b", None), ("a", None))
    assert ratio.value == pytest.approx(np.exp(0.05))
    assert (ratio.low, ratio.high) == pytest.approx((ratio.value, ratio.value))
    assert ratio.apart
    assert ratio.n == 30
    # Per another kind of token, of which there are half as many.
    assert paired.ratio(found, ("b", None), ("a", None), 2.0).value == pytest.approx(np.exp(0.1))
    assert paired.ratio(found, ("b", None), ("c", None)) is None


def test_twin_documents_in_another_order_tell_nothing(modules: tuple[Any, Any]) -> None:
    """The same losses, compared with those of other documents."""
    paired, kept = modules
    losses, tokens = documents()
    alike = [100] * 30
    perplexing = [one / count * 100 for one, count in zip(losses, tokens, strict=True)]
    turned = [one + 5 for one in perplexing[11:] + perplexing[:11]]
    found = kept.Figures({"documents": [model("a", perplexing, alike), model("b", turned, alike)]})
    assert not paired.ratio(found, ("b", None), ("a", None)).apart
    other = kept.Figures({"documents": [model("a", losses, tokens), model("b", losses, alike)]})
    with pytest.raises(ValueError, match="not measured on the same documents"):
        paired.ratio(other, ("b", None), ("a", None))


def test_seeds_are_averaged_by_document(modules: tuple[Any, Any]) -> None:
    paired, kept = modules
    losses, tokens = documents()
    up, down = ([one + sign for one in losses] for sign in (3.0, -3.0))
    found = kept.Figures(
        {
            "documents": [
                model("a", losses, tokens),
                model("b", up, tokens, seed=1),
                model("b", down, tokens, seed=2),
            ]
        }
    )
    assert paired.ratio(found, ("b", None), ("a", None)).value == pytest.approx(1.0)


def test_few_documents_other_seeds_and_other_corpora_tell_nothing(
    modules: tuple[Any, Any],
) -> None:
    paired, kept = modules
    losses, tokens = documents()
    few = kept.Figures({"documents": [model("a", [9.0], [3]), model("b", [8.0], [3])], "rows": []})
    assert paired.ratio(few, ("a", None), ("b", None)) is None
    mixed = [model("a", losses, tokens), model("b", losses, tokens)]
    mixed.append(model("b", losses, [one + 1 for one in tokens], seed=2))
    with pytest.raises(ValueError, match="not measured on the same documents"):
        paired.ratio(kept.Figures({"documents": mixed}), ("a", None), ("b", None))
    elsewhere = [{**model("b", [3 * one for one in losses], tokens, seed=2), "corpus": "other"}]
    found = kept.Figures({"documents": [*mixed[:2], *elsewhere]})
    assert paired.ratio(found, ("a", None), ("b", None)).value == pytest.approx(1.0)
    assert paired.ratio(found, ("a", None), ("b", None), corpus="other") is None


def test_secrets_are_compared_one_by_one(modules: tuple[Any, Any]) -> None:
    paired, kept = modules

    def row(method: str, units: list[float]) -> dict[str, Any]:
        return {
            "method": method, "seed": 1, "role": "leakage", "by": "exposure", "metric": "bits",
            "better": "lower", "cell": method, "value": 1.0, "units": units,
        }  # fmt: skip

    wide = [0.1, 9.0, 2.0, 14.0, 5.0, 0.5, 8.0, 11.0, 3.0, 1.0, 6.0, 4.0]
    rows = [row("free", wide), row("held", [one - 1 for one in wide]), row("few", wide[:5])]
    found = kept.Figures({"rows": rows})
    fewer = paired.fewer(found, ("held", None), ("free", None), "bits")
    assert (fewer.value, fewer.low, fewer.high) == pytest.approx((1.0, 1.0, 1.0))
    assert fewer.apart
    assert paired.fewer(found, ("few", None), ("free", None), "bits") is None
    # Twin: the secrets of one model in another order are not compared with themselves.
    turned = kept.Figures(
        {"rows": [rows[0], row("held", [one - 1 for one in wide[5:] + wide[:5]])]}
    )
    assert not paired.fewer(turned, ("held", None), ("free", None), "bits").apart
