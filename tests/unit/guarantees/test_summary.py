"""Three short lines: true for every notion, rounded upward, and never without what is left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.core.remedies import references
from sfumato.guarantees.guarantee import (
    Guarantee,
    Notion,
    Part,
    independent,
    metric_dp,
    no_guarantee,
)
from sfumato.guarantees.parts import by_type

LEVELS = st.floats(min_value=1e-9, max_value=1e9)
WITH_A_LEVEL = sorted(set(Notion) - {Notion.NONE, Notion.INDEPENDENT, Notion.BY_TYPE})
SHOWN = re.compile(r"[ερ] ≤ ([\d.e+-]*\d)")


def stated(notion: Notion, epsilon: float = 2.5, **changes: object) -> Guarantee:
    made = Guarantee(
        notion=notion,
        unit="word",
        neighbors="texts that differ in one word",
        epsilon=epsilon,
        metric="toy distance" if "METRIC" in notion.name or notion is Notion.DIRECTIONAL else "",
        scope="every word that the policy 'digits' selects",
        leaks=("how many words there are",),
        uncovered=("whatever the policy does not select",),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def every_kind() -> dict[Notion, Guarantee]:
    found = {notion: stated(notion) for notion in WITH_A_LEVEL}
    found[Notion.INDEPENDENT] = independent()
    found[Notion.NONE] = no_guarantee(unit="word")
    found[Notion.BY_TYPE] = table()
    return found


def table() -> Guarantee:
    return by_type(
        [
            Part(("PERSON", "EMAIL", "PHONE", "IBAN", "URL"), independent()),
            Part(("DATE",), metric_dp(epsilon=0.1, metric="days", unit="stretch")),
            Part(("ORG",), no_guarantee(unit="stretch")),
            Part((), metric_dp(epsilon=7.99996602408505, metric="toy distance")),
        ]
    )


@pytest.mark.parametrize("notion", Notion)
def test_every_notion_has_three_lines_that_end(notion: Notion) -> None:
    lines = every_kind()[notion].summary()
    starts = [line.split(" ")[0].rstrip(":") for line in lines]
    assert starts == ["Protected", "Not", "Next"]
    assert all(line.endswith(".") and "\n" not in line for line in lines)


@pytest.mark.parametrize("notion", WITH_A_LEVEL)
def test_a_level_is_said_with_its_scope(notion: Notion) -> None:
    first = stated(notion).summary()[0]
    sign = "ρ" if notion is Notion.ZCDP else "ε"
    assert f"{sign} ≤ 2.5" in first
    assert "every word that the policy 'digits' selects" in first
    assert ("unit of distance" in first) == bool(stated(notion).metric)


def test_a_delta_is_said() -> None:
    assert "ε ≤ 8, δ ≤ 1e-05" in stated(Notion.APPROXIMATE_DP, 8.0, delta=1e-5).summary()[0]


def test_what_is_limited_is_said_to_be_limited() -> None:
    assert "its group and no others" in stated(Notion.LDP_WITHIN_GROUPS).summary()[0]
    assert "only where a sensitive word" in stated(Notion.UTILITY_OPTIMIZED_METRIC_LDP).summary()[0]
    assert "does not depend on" in independent().summary()[0]
    assert "ε = 0" in independent().summary()[0]


def test_nothing_is_promised_where_nothing_is_proven() -> None:
    for nothing in (no_guarantee(unit="word"), stated(Notion.METRIC_DP, float("inf"))):
        first, _, then = nothing.summary()
        assert "nothing is proven" in first
        assert "≤" not in first
        assert "do not pass this on" in then


def test_each_type_has_its_own_strength_and_a_gap_among_them_is_seen() -> None:
    first, _, then = table().summary()
    assert "PERSON, EMAIL, PHONE and 2 more types: what stands there now" in first
    assert (
        "The original hides among similar ones, at most e (2.72) times likelier: DATE within"
        in first
    )
    assert "ORG: nothing is proven" in first
    assert "Everything else: the original hides among similar ones (ε ≤ 8 per word" in first
    assert "do not pass this on" in then


def test_what_to_do_next_can_be_done() -> None:
    def called(made: Guarantee) -> list[str]:
        return [one.function for one in references(made.summary()[2])]

    assert called(stated(Notion.SELECTIVE_METRIC_DP)) == ["attack"]
    assert called(independent()) == ["report"]
    assert called(stated(Notion.APPROXIMATE_DP)) == ["attack"]


def test_a_seed_is_for_no_release() -> None:
    assert "without a seed" in stated(Notion.METRIC_DP).reproducible().summary()[2]


def test_what_stays_comes_first_and_with_a_hint() -> None:
    _, second, third = stated(Notion.SELECTIVE_METRIC_DP, stays=0.91).summary()
    assert second.startswith("Not protected: about 91 % of the words, which stay as they are")
    assert [one.function for one in references(third)] == ["suggest"]
    assert "stay" not in "".join(stated(Notion.SELECTIVE_METRIC_DP, stays=0.1).summary())


@given(st.integers(0, 5), st.integers(0, 5))
def test_gaps_and_leaks_are_named_or_counted(gaps: int, leaks: int) -> None:
    made = stated(
        Notion.METRIC_DP,
        uncovered=tuple(f"gap{n}" for n in range(gaps)),
        leaks=tuple(f"leak{n}" for n in range(leaks)),
    )
    second = made.summary()[1]
    assert second.count("gap") == min(gaps, 2)
    counted = sum(int(one) for one in re.findall(r"(\d+) more point", second))
    assert counted + second.count("gap") == gaps + leaks


def promises_no_more(show: Callable[[Guarantee], str], made: Guarantee) -> bool:
    return all(float(one) >= made.epsilon for one in SHOWN.findall(show(made)))


@given(LEVELS)
@example(7.99996602408505)
@example(0.1 + 0.2)
def test_rounding_never_promises_more(epsilon: float) -> None:
    for notion in WITH_A_LEVEL:
        made = stated(notion, epsilon)
        assert len(SHOWN.findall(made.summary()[0])) == 1
        assert promises_no_more(lambda one: one.summary()[0], made)
        assert all(len(re.sub(r"\D", "", one)) < 12 for one in SHOWN.findall(made.summary()[0]))


def test_twin_a_level_rounded_to_the_nearest_is_caught() -> None:
    assert not promises_no_more(lambda one: f"ε ≤ {one.epsilon:.3g}", stated(Notion.PURE_DP, 8.001))
