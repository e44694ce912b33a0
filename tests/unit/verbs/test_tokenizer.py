"""Private tokenizers and n-grams from Python and as commands: the same names, the same results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import sfumato
from plugins import installed
from sfumato.cli.main import main
from sfumato.core import files
from sfumato.core.errors import (
    BadInput,
    InvalidArgument,
    OutputExists,
    StorageFailed,
    UnknownName,
)
from sfumato.models.tokenizer import load_tokenizer
from sfumato.training.run import Run

SECRET = "Zwetschge"
SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "pra", "sto", "tri", "ven")
WORDS = [first + second for first in SYLLABLES for second in SYLLABLES]
QUICK: dict[str, Any] = {"epsilon": 20, "delta": 0.001, "words_per_document": 85, "seed": 1}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer") / "notes.jsonl"
    rows = (
        {"text": " ".join([*WORDS, SECRET * (n == 7)]), "who": f"a{n % 70}"} for n in range(140)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_options(settings: dict[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


def test_a_tokenizer_is_learned_from_python_and_by_the_command(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = sfumato.train_tokenizer(corpus, tmp_path / "one", size=400, **QUICK)
    assert made.folder == tmp_path / "one"
    options = [*as_options(QUICK), "--size=400", "--json"]
    assert main(["tokenizer", "train", str(corpus), "-o", str(tmp_path / "two"), *options]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["guarantee"] == made.guarantee.as_dict()
    assert said["noise"] == made.noise.as_dict()
    assert said["tokenizer"] == str(tmp_path / "two")
    one, two = (load_tokenizer(tmp_path / name) for name in ("one", "two"))
    assert one.backend.get_vocab() == two.backend.get_vocab()
    kept = json.loads((tmp_path / "one" / "guarantee.json").read_text())
    assert kept["sentence"] == made.guarantee.sentence()
    assert not kept["for_release"]
    assert SECRET not in "".join(one.read_text() for one in (tmp_path / "one").iterdir())


def test_the_command_says_what_is_proven(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seedless = {name: value for name, value in QUICK.items() if name != "seed"}
    given = ["tokenizer", "train", str(corpus), "-o", str(tmp_path / "voc"), "--kind=wordpiece"]
    assert main([*given, "--size=600", *as_options(seedless)]) == 0
    said = capsys.readouterr()
    assert "words of 140 examples; noise of" in said.out
    assert "Exactly: For the tokenizer and the word counts it was learned from" in said.out
    assert f"Next: 'sfumato train TEXT -o RUN --tokenizer {tmp_path / 'voc'}" in said.out
    assert SECRET not in said.out + said.err
    assert "NOT FOR RELEASE" not in said.out
    assert main([*given[:-2], str(tmp_path / "b"), "--size=300", *as_options(QUICK)]) == 0
    assert "REPRODUCIBLE: NOT FOR RELEASE" in capsys.readouterr().out


def test_training_takes_the_folder_and_the_level(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--set=hidden=4", "--set=embedding=4", "--set=context=32"]
    quick = ["--model=lstm", "--epsilon=8", "--delta=0.001", "--epochs=0.03", "--accountant=rdp"]
    own = ["--tokenizer-epsilon=20", "--tokenizer-words=85", "--tokenizer-size=400"]
    given = ["train", str(corpus), *sizes, *quick, "--batch-size=4"]
    assert main([*given, "-o", str(tmp_path / "run"), *own]) == 0
    said = capsys.readouterr().out
    assert "Of this: tokenizer ε ≤ 20 at δ ≤ 0.0005; model ε ≤ 8" in said
    assert main([*given, "-o", str(tmp_path / "run"), *own, "--resume", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["parts"]["tokenizer"] == {"epsilon": 20.0, "delta": 0.0005}
    assert again["guarantee"] == Run.open(tmp_path / "run").guarantee.as_dict()
    sfumato.train_tokenizer(corpus, tmp_path / "voc", size=400, **QUICK)
    assert main([*given, "-o", str(tmp_path / "b"), "--tokenizer", str(tmp_path / "voc")]) == 0
    assert "if it is this text, the levels add up" in capsys.readouterr().out
    assert main([*given, "-o", str(tmp_path / "c"), "--tokenizer-words=5"]) == 2
    assert "give --tokenizer-epsilon" in capsys.readouterr().err
    assert main([*given, "-o", str(tmp_path / "c"), *own, "--tokenizer", "x"]) == 2
    assert not (tmp_path / "c").exists()


def test_authors_and_public_words(corpus: Path, tmp_path: Path) -> None:
    by_author = sfumato.train_tokenizer(
        corpus, tmp_path / "one", size=400, unit="author", author_field="who", **QUICK
    )
    assert by_author.contributors == 70
    assert by_author.guarantee.unit == "author"
    (tmp_path / "list.txt").write_text("\n".join(WORDS) + "\n\n")
    listed = sfumato.train_tokenizer(
        corpus, tmp_path / "two", size=400, public_words=tmp_path / "list.txt", record="note",
        weights="by-length", **QUICK,
    )  # fmt: skip
    assert listed.noise.threshold is None
    assert "one example being one note" in listed.guarantee.sentence()


def test_a_plug_in_is_a_kind_like_any_other(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = """
        from dataclasses import dataclass
        from typing import ClassVar

        from sfumato.models import Bpe

        @dataclass(frozen=True)
        class Lowered(Bpe):
            '''Counts words in lower case.'''

            name: ClassVar[str] = "lowered"

            def cut(self, text):
                return super().cut(text.lower())
    """
    with installed(tmp_path, "tokenizers", "lowered = lowered_kind:Lowered", source):
        made = sfumato.train_tokenizer(corpus, tmp_path / "a", kind="lowered", size=400, **QUICK)
        assert made.kind == "lowered"
        assert main(["list", "tokenizers", "--json"]) == 0
        names = [one["name"] for one in json.loads(capsys.readouterr().out)]
        assert {"bpe", "lowered", "wordpiece"} <= set(names)


def test_what_is_refused(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learn = sfumato.train_tokenizer
    with pytest.raises(OutputExists, match="exists already"):
        learn(corpus, tmp_path, **QUICK)
    with pytest.raises(StorageFailed, match="there is no folder"):
        learn(corpus, tmp_path / "a" / "b", **QUICK)
    with pytest.raises(UnknownName, match="did you mean 'wordpiece'"):
        learn(corpus, tmp_path / "a", kind="wordpieces", **QUICK)
    with pytest.raises(InvalidArgument, match="needs `author_field=NAME`"):
        learn(corpus, tmp_path / "a", unit="author", **QUICK)
    with pytest.raises(InvalidArgument, match="must be a word or two"):
        learn(corpus, tmp_path / "a", record="a; b", **QUICK)
    with pytest.raises(StorageFailed, match=r"cannot read .*none\.txt"):
        learn(corpus, tmp_path / "a", public_words=tmp_path / "none.txt", **QUICK)
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(BadInput, match="is not in utf-8"):
        learn(corpus, tmp_path / "a", public_words=tmp_path / "bad.txt", **QUICK)
    few = ["tokenizer", "train", str(corpus), "-o", str(tmp_path / "a"), "--epsilon=0.1"]
    assert main(few) == 3
    said = capsys.readouterr().err
    # How many do is chance.
    assert re.search(r"too few examples for a tokenizer: \d+ words? came through, and 64 are", said)
    assert "there are 140" in said
    assert "is spent on this text, and the levels of further tries add up" in said
    assert SECRET not in said
    assert not (tmp_path / "a").exists()
    # It is spent, and said so when it is tried again.
    assert main(few) == 2
    said = capsys.readouterr().err
    assert "a.spent.json says that ε = 0.1 is spent on a draw" in said
    assert "their levels add up" in said
    kept = (tmp_path / "a.spent.json").read_text()
    assert not any(word in kept for word in [*WORDS, SECRET])
    (tmp_path / "b.unfinished").mkdir()  # of a kill, whose note somebody removed
    with pytest.raises(OutputExists, match=r"b\.unfinished exists already"):
        learn(corpus, tmp_path / "b", **QUICK)


def test_a_tokenizer_that_stands_there_needs_no_note(corpus: Path, tmp_path: Path) -> None:
    sfumato.train_tokenizer(corpus, tmp_path / "one", size=400, **QUICK)
    assert [one.name for one in tmp_path.iterdir()] == ["one"]


def test_public_words_are_not_the_private_file(corpus: Path, tmp_path: Path) -> None:
    """Else each word that one document has would be shown."""
    link = tmp_path / "words.txt"
    link.hardlink_to(corpus)
    for same in (corpus, link):
        with pytest.raises(InvalidArgument, match="is the private corpus itself"):
            sfumato.train_tokenizer(corpus, tmp_path / "a", public_words=same, **QUICK)
    lines = tmp_path / "own.txt"
    lines.write_text("".join(f"own{word}\n" for word in WORDS))
    (tmp_path / "copy.txt").write_bytes(lines.read_bytes())
    with pytest.raises(InvalidArgument, match="are documents of the private corpus"):
        sfumato.train_tokenizer(lines, tmp_path / "a", public_words=tmp_path / "copy.txt", **QUICK)
    (tmp_path / "rows.txt").write_bytes(corpus.read_bytes())
    with pytest.raises(BadInput, match=r"entry 1 of .*rows\.txt is more than a word"):
        sfumato.train_tokenizer(corpus, tmp_path / "a", public_words=tmp_path / "rows.txt", **QUICK)
    assert not (tmp_path / "a.spent.json").exists()  # refused before anything is drawn


def test_ngrams_of_one_release_never_stand_beside_the_guarantee_of_another(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.jsonl"
    sfumato.ngrams(corpus, output, n=1, **(QUICK | {"epsilon": 200}))
    real = files.write_whole

    def killed(path: Path, content: bytes) -> None:
        if path == output:
            raise KeyboardInterrupt
        real(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_whole", killed)
        with pytest.raises(KeyboardInterrupt):
            sfumato.ngrams(corpus, output, n=1, overwrite=True, **QUICK)
    assert not output.exists()
    # Nor is another one drawn unasked: what was interrupted is spent.
    with pytest.raises(OutputExists, match="their level is spent; `overwrite=True` draws others"):
        sfumato.ngrams(corpus, output, n=1, **QUICK)
    sfumato.ngrams(corpus, output, n=1, overwrite=True, **QUICK)
    assert output.exists()


def test_ngrams_from_python_and_by_the_command(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = sfumato.ngrams(corpus, tmp_path / "one.jsonl", n=2, **QUICK)
    assert found.path == tmp_path / "one.jsonl"
    rows = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    assert rows == list(found.rows())
    assert {"n": 1, "ngram": "baba"}.items() <= next(
        row for row in rows if row["ngram"] == "baba"
    ).items()
    assert "baba bake" in dict(found)
    assert len(found) == len(rows)
    assert SECRET.lower() not in (tmp_path / "one.jsonl").read_text()
    stated = json.loads((tmp_path / "one.jsonl.guarantee.json").read_text())
    assert stated["sentence"] == found.guarantee.sentence()
    assert stated["ngrams"] == [len(level) for level in found.found.levels]
    given = ["ngrams", str(corpus), "-o", str(tmp_path / "two.jsonl"), *as_options(QUICK)]
    assert main([*given, "--n=1..2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["guarantee"] == found.guarantee.as_dict()
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert main(given) == 4
    assert main([*given, "--overwrite"]) == 0
    out = capsys.readouterr().out
    assert "n = 1: " in out
    assert "REPRODUCIBLE: NOT FOR RELEASE" in out
    assert main([*given[:3], str(tmp_path / "x"), "--epsilon=1", "--n=2..3"]) == 2


def test_ngrams_without_a_file_are_shown(corpus: Path) -> None:
    found = sfumato.ngrams(corpus, n=1, **QUICK)
    assert found.path is None
    assert "n-grams of 140 examples" in repr(found)
    assert "<td>1</td>" in found._repr_html_()
    assert found.guarantee.sentence() in repr(found)
