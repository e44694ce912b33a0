"""Measures are components: ours and anybody's, by command, from Python and in a study."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugins import installed
from sfumato.catalog import entries
from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument, MissingInput, StorageFailed
from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.results.measured import Measured
from sfumato.results.row import LEAKAGE, UTILITY, Row
from sfumato.studies.folder import StudyFolder
from sfumato.studies.measures.measure import (
    MECHANISM,
    MODEL,
    TEXT,
    VECTORS,
    MeasureReading,
    Specimen,
    take,
)
from sfumato.studies.measures.text import TextMeasure
from sfumato.studies.runner import run_study
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.load import default_space
from sfumato.verbs.measure import measure
from small_study import SMALL, small_study
from unit.models.folders import gpt2, with_our_tokenizer

# What is measured on few words is computed as it is on many.
pytestmark = pytest.mark.usefixtures("small_vectors")

BEFORE = ["The cat sat on the mat.", "A dog ran home. It was late."]
AFTER = ["The quark sat under the mat.", "A dog ran house. It was late."]

# One file and one entry: how loud a text is.
LOUD = '''
    """How loud a text is."""

    from dataclasses import dataclass

    import numpy as np

    from sfumato.statistics.shares import bootstrap_mean
    from sfumato.studies.measures.measure import TEXT, MeasureReading


    @dataclass(frozen=True, kw_only=True)
    class Loudness:
        """Counts signs of exclamation; ``most`` of them in a document."""

        most: int = 3

        name = "loudness"
        of = TEXT
        role = "utility"
        better = {"loudness": "lower"}

        def measure(self, specimen, randomness):
            counts = [min(self.most, one.text.count("!")) for one in specimen.documents]
            figure = bootstrap_mean("loudness", np.array(counts, dtype=float), randomness)
            return MeasureReading(figures=[figure])
'''


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    for path, texts in zip(paths, (BEFORE, AFTER), strict=True):
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return paths


@pytest.fixture
def loudness(tmp_path: Path) -> Iterator[None]:
    with installed(tmp_path, "measures", "loudness = loud:Loudness", LOUD):
        yield


@pytest.mark.parametrize("name", entries("measures"))
def test_every_measure_says_what_it_looks_at_and_which_way_is_better(name: str) -> None:
    component = entries("measures")[name].load()
    assert component.name == name
    assert component.of in (TEXT, MODEL, MECHANISM, VECTORS)
    assert component.role in (LEAKAGE, UTILITY)
    assert set(component.better.values()) <= {"lower", "higher"}
    assert component.__dataclass_params__.frozen


def test_a_figure_without_a_better_way_is_refused() -> None:
    class Silent(TextMeasure):
        def measure(self, _: Specimen, __: Randomness) -> MeasureReading:
            return MeasureReading(figures=[Measured("surprise", 1.0, None, None, 1)])

    with pytest.raises(InvalidArgument, match="which way is better for 'surprise'"):
        take(Silent(), Specimen(), Randomness.secure())


def test_readability_by_command_and_from_python(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = map(str, files)
    found = measure("readability", after, originals=before, settings={"corpus": before}, seed=1)
    by_name = {row.metric: row for row in found.rows}
    # Five of ten pairs of neighbors stand in the originals as well, which are the corpus here.
    assert by_name["familiar pairs"].value == pytest.approx(0.5)
    assert by_name["change of variety"].value == 0
    assert by_name["reading ease"].better == "higher"
    assert "reading ease" in repr(found)
    assert "<td>reading ease</td>" in found._repr_html_()
    line = ["measure", "readability", after, "--originals", before, "--set", f"corpus={before}"]
    assert main([*line, "--seed", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(found.as_dict()))
    assert main(line) == 0
    assert "familiar pairs" in capsys.readouterr().out


def test_what_a_measure_lacks_or_does_not_take_is_said(files: tuple[Path, Path]) -> None:
    before, after = files
    with pytest.raises(MissingInput, match="originals"):
        measure("text", after)
    with pytest.raises(InvalidArgument, match="leave out `corpus="):
        measure("readability", after, corpus=before)
    with pytest.raises(InvalidArgument, match="public language model"):
        measure("coherence", after, originals=before)
    with pytest.raises(StorageFailed, match="there is no"):
        measure("readability", after.with_name("nowhere.jsonl"))
    with pytest.raises(MissingInput, match="is missing, which says how"):
        measure("deniability", after)
    with pytest.raises(InvalidArgument, match="settings already"):
        measure(TextMeasure(), after, originals=before, settings={"a": 1})


def test_documents_that_do_not_belong_together_are_refused() -> None:
    two = Specimen(documents=[Document("a")], originals=[Document("a"), Document("b")])
    with pytest.raises(Exception, match="there are 2 originals and 1 privatized documents"):
        two.pairs()


def test_what_is_computed_for_each_document_is_computed_once() -> None:
    asked = []

    def lengths(specimen: Specimen) -> list[int]:
        asked.append(len(specimen.documents))
        return [len(one.text) for one in specimen.documents]

    whole = Specimen(documents=[Document("a"), Document("bb"), Document("ccc")])
    part = whole.part([2, 0], "some")
    assert part.each(lengths) == [3, 1]
    assert whole.each(lengths) == [1, 2, 3]
    assert asked == [3]
    assert [one.text for one in part.documents] == ["ccc", "a"]


def test_coherence_asks_a_public_model(files: tuple[Path, Path], tmp_path: Path) -> None:
    folder = with_our_tokenizer(gpt2(), tmp_path / "public")
    found = measure(
        "coherence", files[1], originals=files[0], settings={"model": str(folder)}, seed=1
    )
    ratio, after, before = found.rows
    assert ratio.value == pytest.approx((after.value or 0) / (before.value or 1))
    assert [row.better for row in found.rows] == ["lower"] * 3


def test_a_perplexity_has_the_loss_of_each_document_if_that_is_asked_for(tmp_path: Path) -> None:
    folder = with_our_tokenizer(gpt2(), tmp_path / "model")
    texts = ["A plain line.", "Another one, a longer one."]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(texts))
    found = measure("perplexity", folder, corpus=corpus, settings={"by_document": True})
    losses, tokens = found.details["losses"], found.details["tokens"]
    assert len(losses) == len(tokens) == len(texts)
    by_name = {row.metric: row for row in found.rows}
    assert by_name["perplexity"].n == sum(tokens)
    assert by_name["perplexity"].value == pytest.approx(math.exp(sum(losses) / sum(tokens)), 1e-3)
    assert measure("perplexity", folder, corpus=corpus).details == {}


@pytest.mark.usefixtures("loudness")
def test_a_measure_of_another_package_is_one_file_and_one_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "loud.jsonl"
    text.write_text('{"text": "Help!!!! Help!"}\n{"text": "No."}\n')
    assert measure("loudness", text).rows[0].value == 1.5
    assert measure("loudness", text, settings={"most": "1"}).rows[0].value == 0.5
    assert main(["measure", "loudness", str(text), "--set", "most=1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"][0]["value"] == 0.5
    assert main(["show", "measures/loudness"]) == 0
    assert "most: int = 3" in capsys.readouterr().out
    assert main(["list", "measures"]) == 0
    assert "loudness" in capsys.readouterr().out
    described = SMALL.replace("[measures.text]", "[measures.loudness]\nmost = 2\n")
    folder = tmp_path / "study"
    run_study(small_study(tmp_path, described), folder, workers=0, command=[])
    rows = [row for row in StudyFolder(folder).rows() if row.by == "loudness"]
    # Two seeds, each with two ends, two levels and the masks.
    assert len(rows) == 10
    assert {row.better for row in rows} == {"lower"}
    wrong = small_study(tmp_path, described.replace("most = 2", 'most = "many"'))
    with pytest.raises(InvalidArgument, match=r"\[measures.loudness\].most='many'"):
        run_study(wrong, folder, workers=0, command=[])


def test_our_readability_in_a_study(tmp_path: Path) -> None:
    (tmp_path / "public.txt").write_text("The order is late.\n")
    described = SMALL.replace("[measures.text]", '[measures.readability]\ncorpus = "public.txt"\n')
    folder = tmp_path / "study"
    run_study(small_study(tmp_path, described), folder, workers=0, command=[])
    rows = [row for row in StudyFolder(folder).rows() if row.by == "readability"]
    assert {row.metric for row in rows} == {"reading ease", "familiar pairs", "change of variety"}
    changed = {row.method: row.value for row in rows if row.metric == "change of variety"}
    assert changed["no privacy"] == 0
    assert (changed["random output"] or 0) > 0


def similarity(before: list[str], after: list[str]) -> tuple[Row, float]:
    """The figure, and the cosine that it is made from."""
    specimen = Specimen(
        documents=[Document(one) for one in after], originals=[Document(one) for one in before]
    )
    found = take(TextMeasure(), specimen, Randomness.reproducible(1))
    return found.rows[1], found.details["cosine"]


def test_similarity_is_1_for_the_same_text_and_0_for_random_words() -> None:
    before = [one.document.text for one in generate_customersim(24, Randomness.reproducible(3))]
    words, draws = default_space().words, Randomness.reproducible(4)
    noise = [
        " ".join(words[place] for place in draws.integers(len(words), len(Words.of(text))))
        for text in before
    ]
    same, _ = similarity(before, before)
    assert same.value == pytest.approx(1)
    assert same.chance == 0.0
    for output in (noise, [*before[1:], before[0]]):
        found, raw = similarity(before, output)
        assert found.value == pytest.approx(0, abs=0.2)
        assert found.low is not None
        assert found.high is not None
        assert found.low < 0.1
        # The twin, a cosine as it is, says that random output is similar.
        assert raw > 0.5
