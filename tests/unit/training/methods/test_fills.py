"""Made-up values in the place of masks: as public as masks are, and learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from re import fullmatch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.core.errors import CannotResume, InvalidArgument
from sfumato.core.kinds import KINDS
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.surrogates.lists import LANGUAGES
from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.language import guess_language
from sfumato.text.span import Span, Spans
from sfumato.text.words import Words
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods import streams
from sfumato.training.methods.base import build_method
from sfumato.training.methods.fills import (
    SURROGATES,
    Patterns,
    draw_fills,
    put_fills,
    read_patterns,
)
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.methods.selective import PublicCourse, SelectiveTraining
from sfumato.training.methods.streams import (
    PublicSteps,
    Split,
    make_filled_records,
    split_each,
)
from sfumato.training.records import Cut, TokenRecords
from sfumato.training.request import Request
from sfumato.training.settings import Course, Privacy
from unit.training.runs import SETTINGS, small_model, tokenizer

CUT = Cut(context=16)
# Label and secret of each place; what a place holds is "⟨" and "⟩" in the texts below.
PLACES = ("PERSON", "PHONE", "ADDRESS", "MY_OWN_TYPE")
SECRETS = ("Ada Lovelace", "+1 202 555 0147", "12 Dorset Street, London", "x")


class Placed:
    """A policy that knows the places beforehand."""

    name = "placed"

    def __init__(self, spans: Sequence[Spans]) -> None:
        self._numbers = count()
        self._spans = spans

    def find(self, document: Document) -> Spans:  # noqa: ARG002
        return self._spans[next(self._numbers) % len(self._spans)]


def corpus(secrets: Sequence[str]) -> tuple[list[Document], Policy]:
    """One document for each place, and one with all of them, whose secrets may be four others."""
    texts, spans = [], []
    for chosen in [[place] for place in range(len(PLACES))] + [list(range(len(PLACES)))]:
        text, found = "all about nothing", []
        for place in chosen:
            text += " a text: "
            secret = secrets[place] if len(chosen) == 1 else secrets[place - len(PLACES)]
            found.append(Span(len(text), len(text) + len(secret), PLACES[place]))
            text += secret + " ."
        texts.append(Document(text))
        spans.append(Spans.of(found))
    return texts, Placed(spans)


def filled(secrets: Sequence[str], seed: int = 3) -> TokenRecords:
    documents, policy = corpus(secrets)
    drawn = Randomness.reproducible(seed)
    return make_filled_records(split_each(documents, policy), tokenizer(), CUT, drawn)


def same(one: TokenRecords, other: TokenRecords) -> bool:
    return np.array_equal(one.tokens, other.tokens) and np.array_equal(one.first, other.first)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.text(st.characters(categories=("L", "N", "P")), min_size=1), min_size=4, max_size=8)
)
def test_the_filled_text_does_not_know_what_stood_there(secrets: list[str]) -> None:
    """Whatever stood there, of whatever length and form: every token is the same."""
    assert same(filled(secrets), filled(SECRETS))


def reads_the_form(one: Split, randomness: Randomness, _: Patterns | None = None) -> str:
    """A twin as the mechanism surrogate has it: as many words as the original has."""
    words = [len(one.original.text[start:end].split()) for start, end in one.private]
    fills = [" ".join(draw_fills(["PERSON"] * n, "en", randomness)) for n in words]
    return put_fills(one.public, one.masks, fills)


def draws_by_the_secret(one: Split, randomness: Randomness, _: Patterns | None = None) -> str:
    """A twin whose randomness is that of the secret."""
    own = randomness.stream(sum(end - start for start, end in one.private))
    return put_fills(one.public, one.masks, draw_fills(one.labels, one.language, own))


def shifts_the_stream(one: Split, randomness: Randomness, _: Patterns | None = None) -> str:
    """A twin that draws once more for every character of a secret."""
    for start, end in one.private:
        for _each in range(end - start):
            randomness.below(2)
    return put_fills(one.public, one.masks, draw_fills(one.labels, one.language, randomness))


def asks_the_secret_for_its_language(
    one: Split, randomness: Randomness, _: Patterns | None = None
) -> str:
    """A twin that guesses the language from all words."""
    language = guess_language(Words.of(one.original.text))
    return put_fills(one.public, one.masks, draw_fills(one.labels, language, randomness))


def never_gives_the_original(one: Split, randomness: Randomness, _: Patterns | None = None) -> str:
    """A twin that draws again if what it drew is what stood there."""
    fills = []
    for label, (start, end) in zip(one.labels, one.private, strict=True):
        drawn = draw_fills([label], one.language, randomness)
        while drawn == [one.original.text[start:end]]:
            drawn = draw_fills([label], one.language, randomness)
        fills += drawn
    return put_fills(one.public, one.masks, fills)


GIVEN: dict[str, str] = {}


def gives_equal_ones_the_same(one: Split, randomness: Randomness, _: Patterns | None = None) -> str:
    """A twin that remembers what it gave for a secret, so that it shows where it stands again."""
    if randomness.path == (0,):  # the first document
        GIVEN.clear()
    drawn = draw_fills(one.labels, one.language, randomness)
    secrets = (one.original.text[start:end] for start, end in one.private)
    fills = [GIVEN.setdefault(secret, fill) for secret, fill in zip(secrets, drawn, strict=True)]
    return put_fills(one.public, one.masks, fills)


def about_to_be_drawn() -> list[str]:
    """Secrets that are, by accident, the very values that will stand in their places."""
    splits, drawn = split_each(*corpus(SECRETS)), Randomness.reproducible(3)
    each = (
        draw_fills(one.labels, one.language, drawn.stream(number))
        for number, one in enumerate(splits)
    )
    return [fill for fills in each for fill in fills]


def is_caught(expected: Sequence[str]) -> bool:
    """Whether some other secrets give another public text."""
    others: list[Sequence[str]] = [
        ("Dr. M. de la Cruz y Gómez-Ortega's", "7", "a b c", "another 🦊 secret"),
        ("ich habe mein Paket nicht erhalten und bin verärgert über die Firma", "7", "8", "x"),
        (*SECRETS, *reversed(SECRETS)),
        expected,
    ]
    usual = filled(SECRETS)
    return any(not same(usual, filled(one)) for one in others)


@pytest.mark.parametrize(
    "twin",
    [
        reads_the_form,
        draws_by_the_secret,
        shifts_the_stream,
        asks_the_secret_for_its_language,
        never_gives_the_original,
        gives_equal_ones_the_same,
    ],
)
def test_a_twin_that_looks_at_an_original_is_caught(
    twin: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = about_to_be_drawn()
    assert not is_caught(expected)
    monkeypatch.setattr(streams, "_fill", twin)
    assert is_caught(expected)


def test_no_secret_is_left_and_every_fill_is_new() -> None:
    documents, policy = corpus(SECRETS)
    splits = split_each(documents, policy)
    first = [streams._fill(one, Randomness.reproducible(1), None) for one in splits]
    second = [streams._fill(one, Randomness.reproducible(2), None) for one in splits]
    assert all(secret not in text for secret in SECRETS[:3] for text in first)
    assert all("[" not in text for text in first)
    assert all(one != other for one, other in zip(first, second, strict=True))
    assert all(text.startswith("all about nothing a text: ") for text in first)


def test_all_of_the_filled_text_is_predicted() -> None:
    assert filled(SECRETS).wanted is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_is_a_value_for_every_kind(language: str) -> None:
    drawn = draw_fills([*KINDS, "SOMETHING ELSE", ""], language, Randomness.reproducible(1))
    assert len(drawn) == len(KINDS) + 2
    assert all(one.strip() == one and one for one in drawn)


def test_patterns_say_what_values_of_a_label_look_like() -> None:
    patterns = read_patterns(["ORDER=000-Aa", "ORDER=**", "PHONE=+1 000=0"])
    drawn = draw_fills(
        ["ORDER", "PHONE", "PERSON"] * 60, "en", Randomness.reproducible(1), patterns
    )
    orders = set(drawn[::3])
    assert all(fullmatch(r"[0-9]{3}-[A-Z][a-z]|[A-Z0-9]{2}", one) for one in orders)
    assert {len(one) for one in orders} == {2, 6}
    assert any(one.isdigit() for one in orders) or any(one.isalpha() for one in orders)
    assert all(fullmatch(r"\+1 [0-9]{3}=[0-9]", one) for one in drawn[1::3])
    assert all(len(one.split()) == 2 for one in drawn[2::3])


FORMS = read_patterns(["PHONE=000-0000", "PHONE=+0 000 000 0000", "PERSON=Aaaa", "PERSON=Aaaa A."])


def formed(secrets: Sequence[str]) -> TokenRecords:
    splits, drawn = split_each(*corpus(secrets)), Randomness.reproducible(3)
    return make_filled_records(splits, tokenizer(), CUT, drawn, FORMS)


def takes_the_form_that_fits(one: Split, randomness: Randomness, patterns: Patterns) -> str:
    """A twin that takes, of several patterns of a type, the one as long as the original."""
    fills = []
    for label, (start, end) in zip(one.labels, one.private, strict=True):
        known = sorted(patterns.get(label, ()), key=lambda form: abs(len(form) - (end - start)))
        nearest = {label: known[:1]} if known else {}
        fills += draw_fills([label], one.language, randomness, nearest)
    return put_fills(one.public, one.masks, fills)


def test_which_pattern_is_taken_does_not_depend_on_what_stood_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others = ("Ada", "7", "a b c", "another secret")
    assert same(formed(SECRETS), formed(others))
    monkeypatch.setattr(streams, "_fill", takes_the_form_that_fits)
    assert not same(formed(SECRETS), formed(others))


@pytest.mark.parametrize("given", ["ORDER", "=000", "ORDER=", "ORDER= 000", "ORDER=0\n0", ""])
def test_other_patterns_are_refused(given: str) -> None:
    with pytest.raises(InvalidArgument, match="LABEL=PATTERN"):
        build_method("selective", {"fill": SURROGATES, "fill_patterns": (given,)})


def test_a_label_of_the_same_kind_has_the_pattern() -> None:
    """A policy says CODE where somebody else says ORDER; a label without a kind is itself."""
    patterns = read_patterns(["order number=xx-000", "TICKET=t-00"])
    code, ticket, other = draw_fills(
        ["CODE", "TICKET", "ticket"], "en", Randomness.reproducible(1), patterns
    )
    assert fullmatch(r"xx-[0-9]{3}", code)
    assert fullmatch(r"t-[0-9]{2}", ticket)
    assert not other.startswith("t-")


@pytest.mark.parametrize("label", ["NOSUCH", "NUMBR"])
@pytest.mark.parametrize("method", ["selective", "twice"])
def test_a_pattern_for_no_type_of_the_policy_is_refused(label: str, method: str) -> None:
    """It would change nothing, and nobody would notice."""
    given = {"fill": SURROGATES, "fill_patterns": (f"{label}=000",)}
    asked = request()
    with pytest.raises(InvalidArgument, match=f"unknown type '{label}'"):
        build_method(method, given).check(asked)
    build_method(method, given | {"fill_patterns": ("NUMBER=000",)}).check(asked)


def test_patterns_need_made_up_values() -> None:
    with pytest.raises(InvalidArgument, match="need `fill='surrogates'`"):
        build_method("selective", {"fill_patterns": ("ORDER=000",)})


def test_a_text_without_masks_stays_as_it_is() -> None:
    assert put_fills("nothing here", [], []) == "nothing here"
    assert put_fills("[A][B]", [(0, 3), (3, 6)], ["x", "y"]) == "xy"


def request(**method: object) -> Request:
    return Request(
        model="lstm",
        settings=SETTINGS["lstm"],
        privacy=Privacy(epsilon=8.0, delta=1e-2, epochs=2, batch_sizes=(2,)),
        method=build_method("selective", {"public_epochs": 1} | method),
        protection=PolicyPromise(combine_policies(["digits"], [], {})),
        course=Course(checkpoint_every=1),
        seed=5,
    )


TEXTS = [Document(f"all about {number} and nothing") for number in (1, 22, 333)]


def test_a_run_says_what_stood_in_the_place_of_masks_and_goes_on_with_nothing_else(
    tmp_path: Path,
) -> None:
    folder = RunFolder(tmp_path / "run")
    train_model(
        request(fill=SURROGATES, public_batch_size=1, fill_patterns=("NUMBER=000",)), TEXTS, folder
    )
    settings = folder.settings()
    assert settings["public"]["fill"] == SURROGATES
    assert settings["public"]["batch_size"] == 1
    assert settings["public"]["fill_patterns"] == ["NUMBER=000"]
    with pytest.raises(CannotResume):
        train_model(request(public_batch_size=1), TEXTS, folder, resume=True)


class Stop(Exception):
    """Raised in the place of the first public step."""


def test_a_run_trains_on_filled_text_that_does_not_know_the_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way from documents to public steps; masks are not what they read."""
    read: list[TokenRecords] = []

    def watched(_: object, records: TokenRecords, *__: object) -> None:
        read.append(records)
        raise Stop

    monkeypatch.setattr(streams, "PublicSteps", watched)
    others = [Document(f"all about {number} and nothing") for number in (987654, 0, 1)]
    for number, (texts, fill) in enumerate(
        [(TEXTS, SURROGATES), (others, SURROGATES), (others, "masks")]
    ):
        with pytest.raises(Stop):
            train_model(request(fill=fill), texts, RunFolder(tmp_path / str(number)))
    filled_text, other, masked = read
    assert same(filled_text, other)
    assert filled_text.wanted is None
    assert not same(other, masked)
    assert masked.wanted is not None


def test_the_guarantee_is_the_same_with_both(tmp_path: Path) -> None:
    stated = [
        train_model(request(fill=fill), TEXTS, RunFolder(tmp_path / fill)).guarantee.sentence()
        for fill in ("masks", SURROGATES)
    ]
    assert stated[0] == stated[1]


def test_other_fills_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="fill 'crayons'; known: masks, surrogates"):
        build_method("selective", {"fill": "crayons"})
    with pytest.raises(InvalidArgument, match="public batch size"):
        build_method("twice", {"public_batch_size": 0})
    assert SelectiveTraining().fill == "masks"


def test_public_steps_follow_the_schedule_over_their_own_number() -> None:
    """Also if the run was stopped between, before the last private step."""
    rates: list[float] = []
    course = PublicCourse(epochs=4, batch_size=3, learning_rate=0.5, lead=0.5)

    def begun() -> PublicSteps:
        drawn = Randomness.reproducible(1)
        made = PublicSteps(small_model(), filled(SECRETS), course, Course(schedule="linear"), drawn)
        take = made._step

        def watched(members: NDArray[np.int64]) -> None:
            rates.append(made.optimizer.param_groups[0]["lr"])
            take(members)

        made._step = watched  # type: ignore[method-assign]
        return made

    before, after = begun(), begun()
    for step in range(2):
        list(before.reach(step, 3))
    after.restore(before.state())
    list(after.reach(2, 3))
    assert rates == pytest.approx([0.5 * (1 - step / 7) for step in range(7)])
    assert before.taken < after.taken == course.steps(5) == 7
