"""The studies that come with the repository: what they ask for, and one of them run on little."""

from __future__ import annotations

import gzip
import json
import re
import runpy
from pathlib import Path

import pytest

from sfumato.catalog import entries
from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.studies.cell import RUN
from sfumato.studies.doors import Doors
from sfumato.studies.grid import list_cells
from sfumato.studies.parsing import parse_spec, read_spec
from sfumato.studies.study import Study
from unit.models import folders

SELECTIVE = Path(__file__).parents[3] / "studies" / "selective-dp.toml"
DIALOGUES, ARTICLES = "customersim", "wikitext-2"
ON_BOTH = ("no privacy", "DP-SGD", "Selective-DPSGD, interleaved", "Selective-DPSGD")
DIRECTIONAL = SELECTIVE.with_name("directional.toml")
REPRESENTATIONS = SELECTIVE.with_name("representations.toml")
GROUPS = SELECTIVE.with_name("groups.toml")
ON_ONE = ("masks", "masks, secrets missed", "Selective-DPSGD, secrets missed")


@pytest.fixture
def resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Made-up files where the studies expect the corpora of the paper."""
    made = [one.document for one in generate_customersim(24, Randomness.reproducible(1))]
    for first, part, documents in ((1800, "train", made[:16]), (1900, "test", made[16:])):
        lines = "".join(json.dumps({"id": one.id, "text": one.text}) + "\n" for one in documents)
        _write(tmp_path / DIALOGUES / f"{part}.jsonl.gz", lines)
        years = (f" The bridge of {first + one} has {one} arches . " for one in range(16))
        _write(tmp_path / ARTICLES / f"{part}.raw.gz", "\n".join([" = Bridges = ", *years]))
    monkeypatch.setenv("SFUMATO_RESOURCES", str(tmp_path))
    return tmp_path


def _write(path: Path, text: str) -> None:
    path = path.parents[1] / "data" / path.parent.name / path.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def test_the_models_of_the_selective_paper(resources: Path) -> None:
    spec = parse_spec(SELECTIVE.read_text("utf-8"), SELECTIVE.parent, "s", Doors((resources,)))
    runs = {
        (cell.corpus, cell.method, cell.seed): cell.settings
        for cell in list_cells(spec).cells
        if cell.kind == RUN and cell.settings["training"] is not None
    }
    both = {(c, m, s) for c in (DIALOGUES, ARTICLES) for m in ON_BOTH for s in (1, 2, 3)}
    assert set(runs) == both | {(ARTICLES, method, 1) for method in ON_ONE}
    assert len(runs) == 27
    for (corpus, method, _), settings in runs.items():
        training, policy = settings["training"], settings["policy"]
        assert (training["clip_norm"], training["batch_size"]) == (0.1, 32)
        assert training.get("epsilon", 3) == 3
        assert training["epochs"] == (10 if "masks" in method else 5)
        if policy is not None:
            assert policy["find"] == ["pii" if corpus == DIALOGUES else "digits"]
            missed = [r"regex:My ID is \d+"] if "missed" in method else []
            assert policy["except"] == missed


def test_the_selective_study_on_little(resources: Path, tmp_path: Path) -> None:
    text = SELECTIVE.read_text("utf-8")
    for pattern, small in (
        (r"^seeds = \[1, 2, 3\]", "seeds = [1]\nanchors = false"),
        (r"^count = \d+", "count = 8"),
        (r"^repetitions = \[[^]]*\]", "repetitions = [2, 1, 1, 1, 1]"),
        (r"^digits = 6", "digits = 2"),
        (r"^epochs = \d+", "epochs = 1"),
        (r"^public_epochs = \d+", "public_epochs = 1"),
        (r"^batch_size = 32", "batch_size = 6\nsettings = {embedding = 4, hidden = 4}"),
    ):
        text, found = re.subn(pattern, small, text, flags=re.MULTILINE)
        assert found
    study = Study.parse(text, folder=tmp_path, name="little").run(workers=0, allow_path=[resources])
    assert study.outcome.complete, study.status()
    rows = study.rows()
    on: dict[str | None, set[str]] = {}
    for row in rows:
        on.setdefault(row.corpus, set()).add(row.method)
    assert on == {DIALOGUES: {*ON_BOTH[1:]}, ARTICLES: {*ON_BOTH[1:], *ON_ONE}}
    figures = {row.metric for row in rows if (row.corpus, row.method) == (ARTICLES, "DP-SGD")}
    assert figures >= {
        *("perplexity", "perplexity, private tokens", "perplexity, other tokens", "accuracy"),
        *("exposure at 2 repetitions", "largest exposure", "auc secrets"),
    }
    # What the paper's own accounting says stands beside what is proven.
    runs = [cell for cell in study.status().done if cell.kind == RUN]
    assert {one.method for one in runs if "as_in_the_paper" in one.details} == {ON_BOTH[2]}
    assert all(one.guarantee is not None for one in runs)


@pytest.fixture
def sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Made-up sentences in the columns of SST-2 and CoLA, and a tiny BERT."""
    words = ["the film was good", "the film was bad", "a badly good film", "was a film the"]
    for name, head, row in (
        ("sst2", "sentence\tlabel\n", "{text}\t{label}\n"),
        ("cola", "", "x\t{label}\t\t{text}\n"),
    ):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        for part in ("train", "test", "dev", "val"):
            # Members and others must be different texts.
            texts = [
                f"{part} {' '.join(words[: 1 + place % 4])}{' a' * place}" for place in range(16)
            ]
            rows = (row.format(text=text, label=place % 2) for place, text in enumerate(texts))
            (folder / f"{part}.tsv").write_text(head + "".join(rows))
    folders.with_word_pieces(folders.bert(), tmp_path / "minilm")
    monkeypatch.setenv("SFUMATO_RESOURCES", str(tmp_path))
    monkeypatch.setenv("SFUMATO_COLA", str(tmp_path / "data/cola"))
    monkeypatch.setenv("SFUMATO_MINILM", str(tmp_path / "minilm"))
    return tmp_path


def test_the_directional_study_on_little(sentences: Path, tmp_path: Path) -> None:
    text = DIRECTIONAL.read_text("utf-8")
    for pattern, small in (
        (r"^seeds = \[1, 2, 3\]", "seeds = [1]"),
        (r"^count = 3072", "count = 12"),
        (r"^batch_size = 128\nepochs = 4", "batch_size = 4\nepochs = 1"),
        (r"^sigma = \[0.05, .*", "sigma = [0.5]"),
        (r"^delta = .*", "delta = 0.01"),
        (r"^releases = .*", "releases = 10"),
    ):
        text, found = re.subn(pattern, small, text, flags=re.MULTILINE)
        assert found
    # Of every curve its first entry.
    before, rest = text.split("[attacks", 1)
    head, *entries = before.split("[[methods]]")
    first = {re.findall('name = "(.*)"', one)[0]: one for one in reversed(entries)}
    text = "[[methods]]".join([head, *first.values()]) + "[attacks" + rest
    study = Study.parse(text, folder=tmp_path, name="little").run(workers=0, allow_path=[sentences])
    assert study.outcome.complete, study.status()
    found_in = {(row.corpus, row.method) for row in study.rows() if row.metric == "matthews"}
    methods = {"plain", "DP-SGD", "per-record Gaussian", "directional"}
    assert found_in == {(corpus, method) for corpus in ("sst2", "cola") for method in methods}
    for metric in ("right guesses", "right guesses from sums", "auc loss"):
        assert {row.method for row in study.rows() if row.metric == metric} == methods


def test_the_study_of_vectors_attacks_every_noise_at_every_level(sentences: Path) -> None:
    spec = read_spec(REPRESENTATIONS, Doors(allowed=(sentences,)))
    cells = list_cells(spec).cells
    noises = {cell.settings["representation"] for cell in cells if cell.kind == "vectors"}
    assert noises == set(entries("representations"))
    vectors = [cell for cell in cells if cell.kind == "vectors"]
    attacks = [cell for cell in cells if cell.kind == "attack"]
    assert len(attacks) == 5 * len(vectors)
    assert {cell.name for cell in attacks} == {
        one for one in entries("attacks") if one.startswith("vector-")
    }


def test_small_classifiers_are_trained_with_and_without_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data" / "sst2"
    data.mkdir(parents=True)
    for part in ("train", "test"):
        (data / f"{part}.tsv").write_text("sentence\tlabel\na good film\t1\n")
    monkeypatch.setenv("SFUMATO_RESOURCES", str(tmp_path))
    found = {}
    for path in sorted((SELECTIVE.parent / "shapes").glob("sst2-*.toml")):
        spec = parse_spec(path.read_text("utf-8"), path.parent, path.stem, Doors((tmp_path,)))
        runs = [one.settings for one in list_cells(spec).cells if one.kind == RUN]
        assert [one["training"].get("epsilon") for one in runs] == [None, 8]
        found[runs[0]["model"]["name"]] = path.stem
    assert found == {
        name: f"sst2-{name}" for name in ("bag-of-words", "bilstm", "cnn", "gpt-small")
    }


def test_the_study_of_groups_compares_levels_with_and_without_weights(
    sentences: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sentences / "models").mkdir()
    (sentences / "minilm").rename(sentences / "models" / "stories15m")
    monkeypatch.setenv("SFUMATO_GROUPS", str(sentences / "data/sst2"))
    cells = list_cells(read_spec(GROUPS, Doors(allowed=(sentences,)))).cells
    runs = [cell for cell in cells if cell.kind == RUN]
    wanted = {(method, level) for method in ("alike", "weighed") for level in (None, 8, 3, 1)}
    assert {(cell.method, cell.level) for cell in runs} == wanted
    assert len(runs) == 3 * len(wanted)
    weighed = {"group_weights" in cell.settings["training"] for cell in runs}
    assert weighed == {False, True}


def test_the_groups_of_that_study_are_those_of_its_script() -> None:
    made = runpy.run_path(str(GROUPS.with_name("groups_corpus.py")))
    texts = {"a good film": "1", "good film": "1", "it is n't good": "0", "not bad": "1"}
    assert sorted(made["whole_texts"](texts)) == ["a good film", "it is n't good", "not bad"]
    found = [made["group"](text, label) for text, label in texts.items()]
    assert found == ["plain 1", "plain 1", "negated 0", "negated 1"]
    weights = re.findall(r'"((?:plain|negated) [01])" = ', GROUPS.read_text("utf-8"))
    assert set(weights) == {f"{kind} {label}" for kind in ("plain", "negated") for label in "01"}
