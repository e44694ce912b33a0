"""The page about SmolLM2 tells figures apart by their intervals; words are counted by place."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sfumato.metrics.reconstruction import jaccard
from sfumato.results.row import Row
from sfumato.studies.cell import CORPUS, MEASURE, RELEASE
from sfumato.studies.folder import DONE, CellRecord

ROOT = Path(__file__).parents[3]
TOKENS = 15_949


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    return __import__("smdp_smollm2_page")


@pytest.fixture
def staying(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    return __import__("staying")


def row(place: tuple[str, float | None], metric: str, value: float, half: float) -> dict[str, Any]:
    """A made-up figure."""
    method, level = place
    at = {} if level is None else {"parameter": "epsilon", "level": level}
    return {
        "method": method,
        **at,
        "seed": 1,
        "role": "utility",
        "by": "made up",
        "metric": metric,
        "better": "lower",
        "cell": f"{method} {level} {metric}",
        "value": value,
        "low": value - half,
        "high": value + half,
        "n": TOKENS,
    }


def figures(page: ModuleType, half: float, exposed: float = 1.0) -> Any:
    """Perplexities and exposures with such halves of intervals."""
    places = {
        ("no privacy", None): (20.0, 9.0),
        ("random output", None): (30.0, 1.5),
        ("MDP", 8.0): (40.0, 1.4),
        ("MDP", 12.0): (32.0, 1.6),
        ("SMDP", 8.0): (21.0, 1.3),
        ("MDP, unknown words kept", 8.0): (39.0, 8.0),
    }
    rows = [
        one
        for place, (perplexity, bits) in places.items()
        for one in (
            row(place, page.PERPLEXITY, perplexity, half),
            row(place, page.EXPOSED, bits, exposed),
        )
    ]
    return page.Figures({"rows": rows, "runs": [], "missing": []})


def said(page: ModuleType, half: float, exposed: float = 1.0) -> str:
    return "\n".join(page.findings(figures(page, half, exposed)))


def line(page: ModuleType, begin: str, half: float, exposed: float = 1.0) -> str:
    (found,) = [
        one for one in said(page, half, exposed).splitlines() if one.startswith(f"**{begin}")
    ]
    return found


def tells_by_intervals(page: ModuleType) -> bool:
    """Whether narrow intervals tell two methods apart, and wide ones do not."""
    narrow, wide = (line(page, "At ε = 8", half) for half in (1.0, 18.0))
    return "the two are told apart" in narrow and "not told apart" in wide


def test_methods_are_told_apart_by_their_intervals(page: ModuleType) -> None:
    assert tells_by_intervals(page)


@pytest.mark.parametrize("blind", [lambda *_: True, lambda *_: False])
def test_a_page_that_does_not_look_at_intervals_is_caught(
    blind: Callable[..., bool], page: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sabotage: any two figures differ, or none do."""
    monkeypatch.setattr(page, "told_apart", blind)
    assert not tells_by_intervals(page)


def test_levels_are_gathered_by_what_holds_there(page: ModuleType) -> None:
    found = line(page, "Hiding every word", 1.5)
    assert "beside that it is higher at ε = 8 and 12" in found
    assert "it is higher at ε = 8, not told apart at ε = 12." in found
    assert "it is not told apart at ε = 8 and 12" in line(page, "Hiding every word", 18.0)


def leaks(page: ModuleType, exposed: float, without: str = "") -> bool:
    """Whether the page says so; ``without`` a method, as if it were not computed."""
    content = figures(page, 1.0, exposed).content
    rows = [one for one in content["rows"] if one["method"] != without]
    found = "\n".join(page.findings(page.Figures({**content, "rows": rows})))
    shows, hidden = "**Without noise secrets leak**", "**Without noise no leak shows**"
    assert (shows in found) is not (hidden in found)
    return shows in found


@pytest.mark.parametrize("without", ["", "random output"])
def test_a_leak_is_claimed_only_where_it_shows(without: str, page: ModuleType) -> None:
    """Beside the model as it came, and beside chance if that is not computed."""
    assert leaks(page, 1.0, without)
    assert not leaks(page, 9.5, without)


def test_both_rules_for_unknown_words_are_compared(page: ModuleType) -> None:
    assert line(page, "Unknown words kept", 1.0).endswith("the two are told apart.")
    assert line(page, "Unknown words kept", 1.0, exposed=5.0).endswith("not told apart.")


def test_what_was_not_computed_is_not_said(page: ModuleType) -> None:
    content = figures(page, 1.0).content
    rows = [one for one in content["rows"] if one["method"] != "SMDP"]
    found = "\n".join(page.findings(page.Figures({**content, "rows": rows})))
    assert "**At ε = 8**" not in found
    assert "SMDP" not in found


def test_a_perplexity_per_token_of_gpt2_is_the_same_loss(page: ModuleType) -> None:
    found = figures(page, 1.0)
    point = page.per_gpt2(found, ("no privacy", None))
    tokens = page.GPT2_TOKENS
    assert math.log(point.value) * tokens == pytest.approx(math.log(20.0) * TOKENS)
    assert point.low == pytest.approx(19.0 ** (TOKENS / tokens))
    assert point.inner[0] < point.value < point.inner[1]
    assert point.low < point.inner[0]


def test_a_range_is_kept_with_its_figure(page: ModuleType) -> None:
    """Bits have ends: of few secrets that do not leak the interval reaches further up."""
    units = [1.0, 1.2, 0.8, 1.4]
    one = row(("MDP", 8.0), page.EXPOSED, 1.1, 0.5) | {"units": units}
    known = page.Figures({"rows": [one | {"least": 0.0, "most": 11.0}]})
    without = page.Figures({"rows": [one]})
    high, narrow = (some.point("MDP", 8.0, page.EXPOSED).high for some in (known, without))
    assert high > narrow
    kept = __import__("kept")
    assert {"least", "most"} <= set(kept.KEPT)


BEFORE = ["The cat saw 123456 here.", "A dog saw it."]


def sees_places(count: Callable[[list[str], list[str]], float]) -> bool:
    """Whether words that stay are all, and words that changed places are none."""
    lower = [one.lower() for one in BEFORE]
    return count(BEFORE, lower) == 1.0 and count(BEFORE[1:], ["it saw a dog."]) == 0.0


def test_a_word_stays_at_its_place(staying: ModuleType) -> None:
    assert sees_places(lambda before, after: staying.count_staying(before, after).value)
    some = staying.count_staying(BEFORE, ["the cat here saw 123456.", "a cow saw it."])
    assert some.value == pytest.approx((2 / 5 + 3 / 4) / 2)


def test_a_count_of_sets_is_caught() -> None:
    """Sabotage: the overlap of sets does not see that words changed places."""
    assert not sees_places(lambda before, after: jaccard(after[0], before[0]))


def test_secrets_in_the_clear_are_counted_by_place(staying: ModuleType) -> None:
    secrets = ["123456", "777777"]
    before = ["ID 123456.", "ID 123456.", "ID 777777."]
    assert staying.count_standing(secrets, before, before).value == 1.0
    half = staying.count_standing(secrets, before, ["ID 123456.", "ID cow.", "ID 1777777."])
    assert half.value == pytest.approx(1 / 3)
    assert half.n == 3


class Folder:
    """A study's folder with one privatized text."""

    def __init__(self, path: Path, rows: Sequence[Row]) -> None:
        self.path = path
        texts = {
            "corpus-1/train.jsonl": BEFORE,
            "release-1/text.jsonl": ["the cow saw cow here.", "a dog saw it."],
        }
        for name, some in texts.items():
            (path / name).parent.mkdir()
            (path / name).write_text("".join(f"{json.dumps({'text': one})}\n" for one in some))
        planted = {"canaries": [{"secret": "123456"}]}
        (path / "corpus-1" / "canaries.json").write_text(json.dumps(planted))
        self.rows = tuple(rows)

    def cell(self, key: str) -> Path:
        return self.path / key

    def cells(self) -> list[CellRecord]:
        inputs = {CORPUS: (), RELEASE: ("corpus-1",), MEASURE: ("corpus-1", "release-1")}
        return [
            CellRecord(
                key=f"{kind}-1",
                kind=kind,
                method="MDP",
                parameter="epsilon",
                level=8.0,
                state=DONE,
                inputs=some,
                rows=self.rows if kind == MEASURE else (),
            )
            for kind, some in inputs.items()
        ]


def test_texts_are_counted_where_the_study_compares_them(
    staying: ModuleType, tmp_path: Path
) -> None:
    compared = Row.from_dict(row(("MDP", 8.0), "word overlap", 0.5, 0.1))
    stays, clear = staying.staying(Folder(tmp_path, [compared]))
    assert (stays.metric, stays.level, stays.n) == ("words that stay", 8.0, 2)
    assert stays.value == pytest.approx((3 / 5 + 1) / 2)
    assert (clear.metric, clear.value, clear.n) == ("secrets in the clear", 0.0, 1)


def test_texts_that_nobody_compares_are_left_alone(staying: ModuleType, tmp_path: Path) -> None:
    other = Row.from_dict(row(("MDP", 8.0), "perplexity", 0.5, 0.1))
    assert list(staying.staying(Folder(tmp_path, [other]))) == []


def paired(page: ModuleType, factor: float) -> str:
    """What the page says of MDP beside SMDP, if every document costs that much more with it."""
    tokens = [500 + 7 * number for number in range(31)]
    losses = [count * (2 + number % 5) for number, count in enumerate(tokens)]
    more = [one + count * math.log(factor) for one, count in zip(losses, tokens, strict=True)]
    kept = [
        {"method": name, "level": level, "seed": 1, "losses": some, "tokens": tokens}
        for name, level, some in (
            ("no privacy", None, losses), ("MDP", 8.0, more), ("SMDP", 8.0, losses),
        )
    ]  # fmt: skip
    found = figures(page, 18.0)
    return "\n".join(page.findings(page.Figures({**found.content, "documents": kept})))


def test_models_are_compared_document_by_document(page: ModuleType) -> None:
    """Wide intervals of either do not matter then; a factor of 1 is no difference."""
    per_gpt2 = 1.1 ** (TOKENS / page.GPT2_TOKENS)
    some = f"{per_gpt2:.2f} ({per_gpt2:.2f} – {per_gpt2:.2f})"
    assert f"{some} times as much, so that the two are told apart" in paired(page, 1.1)
    assert "times as much, so that the two are not told apart" in paired(page, 1.0)
    assert "multiplies the perplexity without noise by 1.00 (1.00 – 1.00) at ε = 8" in paired(
        page, 1
    )
