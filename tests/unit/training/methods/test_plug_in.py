"""A method of another package: one file and one entry, for Python, the command and studies."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from sfumato import catalog
from sfumato.cli.main import main
from sfumato.core.errors import CannotResume, InvalidArgument, UnknownName
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
from sfumato.training.loop import Progress
from sfumato.training.methods import base
from sfumato.training.methods.base import (
    Prepared,
    Task,
    TrainingMethod,
    announcing,
    build_method,
)
from sfumato.training.methods.private import Private
from sfumato.training.run import Run
from sfumato.verbs.train import train
from small_study import small_study
from unit.training.methods import own_method
from unit.training.methods.own_method import Beginnings
from unit.training.runs import Killed

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

    name: ClassVar[str] = "hiding"
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


# --- a run goes on with the code that began it ---------------------------------------------------

OWN = """
from dataclasses import dataclass
from typing import ClassVar
from sfumato.training.methods.private import Private

@dataclass(frozen=True)
class Mine(Private):
    name: ClassVar[str] = "mine"
    # zanzibar 1
"""


def stopped(corpus: Path, method: str | TrainingMethod) -> RunFolder:
    """A run that was killed after its first step."""

    def watch(now: Progress) -> None:
        raise Killed

    with announcing(lambda *_: watch), pytest.raises(Killed):
        trained(corpus, "run", method, settings=SETTINGS, checkpoint_every=1)
    return RunFolder(corpus.parent / "run")


def resumed(corpus: Path, method: str | TrainingMethod) -> Run:
    return trained(corpus, "run", method, settings=SETTINGS, checkpoint_every=1, resume=True)


def refuse_another_code(corpus: Path, folder: RunFolder, method: str) -> None:
    """Go on after the code of a method was changed; that must not be."""
    before = {one: one.read_bytes() for one in folder.path.rglob("*") if one.is_file()}
    with pytest.raises(CannotResume, match=r"another code of the method mine \(mine\.py:Mine\)"):
        resumed(corpus, method)
    assert {one: one.read_bytes() for one in folder.path.rglob("*") if one.is_file()} == before


def test_a_run_goes_on_with_the_code_that_began_it_only(corpus: Path) -> None:
    file = corpus.parent / "mine.py"
    file.write_text(OWN)
    folder = stopped(corpus, f"{file}:Mine")
    file.write_text(OWN.replace("zanzibar 1", "zanzibar 2"))
    refuse_another_code(corpus, folder, f"{file}:Mine")
    # Where the file lies does not matter, and neither does who else is in the folder.
    moved = corpus.parent / "elsewhere" / "mine.py"
    moved.parent.mkdir()
    moved.write_text(OWN)
    assert 7 < resumed(corpus, f"{moved}:Mine").guarantee.epsilon <= 8
    with pytest.raises(CannotResume, match="another code"):
        resumed(corpus, f"{file}:Mine")  # a finished run is not passed off as another's, either


def test_twin_a_record_without_the_code_is_found(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = corpus.parent / "mine.py"
    file.write_text(OWN)
    monkeypatch.setattr(base, "code_of", lambda _: ())
    folder = stopped(corpus, f"{file}:Mine")
    file.write_text(OWN.replace("zanzibar 1", "zanzibar 2"))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        refuse_another_code(corpus, folder, f"{file}:Mine")


def test_a_run_that_says_nothing_of_its_code_does_not_go_on(corpus: Path) -> None:
    file = corpus.parent / "mine.py"
    file.write_text(OWN)
    folder = stopped(corpus, f"{file}:Mine")
    written = json.loads(folder.config.read_text())
    for damage in (None, {}, {"salt": "no number"}, "mine"):
        written["settings"]["method_code"] = damage
        folder.config.write_text(json.dumps(written))
        refuse_another_code(corpus, folder, f"{file}:Mine")
    del written["settings"]["method_code"]
    folder.config.write_text(json.dumps(written))
    refuse_another_code(corpus, folder, f"{file}:Mine")


def test_without_its_source_a_method_trains_and_does_not_go_on(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = ModuleType("typed_by_hand")
    monkeypatch.setitem(sys.modules, typed.__name__, typed)
    exec(OWN, typed.__dict__)
    folder = stopped(corpus, typed.Mine())
    with pytest.raises(CannotResume, match="source of the method mine cannot be read"):
        resumed(corpus, typed.Mine())
    assert folder.settings()["method_code"]["digest"] is None


def test_a_base_of_ones_own_counts_too(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(corpus.parent)
    (corpus.parent / "zanzibar_base.py").write_text(OWN)
    (corpus.parent / "heir.py").write_text(
        "from zanzibar_base import Mine\nclass Heir(Mine):\n    name = 'heir'\n"
    )
    stopped(corpus, f"{corpus.parent / 'heir.py'}:Heir")
    (corpus.parent / "zanzibar_base.py").write_text(OWN.replace("zanzibar 1", "zanzibar 2"))
    with pytest.raises(CannotResume, match=r"another code of the method heir"):
        resumed(corpus, f"{corpus.parent / 'heir.py'}:Heir")


def test_the_folder_tells_which_class_and_lets_no_guess_of_its_code_be_tested(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = corpus.parent / "mine.py"
    file.write_text(OWN)
    kept = []
    for _ in range(2):
        folder = stopped(corpus, f"{file}:Mine")
        kept.append(folder.settings()["method_code"])
        told = folder.config.read_text()
        assert "zanzibar" not in told
        assert str(corpus.parent) not in told
        assert sha256(OWN.encode()).hexdigest()[:8] not in told
        # The name of the module holds a quick digest of the file.
        module = build_method(f"{file}:Mine").__module__
        assert module.rpartition("_")[2] not in told
        shutil.rmtree(folder.path)
    assert kept[0]["classes"] == kept[1]["classes"] == ["mine.py:Mine"]
    assert kept[0]["digest"] != kept[1]["digest"]  # each with a salt of its own


def test_our_own_methods_say_nothing_of_code(corpus: Path) -> None:
    assert "method_code" not in stopped(corpus, "private").settings()
    assert resumed(corpus, "private").guarantee.epsilon <= 8


@dataclass(frozen=True)
class Quiet(Private):
    """Has the name of ours and could do anything."""


def test_a_class_of_ones_own_needs_a_name_of_its_own(corpus: Path) -> None:
    file = corpus.parent / "mine.py"
    file.write_text(OWN.replace('"mine"', '"private"'))
    for method in (f"{file}:Mine", Quiet()):
        with pytest.raises(InvalidArgument, match="'private' is the name of another method"):
            trained(corpus, "run", method, settings=SETTINGS)
        assert not (corpus.parent / "run").exists()
    # The name of a plug-in is taken as well.
    file.write_text(OWN.replace('"mine"', '"beginnings"'))
    with pytest.raises(InvalidArgument, match="'beginnings' is the name of another method"):
        trained(corpus, "run", f"{file}:Mine", settings=SETTINGS)


# --- what authors of methods run -----------------------------------------------------------------


@dataclass(frozen=True)
class Silent(Beginnings):
    """Says that it adds noise, and plans none."""

    name: ClassVar[str] = "silent"

    def prepare(self, task: Task) -> Prepared:
        return super().prepare(replace(task, privacy=replace(task.privacy, epsilon=math.inf)))


@dataclass(frozen=True)
class Loose(Beginnings):
    """Plans a level that nobody asked for."""

    name: ClassVar[str] = "loose"

    def prepare(self, task: Task) -> Prepared:
        return super().prepare(replace(task, privacy=replace(task.privacy, epsilon=80.0)))


@dataclass(frozen=True)
class Talkative(Beginnings):
    """Writes a document into the settings of the run."""

    name: ClassVar[str] = "talkative"

    def prepare(self, task: Task) -> Prepared:
        object.__setattr__(self, "characters", task.documents[0].text)
        return Private().prepare(task)


@dataclass(frozen=True)
class Uncharged(Beginnings):
    """Trains beside the ledger."""

    name: ClassVar[str] = "uncharged"

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

    name: ClassVar[str] = "moody"

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
