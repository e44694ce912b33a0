"""A private tokenizer is charged with the model: composed soundly, drawn once, and resumed."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    CannotResume,
    InvalidArgument,
    OutputExists,
)
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.histograms.counts import Tally
from sfumato.histograms.thresholds import Contribution, pair_delta, solve_noise
from sfumato.histograms.words import Budget
from sfumato.models.draws import DrawNote
from sfumato.models.learned import Bpe
from sfumato.models.private_tokenizer import PrivateTokenizer, learn_privately, save_private
from sfumato.models.tokenizer import Tokenizer
from sfumato.text.document import Document
from sfumato.training import vocabulary as vocabularies
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.directional import Directional
from sfumato.training.methods.plain import Plain
from sfumato.training.plan import Plan
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.sampling import sampling
from sfumato.training.settings import Course, Privacy
from sfumato.training.stages import Stage
from sfumato.training.vocabulary import PrivateVocabulary, compose_with, learn_vocabulary

SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "pra", "sto", "tri", "ven")
WORDS = [first + second for first in SYLLABLES for second in SYLLABLES]
DOCUMENTS = [
    Document(" ".join(WORDS[n % 9 :: 2] + WORDS[: n % 9 : 1] + WORDS[1::2]), author=f"a{n % 70}")
    for n in range(140)
]
PRIVACY = Privacy(epsilon=8.0, delta=1e-3, epochs=0.1, batch_sizes=(4,), accountant="rdp")
VOCABULARY = PrivateVocabulary(epsilon=20.0, words=85, size=400)
REQUEST = Request(
    model="lstm",
    privacy=PRIVACY,
    course=Course(checkpoint_every=1),
    vocabulary=VOCABULARY,
    settings={"hidden": 4, "embedding": 4, "context": 32},
)


SPENT = "tokenizer.spent.json"


def files(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in (folder / "tokenizer").iterdir()}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("vocabulary") / "run"
    return train_model(REQUEST, DOCUMENTS, RunFolder(folder))


def test_the_guarantee_is_for_both_and_names_both(run: Run) -> None:
    stated = run.guarantee
    assert stated.scope == "the tokenizer, and the weights of the model after every step"
    assert stated.delta == pytest.approx(1e-3)  # as it was asked for, of both together
    assert run.plan.epsilon() < stated.epsilon <= run.plan.epsilon() + 20.0
    parts = run.parts
    assert parts["tokenizer"] == {"epsilon": 20.0, "delta": 5e-4}
    assert parts["model"]["delta"] == 5e-4
    assert parts["together"]["epsilon"] == stated.epsilon
    said = vocabularies.say_parts(parts)
    assert said.startswith("tokenizer ε ≤ 20 at δ ≤ 0.0005; model ε ≤ 8")
    assert Run.open(run.folder).guarantee == stated
    rows = {row["metric"]: row["value"] for row in run.files.measured()}
    assert (rows["epsilon"], rows["delta"]) == (stated.epsilon, stated.delta)


def test_the_model_has_the_tokenizer_and_the_ledger_names_it(run: Run) -> None:
    kept = (run.folder / "tokenizer" / "tokenizer.json").read_bytes()
    assert (run.folder / "model" / "tokenizer.json").read_bytes() == kept
    head = json.loads((run.folder / "ledger.jsonl").read_text().splitlines()[0])
    assert head["record"]["tokenizer"]["epsilon"] == 20.0
    assert head["record"]["delta"] == 5e-4


def test_resuming_draws_no_second_tokenizer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(run.folder)
    monkeypatch.setattr(vocabularies, "learn_privately", pytest.fail)
    again = train_model(REQUEST, DOCUMENTS, RunFolder(run.folder), resume=True)
    assert again.already_finished
    assert again.guarantee == run.guarantee
    assert files(run.folder) == before


class Killed(Exception):
    """Stands for a kill."""


def test_a_run_that_was_killed_after_the_draw_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")

    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Request, "load", kill)
        with pytest.raises(Killed):
            train_model(REQUEST, DOCUMENTS, folder)
    drawn = files(folder.path)
    assert not folder.config.exists()
    with pytest.raises(OutputExists, match="holds a run already"):
        train_model(REQUEST, DOCUMENTS, folder)
    other = replace(REQUEST, vocabulary=replace(VOCABULARY, words=84))
    with pytest.raises(
        CannotResume, match="another level, unit, number of words, kind, size or seed"
    ):
        train_model(other, DOCUMENTS, folder, resume=True)
    with pytest.raises(
        CannotResume, match="another level, unit, number of words, kind, size or seed"
    ):
        train_model(replace(REQUEST, seed=1), DOCUMENTS, folder, resume=True)
    with pytest.raises(CannotResume, match="with a private tokenizer"):
        train_model(replace(REQUEST, vocabulary=None), DOCUMENTS, folder, resume=True)
    monkeypatch.setattr(vocabularies, "learn_privately", pytest.fail)
    done = train_model(REQUEST, DOCUMENTS, folder, resume=True)
    assert not done.already_finished
    assert files(folder.path) == drawn


def test_what_is_interrupted_after_the_draw_is_spent_and_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder(tmp_path / "run")

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(PrivateTokenizer, "as_dict", kill)
        with pytest.raises(Killed):
            train_model(REQUEST, DOCUMENTS, folder)
    assert [one.name for one in folder.path.iterdir()] == [SPENT]
    assert not capsys.readouterr().err  # not even how many words there were
    refuses_another_draw(folder, monkeypatch)


def refuses_another_draw(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tally, "release", pytest.fail)
    before = {one.name for one in folder.path.iterdir()}
    for request in (REQUEST, replace(REQUEST, vocabulary=None)):
        for resume in (False, True):
            with pytest.raises(BudgetExceeded, match=r"ε = \d+ is spent on a draw.*count both"):
                train_model(request, DOCUMENTS, folder, resume=resume)
    with pytest.raises(BudgetExceeded, match="is spent on a draw"):
        learn_vocabulary(VOCABULARY, DOCUMENTS, PRIVACY, folder, Randomness.secure())
    assert {one.name for one in folder.path.iterdir()} == before


KILLED_BEFORE_THE_RENAME = """
import os, sys
from pathlib import Path
from sfumato.core.randomness import Randomness
from sfumato.text.document import Document
from sfumato.training.folder import RunFolder
from sfumato.training.settings import Privacy
from sfumato.training.vocabulary import PrivateVocabulary, learn_vocabulary

rename = Path.replace
def die(self, target):
    if self.name == "tokenizer.unfinished":
        os._exit(9)
    return rename(self, target)
Path.replace = die

documents = [Document(text) for text in sys.stdin.read().split("\\n")]
wanted = PrivateVocabulary(epsilon=20.0, words=85, size=400)
privacy = Privacy(epsilon=8.0, delta=1e-3)
learn_vocabulary(wanted, documents, privacy, RunFolder(Path(sys.argv[1])), Randomness.secure())
"""


def test_a_draw_that_was_killed_before_it_was_in_place_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    died = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE_THE_RENAME, str(folder.path)],
        input="\n".join(one.text for one in DOCUMENTS),
        text=True,
        check=False,
    )
    assert died.returncode == 9
    left = {one.name for one in (folder.path / "tokenizer.unfinished").iterdir()}
    assert {"guarantee.json", "tokenizer.json"} <= left
    refuses_another_draw(folder, monkeypatch)
    # Nor where somebody has removed the note: what was drawn is on the disk.
    (folder.path / SPENT).unlink()
    for resume in (False, True):
        with pytest.raises(OutputExists, match="is no run"):
            train_model(REQUEST, DOCUMENTS, folder, resume=resume)


# Words that come through with probability one half, so that some draws are of use.
HALF = Budget(epsilon=20.0, delta=5e-4, contribution=Contribution(words=85)).solve(140).threshold
NEAR = [Document(" ".join(WORDS[:66]) if n <= (HALF or 0) + 3 else "x") for n in range(140)]


def draws_until_one_is_of_use(folder: RunFolder) -> int:
    for tries in range(1, 40):
        with suppress(BadInput):
            learn_vocabulary(VOCABULARY, NEAR, PRIVACY, folder, Randomness.reproducible(tries))
            return tries
    raise AssertionError("no draw was of use")


def test_a_draw_that_was_of_no_use_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(BudgetExceeded, match="ε = 20 is spent"):
        draws_until_one_is_of_use(folder)
    content = (folder.path / SPENT).read_text()
    assert [one.name for one in folder.path.iterdir()] == [SPENT]
    assert not any(word in content for word in WORDS)
    assert json.loads(content)["noise"]["epsilon"] == 20.0
    refuses_another_draw(folder, monkeypatch)


def test_twin_without_a_note_the_best_of_several_draws_passes_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DrawNote, "write", lambda *_: None)
    assert draws_until_one_is_of_use(RunFolder(tmp_path / "run")) > 1


def test_the_note_is_there_before_the_noise_and_only_one_process_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")

    def released(*_: object) -> None:
        assert (folder.path / SPENT).is_file()
        raise Killed

    monkeypatch.setattr(Tally, "release", released)
    with pytest.raises(Killed):
        train_model(REQUEST, DOCUMENTS, folder)
    # Another process that looked before the note was there.
    monkeypatch.setattr(Tally, "release", pytest.fail)
    monkeypatch.setattr(RunFolder, "refuse", lambda *_, **__: None)
    with pytest.raises(BudgetExceeded, match="is spent"):
        train_model(REQUEST, DOCUMENTS, folder)


@pytest.mark.parametrize("other", [
    {"corpus": {"input": 2}},
    {"vocabulary": replace(VOCABULARY, kind="wordpiece", size=600)},
    {"vocabulary": replace(VOCABULARY, size=401)},
])  # fmt: skip
def test_a_tokenizer_of_another_corpus_kind_or_size_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    folder, request = RunFolder(tmp_path / "run"), replace(REQUEST, corpus={"input": 1})
    learn_vocabulary(VOCABULARY, DOCUMENTS, PRIVACY, folder, Randomness.secure(), request.corpus)
    monkeypatch.setattr(Request, "load", pytest.fail)
    with pytest.raises(CannotResume, match="from another corpus, or with another level"):
        train_model(replace(request, **other), DOCUMENTS, folder, resume=True)
    (folder.path / SPENT).unlink()
    with pytest.raises(CannotResume, match="is gone, so nobody knows"):
        train_model(request, DOCUMENTS, folder, resume=True)


def test_a_tokenizer_that_is_gone_is_not_drawn_again(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run.folder, copy)
    shutil.rmtree(copy / "tokenizer")
    with pytest.raises(CannotResume, match="whose tokenizer is gone; a second one is not paid"):
        train_model(REQUEST, DOCUMENTS, RunFolder(copy), resume=True)


def made(noise_of: tuple[float, float], words: int = 60, weights: str = "plain") -> Any:
    noise = solve_noise(*noise_of, Contribution(words=words, weights=weights))
    stated = Budget(epsilon=noise_of[0], delta=noise_of[1]).promise(noise, Randomness.secure(), "x")
    return PrivateTokenizer(Tokenizer(None), stated, noise, "bpe", 64, 1000)  # type: ignore[arg-type]


def full_batch(noise: float, steps: int, delta: float) -> Plan:
    stages = (Stage(steps=steps, batch_size=1000, noise_multiplier=noise),)
    return Plan(units=1000, stages=stages, delta=delta, sampling=sampling("shuffled"))


@pytest.mark.parametrize("weights", ["plain", "by-length"])
def test_composition_is_that_of_gaussians_where_that_is_known(weights: str) -> None:
    """Without sampling everything is one Gaussian, but for a word that one unit alone has."""
    plan, tokenizer = full_batch(5.0, 9, 1e-5), made((2.0, 1e-5), weights=weights)
    noise = tokenizer.noise
    shift = math.hypot(3 / 5.0, 1 / noise.multiplier)
    lost = noise.shown_alone
    exact = gaussian_epsilon(shift, 2e-5 - lost) - math.log1p(-lost)
    found = compose_with(plan, tokenizer.noise)
    assert exact <= found <= exact * 1.001
    assert found < plan.epsilon() + 2.0
    # The level holds: the pair with the most of everything has no larger delta there.
    assert pair_delta(found, math.log1p(-lost), shift) <= 2e-5


def test_twin_the_level_of_the_model_alone_is_too_small() -> None:
    plan, tokenizer = full_batch(5.0, 9, 1e-5), made((2.0, 1e-5))
    shift = math.hypot(3 / 5.0, 1 / tokenizer.noise.multiplier)
    lost = math.log1p(-tokenizer.noise.shown_alone)
    assert pair_delta(plan.epsilon(), lost, shift) > 10 * 2e-5
    # And the one that forgets what only one unit has, at a delta that is nothing but that.
    forgetful = gaussian_epsilon(shift, 2e-5)
    assert pair_delta(forgetful, lost, shift) > 2e-5


def test_a_level_is_never_above_the_sum() -> None:
    plan = full_batch(5.0, 1, 1e-5)
    for level in (0.1, 1.0, 10.0):
        assert compose_with(plan, made((level, 1e-5)).noise) <= plan.epsilon() + level


def test_a_plan_for_units_that_are_exchanged_is_refused() -> None:
    exchanged = replace(full_batch(5.0, 1, 1e-5), neighbors="replacement")
    with pytest.raises(InvalidArgument, match="exchanged"):
        compose_with(exchanged, made((2.0, 1e-5)).noise)


@pytest.mark.parametrize(("changes", "message"), [
    ({"method": Plain(), "privacy": replace(PRIVACY, epsilon=math.inf)}, "the method plain"),
    ({"privacy": replace(PRIVACY, epsilon=math.inf)}, "promises none"),
    ({"method": Directional(), "privacy": replace(PRIVACY, sampling="shuffled")}, "directional"),
    ({"tokenizer": "somewhere"}, "leave out `tokenizer=FOLDER`"),
    ({"model": "gpt2", "settings": {}}, "for a new model; gpt2 has a tokenizer"),
])  # fmt: skip
def test_what_cannot_be_added_up_is_refused_before_anything_is_read(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        replace(REQUEST, **changes)


def test_impossible_vocabularies_are_refused() -> None:
    for given in ({"epsilon": 0.0}, {"epsilon": 1.0, "words": 0}, {"epsilon": 1.0, "size": 9}):
        with pytest.raises(InvalidArgument):
            PrivateVocabulary(**given)  # type: ignore[arg-type]


def test_authors_are_the_units_of_both(tmp_path: Path) -> None:
    privacy = replace(PRIVACY, unit="author", epochs=0.1)
    request = replace(REQUEST, privacy=privacy, seed=3)
    done = train_model(request, DOCUMENTS, RunFolder(tmp_path / "run"))
    assert done.guarantee.unit == "author"
    assert not done.guarantee.for_release
    content = json.loads((tmp_path / "run" / "tokenizer" / "guarantee.json").read_text())
    assert content["contributors"] == done.plan.units == 70
    nameless = [*DOCUMENTS, Document("bake")]
    with pytest.raises(BadInput, match="document 141 has no author"):
        train_model(request, nameless, RunFolder(tmp_path / "other"))
    assert not (tmp_path / "other").exists()


def test_a_tokenizer_of_an_earlier_release_is_named_and_not_counted(tmp_path: Path) -> None:
    kept = learn_privately(DOCUMENTS, Bpe(), 400, BUDGET, Randomness.secure())
    save_private(kept, tmp_path / "voc")
    given = replace(REQUEST, vocabulary=None, tokenizer=str(tmp_path / "voc"))
    done = train_model(given, DOCUMENTS, RunFolder(tmp_path / "run"))
    assert named(done.guarantee) == [NAMED]
    assert done.guarantee.for_release
    # However it is given, and wherever it has been since.
    first, second = str(done.folder / "model"), str(tmp_path / "again" / "model")
    again = replace(given, tokenizer=first)
    train_model(again, DOCUMENTS, RunFolder(tmp_path / "again"))
    stated = done.plan.guarantee()
    for request in (
        replace(given, tokenizer=kept),
        replace(given, tokenizer=kept.tokenizer),
        replace(given, tokenizer=first),
        replace(given, tokenizer=second),
        # Also beneath a model that is trained further.
        replace(given, model=first, tokenizer=None, settings={}),
    ):
        loaded = request.load(Randomness.reproducible(1))
        assert named(request.promised(stated, loaded.tokenizer)) == [NAMED]
    # The twin forgets where it came from, and nothing is named.
    forgotten = replace(kept.tokenizer, guarantee=None)
    assert named(given.promised(stated, forgotten)) == []
    (done.folder / "model" / "tokenizer_guarantee.json").write_text('{"schema": 1}')
    with pytest.raises(BadInput, match="damaged"):
        again.load(Randomness.reproducible(1))


BUDGET = Budget(epsilon=20.0, delta=1e-3, contribution=Contribution(words=85))
NAMED = "(ε ≤ 20, δ ≤ 0.001); if it is this text, the levels add up"


def named(stated: Guarantee) -> list[str]:
    return [one[-len(NAMED) :] for one in stated.uncovered if "tokenizer" in one]


def test_a_tokenizer_that_is_charged_is_not_named_beside(run: Run) -> None:
    assert named(run.guarantee) == []
    assert named(Run.open(run.folder).guarantee) == []
    assert (run.folder / "model" / "tokenizer_guarantee.json").is_file()


def test_a_model_with_a_tokenizer_that_is_not_for_release_is_not_for_release(
    tmp_path: Path,
) -> None:
    seeded = learn_privately(DOCUMENTS, Bpe(), 400, BUDGET, Randomness.reproducible(1))
    given = replace(REQUEST, vocabulary=None, tokenizer=seeded)
    done = train_model(given, DOCUMENTS, RunFolder(tmp_path / "run"))
    assert not done.guarantee.for_release
    assert not Run.open(done.folder).guarantee.for_release
    assert "not for release" in done.guarantee.sentence()
