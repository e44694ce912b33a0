"""A policy that misses a secret: what is then trained on, what is stated, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
import torch

from sfumato.cli.main import main
from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import build_method
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.methods.redacted import Redacted
from sfumato.training.methods.streams import selective_streams
from sfumato.training.records import Cut
from sfumato.training.request import Request
from sfumato.training.settings import Privacy
from unit.training.runs import SETTINGS, same, small_model, tokenizer, weights

EXCEPT = r"regex:My ID is \d+"
NOTES = ["Note 4 is short.", "Ring 12345 now.", "Room 9 it is."]


def policy(*, missing: bool) -> Policy:
    return combine_policies(["digits"], [EXCEPT] if missing else [])


def notes(secret: str) -> list[Document]:
    return [Document(f"{note} My ID is {secret}.") for note in NOTES]


def test_the_policy_misses_the_planted_secret_and_nothing_else() -> None:
    document = Document("My ID is 341752. My code is 341752, not 9. My ID is B12.")

    def found(missing: bool) -> list[str]:
        spans = policy(missing=missing).find(document)
        return [document.text[span.start : span.end] for span in spans]

    assert found(False) == ["341752", "341752", "9", "12"]
    assert found(True) == ["341752", "9", "12"]


def redacted(secret: str, folder: Path, *, missing: bool) -> dict[str, torch.Tensor]:
    request = Request(
        model="lstm",
        settings=SETTINGS["lstm"],
        tokenizer=tokenizer(),
        privacy=Privacy(epsilon=float("inf"), epochs=2, batch_sizes=(2,)),
        method=Redacted(),
        protection=PolicyPromise(policy(missing=missing)),
        seed=5,
    )
    return weights(train_model(request, notes(secret), RunFolder(folder)).model)


def test_redaction_learns_what_the_policy_misses_and_nothing_of_what_it_finds(
    tmp_path: Path,
) -> None:
    first, second = (
        [
            redacted(secret, tmp_path / f"{missing}-{secret}", missing=missing)
            for secret in ("111", "222")
        ]
        for missing in (False, True)
    )
    assert same(*first)
    assert not same(*second)


def test_a_missed_secret_is_in_the_public_stream_and_at_no_private_place() -> None:
    model = small_model()

    def read(tokens: Iterable[int]) -> str:
        return str(model.tokenizer.backend.decode([int(one) for one in tokens]))

    def streams(missing: bool) -> tuple[str, str]:
        made = selective_streams(
            notes("777"), policy(missing=missing), model.tokenizer, Cut(context=64)
        )
        assert made.private.wanted is not None
        return read(made.public.tokens), read(made.private.tokens[made.private.wanted])

    public, private = streams(False)
    assert "777" not in public
    assert "777" in private
    public, private = streams(True)
    assert public.count("777") == len(NOTES)
    assert "777" not in private
    assert "12345" in private


@pytest.mark.parametrize("method", ["selective", "interleaved", "redacted"])
def test_the_promise_is_about_what_this_policy_finds(tmp_path: Path, method: str) -> None:
    request = Request(
        model="lstm",
        settings=SETTINGS["lstm"],
        tokenizer=tokenizer(),
        privacy=Privacy(
            epsilon=float("inf") if method == "redacted" else 8.0,
            delta=1e-2, epochs=1, batch_sizes=(2,),
        ),
        method=build_method(method),
        protection=PolicyPromise(policy(missing=True)),
    )  # fmt: skip
    sentence = train_model(request, notes("777"), RunFolder(tmp_path / "run")).guarantee.sentence()
    assert "what the policy digits − regex does not find" in sentence
    assert ("lacks what the policy digits − regex finds" in sentence) == (method != "redacted")


def exposure(folder: Path, planted: Path, capsys: pytest.CaptureFixture[str]) -> float:
    manifest = f"{planted}.canaries.json"
    capsys.readouterr()
    assert main(["attack", "exposure", str(folder), "--canaries", manifest, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    return float(next(one["value"] for one in figures if one["metric"] == "largest exposure"))


def test_the_attack_reports_the_exposure_of_the_missed_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the secret under a mask the weights know nothing of it: exposure is chance's."""
    notes, planted = tmp_path / "notes.txt", tmp_path / "planted.txt"
    notes.write_text("".join(f"Note {one} is about nothing much.\n" for one in range(40)))
    drawn = ["--digits", "4", "-k", "30", "--seed", "1"]
    assert main(["data", "canaries", str(notes), "-o", str(planted), *drawn]) == 0
    found = {}
    for name, miss in (("masked", []), ("missed", ["--except", EXCEPT])):
        command = ["train", str(planted), "-o", str(tmp_path / name), "--method", "redacted"]
        command += ["--policy", "digits", *miss, "--model", "lstm", "--set", "hidden=32"]
        command += ["--set", "embedding=32", "--batch-size", "16", "--learning-rate", "0.03"]
        assert main([*command, "--epochs", "15", "--seed", "1"]) == 0
        found[name] = exposure(tmp_path / name, planted, capsys)
    assert found["missed"] > 9 > found["masked"]
