"""What is left of a rewritten document, and mechanisms side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.metrics.rewriting import (
    DocumentComparison,
    measure_remains,
    public_encoder,
    source_words_kept,
)
from sfumato.studies.measures.rewriting import RewritingMeasure
from sfumato.testing import check_measure

TEXTS = ["The cardiologist saw the patient", "Red wine and cold cheese", "A train to Lisbon leaves"]


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("The cardiologist wept", "a CARDIOLOGIST laughed", 0.5),
        ("zzyzx", "zzyzx", 1.0),
        ("zzyzx zzyzx", "", 0.0),
        ("the of and", "the of and", None),
        ("", "anything", None),
    ],
)
def test_own_words_count_and_frequent_ones_do_not(
    before: str, after: str, wanted: float | None
) -> None:
    assert source_words_kept(before, after) == wanted


def test_the_same_text_keeps_everything_and_another_one_nothing() -> None:
    same = measure_remains(TEXTS, TEXTS, public_encoder, Randomness.reproducible(1))
    assert same.kept.value == 1.0
    assert same.similarity is not None
    assert same.similarity.cosine.value == pytest.approx(1.0)
    assert same.similarity.floor.value < 0.9
    other = measure_remains(TEXTS, ["violin"] * 3, public_encoder, Randomness.reproducible(1))
    assert other.kept.value == 0.0
    with pytest.raises(BadInput, match="do not belong"):
        measure_remains(TEXTS, TEXTS[:1], public_encoder, Randomness.reproducible(1))
    with pytest.raises(BadInput, match="nothing to keep"):
        measure_remains(["the"], ["the"], public_encoder, Randomness.reproducible(1))


def test_the_measure_of_a_study_gives_both() -> None:
    check_measure(RewritingMeasure())


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    corpus, pool = tmp_path / "corpus.txt", tmp_path / "pool.txt"
    corpus.write_text("\n".join(TEXTS * 2))
    pool.write_text("Cold wine\nA doctor and a patient\nTrains leave Porto\nWords and songs\n")
    return corpus, pool


def test_levels_are_compared_on_the_same_documents(files: tuple[Path, Path]) -> None:
    corpus, pool = files
    found = sfumato.compare(
        "sentences", epsilon=[2, 20], corpus=corpus, settings={"pool": str(pool)}, seed=1
    )
    assert isinstance(found, DocumentComparison)
    assert [round(one.guarantee.epsilon, 6) for one in found.rows] == [2.0, 20.0]
    assert found.as_dict()["rows"][0]["source_words_kept"]["n"] == 6
    assert "keeps" in repr(found)
    assert "source words kept" in found._repr_html_()
    assert not any(text in repr(found.as_dict()) for text in TEXTS)


def test_what_cannot_be_compared_is_said(files: tuple[Path, Path]) -> None:
    corpus, pool = files
    settings = {"pool": str(pool)}
    for names, more, said in (
        (["sentences", "laplace"], {"corpus": corpus}, "among each other"),
        (["sentences"], {}, "corpus=FILE"),
        (["sentences"], {"corpus": corpus, "policy": "pii"}, "leave out"),
        (["laplace"], {"encoder": "x"}, "rewrite documents"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            sfumato.compare(names, epsilon=2, settings=settings, **more)
