"""Pairs of words with noise, and topics from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato
from sfumato.core.errors import BadInput, OutputExists
from sfumato.core.randomness import Randomness
from sfumato.histograms.counts import Tally
from sfumato.histograms.pairs import WordPairs, count_pairs
from sfumato.histograms.thresholds import Contribution
from sfumato.histograms.words import Budget
from sfumato.metrics.topics import find_topics
from sfumato.text.document import Document

MEDICAL = "doctor hospital nurse patient surgery"
SPORTS = "football goal match referee stadium"
DOCUMENTS = [Document(text) for text in (MEDICAL, SPORTS) for _ in range(150)]
BUDGET = Budget(epsilon=8.0, delta=1e-5, contribution=Contribution(words=12))


def counted(documents: list[Document], budget: Budget = BUDGET) -> WordPairs:
    return count_pairs(documents, budget, Randomness.reproducible(1), without=("goal",))


def test_pairs_of_one_document_are_counted_with_noise() -> None:
    found = counted(DOCUMENTS)
    assert set(found.words.counts) == {*MEDICAL.split(), *SPORTS.split()} - {"goal"}
    assert abs(found.pairs.counts["doctor hospital"] - 150) < 8 * found.pairs.noise.deviation
    assert "doctor football" not in found.pairs.counts  # nobody has both
    assert not any("goal" in pair for pair in found.pairs.counts)
    assert found.guarantee.epsilon == 8.0
    # Two histograms at one level: more noise than one alone.
    assert found.pairs.noise.deviation > BUDGET.solve(300).deviation


def given(budget: Budget, tally: Tally) -> int:
    """What one document of very many words gives to a histogram of pairs."""
    words = [f"w{number}" for number in range(60)]
    pairs = [f"{a} {b}" for a in words for b in words if a < b]
    tally.add(pairs, Randomness.reproducible(1))
    return sum(tally._grains.values())


def test_a_document_gives_at_most_what_the_noise_is_for() -> None:
    assert given(BUDGET, Tally(BUDGET.contribution)) == 12


def test_twin_a_bound_that_is_not_kept_is_seen() -> None:
    assert given(BUDGET, Tally(Contribution(words=10_000))) > 12


def test_topics_are_groups_of_words_that_stand_together() -> None:
    found = find_topics(counted(DOCUMENTS), 2, 4)
    groups = {frozenset(word for word, _ in topic.words) for topic in found}
    assert len(groups) == 2
    assert all(group <= set(MEDICAL.split()) or group <= set(SPORTS.split()) for group in groups)
    # They are a function of what was released, and of nothing else.
    assert find_topics(counted(DOCUMENTS), 2, 4) == found


def test_twin_words_that_stand_everywhere_make_no_groups() -> None:
    mixed = [Document(f"{MEDICAL} {SPORTS}") for _ in range(300)]
    wide = Budget(epsilon=8.0, delta=1e-5, contribution=Contribution(words=50))
    (first, *_) = find_topics(counted(mixed, wide), 2, 9)
    words = {word for word, _ in first.words}
    assert words & set(MEDICAL.split())
    assert words & set(SPORTS.split())


def test_no_topic_has_what_is_next_to_nothing_of_a_word() -> None:
    found = find_topics(counted(DOCUMENTS), 2, 9)
    assert all(share >= 0.001 for topic in found for _, share in topic.words)
    assert [len(topic.words) for topic in found] in ([5, 4], [4, 5])


def test_the_corpus_is_never_written_over(tmp_path: Path) -> None:
    corpus, beside = tmp_path / "in.txt", tmp_path / "out.jsonl.guarantee.json"
    for path in (corpus, beside):
        path.write_text("".join(f"{one.text}\n" for one in DOCUMENTS), encoding="utf-8")
    before = corpus.read_bytes()
    for source, output in ((corpus, corpus), (beside, tmp_path / "out.jsonl")):
        with pytest.raises(OutputExists, match="is the input"):
            sfumato.topics(source, output, epsilon=8, overwrite=True, format="txt")
        with pytest.raises(OutputExists, match="is the input"):
            sfumato.ngrams(source, output, epsilon=8, overwrite=True, format="txt")
    assert corpus.read_bytes() == beside.read_bytes() == before


def test_topics_from_python_and_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sfumato.cli.main import main

    corpus, output = tmp_path / "in.txt", tmp_path / "topics.jsonl"
    corpus.write_text("".join(f"{one.text}\n" for one in DOCUMENTS), encoding="utf-8")
    told = ["--epsilon", "8", "--topics", "2", "--words-per-document", "12"]
    assert main(["topics", str(corpus), "-o", str(output), *told]) == 0
    assert "doctor" in capsys.readouterr().out
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["topic"] for row in rows] == [1, 2]
    stated = json.loads((tmp_path / "topics.jsonl.guarantee.json").read_text())
    assert stated["guarantee"]["epsilon"] == 8.0
    with pytest.raises(OutputExists):
        sfumato.topics(corpus, output, epsilon=8)
    output.unlink()
    with pytest.raises(OutputExists, match="their level is spent"):
        sfumato.topics(corpus, output, epsilon=8)
    few = tmp_path / "few.txt"
    few.write_text("one two\nthree four\n" * 3, encoding="utf-8")
    with pytest.raises(BadInput, match="too few pairs"):
        sfumato.topics(few, epsilon=1, topics=2)
