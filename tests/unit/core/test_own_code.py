"""Classes of somebody's own, ``file.py:Class``: loaded once, blamed by line, sent by path."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import pytest

from sfumato.catalog import find
from sfumato.cli.main import main
from sfumato.core import own_code
from sfumato.core.errors import InvalidArgument, SfumatoError, UnknownName
from sfumato.core.own_code import OwnClass, files_of, load_again
from sfumato.policies.parsing import combine_policies, parse_policy
from sfumato.policies.policy import Policy
from sfumato.releases.privatizer import Privatizer
from sfumato.text.document import Document
from sfumato.vectors.space import Space

OWN = '''
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from sfumato import Document, Guarantee, Space, Span, Spans
from sfumato.core.settings import FileToRead
from sfumato.guarantees.guarantee import metric_dp
from sfumato.mechanisms.exponential import Exponential
from sfumato.policies.identity import Identity
from sfumato.policies.policy import Policy
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores

@dataclass(frozen=True)
class Starts:
    """Words that start with some letters."""
    letters: str
    least: int = 1
    name: ClassVar[str] = "starts"
    argument: ClassVar[str] = "letters"

    def find(self, document: Document) -> Spans:
        spans, place = [], 0
        for word in document.text.split(" "):
            if word.startswith(self.letters) and len(word) >= self.least:
                spans.append(Span(place, place + len(word), "START", "starts", "it starts so"))
            place += len(word) + 1
        return Spans(tuple(spans))

    def identity(self) -> Identity:
        return Identity(("starts", self.letters, self.least), private=True)

@dataclass(frozen=True)
class Twice:
    """What another policy finds."""
    policy: Policy
    name: ClassVar[str] = "twice"
    argument: ClassVar[str] = "policy"
    def find(self, document: Document) -> Spans:
        return self.policy.find(document)

class Failing(Starts):
    def find(self, document: Document) -> Spans:
        raise ValueError("this document says " + document.text)

@dataclass(frozen=True, kw_only=True)
class First:
    """Always the first word, or the one at a place."""
    space: Space
    epsilon: float
    place: int = 0
    def guarantee(self) -> Guarantee:
        return metric_dp(epsilon=self.epsilon, metric=self.space.metric, about=(self.space,))
    def privatize(self, points, randomness):
        return np.full(len(points), self.place)

class Near(Exponential):
    """Ours under another name."""

@dataclass(frozen=True)
class Counting:
    """An attack that counts documents."""
    least: int = 1
    name: ClassVar[str] = "counting"
    target: ClassVar[str] = "text"
    def missing(self, inputs):
        return None if inputs.target.is_file() else "there is no such file."
    def opened(self, inputs):
        return inputs.documents(inputs.target), None
    def score(self, target, data, randomness, done=None):
        found = Measured("documents", float(len(target) * self.least), None, None, len(target))
        control = Control(what="none", figures=(Measured("documents", 0.0, None, None, 1),))
        return Scores(attack=self.name, knowledge="It counts.", figures=(found,),
                      chance={"documents": 0.0}, control=control)

@dataclass(frozen=True)
class Strange:
    setting: int
    name: ClassVar[str] = "strange"
    argument: ClassVar[str] = "seting"
    def find(self, document: Document) -> Spans:
        return Spans()
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"text": f"say qabc {number}"}) + "\n" for number in range(4))
    )
    return "own.py"


def found(policy: Policy, text: str) -> list[str]:
    return [text[one.start : one.end] for one in policy.find(Document(text))]


def test_a_policy_takes_its_argument_and_its_settings(own: str) -> None:
    assert found(parse_policy(f"{own}:Starts:q"), "a qa qabc") == ["qa", "qabc"]
    settings = {"Starts.letters": "q", "Starts.least": "3"}
    assert found(parse_policy(f"./{own}:Starts", settings), "a qa qabc") == ["qabc"]
    held = parse_policy(f"{own}:Twice:{own}:Starts:q", {"Starts.least": "3"})
    assert found(held, "a qa qabc") == ["qabc"]
    misses = {"imperfect.misses": "0", "imperfect.seed": "1"}
    assert found(parse_policy(f"imperfect:{own}:Starts:q", misses), "a qa") == ["qa"]
    union = combine_policies([f"{own}:Starts:q", "digits"], ["regex:qabc"])
    assert found(union, "qa qabc 12") == ["qa", "12"]


@pytest.mark.parametrize(
    ("spec", "settings", "message"),
    [
        ("Starts", {}, "needs letters: write own.py:Starts:LETTERS"),
        ("Starts:q", {"Starts.letters": "a"}, "Starts.letters is given twice"),
        ("Starts:q", {"Starts.lest": "1"}, "did you mean 'least'"),
        ("Starts:q", {"Start.least": "1"}, "did you mean 'Starts'"),
        ("Starts:q", {"Starts.least": "two"}, "Starts.least='two' must be a whole number"),
        ("Startz:q", {}, "did you mean 'Starts'"),
        ("First", {"First.space": "1", "First.epsilon": "2"}, "it has no name or no find"),
        ("Strange:1", {}, "names 'seting' as its argument, which is no setting of it"),
    ],
)
def test_what_is_wrong_is_said(
    own: str, spec: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        parse_policy(f"{own}:{spec}", settings)


def test_a_pattern_that_looks_like_a_file_is_a_pattern(own: str) -> None:
    assert parse_policy("regex:own.py:Starts").name == "regex"


def test_a_file_is_loaded_once_for_what_it_holds(own: str, tmp_path: Path) -> None:
    first = find("policies", f"{own}:Starts").load()
    assert find("policies", f"{tmp_path / own}:Starts").load() is first
    assert pickle.loads(pickle.dumps(first("q"))) == first("q")
    (tmp_path / own).write_text(OWN + "\n# another version\n")
    assert find("policies", f"{own}:Starts").load() is not first
    assert [one.name for one in tmp_path.iterdir() if one.is_dir()] == [], "nothing is left beside"


def test_another_process_loads_the_same_file_or_none(own: str, tmp_path: Path) -> None:
    kind = OwnClass(tmp_path / own, "Starts").load()
    content = pickle.dumps(kind("q"))
    files = files_of(content)
    assert files == ((kind.__module__, str((tmp_path / own).resolve())),)
    del sys.modules[kind.__module__]
    with pytest.raises(ModuleNotFoundError):
        pickle.loads(content)
    load_again(files)
    assert pickle.loads(content).letters == "q"
    del sys.modules[kind.__module__]
    (tmp_path / own).write_text(OWN + "\n# another version\n")
    with pytest.raises(InvalidArgument, match="was changed while it was in use"):
        load_again(files)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = 1\nraise ValueError('secret')\n", "ValueError in line 2"),
        ("x = 1\n\nsecret = (\n", "SyntaxError in line 3"),
        ("import nowhere_at_all\n", "ModuleNotFoundError in line 1"),
        ("import sys\nsys.exit('secret')\n", "SystemExit in line 2"),
    ],
)
def test_errors_are_told_by_kind_and_line(tmp_path: Path, code: str, told: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(code)
    before = dict(sys.modules)
    with pytest.raises(InvalidArgument, match=f"bad.py failed: {told}") as caught:
        OwnClass(path, "Any").load()
    assert "secret" not in str(caught.value)
    assert set(sys.modules) == set(before), "a file that failed stays"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_command_uses_both_in_every_process_and_names_what_fails(
    own: str, capsys: pytest.CaptureFixture[str], workers: str
) -> None:
    arguments = ["privatize", "in.jsonl", "-o", "out.jsonl", "--workers", workers, "--epsilon", "1"]
    chosen = ["--policy", f"{own}:Starts:q", "--mechanism", f"{own}:First", "--set", "place=2"]
    assert main([*arguments, *chosen, "--set", "Starts.least=2"]) == 0
    word = Privatizer(mechanism="laplace", epsilon=1)._space().words[2]
    lines = [json.loads(line)["text"] for line in Path("out.jsonl").read_text().splitlines()]
    assert lines == [f"say {word} {number}" for number in range(4)]
    side = json.loads(Path("out.jsonl.guarantee.json").read_text())
    assert side["settings"]["mechanism"] == "first"
    assert side["settings"]["mechanism_settings"] == {"place": 2}
    capsys.readouterr()
    assert main([*arguments, "--overwrite", "--policy", f"{own}:Failing:q"]) == 2
    told = capsys.readouterr().err
    line = OWN.splitlines().index('        raise ValueError("this document says " + document.text)')
    assert f"own.py failed: ValueError in line {line + 1}" in told
    assert "say" not in told.replace("says", "")


def test_other_commands_take_it(own: str, capsys: pytest.CaptureFixture[str]) -> None:
    mechanism = f"{own}:First"
    assert main(["compare", mechanism, "--epsilon", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["mechanism"] for row in rows] == [mechanism]
    assert main(["scan", "in.jsonl", "--policy", f"{own}:Starts:q"]) == 0
    assert main(["show", f"mechanisms/{mechanism}"]) == 0
    assert "place: int = 0" in capsys.readouterr().out


def test_commands_that_measure_and_attack_take_it(
    own: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (f"w{n} {n % 3} {n // 3}\n" for n in range(12))
    Path("few.txt").write_text("".join(words))
    few = ["--vectors", "few.txt", "--json"]
    assert main(["deniability", f"{own}:Near", "--epsilon", "2", *few]) == 0
    assert json.loads(capsys.readouterr().out)["mechanism"] == f"{own}:Near"
    assert main(["suggest", f"{own}:Near", "--keep", "0.5", *few]) == 0
    assert json.loads(capsys.readouterr().out)["reached"]
    assert main(["attack", f"{own}:Counting", "in.jsonl", "--set", "least=2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"][0]["value"] == 8
    assert main(["explain", "say qabc", "--policy", f"{own}:Starts:q", "--epsilon", "1"]) == 0


def test_python_takes_it(own: str, small_space: Space) -> None:
    privatizer = Privatizer(
        policy=f"{own}:Starts:q", mechanism=f"{own}:First", epsilon=1, vectors=small_space
    )
    assert privatizer.privatize(["a qa"]) == [f"a {small_space.words[0]}"]
    assert privatizer.resumable
    assert repr(privatizer) == "Privatizer(policy='own.py', mechanism='first')"


def test_names_of_files_are_never_run(own: str, tmp_path: Path) -> None:
    """What a side file names is looked up; a stranger may have written it."""
    from sfumato.attacks.text_target import Known, open_text
    from sfumato.reports.samples import read_stated_policy

    target = tmp_path / "soft.jsonl"
    target.write_text('{"text": "a"}\n')
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    usual = {
        "mechanism": "laplace", "policy": "digits", "epsilon": 1.0, "vectors": "glove-6b-50d",
        "search": "exact", "unknown": "centroid", "case": "public", "mechanism_settings": {},
    }  # fmt: skip
    trap = f"{tmp_path / 'trap.py'}:Any"
    for change in (
        {"mechanism": trap},
        {"policy": trap},
        {"policy": f"digits + {trap}:x"},
        {"policy": f"imperfect:{trap}"},
        {"levels": [{"epsilon": 1.0, "policy": trap}]},
    ):
        side = {"settings": usual | change, "guarantee": {}, "counts": {}}
        (tmp_path / "soft.jsonl.guarantee.json").write_text(json.dumps(side))
        with pytest.raises(SfumatoError):
            open_text(target, [], Known())
        if "mechanism" not in change:
            assert read_stated_policy(side["settings"]) is None
        assert not (tmp_path / "sprung").exists()
    # The trap would have worked: what a user types is run.
    with pytest.raises(UnknownName):
        find("policies", trap).load()
    assert (tmp_path / "sprung").exists()


def test_twin_an_error_in_full_would_show_the_document(
    own: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def loose(error: BaseException) -> InvalidArgument:
        return InvalidArgument(str(error))

    monkeypatch.setattr("sfumato.cli.main.blame", loose)
    assert own_code.blame is not loose
    main(["privatize", "in.jsonl", "-o", "o.jsonl", "-e", "1", "--policy", f"{own}:Failing:q"])
    assert "this document says say qabc" in capsys.readouterr().err
