"""train, evaluate and generate as users meet them: files, signals, exit codes.

What can be seen only from outside runs in a process of its own; loading torch takes seconds, so the
rest goes through the command's entry in this one.
"""

from __future__ import annotations

import gzip
import json
import math
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from sfumato.cli.main import main
from sfumato.models.bpe import train_bpe
from sfumato.training import loop
from sfumato.training.checkpoints import Checkpoint
from system import warm
from system.conftest import Command, ended

SECRET = "Zyxquorthane"
AUTHOR = "Abernathygale"
TINY = ["--model", "lstm", "--set", "hidden=8", "--set", "embedding=8", "--set", "context=16"]
TRANSFORMER = ["--model", "gpt-small", "--set", "layers=1", "--set", "width=8", "--set", "heads=2"]
QUICK = ["--accountant", "rdp", "--batch-size", "5", "--epochs", "2"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with private, public and held-out text."""
    folder = tmp_path_factory.mktemp("train")
    rows = [
        {
            "text": f"{SECRET} has all of the {number} text"
            + ", and nothing at all" * (number % 3),
            "author": f"{AUTHOR} {number % 5}",
            "label": ("bad", "good")[number % 2],
        }
        for number in range(20)
    ]
    (folder / "private.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "public.txt").write_text("a public text about nothing at all, but text\n" * 3)
    held_out = ({"text": f"order 1455{n} is no text", "label": "good"} for n in range(4))
    (folder / "valid.jsonl").write_text("".join(json.dumps(row) + "\n" for row in held_out))
    return folder


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def charged(run: Path) -> int:
    return int(lines_of(run / "ledger.jsonl")[-1].get("charged", 0))


def tells_nothing(*places: Path) -> bool:
    """Whether no file below holds the text or an author, in letters or as tokens."""
    names = [path.name.encode() for place in places for path in place.rglob("*")]
    contents = [path.read_bytes() for place in places for path in place.rglob("*")
                if path.is_file()]  # fmt: skip
    return not any(mark in content for content in (*names, *contents) for mark in marks())


def marks() -> list[bytes]:
    """The planted words, as they could stand in a file."""
    found = [one.encode(code) for one in (SECRET, AUTHOR) for code in ("utf-8", "utf-16-le")]
    return found + [tokens_of(SECRET).astype(kind).tobytes() for kind in ("<i4", "<i8", "<f4")]


def tokens_of(word: str) -> NDArray[np.int64]:
    """The tokens of a word's middle: where they are its letters, the same for all tokenizers."""
    tokenizer = train_bpe(["a public text"] * 2, public=True, size=262)
    return tokenizer.encode(word)[2:8].astype(np.int64)


# --- in processes of their own -------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(sfumato: Command, place: Path) -> tuple[Path, dict[str, Any], str]:
    """A finished run for authors, what it said as JSON, and what it said beside it."""
    result = sfumato(
        "train", "private.jsonl", "-o", "run", *TINY, "--epsilon", "8", "--epochs", "2",
        "--batch-size", "2", "--unit", "author", "--author-field", "author",
        "--tokenizer-corpus", "public.txt", "--valid", "valid.jsonl", "--json", cwd=place,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return place / "run", json.loads(result.stdout), result.stderr.decode()


def test_a_run_holds_what_was_promised(trained: tuple[Path, dict[str, Any], str]) -> None:
    run, said, beside = trained
    assert {path.name for path in run.iterdir()} == {
        "config.json", "guarantee.json", "ledger.jsonl", "model", "results.jsonl",
    }  # fmt: skip
    written = json.loads((run / "guarantee.json").read_bytes())
    assert written["guarantee"] == said["guarantee"]
    assert written["sentence"] == said["sentence"]
    assert said["guarantee"]["unit"] == "author"
    assert said["guarantee"]["for_release"] is True
    assert 7.9 < said["guarantee"]["epsilon"] <= 8
    assert charged(run) == said["steps"] == 5
    config = json.loads((run / "config.json").read_bytes())
    assert config["settings"]["plan"]["units"] == 5
    assert config["versions"]["torch"] == torch.__version__
    assert [row["metric"] for row in said["results"]] == ["perplexity", "accuracy"]
    rows = {
        (row["metric"], row.get("corpus")): row["value"] for row in lines_of(run / "results.jsonl")
    }
    assert rows["perplexity", "valid"] == said["results"][0]["value"]
    assert rows["epsilon", None] == said["guarantee"]["epsilon"]
    assert load_file(run / "model" / "model.safetensors")
    assert "20 documents, 5 records" in beside
    assert "5 steps with noise multiplier" in beside
    assert SECRET not in beside
    assert "loss" not in beside
    assert tells_nothing(run)


def test_a_trained_model_is_evaluated_also_on_selected_tokens(
    sfumato: Command, trained: tuple[Path, dict[str, Any], str]
) -> None:
    run, said, _ = trained
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    result = sfumato(
        "evaluate", run, "--corpus", "valid.jsonl", "--policy", "digits", "--json", cwd=run.parent
    )
    assert result.returncode == 0, result.stderr
    rows = {(row["tokens"], row["metric"]): row for row in json.loads(result.stdout)}
    everything = rows["all", "perplexity"]
    assert everything["value"] == pytest.approx(said["results"][0]["value"])
    assert everything["low"] <= everything["value"] <= everything["high"]
    # Five digits in each of four documents, each a token of its own.
    assert rows["selected", "accuracy"]["n"] == 20
    assert rows["other", "accuracy"]["n"] == everything["n"] - 20
    mean = sum(
        rows[part, "perplexity"]["n"] * math.log(rows[part, "perplexity"]["value"])
        for part in ("selected", "other")
    )
    assert mean / everything["n"] == pytest.approx(math.log(everything["value"]))
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_trained_model_writes(
    sfumato: Command, trained: tuple[Path, dict[str, Any], str]
) -> None:
    run, _, _ = trained
    result = sfumato("generate", run, "--prompt", "The 😀", "--tokens", "8", "--samples", "2")
    assert result.returncode == 0, result.stderr
    assert result.stdout.decode().count("The 😀") == 2


def test_a_finished_run_is_not_trained_again_and_its_own_model_is_measured(
    trained: tuple[Path, dict[str, Any], str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, said, _ = trained
    monkeypatch.chdir(run.parent)
    kept = {path: path.read_bytes() for path in run.rglob("*") if path.name != "results.jsonl"
            and path.is_file()}  # fmt: skip
    again = [
        "train", "private.jsonl", "-o", "run", *TINY, "--epsilon", "8", "--epochs", "2",
        "--batch-size", "2", "--unit", "author", "--author-field", "author",
        "--tokenizer-corpus", "public.txt", "--valid", "valid.jsonl", "--json",
    ]  # fmt: skip
    assert main(again) == 4
    assert "--resume goes on with it" in capsys.readouterr().err
    assert main([*again, "--resume"]) == 0
    found = capsys.readouterr()
    assert "nothing was trained" in found.err
    values = [row["value"] for row in json.loads(found.out)["results"]]
    assert values == pytest.approx([row["value"] for row in said["results"]])
    assert json.loads(found.out)["guarantee"] == said["guarantee"]
    assert len(lines_of(run / "results.jsonl")) == 5
    assert {path: path.read_bytes() for path in kept} == kept
    assert main([*again, "--resume", "--epsilon", "7"]) == 4
    assert "another epsilon, plan" in capsys.readouterr().err


def ended_in(
    where: str, at: int, how: signal.Signals, command: list[str], place: Path
) -> tuple[int, str]:
    """Run a command that gets a signal in the middle; its code and its words."""
    scratch = place / "scratch"
    scratch.mkdir(exist_ok=True)
    extra = {"SFUMATO_DEBUG": "1", "TMPDIR": str(scratch)}
    done = ended(where, at, how, command, cwd=place, extra=extra, modules=warm.HEAVY)
    assert tells_nothing(scratch)
    return done.returncode, (done.stdout + done.stderr).decode()


def test_killed_and_resumed(sfumato: Command, place: Path) -> None:
    run = place / "killed"
    command = [
        "train", "private.jsonl", "-o", "killed", *TINY, "--epsilon", "8", "--epochs", "4",
        "--batch-size", "4", "--accountant", "rdp", "--tokenizer-corpus", "public.txt",
        "--checkpoint-every", "4",
    ]  # fmt: skip
    code, _ = ended_in("sfumato.training.loop:_one_step", 10, signal.SIGKILL, command, place)
    assert code == -signal.SIGKILL
    assert not (run / "model").exists()
    assert not (run / "guarantee.json").exists()
    assert Checkpoint.load(run / "checkpoint.pt").steps == charged(run) == 8
    assert tells_nothing(run)
    result = sfumato(*command, "--resume", cwd=place)
    assert result.returncode == 0, result.stderr
    assert charged(run) == sum(row.get("steps", 0) for row in lines_of(run / "ledger.jsonl")) == 20
    written = json.loads((run / "guarantee.json").read_bytes())
    assert 7.9 < written["guarantee"]["epsilon"] <= 8
    assert written["sentence"] in result.stdout.decode()
    assert not (run / "checkpoint.pt").exists()
    assert load_file(run / "model" / "model.safetensors")


def test_stopped_by_a_signal_it_saves_first(place: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = train("-o", str(run), *TINY, "--epsilon", "8", "--checkpoint-every", "1000")
    code, said = ended_in("sfumato.training.loop:_one_step", 3, signal.SIGTERM, command, place)
    assert code == 130, said
    assert said.splitlines()[-2:] == [
        "the steps so far are saved; the same command with --resume goes on",
        "sfumato: interrupted",
    ]
    assert Checkpoint.load(run / "checkpoint.pt").steps == charged(run) == 3
    assert not (run / "model").exists()
    assert tells_nothing(run)


def test_killed_while_writing_no_file_holds_private_text(place: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [
        *train("-o", str(run), *TINY, "--epsilon", "8", "--author-field", "author"),
        "--unit", "author", "--checkpoint-every", "1",
    ]  # fmt: skip
    # All of the second checkpoint has been written, and it has not got its name.
    writing = "sfumato.training.checkpoints:write_sealed"
    code, said = ended_in(writing, 2, signal.SIGKILL, command, place)
    assert code == -signal.SIGKILL, said
    assert {one.name for one in run.iterdir()} == {
        "checkpoint.pt", "checkpoint.pt.unfinished", "config.json", "ledger.jsonl",
    }  # fmt: skip
    (run / "said").write_text(said)
    assert tells_nothing(run)
    # Twins: checkpoints that hold the word, or its tokens.
    kept = Checkpoint.load(run / "checkpoint.pt")
    text, tokens = torch.tensor(list(SECRET.encode())), torch.from_numpy(tokens_of(SECRET))
    for extra in ({"note": SECRET}, {"rows": text.to(torch.uint8)}, {"rows": tokens}):
        replace(kept, between=extra).save(run / "checkpoint.pt")
        assert not tells_nothing(run)


# --- in this process -----------------------------------------------------------------------------

Run = Callable[..., "Said"]


class Said:
    """What a command said, and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        assert SECRET not in out + err
        assert AUTHOR not in out + err
        assert "Traceback" not in err

    def complains(self, code: int, complaint: str) -> None:
        assert (self.code, self.out) == (code, ""), self.err
        assert self.err.count("\n") == 1, self.err
        assert complaint in self.err


@pytest.fixture
def here(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Run:
    """Run a command beside the corpora."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(place)

    def run(*arguments: str) -> Said:
        code = main(list(arguments))
        found = capsys.readouterr()
        return Said(code, found.out, found.err)

    return run


def train(*options: str, corpus: str = "private.jsonl") -> list[str]:
    return ["train", corpus, "--tokenizer-corpus", "public.txt", *QUICK, *options]


def test_without_privacy_nothing_is_promised(here: Run, tmp_path: Path) -> None:
    said = here(*train("-o", str(tmp_path / "run"), *TINY, "--epsilon", "inf"))
    assert said.code == 0, said.err
    assert "Nothing is proven" in said.out
    assert "nothing will be guaranteed" in said.err
    assert json.loads((tmp_path / "run" / "guarantee.json").read_bytes())["for_release"] is False


def test_a_seed_is_stamped_and_gives_the_same_model(here: Run, tmp_path: Path) -> None:
    contents = []
    for name in ("first", "second"):
        said = here(*train("-o", str(tmp_path / name), *TINY, "--epsilon", "8", "--seed", "5"))
        assert said.code == 0, said.err
        assert "NOT FOR RELEASE" in said.out
        contents.append((tmp_path / name / "model" / "model.safetensors").read_bytes())
    assert contents[0] == contents[1]


def test_low_rank_factors_grown_batches_and_adapted_norms(here: Run, tmp_path: Path) -> None:
    run = tmp_path / "run"
    said = here(
        *train("-o", str(run), *TRANSFORMER, "--epsilon", "8", "--lora-rank", "2"),
        "--batch-size", "2,4", "--clipping", "adaptive", "--optimizer", "adam-bc",
        "--schedule", "cosine", "--checkpoint-every", "2",
    )  # fmt: skip
    assert said.code == 0, said.err
    stages = json.loads((run / "config.json").read_bytes())["settings"]["plan"]["stages"]
    assert [stage["batch_size"] for stage in stages] == [2, 4]
    names = load_file(run / "model" / "model.safetensors")
    assert names
    assert not any("lora" in name for name in names)  # multiplied out
    assert here("generate", str(run), "--prompt", "all", "--tokens", "3").code == 0


def test_a_classifier_is_trained_measured_and_does_not_write(here: Run, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    said = here(
        *train("-o", run, *TRANSFORMER, "--epsilon", "8", "--classes", "bad, good"),
        "--label-field", "label", "--valid", "valid.jsonl", "--set", "context=16",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "cut off" in said.err
    assert said.out.startswith("accuracy ")
    measured = here(
        "evaluate", run, "--corpus", "private.jsonl", "--label-field", "label", "--json"
    )
    rows = json.loads(measured.out)
    assert {(row["tokens"], row["n"]) for row in rows} == {("labels", 20)}
    assert [row["metric"] for row in rows][:2] == ["accuracy", "matthews"]
    here("evaluate", run, "--corpus", "valid.jsonl").complains(2, "--label-field")
    here(
        "evaluate", run, "--corpus", "valid.jsonl", "--label-field", "label", "--policy", "digits"
    ).complains(2, "a classifier predicts none")
    here("generate", run, "--prompt", "all").complains(2, "a classifier does not write")
    bad = tmp_path / "bad.jsonl"
    rows = [{"text": "a", "label": "good"}, {"text": "b", "label": SECRET}]
    bad.write_text("".join(json.dumps(row) + "\n" for row in rows))
    here("evaluate", run, "--corpus", str(bad), "--label-field", "label").complains(
        3, "document 2 has a label that is none of the classes"
    )


def test_shuffled_batches_and_cut_documents(here: Run, tmp_path: Path) -> None:
    said = here(
        *train("-o", str(tmp_path / "run"), *TINY, "--epsilon", "8", "--sampling", "shuffled"),
        "--long", "truncate", "--clipping", "automatic", "--optimizer", "sgd",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "tokens dropped)" in said.err


def test_delta_of_one_in_n_warns_in_one_sentence(here: Run, tmp_path: Path) -> None:
    said = here(*train("-o", str(tmp_path / "run"), *TINY, "--epsilon", "8", "--delta", "1/n"))
    assert said.code == 0, said.err
    (warning,) = (line for line in said.err.splitlines() if line.startswith("warning: "))
    assert "delta = 1/n" in warning


@pytest.mark.parametrize(
    ("options", "code", "complaint"),
    [
        (["--epsilon", "0"], 2, "epsilon=0.0 must be greater than 0"),
        (["--epsilon", "-1"], 2, "epsilon=-1.0 must be greater than 0"),
        (["--epsilon", "nan"], 2, "epsilon=nan must be a finite number"),
        ([], 2, "--epsilon"),
        (["--epsilon", "8", "--delta", "0.06"], 2, "delta=0.06 is more than 1/n = 0.05"),
        (["--epsilon", "8", "--delta", "0"], 2, "strictly between 0 and 1"),
        (["--epsilon", "8", "--delta", "seldom"], 2, "'auto' or '1/n'"),
        (["--epsilon", "8", "--unit", "autor"], 2, "did you mean 'author'"),
        (["--epsilon", "8", "--unit", "author"], 2, "needs --author-field"),
        (["--epsilon", "8", "--unit", "author", "--author-field", "autor"], 3,
         "line 1: there is no field 'autor'; did you mean 'author'?"),
        (["--epsilon", "8", "--author-field", "zzz"], 3, "--author-field NAME names another"),
        (["--epsilon", "8", "--classes", "a,b"], 2, "needs --label-field"),
        (["--epsilon", "8", "--label-field", "label"], 2, "needs --classes"),
        (["--epsilon", "8", "--classes", "good", "--label-field", "label"], 2,
         "at least two classes"),
        (["--epsilon", "8", "--classes", "a,b", "--label-field", "label"], 2,
         "lstm is a language model only"),
        (["--epsilon", "8", "--batch-size", "many"], 2, "--batch-size='many'"),
        (["--epsilon", "8", "--batch-size", "0"], 2, "batch_size=0 must be at least 1"),
        (["--epsilon", "8", "--epochs", "0"], 2, "epochs=0.0 must be greater than 0"),
        (["--epsilon", "8", "--clip-norm", "0"], 2, "clip_norm=0.0 must be greater than 0"),
        (["--epsilon", "8", "--clipping", "adaptiv"], 2, "did you mean 'adaptive'"),
        (["--epsilon", "8", "--optimizer", "adm"], 2, "did you mean 'adam'"),
        (["--epsilon", "8", "--schedule", "cosin"], 2, "did you mean 'cosine'"),
        (["--epsilon", "8", "--learning-rate", "-1"], 2, "learning_rate=-1.0"),
        (["--epsilon", "8", "--learning-rate", "1e38"], 2, "between 0 and 1e+06"),
        (["--epsilon", "8", "--sampling", "poison"], 2, "did you mean 'poisson'"),
        (["--epsilon", "8", "--accountant", "moments"], 2, "accountant"),
        (["--epsilon", "8", "--long", "splitt"], 2, "did you mean 'split'"),
        (["--epsilon", "8", "--seed", "-1"], 2, "seed=-1 must be at least 0"),
        (["--epsilon", "8", "--set", "hiden=3"], 2, "did you mean 'hidden'"),
        (["--epsilon", "8", "--set", "pii.regions=DE"], 2, "need a policy given by its name"),
        (["--epsilon", "8", "--lora-rank", "2"], 2, "LoRA"),
        (["--epsilon", "8", "--lora-rank", "0"], 2, "lora_rank=0 must be at least 1"),
        (["--epsilon", "8", "--valid", "private.jsonl"], 2, "is the private corpus itself"),
        (["--epsilon", "8", "--valid", "none.jsonl"], 4, "cannot read none.jsonl"),
        (["--epsilon", "8", "--valid", "valid.doc"], 2, "cannot tell the format"),
        (["--epsilon", "8", "--tokenizer-corpus", "private.jsonl"], 2,
         "private.jsonl is the private corpus itself"),
        (["--epsilon", "8", "--tokenizer-corpus", "copy.jsonl.gz"], 2,
         "document 2 of the text for the tokenizer is also a document of the private corpus"),
        (["--epsilon", "8", "--tokenizer-corpus", "none.txt"], 4, "cannot read none.txt"),
        (["--epsilon", "8", "--tokenizer", "somewhere"], 2, "not both"),
        (["--epsilon", "8", "--checkpoint-every", "0"], 2, "--checkpoint-every"),
    ],
)  # fmt: skip
def test_wrong_arguments(
    here: Run, place: Path, tmp_path: Path, options: list[str], code: int, complaint: str
) -> None:
    if "copy.jsonl.gz" in options:
        private = (place / "private.jsonl").read_bytes()
        (place / "copy.jsonl.gz").write_bytes(gzip.compress(private))
    here(*train("-o", str(tmp_path / "run"), *TINY), *options).complains(code, complaint)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ("./no/such/folder", "there is no folder ./no/such/folder"),
        ("nobody/has-this", "no model 'nobody/has-this'"),
        ("gpt-smal", "did you mean 'gpt-small'"),
        ("public.txt", "public.txt is a file"),
        (".", "holds no model"),
    ],
)
def test_a_model_that_is_not_there(here: Run, tmp_path: Path, model: str, complaint: str) -> None:
    run = tmp_path / "run"
    said = here("train", "private.jsonl", "-o", str(run), "--epsilon", "8", "--model", model)
    said.complains(4, complaint)
    assert not run.exists()


@pytest.mark.parametrize(
    ("content", "code", "complaint"),
    [
        (b"", 3, "the corpus holds no documents"),
        (b'{"text": ""}\n{"text": null}\n{"text": ""}\n', 3, "none of the 2 documents"),
        (b'{"text": "%s alone"}\n', 2, "units=1 must be at least 2"),
        (b'{"text": "%s"}\n{"text": ', 3, "line 2 is not a JSON object"),
        (b'{"text": "ok"}\n{"text": "%s \xff"}', 3, "not valid utf-8"),
        (b'{"body": "%s"}\n', 3, "line 1: there is no field 'text'"),
        (None, 4, "cannot read"),
    ],
)
def test_a_corpus_that_cannot_be_trained_on(
    here: Run, tmp_path: Path, content: bytes | None, code: int, complaint: str
) -> None:
    corpus = tmp_path / "in.jsonl"
    if content is not None:
        corpus.write_bytes(content.replace(b"%s", SECRET.encode()))
    command = train("-o", str(tmp_path / "run"), *TINY, "--epsilon", "8", corpus=str(corpus))
    here(*command).complains(code, complaint)
    assert not (tmp_path / "run").exists()


def test_what_stands_in_the_place_of_the_run_is_left_alone(here: Run, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    for place in (taken, taken / "mine.txt"):
        here(*train("-o", str(place), *TINY, "--epsilon", "8")).complains(4, "is no run")
    assert [one.name for one in taken.iterdir()] == ["mine.txt"]


def test_a_loss_that_is_no_number_is_said_and_nothing_is_lost(here: Run, tmp_path: Path) -> None:
    run, model = tmp_path / "run", tmp_path / "model"
    command = [*train("-o", str(tmp_path / "whole"), *TINY, "--epsilon", "8")]
    assert here(*command).code == 0
    shutil.copytree(tmp_path / "whole" / "model", model)
    weights = load_file(model / "model.safetensors")
    weights["embedding.weight"][40:] = math.nan  # bytes and letters; the first few are tried out
    save_file(weights, model / "model.safetensors", {"format": "pt"})
    said = here(
        "train", "private.jsonl", "-o", str(run), *QUICK, "--epsilon", "8", "--model", str(model)
    )
    assert said.code == 3
    assert said.err.splitlines()[-1].startswith(
        "sfumato: a loss or gradient is not a finite number"
    )
    assert {one.name for one in run.iterdir()} == {"config.json", "ledger.jsonl"}
    assert charged(run) == 1


def test_a_checkpoint_that_does_not_fit_is_refused_and_kept(here: Run, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [*train("-o", str(run), *TINY, "--epsilon", "8"), "--resume"]
    begun = here(*command)
    assert begun.code == 0
    assert "yet: a new one begins" in begun.err  # whoever mistypes a folder learns it
    # As if it had been stopped before it was put away.
    shutil.rmtree(run / "model")
    (run / "guarantee.json").unlink()
    said = here(*command)
    assert said.code == 4
    assert said.err.splitlines()[-1].startswith("sfumato: all 8 steps are charged")
    for content, complaint in (
        (b"damaged", "it is no checkpoint"),
        (_checkpoint(tmp_path, steps=8)[:-1] + b"?", "it is damaged"),
        (_checkpoint(tmp_path, steps=9), "is ahead of the ledger"),
        (_checkpoint(tmp_path, steps=8), "belongs to another model"),
    ):
        (run / "checkpoint.pt").write_bytes(content)
        said = here(*command)
        assert said.code == 4
        assert complaint in said.err.splitlines()[-1]
        assert (run / "checkpoint.pt").read_bytes() == content
        assert charged(run) == 8


def _checkpoint(folder: Path, *, steps: int) -> bytes:
    Checkpoint(steps, {}, {}, "Adam", 1.0).save(folder / "other.pt")
    return (folder / "other.pt").read_bytes()


@pytest.fixture
def stopped(here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """A run that was stopped in its second step, and the command that goes on with it."""
    honest, taken = loop._one_step, []

    def step(*arguments: Any) -> Any:
        taken.append(1)
        if len(taken) == 2:
            signal.raise_signal(signal.SIGINT)
        return honest(*arguments)

    command = [*train("-o", str(tmp_path / "run"), *TINY, "--epsilon", "8"), "--resume"]
    # Tests that run in the background have it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with monkeypatch.context() as armed:
        armed.setattr(loop, "_one_step", step)
        said = here(*command)
    signal.signal(signal.SIGINT, before)
    assert said.code == 130
    assert said.err.splitlines()[-2].startswith("the steps so far are saved")
    return tmp_path / "run", command


def test_bits_that_are_not_as_they_were_are_noticed_before_they_are_used(
    here: Run, stopped: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, command = stopped
    assert Checkpoint.load(run / "checkpoint.pt").steps == charged(run) == 2
    whole = (run / "checkpoint.pt").read_bytes()
    middle = len(whole) // 3
    other = bytes(one ^ 0x01 for one in whole[middle : middle + 64])
    (run / "checkpoint.pt").write_bytes(whole[:middle] + other + whole[middle + 64 :])
    monkeypatch.setenv("SFUMATO_DEBUG", "1")
    said = here(*command)
    assert said.code == 4
    assert "it is damaged); put a whole copy of it in its place" in said.err.splitlines()[-1]
    assert charged(run) == 2
    (run / "checkpoint.pt").write_bytes(whole)
    said = here(*command)
    assert said.code == 0
    assert "without them" not in said.err
    assert charged(run) == 8


@pytest.mark.parametrize("name", ["config.json", "ledger.jsonl", "checkpoint.pt"])
def test_a_damaged_file_of_a_run_is_never_our_own_mistake(
    here: Run, stopped: tuple[Path, list[str]], name: str
) -> None:
    run, command = stopped
    file = run / name
    whole = file.read_bytes()
    for content in (
        b"", b"\n", b"\0" * 100, b"\xff\xfe", b"[]\n", b"{}\n", b"3\n", b'"text"\n', b"null\n",
        b"[" * 100_000, whole[: len(whole) // 2], whole.replace(b":", b";"),
        whole.replace(b"1", b'"1"'), whole.replace(b"{", b"["), whole + b"{}\n", whole[::-1],
    ):  # fmt: skip
        file.write_bytes(content)
        assert here(*command).code in {3, 4}, content[:20]
        assert not (run / "model").exists()
    file.write_bytes(whole)
    assert here(*command).code == 0


@pytest.mark.parametrize("command", ["evaluate", "generate"])
def test_only_a_finished_run_is_used(here: Run, tmp_path: Path, command: str) -> None:
    options = ["--corpus", "valid.jsonl"] if command == "evaluate" else ["--prompt", "all"]
    here(command, str(tmp_path / "none"), *options).complains(
        4, "is not the folder of a training run"
    )
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / "config.json").write_text('{"schema": 1, "settings": {}}')
    here(command, str(begun), *options).complains(3, "is not finished")
    if command == "generate":
        here(command, str(begun), "--temperature", "-1").complains(3, "is not finished")


@pytest.mark.parametrize("command", ["train", "evaluate", "generate"])
def test_every_option_is_explained_in_one_sentence_or_two(here: Run, command: str) -> None:
    from typer.main import get_command

    from sfumato.cli.main import app

    shown = here(command, "--help")
    assert shown.code == 0
    group: Any = get_command(app)
    for option in group.commands[command].params:
        assert option.help or option.name == "help", option.name
        assert not option.help or option.help[-1] in ".)]", option.help
        assert all(one in shown.out for one in option.opts if one.startswith("--"))
