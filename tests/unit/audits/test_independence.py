"""Independence from the original is put to the test, and those that only claim it are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

import sfumato
from sfumato.audits.candidates import candidates, of_object
from sfumato.audits.independence import examples
from sfumato.audits.verdict import Verdict
from sfumato.audits.verify import refute
from sfumato.core.errors import InvalidArgument
from sfumato.core.kinds import KINDS
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, independent
from sfumato.mechanisms.auto import Auto
from sfumato.mechanisms.mechanism import StretchMechanism
from sfumato.mechanisms.pseudonym import Pseudonym
from sfumato.mechanisms.redact import Redact
from sfumato.mechanisms.surrogates.form import Reader
from sfumato.mechanisms.surrogates.surrogate import Surrogate
from sfumato.text.span import Span, Stretch

# A false alarm once in a million runs of all tests here together.
CONFIDENCE = 1 - 1e-8


def judge(mechanism: object, *labels: str) -> Verdict:
    found = of_object(mechanism, labels)
    return refute(*found.mechanisms, confidence=CONFIDENCE, randomness=Randomness.reproducible(1))


@dataclass(frozen=True)
class FirstLetterStays:
    """The twin: a surrogate that begins like the original."""

    def guarantee(self) -> Guarantee:
        return Surrogate().guarantee()

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        drawn = Surrogate().replace(stretches, randomness)
        return [stretch.text[0] + one[1:] for one, stretch in zip(drawn, stretches, strict=True)]


@dataclass(frozen=True)
class MaskAsLong:
    """The twin: a mask as long as what it covers."""

    def guarantee(self) -> Guarantee:
        return independent()

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        return ["#" * len(one.text) for one in stretches]


@dataclass(frozen=True)
class NeverItself:
    """The twin: one of eight letters, but never the one that the original begins with."""

    def guarantee(self) -> Guarantee:
        return independent()

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        letters = [sorted(set("abmnrtxz") - {one.text[0].lower()}) for one in stretches]
        drawn = randomness.integers(7, len(stretches)).tolist()
        return [left[place] for left, place in zip(letters, drawn, strict=True)]


@pytest.mark.parametrize(
    "mechanism",
    [
        Redact(),
        Surrogate(),
        Surrogate(consistent="document", keep="format,domain,country"),
        Surrogate(consistent="corpus"),
    ],
    ids=repr,
)
def test_what_does_not_look_is_not_refuted(mechanism: StretchMechanism) -> None:
    verdict = judge(mechanism, "PERSON", "PHONE")
    assert not verdict.refuted
    assert verdict.pairs >= 6
    assert {one.where for one in verdict.findings} == {
        "independence, PERSON",
        "independence, PHONE",
    }


@pytest.mark.parametrize("twin", [FirstLetterStays(), MaskAsLong(), NeverItself()], ids=repr)
def test_twins_that_look_are_refuted(twin: StretchMechanism) -> None:
    assert judge(twin, "PERSON").refuted


def test_one_sabotaged_part_of_a_table_is_found() -> None:
    whole = Auto().table({})
    kept = tuple((label, one) for label, one in whole.parts if label in ("AGE", "DATE_TIME"))
    honest = sfumato.verify(type(whole)(parts=kept, otherwise=Redact()), seed=1, draws=300)
    assert not honest.refuted
    assert "[AGE]" in honest.claim
    assert "[everything else]" in honest.claim
    twin = type(whole)(parts=(*kept, ("PERSON", FirstLetterStays())), otherwise=Redact())
    assert sfumato.verify(twin, seed=1, draws=300).refuted


def test_auto_is_every_part_of_it() -> None:
    found = candidates("auto", space=lambda: pytest.fail("no vectors"), epsilon=None)
    tested = {getattr(one, "label", "") for one in found.mechanisms}
    assert set(KINDS) - tested <= {
        "LOCATION", "DATE_TIME", "AGE", "QUANTITY", "MONEY", "PERCENT", "NUMBER",
    }  # fmt: skip
    assert len([one for one in found.mechanisms if not hasattr(one, "label")]) >= 2  # the globe


@pytest.mark.parametrize("keep", ["", "format", "domain", "country", "format,domain,country"])
def test_the_examples_of_a_kind_have_one_form(keep: str) -> None:
    """Otherwise a true claim would be refuted: forms are allowed to show."""
    reader = Reader(frozenset(keep.split(",")) - {""})
    for kind in KINDS:
        forms = {
            tuple(
                reader.read(Stretch(0, len(text), text, Span(0, len(text), kind), "en"))
                for text in document
            )
            for document in examples(kind)
        }
        assert len(forms) == 1, kind


def test_a_baseline_claims_nothing_and_independence_has_no_level() -> None:
    with pytest.raises(InvalidArgument, match="nothing is claimed"):
        sfumato.verify(Pseudonym())
    with pytest.raises(InvalidArgument, match="claims no level"):
        sfumato.verify("redact", epsilon=1)
    with pytest.raises(InvalidArgument, match="needs the level"):
        sfumato.verify("date")
