"""Whatever is not selected comes back byte for byte, whatever the text and the policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from properties.texts import many_spans, texts
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, no_guarantee
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.span import Spans, Stretch
from sfumato.text.words import Words
from sfumato.vectors.space import Space

SPACE = Space("pair", ["paris", "7"], np.eye(2, dtype=np.float32))


@dataclass(frozen=True)
class Given:
    """A policy that finds what it was told to find."""

    found: Spans
    name: str = "given"

    def find(self, document: Document) -> Spans:  # noqa: ARG002
        return self.found


@dataclass(frozen=True)
class Numbered:
    """A mechanism whose outputs say which input they stand for."""

    def guarantee(self) -> Guarantee:
        return no_guarantee(unit="word")

    def privatize(
        self,
        words: Sequence[str],
        randomness: Randomness,  # noqa: ARG002
    ) -> list[str]:
        return [f"⟦{number}⟧" for number in range(len(words))]

    def uncovered(self, words: Sequence[str]) -> int:  # noqa: ARG002
        return 0


def test_the_stand_ins_are_a_policy_and_a_mechanism() -> None:
    assert isinstance(Given(Spans()), Policy)
    assert isinstance(Numbered(), Mechanism)


@given(st.lists(texts, max_size=4), many_spans)
@example(["a\r\nb\tc  d\u200de\u0301 שלום\u202e 🇩🇪 'x' \x00"], Spans())
def test_everything_outside_the_selected_words_comes_back_byte_for_byte(
    contents: list[str], found: Spans
) -> None:
    documents = [Document(content) for content in contents]
    selective = Selective(policy=Given(found), mechanism=Numbered())
    results = selective.privatize(documents, Randomness.reproducible(1))
    number = 0
    for content, result in zip(contents, results, strict=True):
        words = Words.of(content)
        expected, reached = b"", 0
        for index in found.select(words):
            expected += content[reached : words.starts[index]].encode() + f"⟦{number}⟧".encode()
            reached, number = words.ends[index], number + 1
        expected += content[reached:].encode()
        assert result.text.encode() == expected
        assert (result.words, result.selected) == (len(words), len(found.select(words)))


@given(texts, many_spans, st.sampled_from(["centroid", "keep"]))
def test_the_real_mechanism_replaces_selected_words_by_words_of_the_vocabulary(
    content: str, found: Spans, unknown: str
) -> None:
    mechanism = OverVocabulary(points=Laplace(space=SPACE, epsilon=1.0), unknown=unknown)
    selective = Selective(policy=Given(found), mechanism=mechanism)
    result = selective.privatize([Document(content)], Randomness.secure())[0]
    words, rest = Words.of(content), result.text
    chosen, reached, kept = found.select(words), 0, 0
    for index in chosen:
        between = content[reached : words.starts[index]]
        assert rest.startswith(between)
        rest = rest.removeprefix(between)
        stays = unknown == "keep" and SPACE.point_of(words[index]) == SPACE.unknown
        allowed = [words[index]] if stays else list(SPACE.words)
        output = next(word for word in allowed if rest.startswith(word))
        rest = rest.removeprefix(output)
        reached, kept = words.ends[index], kept + stays
    assert rest == content[reached:]
    assert result.uncovered == kept


@dataclass(frozen=True)
class Counted:
    """A mechanism on stretches whose outputs say which of them they stand for."""

    def guarantee(self) -> Guarantee:
        return no_guarantee(unit="stretch")

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        return [f"⟦{number}⟧" for number in range(len(stretches))]


@given(texts, many_spans)
def test_everything_outside_the_stretches_comes_back_byte_for_byte(
    content: str, found: Spans
) -> None:
    selective = Selective(policy=Given(found), mechanism=Counted())
    result = selective.privatize([Document(content)], Randomness.secure())[0]
    words = Words.of(content)
    covered = {place for span in found for place in range(span.start, span.end)}
    for index in found.select(words):
        covered.update(range(words.starts[index], words.ends[index]))
    expected, number = "", 0
    for place, character in enumerate(content):
        if place not in covered:
            expected += character
        elif place - 1 not in covered or place == 0:
            expected, number = expected + f"⟦{number}⟧", number + 1
    assert result.text == expected
    assert (result.selected, result.places) == (len(found.select(words)), number)


@given(texts)
def test_nothing_selected_changes_nothing(content: str) -> None:
    selective = Selective(policy=Given(Spans()), mechanism=Numbered())
    result = selective.privatize([Document(content)], Randomness.secure())[0]
    assert (result.text, result.selected) == (content, 0)
