"""Messages from outside the command line name no options; inside, each becomes one that exists."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import sfumato
from sfumato.catalog import entries, find
from sfumato.cli import output
from sfumato.cli.main import EXIT_CODES, app, exit_code
from sfumato.cli.output import in_options
from sfumato.core import errors
from sfumato.core.remedies import Reference, references, reword
from sfumato.synthesis.prediction.settings import Prediction

PACKAGE = Path(sfumato.__file__).parent
CODES = {
    "SfumatoError": 70,
    "InvalidArgument": 2,
    "UnknownName": 2,
    "UnsupportedLayer": 2,
    "CoupledRows": 2,
    "BadInput": 3,
    "MissingInput": 3,
    "MissingAccount": 3,
    "MalformedRecord": 3,
    "MalformedVectors": 3,
    "TookTooLong": 3,
    "UndecodableText": 3,
    "UndefinedGradient": 3,
    "UnsteadyGradient": 2,
    "UnknownWords": 3,
    "StorageFailed": 4,
    "BudgetBusy": 4,
    "MissingModel": 4,
    "OutputExists": 4,
    "InputChanged": 4,
    "ProcessLost": 4,
    "ProcessesDisagree": 4,
    "CannotResume": 4,
    "CannotUnseal": 3,
    "MissingRight": 4,
    "MissingToken": 4,
    "OutcomeForgotten": 4,
    "ServiceFailed": 4,
    "ServiceUnavailable": 4,
    "MissingExtra": 5,
    "BudgetExceeded": 2,
    "IncomparableGuarantees": 2,
}
# Stands for what is put into an f-string.
FILLED = "FILLED"
EXEMPT = {
    # The command that a study is run by, recorded as it would be typed.
    ("studies/study.py", "--workers"),
    # The command that ran the study, as it was recorded; this stands where none was.
    ("reports/sections/record.py", "sfumato study run FILE.toml"),
}


@cache
def commands() -> dict[str, set[str]]:
    """The options of every command."""
    found: dict[str, set[str]] = {}

    def collect(command: Any, name: str) -> None:
        for below, one in getattr(command, "commands", {}).items():
            collect(one, f"{name} {below}".strip())
        if not hasattr(command, "commands"):
            found[name] = {option for one in command.params for option in one.opts}

    collect(typer.main.get_command(app), "")
    return found


def literals(source: str) -> Iterator[tuple[int, str]]:
    """The texts in a module except docstrings, those of f-strings with what is filled in marked."""
    nodes = list(ast.walk(ast.parse(source)))
    skipped = set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        if isinstance(node, ast.JoinedStr):
            parts = [one.value if isinstance(one, ast.Constant) else FILLED for one in node.values]
            skipped |= {one for one in node.values if isinstance(one, ast.Constant)}
            yield node.lineno, "".join(map(str, parts))
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.lineno, node.value


@cache
def outside() -> list[tuple[str, int, str]]:
    """The texts of all modules outside the command line, each with its place."""
    return [
        (path.relative_to(PACKAGE).as_posix(), line, text)
        for path in sorted(PACKAGE.rglob("*.py"))
        if not path.is_relative_to(PACKAGE / "cli")
        for line, text in literals(path.read_text("utf-8"))
    ]


@cache
def naming() -> re.Pattern[str]:
    """An option, or the name of a command after that of the program."""
    named = "|".join(sorted({name.split()[0] for name in commands()}))
    return re.compile(rf"(?<![\w-])--[a-z]|\bsfumato ({named})\b")


def names_options(text: str) -> bool:
    return naming().search(text) is not None


def problems(reference: Reference) -> list[str]:
    """What is wrong with a reference: no such command, option or function."""
    command = output._COMMANDS.get(reference.function, reference.function)
    known = commands().get(command) if command else set.union(*commands().values())
    if known is None:
        return [f"there is no command {command!r}"]
    spelled = {
        name: "--" + output._OPTIONS.get(name, name).replace("_", "-")
        for name in reference.settings
        if name != FILLED
    }
    return [f"{command} has no option {one}" for one in spelled.values() if one not in known]


def test_no_message_outside_the_command_line_names_an_option_or_a_command() -> None:
    found = [one for one in outside() if names_options(one[2]) and (one[0], one[2]) not in EXEMPT]
    assert not found
    assert {(name, text) for name, _, text in outside()} >= EXEMPT


@pytest.mark.parametrize(
    "line",
    [
        'raise OutputExists("it exists already; --overwrite replaces it")',
        'raise BadInput(f"the run in {path} is not finished; sfumato train … --resume goes on")',
        "HOW = \"'sfumato data canaries CORPUS' plants them\"",
        'given = {"--members": members}',
    ],
)
def test_a_message_that_names_one_is_found(line: str) -> None:
    assert any(names_options(text) for _, text in literals(line))


def test_whatever_a_message_refers_to_is_an_option_of_a_command_that_exists() -> None:
    found = [
        (name, line, problem)
        for name, line, text in outside()
        for reference in references(text)
        for problem in problems(reference)
    ]
    assert not found
    assert sum(1 for *_, text in outside() for _ in references(text)) > 60


@pytest.mark.parametrize(
    "text", ["`overwriting=True`", "`sfumato.train(A, B, lr=1)`", "`sfumato.do()`"]
)
def test_a_reference_to_nothing_is_found(text: str) -> None:
    assert [problem for one in references(text) for problem in problems(one)]


def test_whatever_a_message_sets_is_a_setting_of_a_component() -> None:
    known = {one.name for one in dataclasses.fields(Prediction)}
    for kind in ("attacks", "mechanisms", "policies", "representations"):
        for name in entries(kind):
            component = find(kind, name).load()
            if isinstance(component, type) and dataclasses.is_dataclass(component):
                fields = {one.name for one in dataclasses.fields(component)}
                known |= fields | {f"{name}.{one}" for one in fields}
    named = {
        setting
        for *_, text in outside()
        for one in references(text)
        for setting in one.settings.get("settings", {})
    }
    assert len(named) > 10
    assert not named - known


def test_functions_that_stand_for_commands_exist_and_so_do_the_commands() -> None:
    for function, command in output._COMMANDS.items():
        assert callable(getattr(sfumato, function))
        assert command in commands()
    assert set(commands()) >= output._WRITING


@pytest.mark.parametrize(
    ("message", "worded"),
    [
        ("`resume=True` goes on", "--resume goes on"),
        ("`samples=N` needs `originals=FILE`", "--samples N needs --originals FILE"),
        ("leave out `originals=...`", "leave out --originals"),
        ("`members=FILE, others=FILE`", "--members FILE --others FILE"),
        ("`allow_path=['/a b']`", "--allow-path '/a b'"),
        ("`settings={'prefix': 10, 'suffix': 5}`", "--set prefix=10 --set suffix=5"),
        ("`settings={'before': '. '}`", "--set 'before=. '"),
        ("`classes=['0', '1']`", "--classes 0,1"),
        ("`levels=[(EPSILON, POLICY)]`", "--level EPSILON=POLICY"),
        ("`sfumato.explain(TEXT, epsilon=5)`", "'sfumato explain TEXT --epsilon 5'"),
        ("`sfumato.train('a/b', RUN, epsilon=inf)`", "'sfumato train a/b --epsilon inf -o RUN'"),
        (
            "`sfumato.embed(IN, 'OUT.npy', epsilon=50)`",
            "'sfumato embed IN --epsilon 50 -o OUT.npy'",
        ),
        (
            "`sfumato.attack('exposure', RUN, canaries='C.json')`",
            "'sfumato attack exposure RUN --canaries C.json'",
        ),
        (
            "`sfumato.plant_canaries(CORPUS, OUT, ...)`",
            "'sfumato data canaries CORPUS -o OUT …'",
        ),
    ],
)
def test_the_command_line_words_it_as_options_and_commands(message: str, worded: str) -> None:
    assert in_options(message) == worded


@pytest.mark.parametrize(
    "message", ["a `quoted` word", "an `odd =` one", "`a b=c`", "`", "``x``", "`f(x)`"]
)
def test_what_is_no_reference_stays_as_it_is(message: str) -> None:
    assert in_options(message) == message
    assert reword(message, lambda _: "changed") == message


def test_every_error_has_its_exit_code() -> None:
    kinds = {
        name: kind
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.SfumatoError)
    }
    assert {name: exit_code(kind) for name, kind in kinds.items()} == CODES
    assert [kind for kind in EXIT_CODES if EXIT_CODES[kind] == 70] == [errors.SfumatoError]
