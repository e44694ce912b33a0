"""Pages about studies say what was found: each is written again from the figures that were kept."""

from __future__ import annotations

import doctest
import gzip
import json
import re
import tomllib
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sfumato.corpora.wikitext import wikitext
from sfumato.policies.patterns import Digits
from sfumato.training.methods.streams import split_each

EMPTY: dict[str, Any] = {"rows": [], "runs": []}
ROOT = Path(__file__).parents[3]
FIGURES = ROOT / "studies" / "figures"
# The module that writes a page, the page, and the figures that it is written from.
PAGES = (
    (
        "selective_page",
        "selective-customersim",
        (
            *("selective-customersim", "selective-schedule"),
            *("selective-customersim-start", "selective-customersim-secret"),
            "selective-customersim-lone",
        ),
    ),
    (
        "selective_wikitext2_page",
        "selective-wikitext2",
        ("selective-wikitext2", "selective-wikitext2-start"),
    ),
    ("imperfect_page", "imperfect-policy", ("imperfect-policy",)),
    ("smdp_smollm2_page", "smdp-smollm2", ("smdp-smollm2",)),
    ("equal_leakage_page", "equal-leakage", ("equal-leakage", "equal-leakage-pool")),
    (
        "equal_leakage_sst2_page",
        "equal-leakage-sst2",
        ("equal-leakage-sst2", "equal-leakage-sst2-pool", "equal-leakage-sst2-search"),
    ),
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
    for metric in (r"perplexity", r"exposure at \d+ repetitions"):
        changed = deepcopy(given)
        for row in changed[0]["rows"]:
            if re.fullmatch(metric, row["metric"].removesuffix(" (sampled)")):
                row["value"] *= 1.2
        assert there != written(loaded(module, monkeypatch), changed)


@pytest.mark.parametrize(
    ("page", "of_members"),
    [
        ("equal_leakage_page", "equal-leakage-dialogues.svg"),
        ("equal_leakage_sst2_page", "equal-leakage-sst2-sentences.svg"),
    ],
)
def test_charts_of_equal_leakage_are_what_the_figures_say(
    page: str, of_members: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = loaded(page, monkeypatch)
    (given,) = contents((of_members.rpartition("-")[0],))
    drawn = module.charts(module.Figures(given))
    assert len(drawn) == 2
    for name, content in drawn.items():
        assert (ROOT / "docs" / "images" / name).read_bytes() == content
    for row in given["rows"]:
        if row["metric"] == "auc loss":
            row["value"] = row["low"] = row["high"] = 0.5
    changed = module.charts(module.Figures(given))
    assert [name for name in drawn if drawn[name] != changed[name]] == [of_members]


def test_a_page_of_another_corpus_speaks_of_what_that_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The words that are the same for all corpora; no dialogue is left in them."""
    module = loaded("equal_leakage_sst2_page", monkeypatch)
    names = ("equal-leakage", "equal-leakage-pool", "equal-leakage-sst2-search")
    given, pool, search = map(module.Figures, contents(names))
    text = "\n".join(module.page(given, pool, search))
    assert "dialogue" not in text.replace("CustomerSim", "").lower()
    assert "## Where sentences are not told from chance, either" in text
    assert "equal-leakage-sst2-sentences.svg" in text
    assert set(module.charts(given)) == {
        "equal-leakage-sst2-secrets.svg",
        "equal-leakage-sst2-sentences.svg",
    }


def leak(method: str, level: float, seed: int, **figures: tuple[float, float, float]) -> list[Any]:
    """Rows of a method at a level; each figure with its interval."""
    called = {"exposed": "exposure at 15 repetitions", "member": "auc loss", "use": "perplexity"}
    chance = {"exposed": 1.44, "member": 0.5, "use": None}
    by = {"exposed": "exposure", "member": "membership", "use": "perplexity"}
    return [
        {
            "method": method,
            "parameter": "epsilon",
            "level": level,
            "seed": seed,
            "role": "utility" if name == "use" else "leakage",
            "by": by[name],
            "metric": called[name],
            "better": "lower",
            "cell": f"{method} {level} {seed} {name}",
            "value": value,
            "low": low,
            "high": high,
            "n": 24,
            "chance": chance[name],
        }
        for name, (value, low, high) in figures.items()
    ]


def test_methods_are_compared_where_attacks_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The level with the best perplexity that is not told from chance, by each attack."""
    module = loaded("equal_leakage", monkeypatch)
    quiet, heard, use = (1.5, 1.0, 4.0), (3.0, 2.0, 5.0), (5.0, 4.9, 5.1)
    half, told = (0.5, 0.45, 0.55), (0.7, 0.65, 0.75)
    rows = [
        *leak("MDP", 1.0, 2, exposed=quiet, member=half, use=(9.0, 8.0, 10.0)),
        *leak("MDP", 2.0, 2, exposed=quiet, member=told, use=use),
        *leak("MDP", 3.0, 2, exposed=heard, member=told, use=(2.0, 1.9, 2.1)),
        *leak("DP-SGD", 1.0, 2, exposed=quiet, member=half, use=(5.2, 5.0, 5.4)),
        *leak("SMDP", 1.0, 2, exposed=heard, member=half, use=use),
        # A method whose policy misses is not one that could be chosen.
        *leak("SMDP, recall 0.8", 1.0, 2, exposed=quiet, member=half, use=(1.0, 1.0, 1.0)),
    ]
    found = module.Figures({"rows": rows, "runs": []})
    secrets, both = [module.EXPOSED], [module.EXPOSED, module.MEMBER]
    chosen = [(one.base, one.level) for one in module.best_at_chance(found, secrets)]
    assert chosen == [("MDP", 2.0), ("DP-SGD", 1.0)]
    chosen = [(one.base, one.level) for one in module.best_at_chance(found, both)]
    assert chosen == [("DP-SGD", 1.0), ("MDP", 1.0)]
    assert module.never_at_chance(found, secrets) == ["SMDP"]
    places = {(one.method, one.level): one for one in module.places(found)}
    points = {key: module.point(found, one, module.PERPLEXITY) for key, one in places.items()}
    assert not module.told_apart(points["MDP", 2.0], points["DP-SGD", 1.0])
    assert module.told_apart(points["MDP", 3.0], points["DP-SGD", 1.0])


def test_a_leak_is_what_shows_beside_all_models_that_have_read_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Secret by secret, whatever the intervals are; the twin beside one of them is none."""
    module = loaded("equal_leakage", monkeypatch)
    wide = (2.5, 0.5, 9.0)  # an interval over runs that vary: it reaches chance

    def exposed(method: str, level: float, more: float) -> list[Any]:
        figures = {"exposed": wide, "member": (0.5, 0.45, 0.55), "use": (5.0, 4.9, 5.1)}
        rows = leak(method, level, 2, **figures)
        rows[0]["units"] = [0.1 * secret + more for secret in range(24)]
        return rows

    blind = [*exposed(module.CONTROL, 4.0, 0.0), *exposed("made-up values, recall 1", 4.0, 0.4)]
    for more, told in ((0.5, True), (0.3, False)):
        found = module.Figures({"rows": [*exposed("MDP", 1.0, more), *blind], "runs": []})
        place = next(one for one in module.places(found) if one.base == "MDP")
        assert module.at_chance(found, place, module.EXPOSED) is not told
        assert module.at_chance(found, place, module.MEMBER)
        # Made-up values are themselves compared with the others, in case that secrets are missed.
        found_in = {
            one.base: module.at_chance(found, one, module.EXPOSED) for one in module.places(found)
        }
        assert found_in[module.CONTROL]
        assert not found_in["made-up values"]


@pytest.mark.parametrize(("chosen", "told"), [(5.0, "is not told from"), (2.0, "is told from")])
def test_synthetic_text_is_set_beside_texts_that_were_chosen_blindly(
    chosen: float, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = loaded("equal_leakage_findings", monkeypatch)
    still = {"exposed": (1.5, 1.0, 4.0), "member": (0.5, 0.45, 0.55)}
    rows = [
        *leak("synthetic text", 1.0, 2, **still, use=(chosen, chosen - 0.1, chosen + 0.1)),
        *leak(module.CONTROL, 1.0, 2, **still, use=(5.0, 4.9, 5.1)),
    ]
    (said,) = module._votes(module.Figures({"rows": rows, "runs": []}), None)
    assert f"{told} as many texts of the pool" in said
    assert ("nothing is seen" in said) is (chosen == 5.0)


def test_a_seed_that_is_not_finished_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    module = loaded("equal_leakage", monkeypatch)
    figures = {"exposed": (1.5, 1.0, 4.0), "use": (5.0, 4.9, 5.1)}
    whole = [leak("MDP", level, 2, **figures) for level in (1.0, 2.0)]
    rows = [row for some in (*whole, leak("MDP", 1.0, 3, **figures)) for row in some]
    runs = [{"method": "MDP", "level": 1.0, "seed": seed} for seed in (2, 3)]
    left = module.complete(module.Figures({"rows": rows, "runs": runs}))
    assert {row.seed for row in left.rows} == {2}
    assert [run["seed"] for run in left.content["runs"]] == [2]
    every = module.Figures({"rows": [row for some in whole for row in some], "runs": []})
    assert len(module.complete(every).rows) == 4


@pytest.mark.parametrize(("planted", "seeds"), [(420, 3), (24, 1)])
def test_a_sentence_takes_its_numbers_from_the_rows(
    planted: int, seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many secrets there are, over how many seeds, and how many steps were taken."""
    module = loaded("selective_secrets", monkeypatch)
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
    (said,) = module.about_secrets(module.Figures({"rows": rows, "runs": []}), "names")
    assert f"largest of {planted}{', mean of 3 seeds' if seeds > 1 else ''}: 16.0" in said
    assert f"{module.largest_by_chance(planted):.1f}" in said


def made_up(exposures: dict[tuple[str, int], list[float]], level: dict[str, float]) -> Any:
    """Figures of models by method and seed."""
    rows = [
        {
            "method": method,
            "seed": seed,
            "role": "leakage",
            "by": "exposure",
            "metric": "exposure at 10 repetitions",
            "better": "lower",
            "cell": f"{method} {seed}",
            "value": sum(units) / len(units),
            "n": len(units),
            "units": units,
        }
        | ({"parameter": "epsilon", "level": level[method]} if method in level else {})
        for (method, seed), units in exposures.items()
    ]
    return {"rows": rows, "runs": [], "missing": []}


@pytest.mark.parametrize(
    ("fewer", "said"), [(2.0, "that is less, by 2.0"), (-2.0, "that is more, by 2.0")]
)
def test_each_secret_is_compared_with_itself(
    fewer: float, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets differ by far more than methods do, so that two means alone would not tell."""
    module = loaded("imperfect_page", monkeypatch)
    ours, masks = "Selective-DPSGD, recall 0.8", "masks, recall 0.8"
    kept = {}
    for seed in (1, 2, 3, 4):
        with_masks = [3.0 + one % 5 + 0.1 * ((one + seed) % 3) for one in range(24)]
        kept[masks, seed] = with_masks
        noise = (0.2 * ((7 * one + seed) % 3 - 1) for one in range(24))
        kept[ours, seed] = [one - fewer + much for one, much in zip(with_masks, noise, strict=True)]
    found = module.difference(
        module.Figures(made_up(kept, {ours: 8.0})), 0.8, ("masks", module.OURS)
    )
    assert found.told.startswith(said)
    assert found.seeds == 4
    # Sabotage: the secrets of one method in another order are not compared with themselves.
    turned = {place: units[11:] + units[:11] for place, units in kept.items() if place[0] == ours}
    other = module.difference(
        module.Figures(made_up(kept | turned, {ours: 8.0})), 0.8, ("masks", module.OURS)
    )
    assert other.high - other.low > 2 * (found.high - found.low)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((0.2, 1.2), "take 0.70 (0.20 – 1.20) bits away"),
        ((-1.2, -0.2), "add 0.70 (0.20 – 1.20) bits"),
        ((-0.2, 1.6), "change nothing that is told from 0 (0.70 (-0.20 – 1.60) bits fewer)"),
    ],
)
def test_a_change_is_told_in_both_directions(
    ends: tuple[float, float], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = loaded("imperfect_page", monkeypatch)
    assert module.Difference(sum(ends) / 2, *ends, 3).change == said


def test_what_no_study_asks_for_was_not_aimed_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A level that is missing is named, and one that nobody wants is not."""
    aims = loaded("selective_aims", monkeypatch)
    rows = leak("DP-SGD", 8.0, 1, use=(9.0, 8.0, 10.0))
    for missing, count in (([], 1), (["DP-SGD, epsilon 3, seed 1: training"], 2)):
        found = aims.Figures({"rows": rows, "runs": [], "missing": missing})
        kinds = [("DP-SGD", found, "from a public start")]
        told = list(aims.aims_of_dp_sgd(aims.CUSTOMERSIM, kinds, most=12))
        assert [one[2] for one in told] == ["not computed", "reached"][2 - count :]


def test_figures_are_of_the_texts_that_pages_speak_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page says what was measured; figures of another text would be told in the same words."""
    (wikitext2, start, smollm2) = contents(
        ("selective-wikitext2", "selective-wikitext2-start", "smdp-smollm2")
    )
    both = [*wikitext2["rows"], *start["rows"]]
    counted = {row["n"] for row in both if row["metric"] == "perplexity"}
    # Tokens of the vocabulary of ``wikitext_words`` in the test paragraphs, and their ends.
    assert counted == {348_620 + 2_185}
    page = loaded("smdp_smollm2_figures", monkeypatch)
    assert {len(one["losses"]) for one in smollm2["documents"]} == {page.DOCUMENTS}
    exposed = {row["n"] for row in smollm2["rows"] if row["metric"] == page.EXPOSED}
    assert exposed == {page.SECRETS}


@pytest.mark.resources
def test_the_paragraph_with_the_most_numbers_has_as_many_as_the_page_says(
    resources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = loaded("selective_wikitext2_page", monkeypatch)
    words = loaded("wikitext_words", monkeypatch)
    raw = {
        part: gzip.decompress((resources / "data" / "wikitext-2" / f"{part}.raw.gz").read_bytes())
        for part in ("train", "test")
    }
    known = words.common_words(raw["train"].decode())
    train, test = (words.with_unknown(raw[part].decode(), known) for part in ("train", "test"))
    found = [len(one.private) for one in split_each(list(wikitext(train.split("\n"))), Digits())]
    assert max(found) == module.MOST_NUMBERS
    said = "".join(module.introduction(module.Figures(EMPTY)))
    assert f"all {len(found):,} paragraphs" in said
    assert f"each of the {len(test.split()):,} words" in said
    # As the authors have it (github.com/wyshi/lm_privacy, data/wikitext-2/test/test.txt).
    assert test.split().count("<unk>") == 15_218
    assert len(test.split("\n")) - 1 == module.LINES


def test_a_difference_may_be_of_later_seeds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    module = loaded("imperfect_page", monkeypatch)
    ours, masks = "Selective-DPSGD, recall 0.8", "masks, recall 0.8"
    kept = {
        (name, seed): [1.0 if name == ours and seed > 3 else 5.0, 2.0]
        for name in (ours, masks)
        for seed in (1, 2, 3, 4, 5)
    }
    figures = module.Figures(made_up(kept, {ours: 8.0}))
    later = module.difference(figures, 0.8, ("masks", module.OURS), after=3)
    assert (later.value, later.seeds) == (2.0, 2)


@pytest.mark.parametrize("parameter", ["epsilon", "sigma"])
def test_what_a_folder_lacks_comes_from_an_earlier_file(
    monkeypatch: pytest.MonkeyPatch, parameter: str
) -> None:
    """A model is taken whole: never the training of one machine with the figures of another."""
    kept = loaded("kept", monkeypatch)

    def model(seed: int, value: float) -> dict[str, Any]:
        place = {"method": "DP-SGD", "level": 3.0, "seed": seed}
        return {
            "runs": [{**place, "seconds": 5, "cpu_seconds": 4}],
            "rows": [{**place, "parameter": parameter, "metric": "perplexity", "value": value}],
        }

    title = f"DP-SGD, {parameter} 3, seed {{}}: {{}}"
    totals = {"cells": 6, "seconds": 10, "cpu_seconds": 8}
    now = {
        **totals,
        **model(1, 12.0),
        "done": 2,
        "missing": [
            title.format(seed, one) for seed in (2, 3) for one in ("perplexity", "training")
        ],
    }
    old = [model(1, 99.0), model(2, 13.0)]
    earlier = {
        "runs": [run for one in old for run in one["runs"]],
        "rows": [row for one in old for row in one["rows"]],
        "missing": [title.format(3, one) for one in ("perplexity", "training")],
    }
    joined = kept.join(now, earlier)
    assert [row["value"] for row in joined["rows"]] == [12.0, 13.0]
    assert joined["missing"] == earlier["missing"]
    assert (joined["done"], joined["cpu_seconds"]) == (4, 12)
    assert joined["elsewhere"] == [f"DP-SGD, {parameter} 3, seed 2"]


def test_the_gallery_says_whether_a_recall_tells_methods_apart() -> None:
    """Its sentence has no number that would have to be on the page."""
    page = (ROOT / "docs" / "results" / "imperfect-policy.md").read_text("utf-8")
    entries = tomllib.loads((ROOT / "studies" / "gallery.toml").read_text("utf-8"))["entries"]
    (limit,) = [one["limit"] for one in entries if one["page"] == "imperfect-policy.md"]
    told = [line for line in page.splitlines() if line.startswith("- At a recall of")]
    assert told
    apart = any("not told apart" not in line for line in told)
    assert limit.startswith("At no recall") is not apart


def test_the_gallery_says_whether_hiding_numbers_is_told_from_hiding_all() -> None:
    """And whether a leak shows without noise: words that have no number."""
    page = (ROOT / "docs" / "results" / "smdp-smollm2.md").read_text("utf-8")
    entries = tomllib.loads((ROOT / "studies" / "gallery.toml").read_text("utf-8"))["entries"]
    (entry,) = [one for one in entries if one["page"] == "smdp-smollm2.md"]
    told = [line for line in page.splitlines() if line.startswith("- **At ε =")]
    assert told
    assert ("not told apart" in entry["found"]) is all("not told apart" in one for one in told)
    assert ("no leak shows" in entry["limit"]) is ("**Without noise no leak shows**" in page)


@pytest.mark.parametrize(
    "name",
    [
        *("kept", "gpt2_tokens", "selective_figures", "public_reviews"),
        *("equal_leakage_page", "equal_leakage_sst2", "equal_leakage_subjects"),
        *("equal_leakage", "staying", "thesis_figures", "paired"),
        *("wikitext_words", "article_beginnings"),
    ],
)
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
                *("better", "cell", "value", "low", "high", "n", "chance", "units"),
                *("least", "most"),
            }
            assert all(len(one) < 80 for one in row.values() if isinstance(one, str))
        for run in kept["runs"]:
            assert all(not isinstance(one, str) or len(one) < 80 for one in run.values())
