"""A search from its coins to the run that is left, killed and resumed anywhere."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from paid_work import Watch, new_payment, used
from sfumato.accounting.budget import Limit
from sfumato.accounting.trials import TrialCount
from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    CannotResume,
    InvalidArgument,
    OutputExists,
)
from sfumato.core.progress import QUIET
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel
from sfumato.text.document import Document
from sfumato.training.checkpoints import Checkpoint
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import announcing
from sfumato.training.methods.private import Private
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.search import search as searching
from sfumato.training.search.plan import Candidate, SearchPlan
from sfumato.training.search.scoring import (
    GRAIN,
    HeldOutScore,
    PublicScore,
    Scored,
    split_units,
    unit_number,
)
from sfumato.training.search.search import COUNT, Search, chosen_settings, run_search
from sfumato.training.search.space import SearchSpace
from sfumato.training.search.state import SearchFolder, SearchState
from sfumato.training.settings import Course, Privacy
from unit.training.runs import SETTINGS, Killed, small_model, some_documents, tokenizer

DOCUMENTS = some_documents(20)
PUBLIC = some_documents(5)
SPACE = SearchSpace.of({"learning_rate": "1e-3..1e-1:log", "batch_size": "4,8"})
FEW = TrialCount(mean=3.0)
# With this seed there are three trials.
SEED = next(
    seed for seed in range(99) if FEW.draw(Randomness.reproducible(seed).stream(COUNT)) == 3
)


def request(drawn: Mapping[str, Any], noise: float, seed: int | None) -> Request:
    privacy = Privacy(
        epsilon=math.inf,
        delta=0.01,
        epochs=1,
        batch_sizes=(drawn["batch_size"],),
        accountant="rdp",
    )
    return Request(
        model="lstm",
        privacy=privacy,
        method=Private(sigma=noise),
        course=Course(learning_rate=drawn.get("learning_rate", 0.1), checkpoint_every=1),
        tokenizer=tokenizer(),
        settings=SETTINGS["lstm"],
        corpus={"input": 3},
        seed=seed,
    )


@cache
def plan_of(hold_out: float | None) -> SearchPlan:
    trained = 20 if hold_out is None else 15
    return SearchPlan(
        epsilon=8.0,
        delta=0.01,
        trials=FEW,
        candidates=tuple(
            Candidate(one, request(one, 1.0, None).privacy.draft(trained))
            for one in SPACE.combinations()
        ),
        accountant="rdp",
    ).solved(held_out=hold_out is not None)


def make_search(*, hold_out: float | None = None, seed: int | None = SEED) -> Search:
    return Search(
        plan=plan_of(hold_out),
        space=SPACE,
        request=request,
        documents=DOCUMENTS,
        score=PublicScore(PUBLIC) if hold_out is None else None,
        hold_out=hold_out,
        settings={"corpus": 3},
        seed=seed,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Search, Run]:
    """A search that nobody disturbed."""
    search = make_search()
    return search, run_search(search, tmp_path_factory.mktemp("whole") / "run")


# --- what is left -------------------------------------------------------------------------------


def test_the_best_trial_is_left_as_a_run(whole: tuple[Search, Run]) -> None:
    search, run = whole
    drawn, _ = search.draw()
    assert len(drawn) > 2
    assert chosen_settings(run) in drawn
    assert run.guarantee.epsilon == search.plan.level() <= 8.0
    assert not run.guarantee.for_release  # because of the seed
    written = json.loads(run.files.guarantee.read_text())
    assert written["search"]["space"] == SPACE.as_dict()
    assert SearchPlan.from_dict(written["search"]).level() == search.plan.level()
    figures = {row["metric"]: row["value"] for row in run.files.measured()}
    assert figures["epsilon"] == run.guarantee.epsilon
    assert figures["perplexity"] > 1
    assert run.model.tokenizer.size


def traces(folder: Path, search: Search) -> list[str]:
    """Names of files, and settings of trials, that tell of another trial than the best."""
    drawn, _ = search.draw()
    best = chosen_settings(Run.open(folder / "run"))
    others = [str(one["learning_rate"]) for one in drawn if one != best]
    found = [one.name for one in folder.iterdir() if one.name != "run"]
    for path in (folder / "run").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        found += [value for value in others if value.encode() in content]
    times = {path.stat().st_mtime_ns for path in (folder / "run").rglob("*")}
    return found if len(times) == 1 else [*found, "times"]


def test_nothing_of_the_other_trials_is_left(whole: tuple[Search, Run]) -> None:
    search, run = whole
    assert traces(run.folder.parent, search) == []


def test_twin_a_state_that_is_kept_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SearchFolder, "remove", lambda _: None)
    monkeypatch.setattr(searching, "_same_time", lambda _: None)
    search = make_search()
    run_search(search, tmp_path / "run")
    assert traces(tmp_path, search) == ["run.search", "times"]


def with_delta(given: float) -> Search:
    """A search at a delta of one in all units, of which every plan warns."""

    def asked(drawn: Mapping[str, Any], noise: float, seed: int | None) -> Request:
        made = request(drawn, noise, seed)
        return replace(made, privacy=replace(made.privacy, delta=given))

    plan = SearchPlan(
        epsilon=8.0,
        delta=given,
        trials=FEW,
        candidates=tuple(
            Candidate(one, asked(one, 1.0, None).privacy.draft(20)) for one in SPACE.combinations()
        ),
        accountant="rdp",
    )
    return replace(make_search(), plan=plan.solved(held_out=False), request=asked)


def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[bool]]:
    """What is warned of while trials run, and whether silence was asked for when one was scored."""
    quiet: list[bool] = []
    original = PublicScore.of

    def scored(self: PublicScore, *given: Any) -> Scored:
        quiet.append(QUIET.get())
        return original(self, *given)

    monkeypatch.setattr(PublicScore, "of", scored)
    search = with_delta(1 / 20)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run_search(search, tmp_path / "run")
    assert len(quiet) == 3
    return [str(one.message) for one in found], quiet


def test_no_line_is_written_for_each_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warned, quiet = heard(tmp_path, monkeypatch)
    assert warned == []
    assert all(quiet)
    assert not QUIET.get()


def test_twin_trials_that_are_heard_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "_unheard", nullcontext)
    warned, quiet = heard(tmp_path, monkeypatch)
    assert len([one for one in warned if "delta = 1/n" in one]) == 3
    assert not any(quiet)


def announced(search: Search) -> list[tuple[str, ...]]:
    """What is said of a trial to whoever watches."""
    told: list[tuple[str, ...]] = []
    plan = search.plan.candidates[0].plan

    class Rows:
        def lines(self) -> tuple[str, ...]:
            return (f"{plan.steps} steps",)

    with announcing(lambda _, material: told.append(material.lines())):
        tell = searching._announce(search, {"batch_size": 4, "learning_rate": 0.1})
    tell(plan, Rows())
    return told


def test_what_a_trial_has_to_do_is_told_only_if_all_do_the_same() -> None:
    search = make_search()
    assert announced(search) == [()]  # the number of steps tells the batch size
    alike = replace(search, space=SearchSpace.of({"learning_rate": "1e-3..1e-1:log"}))
    assert announced(alike) == [("5 steps",)]


def test_a_finished_search_is_not_made_again(whole: tuple[Search, Run]) -> None:
    search, run = whole
    again = run_search(search, run.folder, resume=True)
    assert again.already_finished
    assert again.guarantee == run.guarantee
    with pytest.raises(OutputExists, match="choose another folder"):
        run_search(search, run.folder)
    other = replace(search, plan=replace(search.plan, epsilon=9.0))
    with pytest.raises(CannotResume, match="another search"):
        run_search(other, run.folder, resume=True)

    def elsewhere(drawn: Mapping[str, Any], noise: float, seed: int | None) -> Request:
        return replace(request(drawn, noise, seed), corpus={"input": 4})

    with pytest.raises(CannotResume, match="another search"):
        run_search(replace(search, request=elsewhere), run.folder, resume=True)


# --- killed and resumed -------------------------------------------------------------------------


def dying(after: int) -> Callable[..., Callable[[object], None]]:
    """Kills the process after so many steps of all trials together."""
    left = [after]

    def watch(_: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    return lambda *_: watch


def test_a_search_that_is_killed_again_and_again_makes_the_same_trials(
    tmp_path: Path, whole: tuple[Search, Run]
) -> None:
    search, undisturbed = whole
    folder = SearchFolder.beside(tmp_path / "run")
    states: list[dict[str, Any]] = []
    for after in (0, 3, 5):
        with pytest.raises(Killed), announcing(dying(after)):
            run_search(search, tmp_path / "run", resume=bool(states))
        states.append(json.loads(folder.state.read_text()))
        assert folder.state.stat().st_mode & 0o777 == 0o600
        assert folder.path.stat().st_mode & 0o777 == 0o700
    assert all(one["drawn"] == states[0]["drawn"] for one in states)
    assert states[0]["done"] < states[-1]["done"]
    found = run_search(search, tmp_path / "run", resume=True)
    # Steps that were lost in a kill stay lost, so scores differ; the choices do not.
    assert len(states[0]["drawn"]) == len(search.draw()[0])
    assert chosen_settings(found) in states[0]["drawn"]
    assert found.guarantee == undisturbed.guarantee
    assert traces(tmp_path, search) == []


def test_kills_between_two_steps_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: tuple[Search, Run]
) -> None:
    search, undisturbed = whole

    def kill_once(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def once(*given: Any) -> None:
            monkeypatch.setattr(owner, name, original)
            original(*given)
            raise Killed

        monkeypatch.setattr(owner, name, once)

    kill_once(searching, "_settle")
    kill_once(searching, "_finish")
    kill_once(SearchFolder, "remove")
    for resume in (False, True, True):
        with pytest.raises(Killed):
            run_search(search, tmp_path / "run", resume=resume)
    found = run_search(search, tmp_path / "run", resume=True)
    assert chosen_settings(found) == chosen_settings(undisturbed)
    assert found.files.measured() == undisturbed.files.measured()
    assert traces(tmp_path, search) == []


def test_a_score_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = make_search(hold_out=0.25, seed=None)  # fresh noise in every draw
    folder = SearchFolder.beside(tmp_path / "run")

    def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(searching, "_settle", die)
    seen = []
    for resume in (False, True):
        with pytest.raises(Killed):
            run_search(search, tmp_path / "run", resume=resume)
        seen.append(json.loads(folder.state.read_text())["scored"])
    assert seen[0] is not None
    assert seen[0] == seen[1]


def test_no_second_search_at_the_same_place(tmp_path: Path) -> None:
    search, run = make_search(), tmp_path / "run"
    with pytest.raises(Killed), announcing(dying(0)):
        run_search(search, run)
    with pytest.raises(OutputExists, match="levels add up"):
        run_search(search, run)
    with pytest.raises(CannotResume, match="another corpus"):
        run_search(replace(search, settings={"corpus": 4}), run, resume=True)
    folder = SearchFolder.beside(run)
    with folder.held(), pytest.raises(CannotResume, match="in use"):
        run_search(search, run, resume=True)
    kept = folder.state.read_bytes()
    folder.state.write_bytes(b'{"schema": 1}')
    with pytest.raises(CannotResume, match="damaged"):
        run_search(search, run, resume=True)
    folder.state.unlink()
    with pytest.raises(CannotResume, match="not paid for"):
        run_search(search, run, resume=True)
    folder.state.write_bytes(kept)
    assert run_search(search, run, resume=True).guarantee.epsilon <= 8.0


def test_a_budget_pays_for_the_whole_search_before_its_coins_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = new_payment(tmp_path, Limit.of("approximate", 10.0, delta=0.1))
    search, run = replace(make_search(seed=None), payment=payment), tmp_path / "run"
    with pytest.raises(InvalidArgument, match="seed"):
        run_search(replace(search, seed=1), run)
    watch = Watch(payment)
    monkeypatch.setattr(TrialCount, "draw", watch.over(lambda *_: 2))
    with pytest.raises(Killed), announcing(dying(0)):
        run_search(search, run)
    assert (watch.draws, watch.unpaid) == (1, 0)
    spent, held, charges = used(payment)
    assert held == spent == pytest.approx(search.plan.level(), rel=1e-3)
    SearchFolder.beside(run).budget.rename(tmp_path / "elsewhere")
    with pytest.raises(CannotResume, match="without a budget"):
        run_search(search, run, resume=True)
    (tmp_path / "elsewhere").rename(SearchFolder.beside(run).budget)
    run_search(search, run, resume=True)
    assert used(payment) == (spent, 0.0, charges)
    # A second search does not fit, and leaves nothing.
    with pytest.raises(BudgetExceeded):
        run_search(search, tmp_path / "second")
    assert not list(tmp_path.glob("second*"))


# --- outcomes without a model -------------------------------------------------------------------


def test_a_trial_that_fails_is_the_worst_and_the_search_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = make_search()
    drawn, _ = search.draw()
    bad = drawn[-1]
    made: list[Mapping[str, Any]] = []

    def diverging(settings: Mapping[str, Any], noise: float, seed: int | None) -> Request:
        made.append(settings)
        wild = replace(request(settings, noise, seed), course=Course(learning_rate=1e6))
        return request(settings, noise, seed) if settings == bad else wild

    run = run_search(replace(search, request=diverging), tmp_path / "run")
    assert made == list(drawn)  # all were made
    assert chosen_settings(run) in drawn


@pytest.mark.parametrize("kept", [None, 0, 3])
def test_a_trial_whose_steps_are_charged_and_lost_is_a_failed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int | None
) -> None:
    """A pause in public training leaves a checkpoint of no private step."""
    search = make_search()
    drawn, split = search.draw()
    folder = SearchFolder.beside(tmp_path / "run")
    folder.trial.mkdir(parents=True)
    trial = RunFolder(folder.trial)
    trial.ledger.write_bytes(b"")
    if kept is not None:
        Checkpoint(kept, {}, {}, "Adam", 1.0).save(trial.checkpoint)

    def lost(*_: Any, **__: Any) -> None:
        raise CannotResume("all steps are charged")

    monkeypatch.setattr(searching, "train_model", lost)
    state = SearchState(search.settings, drawn, split)
    score = PublicScore(PUBLIC)
    if kept:  # what was kept can be gone on with: it is another problem
        with pytest.raises(CannotResume):
            searching._scored(search, folder, state, (DOCUMENTS, score))
        return
    found = searching._scored(search, folder, state, (DOCUMENTS, score))
    assert found.value == -math.inf


def test_a_search_without_a_model_is_spent(tmp_path: Path) -> None:
    usual = make_search()
    rare = replace(usual, plan=replace(usual.plan, trials=TrialCount(mean=1.1, shape=math.inf)))
    search = next(one for seed in range(100) if not (one := replace(rare, seed=seed)).draw()[0])
    for resume in (False, True, True):
        with pytest.raises(BadInput, match="Its level is spent"):
            run_search(search, tmp_path / "run", resume=resume)
    state = SearchState.opened(SearchFolder.beside(tmp_path / "run"), search.settings, search.draw)
    assert state.ended
    assert not state.drawn


# --- scores -------------------------------------------------------------------------------------


def test_the_first_of_equals_is_the_best_and_failures_are_never() -> None:
    state = SearchState({}, ({}, {}, {}), 0)
    for value, better in ((-math.inf, False), (0.5, True), (0.5, False), (0.6, True)):
        now = state.with_score(Scored(value))
        assert now.better is better
        state = now.settled()
    assert state.chosen == 3
    assert state.done == 4
    assert state.best == Scored(0.6)


def test_units_are_either_trained_on_or_held_out() -> None:
    for unit, count in (("example", 5), ("author", 1)):
        trained, held = split_units(DOCUMENTS, unit, 0.25, 11)
        assert len(held) == count
        assert len(trained) + sum(map(len, held)) == len(DOCUMENTS)
        if unit == "author":
            assert {one.author for one in trained}.isdisjoint(one.author for one in held[0])
    # The places that are held out do not depend on the text.
    blank = [Document("", author=one.author) for one in DOCUMENTS]
    places = [DOCUMENTS.index(unit[0]) for unit in split_units(DOCUMENTS, "example", 0.25, 11)[1]]
    same = split_units(blank, "example", 0.25, 11)[1]
    assert [next(i for i, one in enumerate(blank) if one is unit[0]) for unit in same] == places


@cache
def classifier() -> LoadedModel:
    return small_model("gpt-small", kind="classifier", classes=("a", "b"))


LABELED = [Document(one.text, labels=("ab"[n % 2],)) for n, one in enumerate(DOCUMENTS[:9])]


def whole_sum(score: HeldOutScore) -> int:
    """The sum in grains, with the same noise for any documents."""
    found = score.of(classifier(), Randomness.reproducible(9))
    return round(found.value * GRAIN * len(score.units))


def test_a_unit_changes_a_score_by_what_it_adds_itself() -> None:
    units = [[one] for one in LABELED]
    full = whole_sum(HeldOutScore(units, 2.0))
    changes = []
    for place in range(0, len(units), 3):
        without = [[] if number == place else one for number, one in enumerate(units)]
        own = unit_number(classifier(), units[place])
        changes.append(full - whole_sum(HeldOutScore(without, 2.0)))
        assert 0.0 <= own <= 1.0
        assert changes[-1] == math.floor(GRAIN * own)
    assert max(changes) == GRAIN  # what is charged is reached, and not exceeded


def test_twin_a_mean_over_those_who_are_there_moves_the_others_too() -> None:
    numbers = [unit_number(classifier(), [one]) for one in LABELED]
    for place in range(len(numbers)):
        others = [one for number, one in enumerate(numbers) if number != place]
        moved = len(numbers) * (sum(numbers) / len(numbers) - sum(others) / len(others))
        assert moved != pytest.approx(numbers[place], abs=1e-3)


def test_the_number_of_a_language_model_is_a_share() -> None:
    model = small_model()
    assert all(0.0 <= unit_number(model, [one]) <= 1.0 for one in DOCUMENTS)
    assert unit_number(model, [Document("")]) == 0.0


def test_the_noise_of_a_score_is_what_was_charged() -> None:
    score = HeldOutScore([[LABELED[5]]], 3.0)
    source = Randomness.reproducible(1)
    own = unit_number(classifier(), score.units[0])
    added = [score.of(classifier(), source).value - own for _ in range(60)]
    spread = math.sqrt(sum(one**2 for one in added) / len(added))
    assert 2.0 < spread < 4.0
