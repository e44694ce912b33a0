"""``sfumato budget``, and a run that is charged, as a person types them."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import pytest

from sfumato.cli.main import main
from system.conftest import Command


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_BUDGET_KEY", secrets.token_hex(32))
    Path("in.txt").write_text("Room 12\n")
    return "budget.db"


def test_an_account_from_opening_to_closing(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    account = ("--account", "text:memo")
    code, out, _ = asked(capsys, "budget", "open", place, *account, "--limit", "3")
    assert code == 0
    assert "limit: 3" in out
    run = ("privatize", "in.txt", "--policy", "digits", "--mechanism", "laplace", "--budget", place)
    code, *_ = asked(capsys, *run, *account, "--epsilon", "2", "-o", "a.txt")
    assert code == 0
    code, _, err = asked(capsys, *run, *account, "--epsilon", "2", "-o", "b.txt")
    assert code == 2
    assert "costs 2 and 1 is left" in err
    assert not Path("b.txt").exists()
    code, out, _ = asked(capsys, "budget", "show", place, *account, "--json")
    assert (code, json.loads(out)["left"]) == (0, 1.0)
    code, out, _ = asked(capsys, "budget", "history", place, *account, "--json")
    assert (code, [one["charged"] for one in json.loads(out)]) == (0, [2.0])
    for command in ("list", "history"):
        words = (place,) if command == "list" else (place, *account)
        code, out, _ = asked(capsys, "budget", command, *words)
        assert code == 0
        assert "memo" not in out
    assert asked(capsys, "budget", "list", place, "--json")[0] == 0
    assert asked(capsys, "budget", "export", place, *account, "-o", "page.md")[0] == 0
    assert "| used | 2 |" in Path("page.md").read_text()
    assert asked(capsys, "budget", "export", place, *account, "-o", "page.md")[0] == 4
    assert asked(capsys, "budget", "export", place, *account, "-o", "page.html")[0] == 0
    page = Path("page.html").read_text()
    assert ("<svg" in page, "memo" in page, "<script" in page) == (True, False, False)
    drawn = ("budget", "history", place, *account, "--chart", "spent.svg")
    assert (asked(capsys, *drawn)[0], Path("spent.svg").read_text()[:4]) == (0, "<svg")
    assert asked(capsys, *drawn)[0] == 4
    code, out, _ = asked(capsys, "budget", "close", place, *account)
    assert "nothing more can be charged" in out


def test_authors_pay_for_the_lines_of_a_pipe(
    place: str, capsys: pytest.CaptureFixture[str], sfumato: Command
) -> None:
    assert asked(capsys, "budget", "open", place, "--account", "author:zoe", "--limit", "9")[0] == 0
    lines = [{"user": "ada", "text": "Room 12"}, {"user": "ada", "text": "Room 7"}]
    given = "".join(json.dumps(one) + "\n" for one in lines).encode()
    run = ("privatize", "-", "-o", "-", "--format", "jsonl", "--policy", "digits", "--mechanism",
           "laplace", "--epsilon", "2", "--keep", "user", "--follow")  # fmt: skip
    paid = ("--budget", place, "--account", "author:user", "--author-limit", "3")
    done = sfumato(*run, *paid, stdin=given)
    assert done.returncode == 0, done.stderr
    assert [json.loads(one)["text"] for one in done.stdout.splitlines()][1] == "Room [WORD]"
    assert b"1 record paid for by their authors, 1 masked" in done.stderr
    _, out, _ = asked(capsys, "budget", "show", place, "--account", "author:ada", "--json")
    assert (json.loads(out)["spent"], json.loads(out)["limit"]) == (2.0, 3.0)
    code, _, err = asked(capsys, *run, "--when-spent", "withhold")
    assert (code, "--account" in err) == (2, True)


def test_a_key_is_made_once_and_for_its_owner(
    place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(capsys, "budget", "key", "my.key")[0] == 0
    made = Path("my.key")
    assert (len(made.read_text()), made.stat().st_mode & 0o077) == (65, 0)
    code, _, err = asked(capsys, "budget", "key", "my.key")
    assert (code, "never replaced" in err) == (4, True)
    assert len(made.read_text()) == 65
    words = ("--account", "text:a", "--limit", "3", "--key", "my.key")
    assert asked(capsys, "budget", "open", place, *words)[0] == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show", "none.db", "--account", "text:a"), 4, "no budget"),
        (("open", "b.db", "--account", "memo", "--limit", "3"), 2, "KIND:ID"),
        (("open", "b.db", "--account", "txt:memo", "--limit", "3"), 2, "did you mean 'text'"),
        (("open", "b.db", "--account", "text:a", "--limit", "much"), 2, "a number, or inf"),
        (("open", "b.db", "--account", "text:a", "--limit", "-3"), 2, "greater than 0"),
        (("open", "b.db", "--account", "text:a", "--limit", "nan"), 2, "a number, or inf"),
        (("open", "no/b.db", "--account", "text:a", "--limit", "3"), 4, "no folder"),
        (
            ("open", "b.db", "--account", "corpus:a", "--limit", "3", "--measure", "renyi"),
            2,
            "--order 4",
        ),
    ],
)
def test_wrong_things_are_said_to_be_wrong(
    place: str, words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, _, err = asked(capsys, "budget", *words)
    assert (found, said in err) == (code, True), err
    assert not Path("b.db").exists()


def test_an_account_is_opened_for_plans_of_a_kind(
    place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = ("budget", "open", place, "--account", "corpus:a", "--limit", "8", "--delta", "1e-5")
    plan = "--examples 5056 --batch-size 128 --epochs 3 --epsilon 1 --delta 1e-6 --accountant rdp"
    code, out, _ = asked(capsys, *opened, "--for-plan", plan, "--json")
    told = json.loads(out)
    assert (code, told["measure"], told["order"]) == (0, "renyi", told["for_plan"]["order"])
    assert told["for_plan"]["plans"] > 6 * told["for_plan"]["plans_by_adding_levels"] == 48
    for wrong, said in (
        (("--for-plan", "--examples 5056"), "batch-size"),
        (("--for-plan", plan, "--order", "4"), "give no other"),
        (("--for-plan", "'"), "quote"),
    ):
        code, _, err = asked(capsys, *opened, *wrong)
        assert (code, said in err) == (2, True), err


def test_work_is_charged_by_the_commands(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = " ".join(f"word{number}" for number in range(20))
    Path("notes.txt").write_text(f"{words}\n" * 60)
    account = ("--account", "corpus:notes")
    limit = ("--measure", "approximate", "--limit", "3", "--delta", "0.1")
    assert asked(capsys, "budget", "open", place, *account, *limit)[0] == 0
    count = ("ngrams", "notes.txt", "--delta", "0.001", "--budget", place, *account)
    assert asked(capsys, *count, "--epsilon", "2", "-o", "one.jsonl")[0] == 0
    code, _, err = asked(capsys, *count, "--epsilon", "1.5", "-o", "two.jsonl")
    assert (code, "costs 1.5 and 1 is left" in err) == (2, True), err
    code, _, err = asked(capsys, *count, "--epsilon", "1", "-o", "two.jsonl", "--seed", "1")
    assert (code, "with a seed" in err) == (2, True), err
    code, out, _ = asked(capsys, "budget", "show", place, *account)
    assert "all of them" in out
