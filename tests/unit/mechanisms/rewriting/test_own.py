"""Rewriters of somebody's own: what the checks reject, and that a class in a file is enough."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import sfumato
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, independent, no_guarantee
from sfumato.releases.privatizer import Privatizer
from sfumato.testing import check_mechanism

COLORS = ("red", "green", "blue", "black", "white", "gray", "pink", "gold")


@dataclass(frozen=True)
class Colors:
    """A color for each document, whatever it is."""

    def guarantee(self) -> Guarantee:
        return independent(unit="document", scope="every document")

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        drawn = [int(randomness.integers(len(COLORS), 1)[0]) for _ in documents]
        return [COLORS[one] for one in drawn]


@dataclass(frozen=True)
class OwnNoise(Colors):
    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        del randomness
        return [random.choice(COLORS) for _ in documents]


@dataclass(frozen=True)
class OneDraw(Colors):
    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        return [COLORS[int(randomness.integers(len(COLORS), 1)[0])]] * len(documents)


@dataclass(frozen=True)
class OwnSeed(Colors):
    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        del randomness
        return super().rewrite(documents, Randomness.reproducible(1))


@dataclass(frozen=True)
class ByCompany(Colors):
    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        return [f"{one} {len(documents)}" for one in super().rewrite(documents, randomness)]


@dataclass(frozen=True)
class TooFew(Colors):
    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        return super().rewrite(documents, randomness)[:2]


@dataclass(frozen=True)
class Lines(Colors):
    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        return [f"{one}\n" for one in super().rewrite(documents, randomness)]


@dataclass(frozen=True)
class Unproven(Colors):
    def guarantee(self) -> Guarantee:
        from dataclasses import replace

        return replace(no_guarantee(unit="document"), for_release=True)


def test_an_honest_one_passes() -> None:
    check_mechanism(Colors)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (OwnNoise, "another source of noise"),
        (OneDraw, "each needs draws of its own"),
        (OwnSeed, "a seed of its own"),
        (ByCompany, "must not depend on the others"),
        (TooFew, "one text for each document"),
        (Lines, "can be printed"),
        (Unproven, "not for release"),
    ],
)
def test_what_the_rest_cannot_rely_on_is_said(broken: type[Colors], said: str) -> None:
    random.seed(1)
    with pytest.raises(AssertionError, match=said):
        check_mechanism(broken)


def test_one_that_loses_documents_is_stopped() -> None:
    with pytest.raises(InvalidArgument, match="one text for each document"):
        Privatizer(policy="everything", mechanism=TooFew()).privatize(["a", "b", "c"])


OWN = '''
from dataclasses import dataclass

from sfumato.guarantees import independent


@dataclass(frozen=True)
class Twice:
    """One of two public texts."""

    word: str = "yes"

    def guarantee(self):
        return independent(unit="document", scope="every document")

    def rewrite(self, documents, randomness):
        return [("no", self.word)[int(one)] for one in randomness.integers(2, len(documents))]
'''


def test_a_class_in_a_file_rewrites_a_file(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    source = tmp_path / "in.txt"
    source.write_text("A secret.\nAnother one.\n" * 10)
    made = sfumato.privatize(
        source, tmp_path / "out.txt", mechanism=f"{tmp_path}/own.py:Twice", settings={"word": "si"}
    )
    assert set((tmp_path / "out.txt").read_text().split()) <= {"no", "si"}
    assert made.guarantee.epsilon == 0.0
    assert made.counts["rewritten_documents"] == 20
    with pytest.raises(InvalidArgument, match="nothing to select"):
        sfumato.privatize(
            source, tmp_path / "b.txt", mechanism=f"{tmp_path}/own.py:Twice", policy="pii"
        )
