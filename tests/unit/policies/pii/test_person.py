"""Names by the words around them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from string import ascii_uppercase
from typing import Any, ClassVar

import pytest

from sfumato.policies.pii.person import Person, speaker_tags
from sfumato.policies.pii.reading import Page, Reading


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Person().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("My name is Ada Lovelace.", "Ada Lovelace", "person-introduced"),
        ("my name is ada lovelace and", "ada lovelace", "person-introduced"),
        ("Je m'appelle Chloé", "Chloé", "person-introduced"),
        ("Name: Ann Lee", "Ann Lee", "person-field"),
        ("met Mr. Jones", "Mr. Jones", "person-title"),
        ("Dear Priya,", "Priya", "person-greeted"),
        ("Regards,\nTom van der Berg", "Tom van der Berg", "person-signed"),
        ("I'm Zoë Quinn.", "Zoë Quinn", "person-self"),
        ("patient Lena Fischer came", "Lena Fischer", "person-role"),
        ("Ann Lee\n12 Elm Road", "Ann Lee", "person-block"),
        ("SYS: full name?\nUSR: Sure, Mary Rowan.", "Mary Rowan", "person-answer"),
        ("your full name?\njoe bloggs", "joe bloggs", "person-answer"),
        ("Dear Xanthi, I saw Xanthi", "Xanthi", "person-again"),
        ("Margaret Hale said so", "Margaret Hale", "person-acting"),
        ("Full name: Ada", "Ada", "person-field"),
        ("I am Xanthi R. Qemali.", "Xanthi R. Qemali", "person-self"),
        ("Your name?\nQemali, Xanthi.", "Qemali, Xanthi", "person-answer"),
        ("Whom am I speaking with?\nXanthi Qemali", "Xanthi Qemali", "person-answer"),
        ("What is your name? Xanthi Qemali", "Xanthi Qemali", "person-answer"),
        ("That would be Xanthi Qemali.", "Xanthi Qemali", "person-role"),
        ("The flat belongs to Xanthi Qemali", "Xanthi Qemali", "person-role"),
        ("payable to Xanthi Qemali only", "Xanthi Qemali", "person-role"),
        ("my wife, Xanthi Qemali, will come", "Xanthi Qemali", "person-role"),
        ("in my wife's name, Xanthi Qemali", "Xanthi Qemali", "person-role"),
        ("Directed By:   Xanthi Qemali", "Xanthi Qemali", "person-role"),
        ("Patient Xanthi Qemali came", "Xanthi Qemali", "person-role"),
        ("Mr. van der Qem left", "Mr. van der Qem", "person-title"),
        ("Ms. de la Cruz left", "Ms. de la Cruz", "person-title"),
        ("Mme d'Aubigny left", "Mme d'Aubigny", "person-title"),
        ("Mr. Washington left", "Mr. Washington", "person-title"),
        ("'Never,' says Qemali.", "Qemali", "person-quoted"),
        ("people call me Qemali", "Qemali", "person-introduced"),
        ("Name?\nit should be under sabine t. krüger", "sabine t. krüger", "person-answer"),
        ("hey it's loïc garnier, my box", "loïc garnier", "person-small"),
        ("a parcel to krüger, sabine, please", "krüger, sabine", "person-small"),
    ],
)
def test_names_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "I am happy to help",
        "Dear all,",
        "my name is not important",
        "Thanks! Thank you.\nSYS: Bye",
        "This is the place",
        "The file name was long",
        "hello there",
        "SYS: Your name?\nUSR: My name is secret.\nSYS: Much appreciated",
        "SYS: name?\nUSR: ...\nSYS: Perfect. Noted.",
        "SYS: Let me find your file; your first and last name?\nUSR: why?\nSYS: Because.",
        "SYS: Hi there! This is the help desk.\nUSR: Hi.",
        "Thanks, Mr.",
        "it is given to hope and will",
        "the Burmese called it so",
        "built by Sonic Team",
    ],
)
def test_what_is_no_name_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("my name is XANTHI QEMALI\nAlright Xanthi.", "Xanthi"),
        ("my name is xanthi qemali\nThanks, Xanthi!", "Xanthi"),
        ("Dear Xanthi,\nfor Xanthi's sake", "Xanthi"),
        ("Xanthi said so. I saw Xanthi.", "Xanthi"),
        ("I met Ann Qemali. Qemali left.", "Qemali"),
    ],
)
def test_a_name_is_found_again_whatever_found_it_first(text: str, word: str) -> None:
    spans = list(Person().find(Reading.of(text)))
    last = text.rindex(word)
    assert any(span.start <= last and last + len(word) <= span.end for span in spans)


def test_ordinary_words_of_a_name_are_not_found_again() -> None:
    text = "Ask for Good Morning Xanthi. Good morning. Morning!"
    assert not any(span.start > 30 for span in Person().find(Reading.of(text)))


def test_an_initial_between_known_words_belongs_to_the_name() -> None:
    text = "Dear Xanthi Qemali,\nXanthi R. Qemali signed."
    assert "Xanthi R. Qemali" in [name for name, _ in found(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please Call Anna Schmidt.", ["Anna Schmidt"]),
        ("Mein Mann Hans Meier ist krank", ["Hans Meier"]),
        ("Hola María José.", ["María José"]),
        ("Sra. Vega y Sr. Luna vienen", ["Sr. Luna", "Sra. Vega"]),
        ("Frau Prof. Dr. Kunz kommt", ["Frau Prof. Dr. Kunz"]),
    ],
)
def test_words_before_a_name_are_no_part_of_it(text: str, expected: list[str]) -> None:
    names = {name for name, _ in found(text)}
    longest = {one for one in names if not any(one != other and one in other for other in names)}
    assert sorted(longest) == expected


class Watched(str):
    """A text whose parts count how often they are compared."""

    compared: ClassVar[list[object]] = []

    def __getitem__(self, place: Any) -> Watched:
        return Watched(str.__getitem__(self, place))

    def rstrip(self, signs: str | None = None, /) -> Watched:
        return Watched(str.rstrip(self, signs))

    def __eq__(self, other: object) -> bool:
        self.compared.append(None)
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def comparisons(work: Callable[[], object]) -> int:
    Watched.compared.clear()
    work()
    return len(Watched.compared)


def test_speakers_are_counted_once() -> None:
    heads = [f"{one}{other}" for one in ascii_uppercase for other in ascii_uppercase]
    text = Watched("\n" + "".join(f"{head}: yes\n" for head in heads))
    with closing(Page([str(text)])) as page:
        page.texts = [text]
        assert comparisons(lambda: speaker_tags(page)) < 10 * len(heads)
    # Sabotage: each of them is counted among all.
    slow = [Watched(head) for head in heads]
    assert comparisons(lambda: [slow.count(head) for head in slow]) > 100 * len(heads)
