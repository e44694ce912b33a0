"""Decoys look like the secrets and are none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.attacks.membership.candidates import decoys, find_planted
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary
from sfumato.corpora.planting import plant_in_file
from sfumato.files.layout import Layout
from sfumato.files.source import Source


def test_a_decoy_differs_in_the_secret_alone() -> None:
    secrets = tuple(Canary("Code {}!", f"AB-{number:03d}-xyz7é") for number in range(50))
    found = decoys(secrets, Randomness.secure())
    assert len(found) == len(set(found)) == 50
    assert not set(found) & set(secrets)
    for one in found:
        first, middle, last = one.secret.split("-")
        assert one.template == "Code {}!"
        assert len(first) == 2
        assert first.isupper()
        assert middle.isdigit()
        assert last[:3].islower()
        assert last[3].isdigit()
        assert last[4] == "é"


def test_every_secret_of_the_space_can_be_drawn() -> None:
    """All but those that were planted."""
    secrets = tuple(Canary(secret=str(number)) for number in range(5))
    assert {one.secret for one in decoys(secrets, Randomness.secure())} == set("56789")


def test_few_secrets_have_several_decoys_each() -> None:
    secrets = (Canary("A {}", "1111"), Canary("B {}", "2222"))
    found = decoys(secrets, Randomness.secure(), 9)
    assert len(set(found)) == 10
    assert sum(one.template == "A {}" for one in found) == 5


def test_a_space_that_is_used_up_is_refused() -> None:
    secrets = tuple(Canary(secret=str(number)) for number in range(6))
    with pytest.raises(BadInput, match="so few possible values"):
        decoys(secrets, Randomness.secure())


def test_only_what_was_planted_counts(tmp_path: Path) -> None:
    corpus = tmp_path / "in.txt"
    corpus.write_text("One line.\nAnother one.\n")
    canaries = [Canary(secret="111111"), Canary(secret="222222")]
    source = Source.of(corpus, Layout())
    plant_in_file(source, tmp_path / "out.txt", canaries, [2, 0], Randomness.secure())
    assert find_planted(tmp_path / "out.txt.canaries.json") == (canaries[0],)
    plant_in_file(source, tmp_path / "none.txt", canaries, [0, 0], Randomness.secure())
    with pytest.raises(BadInput, match="no canary that was planted"):
        find_planted(tmp_path / "none.txt.canaries.json")
    with pytest.raises(BadInput, match="manifest"):
        find_planted(corpus)
