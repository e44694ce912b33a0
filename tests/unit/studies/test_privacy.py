"""What a study must not give away, and what must not make its figures look better than they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.attacks.attack import Inputs, needs_of
from sfumato.catalog import entries
from sfumato.core.randomness import Randomness
from sfumato.corpora.coins import read_coins
from sfumato.results.measured import Measured
from sfumato.results.row import ANCHORS, NO_PRIVACY, RANDOM_OUTPUT
from sfumato.results.scores import Control, Scores
from sfumato.studies import cell as cells
from sfumato.studies.cell import Cell
from sfumato.studies.folder import StudyFolder
from sfumato.studies.grid import list_cells
from sfumato.studies.kinds import assessment
from sfumato.studies.kinds.context import Context, texts
from sfumato.studies.kinds.corpus import compute_corpus
from sfumato.studies.kinds.target import own_seed, privatizer, training_seed
from sfumato.studies.parsing import parse_spec
from sfumato.studies.runner import run_study
from sfumato.studies.spec import StudySpec
from small_study import SMALL, small_study

# What is measured on few words is computed as it is on many.
pytestmark = pytest.mark.usefixtures("small_vectors")

PRIVATE = """
seeds = [1]
groups = "who"
[corpus]
path = "notes.jsonl"
[[methods]]
name = "masks"
mechanism = "redact"
policy = "digits"
[[methods]]
name = "groups"
mechanism = "custom"
policy = "digits"
epsilon = 3
[measures.text]
"""
WITH_COINS = """
seeds = [1]
groups = "label"
[corpus]
kind = "customersim"
count = 24
[test]
kind = "customersim"
count = 24
seed = 9
[coins]
count = 30
seed = 1
[model]
name = "lstm"
[[methods]]
name = "plain"
training = "plain"
"""


def notes(folder: Path) -> Path:
    path = folder / "notes.jsonl"
    lines = [
        {"text": f"Zephyrine {n} has {471108150 + n}.", "who": f"Ada {n % 2}"} for n in range(8)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def contexts(study: StudySpec, folder: Path, kind: str) -> list[Context]:
    return [Context(study, StudyFolder(folder), cell) for cell in list_cells(study).cells
            if cell.kind == kind]  # fmt: skip


def test_no_privacy_is_a_link_to_a_private_text_and_no_copy(tmp_path: Path) -> None:
    original = notes(tmp_path)
    content = original.read_bytes()
    study = parse_spec(PRIVATE, tmp_path, "s")
    assert run_study(study, tmp_path / "s", workers=0).complete
    folder = StudyFolder(tmp_path / "s")
    texts = list(folder.path.rglob("text.jsonl"))
    assert [path.resolve() for path in texts if path.is_symlink()] == [original]
    for path in folder.path.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert b"47110815" not in path.read_bytes()
    overlaps = {
        row.method: row.value or 0.0
        for row in folder.rows()
        if row.metric == "word overlap" and row.group is None
    }
    assert overlaps[NO_PRIVACY] == 1.0
    assert overlaps[RANDOM_OUTPUT] < 1.0
    # Computed again, the link must not lead to a file being written over.
    (linked,) = (path for path in texts if path.is_symlink())
    (linked.parent / "cell.json").unlink()
    assert run_study(study, folder.path, workers=0, resume=True).complete
    assert linked.is_symlink()
    assert original.read_bytes() == content


def test_the_two_ends_do_not_depend_on_what_the_first_method_is_made_of(tmp_path: Path) -> None:
    notes(tmp_path)
    ends = {
        cell.method: cell.settings
        for cell in list_cells(parse_spec(PRIVATE, tmp_path, "s")).cells
        if cell.kind == cells.RELEASE and cell.method in ANCHORS
    }
    assert {one["mechanism"] for one in ends.values()} == {"exponential"}
    assert {tuple(one["policy"]["find"]) for one in ends.values()} == {("digits",)}
    assert ends[NO_PRIVACY]["unknown"] == "keep"


def test_every_level_draws_noise_of_its_own(tmp_path: Path) -> None:
    study = small_study(tmp_path, SMALL.replace("[1, 9]", "[1, 3, 9]"))
    releases = [one.cell for one in contexts(study, tmp_path, cells.RELEASE)]
    seeds = {one.key: privatizer(study, one).seed for one in releases}
    assert len(set(seeds.values())) == len(seeds) == 2 * (3 + 1 + 2)
    assert seeds == {one.key: privatizer(study, one).seed for one in releases}


def test_every_run_draws_weights_and_noise_of_its_own(tmp_path: Path) -> None:
    private = '[[methods]]\nname = "DP-SGD"\ntraining = "private"\nepsilon = [1, 2]\n'
    trained = '[model]\nname = "lstm"\n' + private
    study = small_study(tmp_path, SMALL + trained)
    runs = [one for one in contexts(study, tmp_path, cells.RUN) if one.cell.method != RANDOM_OUTPUT]
    seeds = [training_seed(one) for one in runs]
    assert len(set(seeds)) == len(seeds) == 2 * (2 + 1 + 2 + 1)


def test_a_copy_of_a_file_gives_the_same_draws() -> None:
    first, second = ({"vectors": {"path": "v.npy", "changed": time}} for time in (1, 2))
    assert own_seed(1, first) == own_seed(1, second) != own_seed(2, first)


def test_who_guesses_does_not_draw_what_was_drawn_to_be_hidden(tmp_path: Path) -> None:
    """The same seed everywhere: the streams of coins, secrets and training stay apart."""
    looking = Context(small_study(tmp_path), StudyFolder(tmp_path), Cell(kind=cells.AUDIT, seed=1))
    drawn = [looking.randomness.stream(place).uniform(4).tolist() for place in range(3)]
    hidden = [Randomness.reproducible(1).stream(place).uniform(4).tolist() for place in range(9)]
    assert not any(one in hidden for one in [*drawn, looking.randomness.uniform(4).tolist()])


def test_coins_are_trained_on_and_are_nobody_among_the_members(tmp_path: Path) -> None:
    study = parse_spec(WITH_COINS, tmp_path, "s")
    (context,) = contexts(study, tmp_path, cells.CORPUS)
    context.here.mkdir(parents=True)
    compute_corpus(context)
    (run, *_) = contexts(study, tmp_path, cells.RUN)
    there = texts(run)
    assert there.coins is not None
    coins = read_coins(there.coins)
    inside = {text for text, heads in zip(coins.texts, coins.included, strict=True) if heads}
    trained = [one.text for one in there.documents(there.train)]
    members = [one.text for one in there.documents(there.members)]
    assert members == trained[:24]
    assert set(trained[24:]) == inside
    assert not inside & set(members)


def test_a_group_with_too_few_others_is_not_attacked_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve members of one group, and two others: an interval of those would be worth nothing."""
    for name, sizes in {"train": (12, 12), "test": (12, 2)}.items():
        lines = [{"text": f"text {n}", "who": who} for who, count in zip("AB", sizes, strict=True)
                 for n in range(count)]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    described = """
    groups = "who"
    anchors = false
    [corpus]
    path = "train.jsonl"
    [test]
    path = "test.jsonl"
    [model]
    name = "lstm"
    [[methods]]
    name = "plain"
    training = "plain"
    [attacks.membership]
    """
    asked: list[str | None] = []

    def looked(_: object, inputs: Inputs, __: Randomness) -> Scores:
        asked.append(inputs.label)
        figure = Measured("auc loss", 0.5, None, None, 24)
        return Scores(attack="membership", knowledge="", figures=(figure,), chance={},
                      control=Control(what="", figures=()))  # fmt: skip

    monkeypatch.setattr(assessment, "run_attack", looked)
    (context,) = contexts(parse_spec(described, tmp_path, "s"), tmp_path, cells.ATTACK)
    found = assessment.compute_attack(context)
    assert asked == [None, "A"]
    left_out: dict[str, Any] = found.details["left_out"]
    assert left_out == {"B": "2 documents are too few"}


def test_what_the_texts_show_by_themselves_is_no_leakage_of_a_method() -> None:
    """Every name is one that an attack uses, so that none goes by unnoticed under another."""
    from sfumato.attacks.membership.classifier import METRIC
    from sfumato.attacks.membership.figures import ALONE

    declared = {name: needs_of(entry.load()) for name, entry in entries("attacks").items()}
    assert declared["membership"].about_the_data == (METRIC, ALONE)
    assert declared["exposure"].about_the_data == ("chance of the largest (at most)",)
    assert declared["authorship"].about_the_data == ("originals",)
    assert declared["token-inference"].about_the_data == ("unknown words",)
    names = {"auc loss", "adaptive", "static", "top-1", "unchanged", "largest exposure"}
    assert names.isdisjoint(one for needs in declared.values() for one in needs.about_the_data)
