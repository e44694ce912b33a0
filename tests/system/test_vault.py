"""Vaults on the command line: undone by whoever has both, also after a kill; and what is said."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from system.conftest import Command, ended, write_jsonl
from system.test_resume import killed_in_the_middle

NAME = "Zyxquorthane"
SECRET = b"the key of a vault: 5d1f09ab44e2"
MANY = [  # four chunks
    f"Order {number} of {NAME if number % 3 else NAME.upper()}" for number in range(30)
]
POLICY = ["-p", f"regex:(?i){NAME}", "-m", "pseudonym"]
SEALED = "sfumato.releases.vault:SealedParts.put_in_place"
pytestmark = pytest.mark.usefixtures("small_chunks")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keys outside, and a folder for what is written."""
    monkeypatch.delenv("SFUMATO_VAULT_KEY", raising=False)
    (tmp_path / "vault.key").write_bytes(SECRET)
    (tmp_path / "codes.key").write_bytes(b"a key that nobody else has: 7f3e")
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def arguments(source: Path, output: Path, *, lasting: bool = True) -> list[str]:
    keys = source.parent
    codes = ["--set", f"key_file={keys / 'codes.key'}"] if lasting else []
    vault = ["--vault", str(output.with_name("v")), "--vault-key", str(keys / "vault.key")]
    return ["privatize", str(source), "-o", str(output), *POLICY, *codes, *vault]


def undone(sfumato: Command, output: Path, *more: str) -> list[str]:
    """The texts of what is restored."""
    back = output.with_name("back.jsonl")
    keys = output.parent.parent
    result = sfumato(
        "restore", output, "-o", back, "--vault", output.with_name("v"),
        "--vault-key", keys / "vault.key", *more,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert NAME.encode() not in result.stdout + result.stderr
    return [json.loads(line)["text"] for line in back.read_text().splitlines()]


def refuse_originals(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes().lower()
            assert NAME.lower().encode() not in content, path.name
            assert SECRET not in content


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_killed_run_leaves_no_original_and_goes_on(
    sfumato: Command, folder: Path, workers: str
) -> None:
    source, output = write_jsonl(folder.parent / "in.jsonl", MANY), folder / "out.jsonl"
    run = [*arguments(source, output), "--workers", workers]
    assert killed_in_the_middle(run, output) >= 1
    assert list(folder.glob("out.jsonl.parts/*.vault"))
    refuse_originals(folder)
    wrong = [one.replace("vault.key", "codes.key") for one in run]
    refused = sfumato(*wrong, "--resume")
    assert refused.returncode == 4
    assert b"does not open: its key is another one" in refused.stderr
    at = run.index("--vault")
    without = sfumato(*run[:at], "--resume")
    assert without.returncode == 4
    assert b"vault changed since the run began" in without.stderr
    resumed = sfumato(*run, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert sorted(path.name for path in folder.iterdir()) == [
        "out.jsonl", "out.jsonl.guarantee.json", "v",
    ]  # fmt: skip
    refuse_originals(folder)
    assert undone(sfumato, output) == MANY


def test_a_run_killed_between_its_vault_and_its_output_goes_on(
    sfumato: Command, folder: Path
) -> None:
    source, output = write_jsonl(folder.parent / "in.jsonl", MANY[:12]), folder / "out.jsonl"
    killed = ended(SEALED, 1, signal.SIGKILL, arguments(source, output))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (folder / "v").exists()
    assert not output.exists()
    refuse_originals(folder)
    own = (folder / "v").read_bytes()
    other = sfumato(*arguments(source, folder / "other.jsonl"))
    assert (other.returncode, b"exists already" in other.stderr) == (4, True)
    assert (folder / "v").read_bytes() == own
    resumed = sfumato(*arguments(source, output), "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert undone(sfumato, output) == MANY[:12]
    again = sfumato(*arguments(source, output), "--resume")  # whether it is the same key is unknown
    assert again.returncode == 4


def test_going_on_does_not_replace_the_vault_of_another_run(sfumato: Command, folder: Path) -> None:
    source, output = write_jsonl(folder.parent / "in.jsonl", MANY), folder / "out.jsonl"
    killed_in_the_middle(arguments(source, output), output)
    small = write_jsonl(folder.parent / "small.jsonl", MANY[:2])
    assert sfumato(*arguments(small, folder / "small.jsonl")).returncode == 0
    theirs = (folder / "v").read_bytes()
    refused = sfumato(*arguments(source, output), "--resume")
    assert refused.returncode == 4
    assert b"is the vault of another run" in refused.stderr
    assert (folder / "v").read_bytes() == theirs
    (folder / "v").rename(folder / "theirs")
    assert sfumato(*arguments(source, output), "--resume").returncode == 0
    assert undone(sfumato, output) == MANY


def test_damage_to_what_is_kept_is_refused(sfumato: Command, folder: Path) -> None:
    source, output = write_jsonl(folder.parent / "in.jsonl", MANY), folder / "out.jsonl"
    killed_in_the_middle(arguments(source, output), output)
    kept = folder / "out.jsonl.parts" / "00000000.vault"
    whole = kept.read_bytes()
    for damaged in (whole[:-1], b"", whole[:60] + bytes([whole[60] ^ 1]) + whole[61:]):
        kept.write_bytes(damaged)
        refused = sfumato(*arguments(source, output), "--resume")
        assert refused.returncode == 4
        assert b"does not open" in refused.stderr
        assert not output.exists()
    kept.unlink()
    assert b"it is missing" in sfumato(*arguments(source, output), "--resume").stderr
    kept.write_bytes(whole)
    assert sfumato(*arguments(source, output), "--resume").returncode == 0
    assert undone(sfumato, output) == MANY


def test_an_interrupted_run_that_cannot_go_on_leaves_nothing(folder: Path) -> None:
    source, output = write_jsonl(folder.parent / "in.jsonl", MANY), folder / "out.jsonl"
    finished = "sfumato.releases.parts:Parts.finish"
    stopped = ended(finished, 1, signal.SIGINT, arguments(source, output, lasting=False))
    assert stopped.returncode == 130
    assert list(folder.iterdir()) == []


def test_from_pipe_to_pipe_and_as_json(sfumato: Command, folder: Path) -> None:
    source, output = write_jsonl(folder.parent / "in.jsonl", MANY[:3]), folder / "out.jsonl"
    assert sfumato(*arguments(source, output)).returncode == 0
    options = ["--vault", folder / "v", "--vault-key", folder.parent / "vault.key"]
    piped = sfumato(
        "restore", "-", "-o", "-", "--format", "jsonl", *options, stdin=output.read_bytes()
    )
    assert piped.returncode == 0, piped.stderr
    assert [json.loads(line)["text"] for line in piped.stdout.decode().splitlines()] == [
        one.replace(NAME, NAME.upper()) for one in MANY[:3]
    ]
    assert b"first spelling" in piped.stderr
    assert b"NOT FOR RELEASE" in piped.stderr
    told = sfumato("restore", output, "-o", folder / "b.jsonl", *options, "--json")
    assert json.loads(told.stdout) == {
        "path": str(folder / "b.jsonl"), "restored": 3, "unknown": 0, "exact": True,
    }  # fmt: skip
    again = sfumato("restore", output, "-o", folder / "b.jsonl", *options)
    assert (again.returncode, b"--overwrite" in again.stderr) == (4, True)


def test_exit_codes(sfumato: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, output = write_jsonl(folder.parent / "in.jsonl", MANY[:3]), folder / "out.jsonl"
    run = arguments(source, output)
    unkeyed = arguments(source, output, lasting=False)
    masked = sfumato(*(one.replace("pseudonym", "redact") for one in unkeyed))
    assert masked.returncode == 2
    assert b"--vault undoes pseudonyms, and 'redact'" in masked.stderr
    keyless = sfumato(*run[:-2])
    assert keyless.returncode == 2
    assert b"--vault-key FILE, or the environment variable SFUMATO_VAULT_KEY" in keyless.stderr
    assert list(folder.iterdir()) == []
    assert sfumato(*run).returncode == 0
    options = ["--vault", folder / "v"]
    wrong = sfumato("restore", output, "-o", folder / "b.jsonl", *options, "--vault-key",
                    folder.parent / "codes.key")  # fmt: skip
    assert wrong.returncode == 3
    none = sfumato("restore", output, "-o", folder / "b.jsonl", "--vault", folder / "none",
                   "--vault-key", folder.parent / "vault.key")  # fmt: skip
    assert none.returncode == 4
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    for command in (
        [*run, "--overwrite"],
        ["restore", output, "-o", folder / "b.jsonl", *options, "--vault-key", source],
    ):
        missing = sfumato(*command)
        assert missing.returncode == 5
        assert b"pip install 'sfumato[vault]'" in missing.stderr
    assert not (folder / "b.jsonl").exists()
