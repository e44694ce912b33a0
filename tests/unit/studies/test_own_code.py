"""Code that a study brings along runs only if its user has named that very file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from sfumato.cli.main import main
from sfumato.core.errors import SfumatoError
from sfumato.studies import doors as doors_module
from sfumato.studies.doors import CODE, CodeNotAllowed, Doors
from sfumato.studies.grid import list_cells
from sfumato.studies.parsing import read_spec
from sfumato.studies.runner import passages, run_study
from sfumato.studies.study import Study

CORPUS = '[corpus]\nkind = "customersim"\ncount = 6\n'
METHOD = '[[methods]]\nname = "m"\nmechanism = "redact"\npolicy = "digits"\n'
# Every place of a study where a class of its own may stand, with FILE where the file is.
NAMED = {
    "policy": CORPUS + METHOD.replace("digits", "FILE:Long:4"),
    "held": CORPUS + METHOD.replace("digits", "imperfect:FILE:Long"),
    "excepted": CORPUS + METHOD + 'except = "FILE:Long"\n',
    "of the study": (
        CORPUS + METHOD.replace("digits", "mine") + '[policies.mine]\nfind = ["FILE:Long"]\n'
    ),
    "that no method has": CORPUS + METHOD + '[policies.mine]\nfind = "FILE:Long:5"\n',
    "mechanism": CORPUS + METHOD.replace("redact", "FILE:Hide"),
    "a grid of mechanisms": CORPUS + METHOD.replace('"redact"', '["redact", "FILE:Hide"]'),
    "attack": CORPUS + METHOD + '[attacks."FILE:Guess"]\n',
    "policy of an attack": (
        CORPUS + METHOD + '[attacks.token-inference]\npolicy = "digits + FILE:Long:5"\n'
    ),
    "measure": CORPUS + METHOD + '[measures."FILE:Count"]\n',
    "training method": (
        CORPUS
        + '[test]\nkind = "customersim"\ncount = 3\n[model]\nname = "lstm"\n'
        + '[[methods]]\nname = "t"\ntraining = "FILE:Train"\n[measures.perplexity]\n'
    ),
    "policy of a measure": (
        CORPUS
        + '[test]\nkind = "customersim"\ncount = 3\n[model]\nname = "lstm"\n'
        + '[measures.perplexity]\npolicy = ["digits", "FILE:Long"]\n'
    ),
}
TRAP = """
from __future__ import annotations
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from sfumato import Document, Guarantee, Span, Spans
from sfumato.guarantees.guarantee import no_guarantee
Path(__file__).with_name("sprung").touch()

@dataclass(frozen=True)
class Long:
    least: int = 5
    name: ClassVar[str] = "long"
    argument: ClassVar[str] = "least"
    def find(self, document: Document) -> Spans:
        spans, place = [], 0
        for word in document.text.split(" "):
            if len(word) >= self.least:
                spans.append(Span(place, place + len(word), "LONG", "long", "it is long"))
            place += len(word) + 1
        return Spans(tuple(spans))

@dataclass(frozen=True)
class Hide:
    mark: str = "~"
    def guarantee(self) -> Guarantee:
        return no_guarantee(unit="stretch", scope="every stretch")
    def replace(self, stretches, randomness) -> list[str]:
        return [self.mark] * len(stretches)

@dataclass(frozen=True)
class Count:
    name: ClassVar[str] = "count"
    of: ClassVar[str] = "text"
    role: ClassVar[str] = "utility"
    better: ClassVar[dict] = {"words": "higher"}

@dataclass(frozen=True)
class Train:
    name: ClassVar[str] = "mine"
    needs_policy: ClassVar[bool] = False
    adds_noise: ClassVar[bool] = False
    needs_level: ClassVar[bool] = False

@dataclass(frozen=True)
class Guess:
    name: ClassVar[str] = "guess"
    target: ClassVar[str] = "text"
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "trap.py").write_text(TRAP)
    return tmp_path


def _written(own: Path, named: str, file: str = "trap.py") -> Path:
    study = own / "study.toml"
    study.write_text(NAMED[named].replace("FILE", file))
    return study


@pytest.mark.parametrize("named", NAMED)
def test_code_inside_the_folder_is_refused_until_the_file_is_named(own: Path, named: str) -> None:
    file = _written(own, named)
    for allowed in ((), (own,), (own.parent,)):
        with pytest.raises(CodeNotAllowed, match=r"runs the code in .*`allow_path=.*trap\.py"):
            list_cells(read_spec(file, Doors(allowed)))
        listing = read_spec(file, Doors(allowed, listing=True))
        listed = passages(listing, own / "out")
        assert (own / "trap.py", "runs", CODE) in {(o.path, o.purpose, o.where) for o in listed}
        assert not (own / "sprung").exists(), "looking ran the code"
    try:
        list_cells(read_spec(file, Doors((own / "trap.py",))))
    except SfumatoError as error:
        assert "allow_path" not in str(error)  # noqa: PT017
    assert (own / "sprung").exists()


@pytest.mark.parametrize("named", NAMED)
def test_code_by_an_absolute_path_is_not_run_by_reading_or_checking(own: Path, named: str) -> None:
    file = _written(own, named, str(own / "trap.py"))
    with contextlib.suppress(SfumatoError):
        Study.read(file).check()
    with contextlib.suppress(SfumatoError):
        Study.parse(file.read_text(), folder=own)
    assert not (own / "sprung").exists()


@pytest.mark.parametrize("named", NAMED)
def test_twin_doors_that_take_code_for_data_let_it_run(
    own: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors_module, "RUNS", "something else")
    try:
        list_cells(read_spec(_written(own, named)))
    except SfumatoError as error:
        assert "allow_path" not in str(error)  # noqa: PT017
    assert (own / "sprung").exists()


def test_the_command_says_so_and_the_option_names_the_file(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(_written(own, "policy"))
    assert main(["study", "check", file]) == 1
    assert "runs code of its own" in capsys.readouterr().err
    assert main(["study", "run", file, "--allow-path", str(own)]) == 2
    assert "naming a folder that contains it is not enough" in capsys.readouterr().err
    assert main(["study", "check", file, "--allow-path", str(own / "trap.py"), "--json"]) == 0
    assert {"runs", "writes"} == {one["use"] for one in json.loads(capsys.readouterr().out)}


def test_a_link_to_code_is_told_by_where_it_leads(own: Path) -> None:
    (own / "link.py").symlink_to(own / "trap.py")
    with pytest.raises(CodeNotAllowed):
        list_cells(read_spec(_written(own, "policy", "link.py")))
    list_cells(read_spec(_written(own, "policy", "link.py"), Doors((own / "trap.py",))))


def test_a_study_with_code_of_its_own_runs_and_new_code_makes_new_cells(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = NAMED["mechanism"].replace('policy = "digits"', 'policy = "FILE:Long:4"')
    text += 'settings = {mark = "#"}\n'
    file = own / "study.toml"
    file.write_text(text.replace("FILE", "trap.py"))
    monkeypatch.chdir("/")  # paths are the study's, wherever the command is run
    study = read_spec(file, Doors((own / "trap.py",)))
    first = {cell.key for cell in list_cells(study).cells}
    run = run_study(study, own / "out", workers=0)
    assert run.complete, [p.read_text() for p in (own / "out").rglob("cell.json")]
    texts = [path.read_text() for path in (own / "out").rglob("text.jsonl")]
    assert any("#" in text for text in texts)
    (own / "trap.py").write_text(TRAP.replace('"~"', '"*"'))
    second = {cell.key for cell in list_cells(read_spec(file, Doors((own / "trap.py",)))).cells}
    assert len(first - second) == 1
