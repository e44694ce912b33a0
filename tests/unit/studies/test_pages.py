"""Pages about studies say what was found: each is written again from the figures that were kept."""

from __future__ import annotations

import doctest
import json
import tomllib
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
FIGURES = ROOT / "studies" / "figures"
# The module that writes a page, the page, and the figures that it is written from.
PAGES = (
    (
        "selective_page",
        "selective-customersim",
        ("selective-customersim", "selective-schedule", "selective-customersim-start"),
    ),
    ("imperfect_page", "imperfect-policy", ("imperfect-policy",)),
)


def written(module: ModuleType, contents: list[Any]) -> str:
    """The page from figures; the classes of ``kept`` are those that the module uses."""
    text: str = "\n".join(module.page(*map(module.Figures, contents)))
    return text + "\n"


def loaded(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    return __import__(name)


def contents(names: tuple[str, ...]) -> list[Any]:
    return [json.loads((FIGURES / f"{one}.json").read_text("utf-8")) for one in names]


@pytest.mark.parametrize(("module", "page", "names"), PAGES)
def test_a_page_is_what_its_figures_say(
    module: str, page: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = (ROOT / "docs" / "results" / f"{page}.md").read_text("utf-8")
    assert there == written(loaded(module, monkeypatch), contents(names))


@pytest.mark.parametrize(("module", "page", "names"), PAGES)
def test_another_figure_makes_another_page(
    module: str, page: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sabotage: every figure of the perplexity and of exposure, a fifth larger, shows."""
    there = (ROOT / "docs" / "results" / f"{page}.md").read_text("utf-8")
    given = contents(names)
    for metric in ("perplexity", "exposure at 10 repetitions"):
        changed = deepcopy(given)
        for row in changed[0]["rows"]:
            if row["metric"] == metric:
                row["value"] *= 1.2
        assert there != written(loaded(module, monkeypatch), changed)


@pytest.mark.parametrize(("planted", "seeds"), [(420, 3), (24, 1)])
def test_a_sentence_takes_its_numbers_from_the_rows(
    planted: int, seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many secrets there are, over how many seeds, and how many steps were taken."""
    module = loaded("selective_page", monkeypatch)
    rows = [
        {
            "method": "no privacy",
            "role": "leakage",
            "by": "exposure",
            "better": "lower",
            "metric": metric,
            "value": 16.0,
            "low": 15.0,
            "high": 17.0,
            "n": count,
            "seed": seed,
            "cell": f"{metric} {seed}",
        }
        for seed in range(seeds)
        for metric, count in ((module.EXPOSED, 20), (module.LARGEST, planted))
    ]
    (said,) = module._about_secrets(module.Figures({"rows": rows, "runs": []}))
    assert f"largest of {planted}{', mean of 3 seeds' if seeds > 1 else ''}: 16.0" in said
    assert f"{module.largest_by_chance(planted):.1f}" in said


def test_the_gallery_says_whether_a_recall_tells_methods_apart() -> None:
    """Its sentence has no number that would have to be on the page."""
    page = (ROOT / "docs" / "results" / "imperfect-policy.md").read_text("utf-8")
    entries = tomllib.loads((ROOT / "studies" / "gallery.toml").read_text("utf-8"))["entries"]
    (limit,) = [one["limit"] for one in entries if one["page"] == "imperfect-policy.md"]
    told = [line for line in page.splitlines() if line.startswith("- At a recall of")]
    assert told
    apart = any("not told apart" not in line for line in told)
    assert limit.startswith("At no recall") is not apart


@pytest.mark.parametrize("name", ["kept", "gpt2_tokens", "selective_page"])
def test_examples_of_the_scripts_hold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failed, tried = doctest.testmod(loaded(name, monkeypatch))
    assert tried
    assert not failed


def test_kept_figures_hold_no_text() -> None:
    """Numbers, and words of the study file; the longest text is a title or a command."""
    for path in FIGURES.glob("*.json"):
        kept = json.loads(path.read_text("utf-8"))
        for row in kept["rows"]:
            assert set(row) <= {
                *("corpus", "method", "parameter", "level", "seed", "role", "by", "metric"),
                *("better", "cell", "value", "low", "high", "n", "chance", "units", "least", "most"),
            }
            assert all(len(one) < 80 for one in row.values() if isinstance(one, str))
        for run in kept["runs"]:
            assert all(not isinstance(one, str) or len(one) < 80 for one in run.values())
