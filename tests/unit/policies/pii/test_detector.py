"""The union of all recognizers: settings, lazy loading, reasons, and time linear in the text."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from cProfile import Profile

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import UnknownName
from sfumato.policies.pii import Pii, detector
from sfumato.policies.pii.detector import (
    DEFAULT,
    TYPES,
    _recognizers,
    list_regions,
)
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.gathering import Gathered
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

LETTER = (
    "Dear Ann, mail me@x.org or see www.x.org, call +44 20 7946 0958, card 4111 1111 1111 1111, "
    "SSN 123-45-6789, IBAN DE89370400440532013000, from 192.0.2.1, born 1 May 1980, "
    "5 Elm Avenue, postcode NW1 6XE, order 843-58572-7002. I work for Siemens in Rotterdam. "
    "I am 43. PESEL 89011395848, Steuer-ID 91086873253, passport C4VPF8R1K, MRN 0058213, "
    "sort code 20-17-44, cvv 318, exp 04/27, plate YK71 RFO, at 54.57812, -3.14277, "
    "token=9f8e7d6c5b4a, btc 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"
)
LABELS = dict(
    zip(
        TYPES,
        (
            *("EMAIL", "URL", "API_KEY", "CRYPTO", "NATIONAL_ID", "TAX_ID", "IBAN"),
            *("CREDIT_CARD", "US_SSN", "IP_ADDRESS", "COORDINATES", "MEDICAL_RECORD"),
            *("PASSPORT", "BANK_ACCOUNT", "CVV", "DATE_TIME", "LICENSE_PLATE", "AGE", "DATE_TIME"),
            *("ADDRESS", "POSTCODE", "PHONE", "CODE", "PERSON", "LOCATION", "ORG"),
        ),
        strict=True,
    )
)
HARD = [
    *("7", "@", "a@", "a.", "1 ", "12-", "1.", ":", "::", "1:", "a1", "A", "Ab ", "+", "(", "1/"),
    *("name\n", "name is ", "www.", "://", ".com", "Mr. ", " ", "\n", "AB12 ", "12 Ab ", "a-"),
    *("4111 1111 1111 1111 ", "(at)", "a (at) ", "x", "Dear A. ", "1\u200b", "by A ", '"a'),
    *("May 1 ", "Best,  \n", "name:\t", "A said ", "12 ab ab ", "0041 ", "Ann ", "Ann B. ", "A. "),
    *(
        "Ab, ",
        "No. 1, Ab, ",
        "12 Ab Street, ",
        "Ab, Ab Road, AB1 2CD",
        "SYS: ",
        "de la ",
        "Ann de ",
    ),
    *(
        "name?\nann ",
        "it's ann, ",
        "1Z ",
        "1234 ",
        "AB 123 ",
        "ending in 1 ",
        "Ab-",
        "D'",
        "by Ann ",
    ),
    *("i am 1 ", "age 1", "aged ", "1 year ", "1A", "A1A", "AB 12 34 56 ", "12.34.", "820812-6972"),
    *(
        "MRN ",
        "cvv 1",
        "passport no ",
        "account ",
        "token=",
        "token=a ",
        "password is ",
        "eyJ",
        "a_",
    ),
    *("AKIA", "xoxb-", "-----BEGIN PRIVATE KEY-----", "bearer ", "0x", "bc1", "1A1z", "lat=1."),
    *("1.1234, ", "1°1'", "plate AB ", "AB-123-", "B-MW 1", "mail=", "=@a", "api_key.", "SG.a"),
    *("key: '", "a.a_", "nir 1 58 ", "DE 1", "4-4-", "1 12-", "user=", "user=a ", "login: a\n"),
    *("exp 1/2", "4111 1111 1111 1111 1/2", "Calle 1, 3o ", "What: ", "5 mg ", "A.A", "i e "),
]


def test_what_has_the_shape_of_a_postcode_is_none_of_the_tagger() -> None:
    text, span = "5 Elm Avenue, postcode NW1 6XE, order", (23, 30)
    place = Found(*span, "LOCATION", "location-tagged", "reads like the name of a place")
    code = Found(*span, "POSTCODE", "postcode", "has the shape of a postcode")
    gathered = Gathered(1)
    gathered.add(0, TYPES.index("postcode"), [code])
    gathered.add(0, len(TYPES), [place])
    assert [one.label for one in gathered.outermost()[0]] == ["POSTCODE"]
    assert [one.label for one in Pii().find(Document(text)) if one.start == span[0]] == ["POSTCODE"]


def test_every_kind_is_found_in_one_letter() -> None:
    labels = {span.label for span in Pii().find(Document(LETTER))}
    assert labels == set(LABELS.values())
    assert {span.label for span in Pii(types=("code",)).find(Document(LETTER))} == {"CODE"}


def test_it_is_a_policy_called_pii() -> None:
    assert isinstance(Pii(), Policy)
    assert Pii().name == "pii"


@pytest.mark.parametrize("kind", TYPES)
def test_a_single_kind_finds_only_its_own_label(kind: str) -> None:
    spans = Pii(types=(kind,)).find(Document(LETTER))
    assert {span.label for span in spans} == {LABELS[kind]}
    assert {one.label for one in _recognizers((kind,), DEFAULT)} <= {LABELS[kind]}


def test_mistyped_settings_get_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="did you mean 'phone'"):
        Pii(types=("phnoe",))
    with pytest.raises(UnknownName, match="unknown value for regions"):
        Pii(regions=("XQ",))


def test_our_list_of_regions_is_that_of_phonenumbers() -> None:
    assert list_regions() == phonenumbers.SUPPORTED_REGIONS
    assert set(DEFAULT) <= list_regions()
    assert all(region in (Pii.__doc__ or "") for region in DEFAULT)


def test_nothing_heavy_is_loaded_until_something_is_looked_for() -> None:
    script = (
        "import sys; from sfumato.policies.pii import Pii; from sfumato.text.document import "
        "Document; policy = Pii(); heavy = lambda: {'phonenumbers', 'stdnum', "
        "'sfumato.policies.pii.names'} & set(sys.modules); "
        "assert not heavy(); policy.find(Document('+44 20 7946 0958, DE89370400440532013000')); "
        "assert len(heavy()) == 3"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_reasons_and_rules_are_given_and_hold_no_text() -> None:
    for span in Pii().find(Document(LETTER)):
        assert span.rule
        assert span.reason
        for word in LETTER[span.start : span.end].split():
            assert len(word) < 3 or word not in span.reason


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    for span in Pii().find(Document(text)):
        assert 0 <= span.start < span.end <= len(text)


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(0, 3)).map(
            lambda row: (Span(row[0], row[0] + row[1], str(row[2])), row[2])
        )
    )
)
def test_dropping_inner_spans_uncovers_nothing(found: list[tuple[Span, int]]) -> None:
    def covered(spans: list[Span]) -> set[int]:
        return {place for span in spans for place in range(span.start, span.end)}

    gathered = Gathered(2)
    for span, kind in found:
        gathered.add(1, kind, [span])
    none, kept = gathered.outermost()
    assert not none
    assert covered(list(kept)) == covered([span for span, _ in found])
    order = sorted(found, key=lambda one: (one[0].start, -one[0].end, one[1]))
    assert [span.label for span in kept][:1] == [span.label for span, _ in order[:1]]


def test_what_is_found_does_not_depend_on_how_documents_are_put_on_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [LETTER, "", "Ann", LETTER[40:300], "USR: Zoë\nUSR: +44 20 7946 0958", "é" * 50] * 4
    documents = [Document(text) for text in texts]
    alone = [Pii().find(document) for document in documents]
    for characters in (1, 300, 700, 10**9):
        monkeypatch.setattr(detector, "_ON_A_PAGE", characters)
        assert Pii().find_many(documents) == alone
        assert [text for page in detector._pages(texts) for text in page] == texts


def test_the_collector_of_cycles_runs_again_afterwards() -> None:
    document = Document("Ann Lee, 020 7946 0958")
    Pii().find(document)
    assert gc.isenabled()
    with pytest.raises(AttributeError):
        Pii().find_many([document, None])  # type: ignore[list-item]
    assert gc.isenabled()
    gc.disable()
    try:
        Pii().find(document)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_page_is_freed_without_looking_for_cycles() -> None:
    made: list[weakref.ref[Page]] = []

    class Watching(Pii):
        def _tag(self, page: Page) -> list[list[Found]]:
            made.append(weakref.ref(page))
            return super()._tag(page)

    gc.disable()
    try:
        Watching().find(Document("SYS: Ann Lee, 020 7946 0958, 12 Elm Street"))
        assert made[0]() is None
    finally:
        gc.enable()


def calls(work: Callable[[], object]) -> int:
    """How many calls of Python and C functions some work takes: its steps, not its time."""
    counting = Profile(subcalls=False)
    counting.runcall(work)
    return sum(one.callcount for one in counting.getstats())


@pytest.mark.parametrize("piece", HARD)
def test_steps_grow_no_faster_than_the_text(piece: str) -> None:
    short, long = (Document(piece * (size // len(piece) + 1)) for size in (500, 1_000))
    policy = Pii()
    policy.find(short)  # patterns are compiled and checks loaded once, before anything is counted
    steps = calls(lambda: policy.find(short))
    assert calls(lambda: policy.find(long)) <= 2.2 * steps + 200


def test_twin_that_looks_back_without_bound_is_caught() -> None:
    def quadratic(text: str) -> None:
        for end in range(0, len(text), 10):
            for start in range(0, end, 10):
                text.find("@", start, end)

    steps = calls(lambda: quadratic("7" * 1_000))
    assert calls(lambda: quadratic("7" * 2_000)) > 2.2 * steps + 200


@pytest.mark.parametrize("piece", HARD)
def test_a_long_hard_text_comes_to_an_end(piece: str) -> None:
    # A pattern that backtracks without bound would not finish in a lifetime.
    Pii().find(Document((piece * 2_000)[:2_000]))


def test_a_hundred_thousand_digits_are_selected_whole() -> None:
    reading = Reading.of("7" * 100_000)
    assert len(reading.starts) == 1
    assert [span.label for span in Pii().find(Document(reading.text))] == ["CODE"]


MOST_STEPS = 300


def steps_each(policy: Policy, piece: str, size: int = 1_000) -> float:
    """Steps per character of a text that repeats a piece."""
    document = Document((piece * size)[:size])
    policy.find(document)
    return calls(lambda: policy.find(document)) / size


@pytest.mark.parametrize("piece", ["1 12-", "1.", "12 ", "00 ", "1980-", "DE89 ", "1 St "])
def test_digits_and_separators_take_a_bounded_number_of_steps(piece: str) -> None:
    assert steps_each(Pii(), piece) < MOST_STEPS


def test_twin_that_judges_every_stretch_again_is_caught() -> None:
    class Slow(Pii):
        def find(self, document: Document) -> Spans:
            for start in range(len(document.text)):
                super().find(Document(document.text[start : start + 200]))
            return super().find(document)

    assert steps_each(Slow(types=("card", "phone")), "1 12-", 100) > MOST_STEPS
