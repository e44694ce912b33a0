"""A method of another package: one file and one entry, for Python, the command and studies."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from sfumato import catalog
from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.json import read_json
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.studies import cell as cells
from sfumato.studies.cell import CODE
from sfumato.studies.doors import CodeNotAllowed, Doors
from sfumato.studies.folder import StudyFolder
from sfumato.studies.grid import list_cells
from sfumato.studies.runner import run_study
from sfumato.testing import check_method
from sfumato.training.checkpoints import ledger_of
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import Prepared, Task, TrainingMethod, build_method
from sfumato.training.methods.private import Private
from sfumato.training.run import Run
from sfumato.verbs.train import train
from small_study import small_study
from unit.training.methods import own_method
from unit.training.methods.own_method import Beginnings

SETTINGS: dict[str, object] = {"hidden": 4, "embedding": 4, "context": 32}
STUDY = """
anchors = false
[corpus]
kind = "customersim"
count = 6
seed = 3
[model]
name = "lstm"
settings = {hidden = 4, embedding = 4, context = 32}
epochs = 1
batch_size = 3
delta = 0.01
accountant = "rdp"
lead = 0.5
[[methods]]
name = "beginnings"
training = "beginnings"
epsilon = [8]
characters = [5, 9]
"""


@pytest.fixture(autouse=True)
def entry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def found(group: str) -> list[EntryPoint]:
        place = f"{Beginnings.__module__}:{Beginnings.__name__}"
        return [EntryPoint("beginnings", place, group)] if group == "sfumato.methods" else []

    monkeypatch.setattr(catalog, "entry_points", found)
    catalog.entries.cache_clear()
    yield
    catalog.entries.cache_clear()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("".join(f"note {number} about nothing at all\n" for number in range(6)))
    return path


def trained(corpus: Path, folder: str, method: str | TrainingMethod, **more: Any) -> Run:
    common: dict[str, Any] = {"epsilon": 8, "delta": 0.01, "epochs": 1, "batch_size": 3}
    options = common | {"model": "lstm", "accountant": "rdp"} | more
    return train(corpus, corpus.parent / folder, method=method, **options)


@dataclass(frozen=True)
class Inside:
    """Settings of a setting."""

    least: int = 1
    word: str = field(default="hunter2", repr=False)


@dataclass(frozen=True)
class Hiding(Beginnings):
    """With settings that no log shows."""

    secret: str = field(default="hunter2", repr=False)
    inside: Inside = Inside()


def test_a_hidden_setting_is_not_in_the_folder_of_a_run(corpus: Path) -> None:
    run = trained(corpus, "hiding", Hiding(characters=5), settings=SETTINGS)
    assert method_of(run.files)[1] == {"characters": 5, "inside": {"least": 1}}
    assert "hunter2" not in run.files.config.read_text()


def method_of(folder: RunFolder) -> tuple[object, object]:
    settings = folder.settings()
    return settings["method"], settings["method_settings"]


def test_python_takes_a_name_with_settings_or_the_method_itself(corpus: Path) -> None:
    own = {"beginnings.characters": 5}
    named = trained(corpus, "named", "beginnings", settings=SETTINGS | own)
    given = trained(corpus, "given", Beginnings(characters=5), settings=SETTINGS)
    assert method_of(named.files) == method_of(given.files) == ("beginnings", {"characters": 5})
    assert 7 < named.guarantee.epsilon <= 8
    assert named.plan.as_dict() == given.plan.as_dict()
    with pytest.raises(UnknownName, match="did you mean 'characters'"):
        trained(corpus, "other", "beginnings", settings={"beginnings.character": 5})
    with pytest.raises(InvalidArgument, match="has no use for a policy"):
        trained(corpus, "other", "beginnings", policy="digits")


def test_the_command_lists_shows_and_trains(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = corpus.parent / "run"
    sizes = [f"--set={key}={value}" for key, value in SETTINGS.items()]
    given = "--method beginnings --set beginnings.characters=7 --epsilon 8 --delta 0.01 --epochs 1"
    more = "--batch-size 3 --accountant rdp --model lstm"
    assert main(["train", str(corpus), "-o", str(run), *sizes, *given.split(), *more.split()]) == 0
    assert method_of(RunFolder(run)) == ("beginnings", {"characters": 7})
    capsys.readouterr()
    assert main(["list", "methods", "--json"]) == 0
    assert "beginnings" in [one["name"] for one in json.loads(capsys.readouterr().out)]
    assert main(["show", "methods/beginnings", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"][0]["name"] == "characters"
    # An option that belongs to other methods is refused, like a setting that nobody has.
    assert main(["train", str(corpus), "-o", "x", *given.split(), "--lead", "0.5"]) == 2
    assert "setting of beginnings 'lead'" in capsys.readouterr().err


def test_a_study_has_its_settings_as_axes(tmp_path: Path) -> None:
    study = small_study(tmp_path, STUDY)
    runs = [one for one in list_cells(study).cells if one.kind == cells.RUN]
    assert [one.settings["training"]["characters"] for one in runs] == [5, 9]
    # What [model] says of methods that have a lead does not concern this one.
    assert all("lead" not in one.settings["training"] for one in runs)
    assert run_study(study, tmp_path / "s", workers=0).complete
    folder = StudyFolder(tmp_path / "s")
    stated = [read_json(folder.record(one.key))["guarantee"]["epsilon"] for one in runs]
    assert all(7 < one <= 8 for one in stated)
    with pytest.raises(UnknownName, match="did you mean 'characters'"):
        list_cells(small_study(tmp_path, STUDY.replace("characters", "charakters")))


def test_a_name_of_ours_cannot_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    place = f"{Beginnings.__module__}:{Beginnings.__name__}"
    taking = [EntryPoint("selective", place, "sfumato.methods")]
    monkeypatch.setattr(catalog, "entry_points", lambda **_: taking)
    catalog.entries.cache_clear()
    assert not isinstance(build_method("selective"), Beginnings)


def test_a_class_in_a_file_needs_no_entry(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "entry_points", lambda **_: [])
    catalog.entries.cache_clear()
    own = f"{corpus.parent / 'mine.py'}:Beginnings"
    (corpus.parent / "mine.py").write_text(Path(own_method.__file__).read_text())
    run = trained(corpus, "own", own, settings=SETTINGS | {"beginnings.characters": 5})
    assert method_of(run.files) == ("beginnings", {"characters": 5})
    # In a study it is code that its user must allow; another version is another cell.
    text = STUDY.replace('training = "beginnings"', 'training = "mine.py:Beginnings"')
    study = small_study(tmp_path, text)
    with pytest.raises(CodeNotAllowed, match=r"mine\.py"):
        list_cells(study)
    allowed = replace(study, doors=Doors((tmp_path / "mine.py",)))
    runs = [one for one in list_cells(allowed).cells if one.kind == cells.RUN]
    assert len(runs) == 2
    assert all(CODE in one.settings for one in runs)
    # Wherever the process works, it is the file beside the study that is run.
    monkeypatch.chdir(Path(__file__).parent)
    assert run_study(allowed, tmp_path / "s", workers=0).complete


# --- what authors of methods run -----------------------------------------------------------------


@dataclass(frozen=True)
class Silent(Beginnings):
    """Says that it adds noise, and plans none."""

    def prepare(self, task: Task) -> Prepared:
        return super().prepare(replace(task, privacy=replace(task.privacy, epsilon=math.inf)))


@dataclass(frozen=True)
class Loose(Beginnings):
    """Plans a level that nobody asked for."""

    def prepare(self, task: Task) -> Prepared:
        return super().prepare(replace(task, privacy=replace(task.privacy, epsilon=80.0)))


@dataclass(frozen=True)
class Talkative(Beginnings):
    """Writes a document into the settings of the run."""

    def prepare(self, task: Task) -> Prepared:
        object.__setattr__(self, "characters", task.documents[0].text)
        return Private().prepare(task)


@dataclass(frozen=True)
class Uncharged(Beginnings):
    """Trains beside the ledger."""

    def prepare(self, task: Task) -> Prepared:
        honest = super().prepare(task)

        def fit(randomness: Randomness, folder: RunFolder, watch: Any) -> Guarantee:
            with ledger_of(folder, honest.plan, randomness) as ledger:
                assert ledger is not None
                ledger.charge(1)
            return honest.plan.guarantee()

        return replace(honest, fit=fit)


@dataclass(frozen=True)
class Moody(Beginnings):
    """Draws from a source of its own."""

    def prepare(self, task: Task) -> Prepared:
        honest = super().prepare(task)

        def fit(_: Randomness, folder: RunFolder, watch: Any) -> Guarantee:
            return honest.fit(Randomness.secure(), folder, watch)

        return replace(honest, fit=fit)


def test_the_check_for_authors_passes_ours_and_theirs() -> None:
    check_method("beginnings", settings={"characters": 9})
    check_method("selective")
    check_method("plain")


@pytest.mark.parametrize(
    ("twin", "words"),
    [
        (Silent, "promises nothing"),
        (Loose, "exceeds the level"),
        (Talkative, "private text into config.json"),
        (Uncharged, "charge every step"),
        (Moody, "the same seed"),
    ],
)
def test_twin_a_method_that_breaks_a_rule_is_found(twin: type[Beginnings], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_method(twin())
