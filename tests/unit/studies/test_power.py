"""Many secrets for each count, and what a study says about its power before it computes."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.corpora.canaries import read_manifest
from sfumato.studies.cell import corpus_settings
from sfumato.studies.parsing import read_spec
from sfumato.studies.power import half_width
from sfumato.studies.spec import CanarySettings
from sfumato.studies.study import Study

pytestmark = pytest.mark.usefixtures("small_vectors")

FILE = """
[corpus]
kind = "customersim"
count = 12
lines = 3

[canaries]
digits = 3
{secrets}
repetitions = [2, 1, 0]

[[methods]]
name = "masks"
mechanism = "redact"
policy = "digits"

[attacks.exposure]
"""


def written(tmp_path: Path, secrets: str) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(FILE.format(secrets=secrets))
    return path


def test_secrets_are_drawn_for_each_count_and_differ(tmp_path: Path) -> None:
    study = Study.read(written(tmp_path, "secrets = 25")).run(workers=0)
    manifest = next(study.folder.rglob("canaries.json"))
    planted = read_manifest(manifest)
    assert Counter(one.repetitions for one in planted) == {2: 25, 1: 25, 0: 25}
    assert len({one.canary.secret for one in planted}) == 75
    (train,) = study.folder.rglob("train.jsonl")
    texts = [json.loads(line)["text"] for line in train.read_text().splitlines()]
    # Canaries are planted between lines, and some of them on lines of their own.
    assert sum(text.count("My ID is") for text in texts) == 75
    assert all(
        sum(line.startswith(("SYS", "USR")) for line in one.split("\n")) <= 3 for one in texts
    )


def test_lone_secrets_are_documents_of_their_own(tmp_path: Path) -> None:
    study = Study.read(written(tmp_path, "secrets = 5\nalone = true")).run(workers=0)
    (train,) = study.folder.rglob("train.jsonl")
    texts = [json.loads(line)["text"] for line in train.read_text().splitlines()]
    assert sum("My ID is" in text for text in texts[:12]) == 0
    manifest = next(study.folder.rglob("canaries.json"))
    found = Counter(texts[12:])
    assert found == {one.canary.text: one.repetitions for one in read_manifest(manifest)[:10]}
    # They are unlike any other text: an attack on members must not tell them by that alone.
    (members,) = study.folder.rglob("members.jsonl")
    kept = [json.loads(line)["text"] for line in members.read_text().splitlines()]
    assert kept == texts[:12]


def test_lone_secrets_do_not_count_in_measures_of_texts(tmp_path: Path) -> None:
    counts = []
    for more in ("", "alone = true"):
        file = FILE + "[measures.text]\n"
        folder = tmp_path / (more or "inside").replace(" ", "")
        folder.mkdir()
        path = folder / "study.toml"
        path.write_text(file.format(secrets=f"secrets = 5\n{more}"))
        rows = Study.read(path).run(workers=0).rows()
        counts.append({row.n for row in rows if row.metric == "word overlap"})
    assert counts == [{12}, {12}]


def test_lone_secrets_have_no_class_and_no_manifest() -> None:
    with pytest.raises(InvalidArgument, match="leave alone out"):
        CanarySettings(manifest="planted.json", alone=True)


def test_older_results_keep_their_names(tmp_path: Path) -> None:
    """What nobody asked for names no cell."""
    inside, alone = (
        corpus_settings(read_spec(written(tmp_path, more)))["canaries"]
        for more in ("secrets = 5", "secrets = 5\nalone = true")
    )
    assert "alone" not in inside
    assert alone == {**inside, "alone": True}


def test_a_list_of_secrets_is_still_a_list() -> None:
    listed = CanarySettings(secrets=("123456", "654321"), repetitions=(3, 1))
    assert listed.listed == ("123456", "654321")
    assert listed.each_repetitions == (3, 1)
    assert CanarySettings(secrets=("123456", "654321")).each_repetitions == (10, 10)
    assert CanarySettings(secrets=3, repetitions=(4, 1)).each_repetitions == (4, 4, 4, 1, 1, 1)
    assert CanarySettings(secrets=(2, 3), repetitions=(4, 1)).each_repetitions == (4, 4, 1, 1, 1)
    assert CanarySettings(secrets=(2, 3), repetitions=(4, 1)).listed == ()
    assert CanarySettings(repetitions=(4, 1)).each_repetitions == (4, 1)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"secrets": 0}, "secrets=0"),
        ({"secrets": 60, "digits": 2, "repetitions": (2, 1)}, "more than there are numbers"),
        ({"secrets": (60, 41), "digits": 2, "repetitions": (2, 1)}, "more than there are numbers"),
        ({"secrets": (5, 5, 5), "repetitions": (2, 1)}, "3 numbers of secrets and 2 repetitions"),
        ({"secrets": (5, 0), "repetitions": (2, 1)}, "secrets=0"),
        ({"secrets": (5, True), "repetitions": (2, 1)}, "secrets=True"),
        ({"secrets": (5, "123456")}, "a list of numbers, or a list of texts"),
        ({"secrets": (5.0,)}, "a list of numbers, or a list of texts"),
        ({"secrets": "123456"}, "a list of numbers, or a list of texts"),
        ({"secrets": 5, "manifest": "some.json"}, "leave secrets out"),
    ],
)
def test_impossible_numbers_of_secrets_are_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        CanarySettings(**settings)  # type: ignore[arg-type]


def test_a_study_warns_where_it_can_tell_little(tmp_path: Path) -> None:
    few = Study.read(written(tmp_path, "secrets = 3"))
    assert few.weaknesses() == [
        "with 3 secrets at 2 repetitions an exposure has an interval of ± 7.5 bits: plant 18",
        "with 3 secrets at 1 repetition an exposure has an interval of ± 7.5 bits: plant 18",
    ]
    (one, _) = Study.read(written(tmp_path, "")).weaknesses()
    assert one == "with 1 secret at 2 repetitions an exposure has no interval: plant 18"
    assert Study.read(written(tmp_path, "secrets = 18")).weaknesses() == []


def test_more_secrets_are_never_worse() -> None:
    widths = [half_width(count) for count in range(1, 60)]
    assert widths[0] == math.inf
    assert widths == sorted(widths, reverse=True)


def test_lone_secrets_are_refused_where_texts_have_classes(tmp_path: Path) -> None:
    for name in ("train", "test"):
        (tmp_path / f"{name}.csv").write_text("text,label\nOne.,a\nTwo.,b\n")
    path = tmp_path / "study.toml"
    path.write_text(
        '[corpus]\npath = "train.csv"\nlabel_field = "label"\n'
        '[test]\npath = "test.csv"\nlabel_field = "label"\n'
        "[canaries]\nalone = true\n"
        '[model]\nname = "cnn"\nclasses = ["a", "b"]\n'
        '[[methods]]\nname = "DP-SGD"\ntraining = "private"\nepsilon = 8\n'
    )
    with pytest.raises(InvalidArgument, match="alone=true are texts without a class"):
        read_spec(path)
