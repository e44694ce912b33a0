"""Gold spans stand exactly where the data are, and no number can belong to anybody.

The checks know the formats on their own, not through the generator; each has a twin, a
sabotaged dialogue or number that it must refuse.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import islice, pairwise
from typing import Any

import phonenumbers
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import LABELS, generate_customersim
from sfumato.corpora.labeled import Labeled, labeled_from_record
from sfumato.text.span import Span, Spans
from sfumato.text.words import Words

# Country code and national number of every range that is kept free for fiction.
RESERVED = {
    1: r"[2-9]\d\d55501\d\d",
    44: r"2079460\d{3}|1(?:13|21|31|61)4960\d{3}|1632960\d{3}|7700900\d{3}",
    49: r"(?:3023125|6990009|4066969|2214710|8999998)\d{3}",
    33: r"(?:19900|26191|35301|46571|53649|63998)\d{4}",
}
SHAPES = {
    "PERSON": r"[\p{L}\p{M}' .,-]{2,40}",
    "ADDRESS": r"(?=.*\p{L}).{8,90}",
    "PHONE": r"\+?[\d ()./-]{10,22}|\d{4}",
    "ORDER": r"[A-Z]{0,3}[-/]?\d[\d/-]{5,14}",
    "TRACKING": r"[A-Z]{0,3}[A-Z0-9 -]{9,24}",
}


def text_of(example: Labeled, span: Span) -> str:
    return example.document.text[span.start : span.end]


@pytest.fixture(scope="module")
def dialogues() -> list[Labeled]:
    return list(generate_customersim(1500, Randomness.reproducible(20)))


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return tomllib.loads(files("sfumato.corpora").joinpath("data/customersim.toml").read_text())


@pytest.fixture(scope="module")
def names(script: dict[str, Any]) -> set[str]:
    """Every part of every name, in every way of writing it, particles left out."""
    parts = {
        part
        for country in script["countries"].values()
        for kind in ("women", "men", "last")
        for name in country[kind]
        for part in name.split()
        if len(part) > 2 and part not in {"der", "von", "van"}
    }
    return {written.casefold() for part in parts for written in (part, part.upper(), part.lower())}


def complaints(example: Labeled, names: set[str]) -> Iterator[str]:
    """Whatever is wrong with the gold spans of a dialogue."""
    text = example.document.text
    for span in example.spans:
        found = text_of(example, span)
        if not regex.fullmatch(SHAPES[span.label], found):
            yield f"{span.label} has the wrong shape"
        if found != found.strip(" ,"):
            yield "a span with white space at its edge"
        around = text[: span.start][-1:] + "|" + text[span.end :][:1]
        if regex.search(r"[\p{L}\p{N}]", around):
            yield "a span that cuts a word"
        last = regex.split(r"[ ,]+", found)[-1].casefold()
        first = regex.split(r"[ ,]+", found)[0].casefold()
        if span.label == "PERSON" and not {first, last} & names:
            yield "a person without a name"
    yield from left_over(example, names)


def left_over(example: Labeled, names: set[str]) -> Iterator[str]:
    """Data that stand outside all spans."""
    rest = list(example.document.text)
    for span in example.spans:
        rest[span.start : span.end] = "_" * len(span)
    clear = "".join(rest)
    if any(token.casefold() in names for token in regex.findall(r"[\p{L}\p{M}'-]+", clear)):
        yield "a name in the clear"
    codes = r"\d{4}|\d[ /-]\d|\b(?=\w*\d)[A-Z0-9]{6,}\b"
    if regex.search(codes, clear.replace("24/7", "")):
        yield "a number or code in the clear"


def test_gold_spans_are_exactly_the_data(dialogues: list[Labeled], names: set[str]) -> None:
    assert {complaint for example in dialogues for complaint in complaints(example, names)} == set()


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("sabotage", ["forgotten", "shifted", "shortened"])
def test_a_dialogue_with_one_wrong_span_is_caught(
    dialogues: list[Labeled], names: set[str], label: str, sabotage: str
) -> None:
    caught = tried = 0
    for example in dialogues[:150]:
        index = next((i for i, span in enumerate(example.spans) if span.label == label), None)
        if index is None:
            continue
        span = example.spans.items[index]
        wrong = {
            "forgotten": [],
            "shifted": [replace(span, start=span.start - 1, end=span.end - 1)],
            "shortened": [replace(span, end=span.end - 2)],
        }[sabotage]
        others = [*example.spans.items[:index], *wrong, *example.spans.items[index + 1 :]]
        tried += 1
        caught += any(complaints(replace(example, spans=Spans.of(others)), names))
    assert tried > 10
    # An address without its number (one that is a house name) looks like any other words.
    assert caught >= 0.8 * tried


def test_spans_stand_in_order_and_never_overlap(dialogues: list[Labeled]) -> None:
    for example in dialogues:
        assert example.spans == Spans.of(example.spans)
        assert example.spans == example.spans.disjoint()
        assert not any(a.overlaps(b) for a, b in pairwise(example.spans))


def test_every_span_says_that_it_is_gold(dialogues: list[Labeled]) -> None:
    assert {(span.rule, bool(span.reason)) for example in dialogues for span in example.spans} == {
        ("gold", True)
    }


def test_every_dialogue_names_its_customer(dialogues: list[Labeled]) -> None:
    for example in dialogues:
        assert any(span.label == "PERSON" for span in example.spans)


def test_labels_are_the_five_and_none_is_rare(dialogues: list[Labeled]) -> None:
    holding = Counter(
        label for example in dialogues for label in {span.label for span in example.spans}
    )
    assert set(holding) == set(LABELS)
    assert min(holding.values()) > len(dialogues) / 5


def test_data_are_often_mentioned_again(dialogues: list[Labeled]) -> None:
    repeated = Counter(
        label
        for example in dialogues
        for label in LABELS
        if sum(span.label == label for span in example.spans) > 1
    )
    assert all(repeated[label] > len(dialogues) / 50 for label in LABELS)
    assert any(
        regex.search(r"M[rs]\. $", example.document.text[: span.start])
        for example in dialogues
        for span in example.spans
    )


def test_turns_alternate_and_begin_with_the_shop(dialogues: list[Labeled]) -> None:
    for example in dialogues:
        speakers = [line[:5] for line in example.document.text.split("\n")]
        assert speakers == ["SYS: ", "USR: "] * (len(speakers) // 2) + ["SYS: "] * (
            len(speakers) % 2
        )
        assert len(speakers) >= 6


def test_dialogues_differ(dialogues: list[Labeled]) -> None:
    assert len({example.document.text for example in dialogues}) == len(dialogues)
    assert len({example.document.id for example in dialogues}) == len(dialogues)


def is_fictional(number: str) -> bool:
    """Whether a number lies in a range that no subscriber can have."""
    for region in ("US", "GB", "DE", "FR"):
        # Indian customers dial North America with the prefix for calls abroad.
        parsed = phonenumbers.parse(regex.sub(r"^001 ", "+1 ", number), region)
        digits = phonenumbers.national_significant_number(parsed)
        if regex.fullmatch(RESERVED.get(parsed.country_code or 0, "x"), digits):
            return True
    return False


def test_no_phone_number_can_belong_to_anybody(dialogues: list[Labeled]) -> None:
    numbers = {
        text_of(example, span)
        for example in dialogues
        for span in example.spans
        if span.label == "PHONE" and len(span) > 4
    }
    assert len(numbers) > 500
    assert [number for number in numbers if not is_fictional(number)] == []


@pytest.mark.parametrize(
    "number", ["(212) 555-0200", "212-556-0142", "+1 415 555 1142", "020 7947 0123", "030 23126123"]
)
def test_a_number_just_outside_the_ranges_is_caught(number: str) -> None:
    assert not is_fictional(number)


def test_the_last_four_digits_are_those_of_the_number(dialogues: list[Labeled]) -> None:
    tails = 0
    for example in dialogues:
        phones = [text_of(example, span) for span in example.spans if span.label == "PHONE"]
        whole = {regex.sub(r"\D", "", phone)[-4:] for phone in phones if len(phone) > 4}
        short = {phone for phone in phones if len(phone) == 4}
        tails += len(short)
        assert not whole or short <= whole
    assert tails > 0


def test_customers_come_from_several_countries(dialogues: list[Labeled]) -> None:
    addresses = [
        text_of(example, span)
        for example in dialogues
        for span in example.spans
        if span.label == "ADDRESS"
    ]
    american = sum(bool(regex.search(r", [A-Z]{2} \d{5}$", address)) for address in addresses)
    british = sum(
        bool(regex.search(r" [A-Z]{2}\d\d? \d[A-Z]{2}$", address)) for address in addresses
    )
    german = sum(bool(regex.search(r" (D-)?\d{5} \p{L}+", address)) for address in addresses)
    indian = sum(bool(regex.search(r" \d{3} ?\d{3}$", address)) for address in addresses)
    assert american > len(addresses) / 3
    assert min(british, german, indian) > len(addresses) / 50


def test_gold_words_are_selected_whole_and_nothing_else(dialogues: list[Labeled]) -> None:
    for example in dialogues[:300]:
        words = Words.of(example.document.text)
        chosen = set(example.spans.select(words))
        for index in range(len(words)):
            start, end = words.starts[index], words.ends[index]
            inside = any(span.start <= start and end <= span.end for span in example.spans)
            assert inside == (index in chosen)


def test_a_dialogue_survives_being_written_and_read(dialogues: list[Labeled]) -> None:
    for example in dialogues[:100]:
        assert labeled_from_record(json.loads(json.dumps(example.as_record()))) == example


@given(st.integers(0, 2**64), st.integers(0, 6))
def test_the_same_seed_gives_the_same_dialogues(seed: int, count: int) -> None:
    first = list(generate_customersim(count, Randomness.reproducible(seed)))
    assert first == list(generate_customersim(count, Randomness.reproducible(seed)))
    assert first == list(islice(generate_customersim(50, Randomness.reproducible(seed)), count))


@given(st.integers(0, 2**32))
def test_another_seed_gives_other_dialogues(seed: int) -> None:
    one, other = (
        next(generate_customersim(1, Randomness.reproducible(s))) for s in (seed, seed + 1)
    )
    assert one.document.text != other.document.text


def test_the_secure_stream_never_repeats_itself() -> None:
    assert next(generate_customersim(1, Randomness.secure())) != next(
        generate_customersim(1, Randomness.secure())
    )


def test_one_stream_used_twice_goes_on() -> None:
    randomness = Randomness.reproducible(4)
    one, other = (next(generate_customersim(1, randomness)) for _ in range(2))
    assert one.document.text != other.document.text


def test_seed_seven_gives_the_dialogues_it_always_gave() -> None:
    # Studies name their corpus by its seed. Editing a sentence changes this on purpose.
    records = [
        example.as_record() for example in generate_customersim(50, Randomness.reproducible(7))
    ]
    assert {record.pop("label") for record in records} == {"US", "GB", "DE", "FR", "IN"}
    digest = hashlib.sha256(json.dumps(records, sort_keys=True).encode()).hexdigest()
    assert digest == "8134ad5a66fe39d2d351c26758958a9f0165b7abb7055c6ec876e912ffa15993"


def test_nothing_is_asked_of_the_stream_before_the_first_dialogue() -> None:
    class Untouched(Randomness):
        def _ready(self) -> Any:
            raise AssertionError("a draw")

    assert list(generate_customersim(0, Untouched(None))) == []
    waiting = generate_customersim(10**8, Untouched(None))
    with pytest.raises(AssertionError, match="a draw"):
        next(waiting)


@pytest.mark.parametrize("count", [-1, 1.5, "many", True])
def test_a_count_that_is_none_is_refused_at_once(count: Any) -> None:
    with pytest.raises(InvalidArgument, match="count="):
        generate_customersim(count, Randomness.secure())


def test_every_field_of_every_sentence_is_known(script: dict[str, Any]) -> None:
    named = {"full", "name", "first", "last", "title", "other"}
    numbered = {"address", "line", "new_address", "phone", "tail", "order", "tracking"}
    harmless = {"item", "amount", "days", "company"}
    sentences = json.dumps({k: v for k, v in script.items() if k not in {"values", "countries"}})
    assert set(regex.findall(r"\{(\w+)\}", sentences)) == named | numbered | harmless
