"""Surrogates are uniform over the public lists and ranges; a twin with a taste is told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from sfumato.core.keys import Key
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.surrogates.chance import Chance
from sfumato.mechanisms.surrogates.codes import draw
from sfumato.mechanisms.surrogates.form import Form
from sfumato.mechanisms.surrogates.lists import Local, read_lists
from sfumato.mechanisms.surrogates.names import Shape, draw_name
from sfumato.mechanisms.surrogates.surrogate import Surrogate
from sfumato.text.span import Span, Stretch
from statistical.budget import fits_share, rejects

CHECK = "surrogates: uniform"
DRAWS = 5_000
LISTS = read_lists("en")
GERMAN = Local("de", "DE")
TOWNS = tuple(entry.rpartition(" ")[0] for entry in read_lists("de")["towns DE"])


def given(chance: Chance) -> str:
    return draw_name(Shape(), "en", LISTS, chance)


def family(chance: Chance) -> str:
    return draw_name(Shape(titled=True), "en", LISTS, chance)


def town(chance: Chance) -> str:
    return draw(Form("LOCATION", GERMAN), chance)


def phone(chance: Chance) -> str:
    return draw(Form("PHONE", GERMAN), chance)[-3:]


CASES: dict[str, tuple[Callable[[Chance], str], tuple[str, ...]]] = {
    "given names": (given, LISTS["given"]),
    "family names": (family, LISTS["family"]),
    "towns": (town, TOWNS),
    "phones": (phone, tuple(f"{number:03}" for number in range(1000))),
}


def p_values(found: Counter[str], options: tuple[str, ...]) -> list[float]:
    assert set(found) <= set(options)
    values = [fits_share(found[one], DRAWS, 1 / len(options)) for one in options]
    half = len(options) // 2
    hits = sum(found[one] for one in options[:half])
    return [*values, fits_share(hits, DRAWS, half / len(options))]


@pytest.mark.parametrize("case", CASES)
def test_every_entry_is_as_likely_as_any_other(case: str) -> None:
    draw_one, options = CASES[case]
    chance = Chance.of(Randomness.reproducible(7))
    found = Counter(draw_one(chance) for _ in range(DRAWS))
    assert not rejects(CHECK, case, p_values(found, options))


@pytest.mark.parametrize("case", CASES)
def test_a_twin_that_prefers_the_beginning_is_rejected(case: str) -> None:
    draw_one, options = CASES[case]
    honest = Chance.of(Randomness.reproducible(7))
    biased = Chance(lambda high: min(honest.below(high), honest.below(high)))
    found = Counter(draw_one(biased) for _ in range(DRAWS))
    assert rejects(CHECK, case, p_values(found, options))


def names_under_keys(text: str, fixed: bool) -> Counter[str]:
    """What one name becomes under many keys; keys come from a seed, so the verdict is fixed."""
    stream = Randomness.reproducible(11)
    mechanism = Surrogate(consistent="corpus")
    stretch = Stretch(0, len(text), text, Span(0, len(text), "PERSON"))
    found: Counter[str] = Counter()
    for _ in range(DRAWS):
        key = Key(b"k" * 32) if fixed else Key.from_seed(stream)
        found.update(mechanism.under(key).replace([stretch], stream))
    return found


def test_over_all_keys_a_name_becomes_any_name_alike() -> None:
    for text in ("Okafor", "Ada"):
        values = p_values(names_under_keys(text, fixed=False), LISTS["given"])
        assert not rejects(CHECK, "under keys", values)


def test_a_twin_with_one_key_for_all_is_rejected() -> None:
    values = p_values(names_under_keys("Okafor", fixed=True), LISTS["given"])
    assert rejects(CHECK, "under keys", values)
