"""``sfumato plan`` as a person, or a script, meets it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sfumato.cli.main import main
from sfumato.training.plan import Plan
from system.conftest import Command, environment

COLA = ("--examples", "5056", "--batch-size", "128", "--epochs", "10")
FEW = ("--examples", "600", "--batch-size", "60", "--epochs", "1")


def test_json_holds_noise_steps_level_and_delta(sfumato: Command) -> None:
    result = sfumato("plan", *FEW, "--epsilon", "3", "--delta", "1e-4", "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == b""
    answer = json.loads(result.stdout)
    assert (answer["steps"], answer["delta"]) == (10, 1e-4)
    assert 2.99 < answer["epsilon"] <= 3
    again = Plan.from_dict(answer["plan"])
    assert again.noise_multiplier == answer["noise_multiplier"]
    assert again.epsilon() == answer["epsilon"] == answer["guarantee"]["epsilon"]
    assert answer["sentence"] == again.guarantee().sentence()
    assert [row["accountant"] for row in answer["comparison"]] == [
        "pld", "rdp", "pure", "as in papers",
    ]  # fmt: skip


def test_the_paper_is_reproduced_with_one_sentence_of_warning(sfumato: Command) -> None:
    result = sfumato(
        "plan", *COLA, "--epsilon", "10", "--delta", "1/n", "--accountant", "rdp", "--json"
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["noise_multiplier"] == pytest.approx(0.615, rel=0.02)
    assert result.stderr.count(b"\n") == 1
    assert b"warning: delta = 1/n" in result.stderr


def test_noise_gives_the_level_back(capsys: pytest.CaptureFixture[str]) -> None:
    common = ["plan", *FEW, "--delta", "1e-4", "--json"]
    assert main([*common, "--epsilon", "3"]) == 0
    solved = json.loads(capsys.readouterr().out)
    assert main([*common, "--noise-multiplier", str(solved["noise_multiplier"])]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["epsilon"] == solved["epsilon"]
    assert given["plan"] == solved["plan"]


def test_people_get_a_table_and_the_guarantee(sfumato: Command) -> None:
    noise = ("--noise-multiplier", "2")
    result = sfumato("plan", *FEW, *noise, "--sampling", "shuffled", "--unit", "author")
    text = result.stdout.decode()
    for words in ("noise multiplier", "60 of 600 authors (shuffled)", "NOT PROVEN here"):
        assert words in text
    assert "For the weights of the model after every step" in text
    assert "one lacks one author of the other" in text


def test_stages_of_size_and_noise_and_counts_are_planned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--examples", "600", "--batch-size", "30,60", "--epochs", "1", "--accountant", "rdp"]
    options += ["--noise-schedule", "1,0.5", "--clipping", "adaptive"]
    assert main(["plan", *options, "--epsilon", "3", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    first, second = answer["stages"]
    assert (first["batch_size"], second["batch_size"]) == (30, 60)
    assert first["noise_multiplier"] == pytest.approx(2 * second["noise_multiplier"], rel=1e-4)
    assert answer["noise_multiplier"] == second["noise_multiplier"]
    assert answer["steps"] == first["steps"] + second["steps"] == 14
    assert answer["plan"]["clipping"]["count_noise"] == 2.0
    assert 2.99 < Plan.from_dict(answer["plan"]).epsilon() == answer["epsilon"] <= 3
    noise = ["--noise-multiplier", str(first["noise_multiplier"])]
    assert main(["plan", *options, *noise]) == 0
    shown = capsys.readouterr().out
    for words in ("adaptive", "stage 2", "60 of 600 examples (poisson)"):
        assert words in shown


def test_a_plan_without_privacy_says_so(sfumato: Command) -> None:
    result = sfumato("plan", *FEW, "--epsilon", "inf", "--json")
    answer = json.loads(result.stdout)
    assert (answer["noise_multiplier"], answer["epsilon"]) == (0.0, "inf")
    assert answer["sentence"].startswith("Nothing is proven")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*FEW,), "either --epsilon or --noise-multiplier"),
        ((*FEW, "--epsilon", "3", "--noise-multiplier", "1"), "either"),
        ((*FEW, "--epsilon", "0"), "epsilon=0.0 must be greater than 0"),
        ((*FEW, "--epsilon", "-1"), "epsilon=-1.0"),
        ((*FEW, "--epsilon", "nan"), "epsilon=nan"),
        ((*FEW, "--epsilon", "3", "--delta", "0.01"), "more than 1/n"),
        ((*FEW, "--epsilon", "3", "--delta", "0"), "strictly between 0 and 1"),
        ((*FEW, "--epsilon", "3", "--delta", "tiny"), "'auto' or '1/n'"),
        ((*FEW, "--epsilon", "3", "--accountant", "prv"), "pld, pure, rdp"),
        ((*FEW, "--epsilon", "3", "--sampling", "fixed"), "poisson, shuffled"),
        ((*FEW, "--epsilon", "3", "--unit", "user"), "author, example"),
        ((*FEW, "--noise-multiplier", "-1"), "must not be negative"),
        ((*FEW, "--noise-multiplier", "1e-300"), "noise_multiplier=1e-300 must lie between"),
        ((*FEW, "--noise-multiplier", "1e300"), "noise_multiplier=1e+300 must lie between"),
        ((*FEW[:4], "--epochs", "1e9", "--epsilon", "3"), "more than can be planned for"),
        (
            (
                "--examples",
                "1" + "0" * 20,
                "--batch-size",
                "1",
                "--epochs",
                "1e9",
                "--epsilon",
                "3",
            ),
            "1e+29 steps are more",
        ),
        (("--examples", "1" + "0" * 400, *FEW[2:], "--epsilon", "3"), "examples must be at most"),
        (
            (*FEW[:2], "--batch-size", "1" + "0" * 400, *FEW[4:], "--epsilon", "3"),
            "must be at most",
        ),
        ((*FEW[:2], "--batch-size", "60,x", *FEW[4:], "--epsilon", "3"), "--batch-size='60,x'"),
        ((*FEW, "--epsilon", "3", "--noise-schedule", "1,"), "--noise-schedule='1,'"),
        ((*FEW, "--epsilon", "3", "--noise-schedule", "1,-1"), "noise_schedule=-1.0"),
        ((*FEW, "--epsilon", "3", "--clipping", "adaptiv"), "did you mean 'adaptive'"),
        (("--examples", "1", *FEW[2:], "--epsilon", "3"), "examples=1"),
        (
            (*FEW[:2], "--batch-size", "601", *FEW[4:], "--epsilon", "3"),
            "more than the 600 units",
        ),
        ((*FEW[:2], "--batch-size", "0", *FEW[4:], "--epsilon", "3"), "batch_size=0"),
        ((*FEW[:4], "--epochs", "0", "--epsilon", "3"), "epochs=0"),
    ],
    ids=lambda value: " ".join(value[6:]) if isinstance(value, tuple) else "",
)
def test_bad_input_is_refused_in_a_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    assert main(["plan", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.count("\n") == 1


def test_without_the_extra_it_is_named() -> None:
    program = (
        "import sys\nsys.modules['dp_accounting'] = None\n"
        "from sfumato.cli.main import main\n"
        f"sys.exit(main({['plan', *FEW, '--epsilon', '3']!r}))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment(), check=False
    )
    assert result.returncode == 5
    assert b"pip install 'sfumato[train]'" in result.stderr
