"""The manifest comes back as it was written, and nothing else is taken for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import BadInput, StorageFailed
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary, PlantedCanary, read_manifest
from sfumato.corpora.planting import plant_in_file
from sfumato.files.layout import Layout
from sfumato.files.source import Source

CANARIES = (Canary("My ID is {}.", "0042"), Canary("Key {}", "a7-x"), Canary("Code {}", "99"))
REPETITIONS = (3, 1, 0)


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("One. Two.\nThree.\nFour. Five.\n")
    planted = tmp_path / "planted.txt"
    plant_in_file(
        Source.of(corpus, Layout()), planted, CANARIES, REPETITIONS, Randomness.reproducible(1)
    )
    return tmp_path / "planted.txt.canaries.json"


def test_it_comes_back_as_it_was_planted(manifest: Path) -> None:
    expected = tuple(map(PlantedCanary, CANARIES, REPETITIONS))
    assert read_manifest(manifest) == expected


def _set(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["canaries"][0].update(changes)


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no places": (lambda content: content.pop("places"), "schema, canaries and places"),
    "another schema": (lambda content: content.update(schema=2), "schema 2"),
    "no canary": (lambda content: content["canaries"].clear(), "names no canary"),
    "no list": (lambda content: content.update(canaries="?"), "names no canary"),
    "an unknown key": (_set(color="red"), "canary 1 must have exactly"),
    "a key missing": (lambda content: content["canaries"][1].pop("text"), "canary 2 must have"),
    "a number for a secret": (_set(secret=42), "must be text"),
    "part of a repetition": (_set(repetitions=2.5), "whole number"),
    "fewer than none": (_set(repetitions=-1), "whole number"),
    "true for one": (_set(repetitions=True), "whole number"),
    "more than there are": (_set(repetitions=4), "canary 1 has repetitions 4"),
    "another secret": (_set(secret="1234"), "text is not the template"),
    "no blank": (_set(template="My ID."), "canary 1: template="),
    "another space": (_set(secret_space=10**6), "secret_space must be 10000"),
    "a place of nobody": (lambda content: content["places"][0].update(canary=9), "places"),
    "one place too many": (
        lambda content: content["places"].append({"canary": 7}),
        "not in the list",
    ),
    "a place without a canary": (lambda content: content["places"].append({}), "names its canary"),
    "places that are none": (lambda content: content.update(places=3), "names its canary"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_does_not_agree_with_itself_is_refused(manifest: Path, name: str) -> None:
    damage, said = BROKEN[name]
    content = json.loads(manifest.read_text())
    damage(content)
    manifest.write_text(json.dumps(content))
    with pytest.raises(BadInput, match=said) as caught:
        read_manifest(manifest)
    assert str(manifest) in str(caught.value)


@pytest.mark.parametrize("content", ["", "no JSON", "[1, 2]", '"text"', "\x00"])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(BadInput, match="not a manifest of canaries"):
        read_manifest(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match=r"cannot read .*gone\.json"):
        read_manifest(tmp_path / "gone.json")
