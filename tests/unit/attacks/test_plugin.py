"""An attack of another package: one file and one entry, by command, from Python and in a study.

Its chart is in the report of the study, which knows no attack by name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plugins import installed
from sfumato.attacks.attack import INPUTS, Inputs, Needs, needs_of, run_attack
from sfumato.catalog import entries, find
from sfumato.cli.main import main
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.core.settings import configure
from sfumato.reports import write_report
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores
from sfumato.studies.folder import StudyFolder
from sfumato.studies.runner import run_study
from small_study import SMALL, small_study
from unit.reports.reading import Read, assert_sound

pytestmark = pytest.mark.usefixtures("small_vectors")

ECHO = '''
    """How many documents came out as they went in."""

    from dataclasses import dataclass

    import numpy as np

    from sfumato.attacks.attack import Needs
    from sfumato.results.scores import Control, Scores
    from sfumato.statistics.shares import share_of


    @dataclass(frozen=True, kw_only=True)
    class Echo:
        """Compare documents; with ``strict`` white space counts."""

        strict: bool = True

        name = "echo"
        target = "text"
        needs = Needs(inputs=("originals",), about_the_data=("empty",))

        def missing(self, inputs):
            return None if inputs.originals else "the originals are missing"

        def opened(self, inputs):
            assert inputs.members is None, "it did not ask for these"
            return inputs.documents(inputs.target), inputs.documents(inputs.originals)

        def score(self, target, data, randomness, done=None):
            same = [one.text == other.text for one, other in zip(target, data, strict=True)]
            empty = [not one.text for one in data]
            figures = share_of("unchanged", np.array(same)), share_of("empty", np.array(empty))
            nothing = Control(what="nothing", figures=(share_of("unchanged", ~np.array(same)),))
            return Scores(attack=self.name, knowledge="The attacker <b>reads</b>.",
                          figures=figures, chance={"unchanged": 0.0}, control=nothing,
                          details={"lengths": [len(one.text) for one in target]})

        def chart(self, scores):
            import altair

            from sfumato.charts.chart import Chart

            rows = [{"signs": one} for one in scores.details["lengths"]]
            data = altair.Chart(altair.InlineData(values=rows), title="lengths of echoes")
            return Chart.of(data.mark_tick().encode(x="signs:Q"))
'''
# The same with a chapter of its own, which is drawn under a topic that others may share.
OWN = """
        @classmethod
        def chapter(cls, attempts):
            from sfumato.charts.chapter import Chapter, Drawing, Listing, Topic

            topic = Topic(name="echoes", title="What echoes", lead="All <i>methods</i>.", order=25)
            rows = [(one.said, one.scores.figure("unchanged").value) for one in attempts]
            listing = Listing(caption="echoes", head=("method", "unchanged"), rows=rows)
            drawing = Drawing(title="Echoes.", description="Of all.", listing=listing, draw=None)
            return Chapter(topic=topic, parts=[drawing])
"""
DESCRIBED = SMALL.replace("[measures.text]", "[attacks.echo]\nstrict = false\n")


@pytest.fixture
def echo(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    source = ECHO + getattr(request, "param", "")
    with installed(tmp_path, "attacks", "echo = echoes:Echo", source):
        yield


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    before.write_text('{"text": "one"}\n{"text": "two"}\n')
    after.write_text('{"text": "one"}\n{"text": "too"}\n')
    return before, after


def page_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, charts: bool) -> Read:
    folder = tmp_path / "study"
    run_study(small_study(tmp_path, DESCRIBED), folder, workers=0, command=[])
    rows = [row for row in StudyFolder(folder).rows() if row.by == "echo"]
    assert {row.metric for row in rows} == {"unchanged"}, "how the texts are is no leakage"
    assert {row.value for row in rows if row.method == "no privacy"} == {1.0}
    if not charts:
        monkeypatch.setitem(sys.modules, "altair", None)
    return assert_sound(write_report(folder).path.read_bytes())


@pytest.mark.usefixtures("echo")
def test_by_command_and_from_python(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = files
    attack = configure(find("attacks", "echo").load(), {"strict": "no"})
    inputs = Inputs(target=after, originals=before, members=before)
    scores = run_attack(attack, inputs, Randomness.secure())
    assert scores.figure("unchanged").value == 0.5
    with pytest.raises(MissingInput, match="echo: the originals are missing"):
        run_attack(attack, Inputs(target=after), Randomness.secure())
    chart = tmp_path / "chart.json"
    line = ["attack", "echo", str(after), "--originals", str(before), "--json", "-o", str(chart)]
    assert main(line) == 0
    assert json.loads(capsys.readouterr().out)["figures"][0]["value"] == 0.5
    assert "lengths of echoes" in chart.read_text()
    assert main(["show", "attacks/echo"]) == 0
    assert "takes: originals" in capsys.readouterr().out


@pytest.mark.usefixtures("echo")
def test_its_chart_is_in_the_report_of_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = page_of(tmp_path, monkeypatch, charts=True)
    sections = [one.attributes["id"] for one in read.all("section")]
    assert "attack-echo" in sections
    text = read.text()
    assert "What the attack echo found" in text
    assert "Echo against SMDP, ε = 1." in text
    assert "The attacker <b>reads</b>." in text
    (block,) = (one for one in read.all("script") if one.attributes.get("id") == "charts")
    assert block.text.count("lengths of echoes") >= 3
    # What the texts show by themselves stands beside the null control.
    assert "empty" in text[text.index("What the attackers know") :]


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize("echo", [OWN], indirect=True)
def test_its_own_chapter_is_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = page_of(tmp_path, monkeypatch, charts=False)
    text = read.text()
    assert "What echoes" in text
    assert "All <i>methods</i>." in text
    assert "attack-echo" not in [one.attributes["id"] for one in read.all("section")]


def test_a_report_loads_nothing_that_only_a_folder_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    with installed(tmp_path, "attacks", "echo = echoes:Echo", ECHO):
        run_study(small_study(tmp_path, DESCRIBED), folder, workers=0, command=[])
    assert "echo" not in entries("attacks")
    monkeypatch.setitem(sys.modules, "altair", None)
    text = assert_sound(write_report(folder).path.read_bytes()).text()
    assert "echoes" not in sys.modules
    assert "What the attack echo found" not in text
    assert "unchanged" in text


def test_an_attack_is_given_what_it_declares(tmp_path: Path) -> None:
    given = Inputs(
        target=tmp_path, members=tmp_path, others=tmp_path, originals=tmp_path, canaries=tmp_path,
        references=(tmp_path,), cache=tmp_path,
    )  # fmt: skip
    assert given.only(INPUTS) == given
    hidden = given.only(("originals",))
    assert hidden == replace(given, members=None, others=None, canaries=None, references=())


def test_an_input_that_nobody_has_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"'diary' is not an input of attacks.*FileToRead"):
        Needs(inputs=("diary",))


@pytest.mark.parametrize("name", entries("attacks"))
def test_every_attack_of_ours_declares_what_it_needs(name: str) -> None:
    attack = entries("attacks")[name].load()
    assert isinstance(attack.needs, Needs)
    assert needs_of(attack) is attack.needs
    assert set(attack.needs.known) <= set(attack.__dataclass_fields__)


def test_scores_are_read_back_as_they_were_written() -> None:
    figures = Measured("top-1", 0.5, 0.25, None, 4), Measured("bits", float("inf"), None, None, 1)
    scores = Scores(
        attack="echo", knowledge="all", figures=figures, chance={"top-1": 0.125}, notes=("a",),
        control=Control(what="none", figures=(Measured("top-1", 0.0, 0.0, 1.0, 2),)),
        details={"rows": [1]}, seconds=2.5,
    )  # fmt: skip
    written: dict[str, Any] = json.loads(json.dumps(scores.as_dict()))
    assert Scores.from_dict(written) == scores
    damages: list[dict[str, Any]] = [
        {"figures": 3}, {"control": None}, {"figures": [{}]}, {"notes": None},
    ]  # fmt: skip
    for damage in damages:
        with pytest.raises(BadInput, match="damaged"):
            Scores.from_dict(written | damage)
