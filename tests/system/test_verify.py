"""``sfumato verify`` as users meet it: exit codes, witnesses, exhibits, mechanisms of their own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sfumato.audits.exhibits import table
from statistical import budget
from system.conftest import Command

DOCS = Path(__file__).parents[2] / "docs" / "how-to-verify.md"
# Runs that must not refute, each with its part of the budget.
TRUE_CLAIMS = 3
CONFIDENCE = repr(1 - budget.level("audits: true claims", "command line") / TRUE_CLAIMS)
QUICK = ["--draws", "4000", "--pairs", "60", "--seed", "3"]

LONG = ("adept", "vickrey-without-input")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A space of thirty words in two dimensions, for runs that take no time."""
    path = tmp_path_factory.mktemp("vectors") / "thirty.txt"
    rows = (f"w{n} {(n * 7 % 30) / 9:.4f} {(n * 11 % 30) / 7:.4f}\n" for n in range(30))
    path.write_text("".join(rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mechanisms of the how-to, as a file of the user's."""
    (block, *_) = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text("utf-8"), re.M | re.S)
    path = tmp_path_factory.mktemp("own") / "mine.py"
    path.write_text(block, encoding="utf-8")
    return path


def test_a_true_claim_is_not_refuted_exactly_and_by_sampling(
    sfumato: Command, vectors: Path
) -> None:
    for name in ("exponential", "laplace"):
        result = sfumato(
            "verify", name, "-e", "1.5", "--vectors", vectors, "--confidence", CONFIDENCE, *QUICK
        )
        text = result.stdout.decode()
        assert result.returncode == 0, text
        assert text.startswith("Claim: For every word")
        assert "Not refuted: none of" in text
        assert "This is no proof" in text
        assert "thirty: " in text
        assert "40 names of colors: " in text
        assert ("is refuted with a probability of at most" in text) is (name == "laplace")


def test_the_correct_mechanism_of_the_documentation_stands_and_the_broken_one_falls(
    sfumato: Command, vectors: Path, own: Path
) -> None:
    given = ["-e", "1", "--vectors", vectors, "--confidence", CONFIDENCE, "--json", *QUICK]
    good = sfumato("verify", f"{own}:Coin", *given)
    assert good.returncode == 0, good.stdout + good.stderr
    assert json.loads(good.stdout)["refuted"] is False
    bad = sfumato("verify", f"{own.name}:BrokenCoin", *given, cwd=own.parent)
    assert bad.returncode == 1, bad.stderr
    verdict = json.loads(bad.stdout)
    assert verdict["refuted"] is True
    assert verdict["confidence"] == float(CONFIDENCE)
    witness = verdict["witness"]
    assert witness["log_ratio"] > witness["bound"]
    assert witness["first"]
    assert witness["event"].startswith("the output is ")


def test_a_refutation_prints_its_witness(sfumato: Command, vectors: Path, own: Path) -> None:
    result = sfumato("verify", f"{own}:BrokenCoin", "-e", "1", "--vectors", vectors, *QUICK)
    text = result.stdout.decode()
    assert result.returncode == 1
    assert "REFUTED: the output is " in text
    assert "while the claim allows exp(" in text


def test_a_seed_makes_a_verification_reproducible(sfumato: Command, vectors: Path) -> None:
    runs = [
        sfumato("verify", "laplace", "-e", "1", "--vectors", vectors, "--json", *QUICK).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_every_exhibit_is_listed_and_refuted(
    sfumato: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for two that take long: ``test_audits.py`` refutes all of them."""
    brief = tuple(one for one in table.EXHIBITS if one.name not in LONG)
    assert len(brief) == len(table.EXHIBITS) - len(LONG)
    monkeypatch.setattr(table, "EXHIBITS", brief)
    result = sfumato("verify", "--exhibit", "--json", "--seed", "4")
    assert result.returncode == 0, result.stderr
    listed = json.loads(result.stdout)
    assert [one["name"] for one in listed] == [one.name for one in brief]
    for one in listed:
        assert one["refuted"] is True, one["name"]
        assert one["repaired"]["refuted"] is False, one["name"]
        assert one["witness"]["event"]


def test_one_exhibit_can_be_shown_by_itself(sfumato: Command) -> None:
    result = sfumato("verify", "custext-across-groups", "--exhibit")
    assert result.returncode == 0
    text = result.stdout.decode()
    assert "no output in common" in text
    assert "a ratio of infinity" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pseudonym", "-e", "1"], "nothing is claimed"),
        (["redact", "-e", "1"], "claims no level"),
        (["selective", "-e", "1"], "wraps a word mechanism"),
        (["laplase", "-e", "1"], "did you mean 'laplace'"),
        (["laplace"], "--epsilon"),
        ([], "--exhibit"),
        (["laplace", "-e", "-1"], "epsilon=-1.0 must be greater than 0"),
        (["laplace", "-e", "1", "--draws", "1"], "draws=1 must be at least 100"),
        (["laplace", "-e", "1", "--pairs", "0"], "pairs=0 must be at least 1"),
        (["laplace", "-e", "1", "--confidence", "1"], "confidence=1.0"),
        (["laplace", "-e", "1", "--set", "pii.regions=DE"], "take no POLICY.KEY"),
        (["laplace", "-e", "1", "--set", "t=0.5"], "unknown setting of laplace"),
        (["nowhere.py:Mine", "-e", "1"], "there is no file nowhere.py"),
        (["--exhibit", "adapt"], "did you mean 'adept'"),
        (["--exhibit", "adept", "-e", "3"], "brings its own claims"),
        (["--exhibit", "adept", "--draws", "200"], "brings its own claims"),
        (["--exhibit", "--confidence", "7"], "confidence=7.0 must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_verified_is_said_in_one_line(
    sfumato: Command, arguments: list[str], message: str
) -> None:
    result = sfumato("verify", *arguments)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.decode()
    assert result.stderr.count(b"\n") == 1
    assert not result.stdout


def test_help_explains_the_exit_codes(sfumato: Command) -> None:
    result = sfumato("verify", "--help")
    assert result.returncode == 0
    assert b"Exit code 0: not refuted, 1: refuted" in b" ".join(result.stdout.split())


def test_rows_and_bounds_that_fail_are_the_fault_of_their_author(
    sfumato: Command, vectors: Path, tmp_path: Path
) -> None:
    failing = """
from sfumato.mechanisms.exponential import Exponential

class Rows(Exponential):
    def log_rows(self, points):
        raise RuntimeError("no rows today")

class Leaving(Exponential):
    def log_rows(self, points):
        raise SystemExit(0)
"""
    (tmp_path / "failing.py").write_text(failing, encoding="utf-8")
    for name, reason in (("Rows", "RuntimeError: no rows today"), ("Leaving", "SystemExit: 0")):
        place = f"{tmp_path / 'failing.py'}:{name}"
        result = sfumato("verify", place, "-e", "1", "--vectors", vectors)
        assert result.returncode == 2, result.stderr
        assert f"failed while it was verified: {reason}" in result.stderr.decode()
        assert not result.stdout
