"""Every command that takes a model refuses one that would have code run; nobody is asked."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="SKIPPED WITHOUT TORCH: no model was attacked")

from sfumato.cli.main import main
from sfumato.guarantees.guarantee import Guarantee, Notion
from unit.models import hostile

BAD_INPUT = 3
TEXTS = [f"the film {number} was good and a doctor wrote it down" for number in range(30)]
STUDY = """
[corpus]
kind = "customersim"
count = 5
[test]
kind = "customersim"
count = 5
seed = 2
[model]
name = "MODEL"
[measures.perplexity]
"""
# RUN is a run whose model is hostile, MODEL the hostile folder itself, GOOD a harmless model.
COMMANDS = {
    "train": "train TEXT --model MODEL --epsilon inf -o OUT",
    "train, tokenizer": "train TEXT --model gpt-small --tokenizer MODEL --epsilon inf -o OUT",
    "evaluate": "evaluate RUN --corpus TEXT",
    "generate": "generate RUN",
    "audit": "audit RUN --coins COINS",
    "attack exposure": "attack exposure MODEL --canaries CANARIES",
    "attack membership": "attack membership MODEL --members TEXT --others OTHERS",
    "attack membership, masked": (
        "attack membership GOOD --members TEXT --others OTHERS --set signals=neighborhood "
        "--set masked_model=MODEL --no-cache"
    ),
    "attack memorization": "attack memorization MODEL --members TEXT",
    "attack token-inference": (
        "attack token-inference SOFT --originals TEXT --set attacker=masked --set model=MODEL"
    ),
    "study": "study run STUDY -o OUT",
}
MASKED = ("attack membership, masked", "attack token-inference", "train, tokenizer")


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that is harmless."""
    folder = tmp_path_factory.mktemp("there")
    for name, texts in (("TEXT", TEXTS), ("OTHERS", [one.upper() for one in TEXTS])):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        (folder / f"{name}.jsonl").write_text(lines)
    hostile.harmless_causal(folder / "causal")
    hostile.harmless(folder / "masked")
    made = [
        ["data", "canaries", "TEXT.jsonl", "--repetitions", "2", "--seed", "1", "-o", "CAN.jsonl"],
        ["data", "coins", "TEXT.jsonl", "--count", "20", "--seed", "1", "-o", "COINS.jsonl"],
        ["privatize", "TEXT.jsonl", "--mechanism", "exponential", "--epsilon", "5", "--policy",
         "everything", "--seed", "1", "-o", "SOFT.jsonl"],
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for arguments in made:
            assert main(arguments) == 0, arguments
    run = folder / "run"
    run.mkdir()
    settings = {"schema": 1, "settings": {"kind": "causal"}, "versions": {}}
    (run / "config.json").write_text(json.dumps(settings))
    claim = Guarantee(
        notion=Notion.APPROXIMATE_DP, unit="example", neighbors="n", epsilon=1.0, delta=1e-5
    ).as_dict()
    (run / "guarantee.json").write_text(json.dumps({"schema": 1, "guarantee": claim}))
    return folder


@pytest.mark.parametrize("how", ["unknown_kind_of_model", "code_in_tokenizer", "pickled_weights"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_what_comes_with_a_model(
    there: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    how: str,
) -> None:
    if (command, how) == ("train, tokenizer", "pickled_weights"):
        return  # a tokenizer has no weights
    model = tmp_path / "MODEL"
    shutil.copytree(there / ("masked" if command in MASKED else "causal"), model)
    marker = hostile.made_hostile(model, how)
    shutil.copytree(there / "run", tmp_path / "RUN")
    (tmp_path / "RUN" / "model").mkdir()
    shutil.copytree(model, tmp_path / "RUN" / "model", dirs_exist_ok=True)
    (tmp_path / "STUDY.toml").write_text(STUDY)
    stdin = io.StringIO("y\n" * 50)
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.chdir(tmp_path)
    names = {
        "TEXT": there / "TEXT.jsonl",
        "OTHERS": there / "OTHERS.jsonl",
        "CANARIES": there / "CAN.jsonl.canaries.json",
        "COINS": there / "COINS.jsonl.coins.json",
        "SOFT": there / "SOFT.jsonl",
        "GOOD": there / "causal",
        "STUDY": "STUDY.toml",
    }
    code = main([str(names.get(word, word)) for word in COMMANDS[command].split(" ")])
    said = capsys.readouterr().err
    assert not marker.exists()
    assert stdin.tell() == 0
    assert "is refused: " in said or "only weights in safetensors" in said, said
    assert code == BAD_INPUT, said
