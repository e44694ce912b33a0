"""Authors who pay for their own lines: before a line leaves, once, and up to their limit."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import secrets
import shutil
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.accounting.budget import Amount, Budget, Limit
from sfumato.accounting.budget import authors as prices
from sfumato.core.errors import (
    CannotResume,
    IncomparableGuarantees,
    InvalidArgument,
    MalformedRecord,
    UnknownName,
)
from sfumato.core.randomness import Randomness
from sfumato.files import chunks
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import Guarantee, Notion, Part, independent, metric_dp
from sfumato.guarantees.parts import by_type
from sfumato.mechanisms.date import Date
from sfumato.mechanisms.exponential import Exponential
from sfumato.releases import job as jobs
from sfumato.releases.authors import MASKED_LEAK, Till
from sfumato.releases.drawn import Drawn, draw_chunk
from sfumato.releases.job import Job, run_job
from sfumato.releases.parts import Parts
from sfumato.releases.payment import Payment
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.workers import Shared
from sfumato.text.document import Document
from sfumato.vectors.space import Space

Lines = Sequence[tuple[str | None, str]]


@pytest.fixture
def payment(tmp_path: Path) -> Payment:
    key, place = tmp_path / "budget.key", tmp_path / "budget.db"
    key.write_text(secrets.token_hex(32))
    Budget.at(place, key, new=True).close()
    return Payment(str(place), "author:user", key, author_limit=4.0)


def job_of(payment: Payment, lines: Lines, name: str = "in.jsonl") -> Job:
    folder = Path(payment.budget).parent
    (folder / name).write_text(
        "".join(json.dumps({"user": user, "text": text}) + "\n" for user, text in lines)
    )
    layout = Layout(author_field="user", keep=("user",), others=True)
    source = Source.of(folder / name, layout)
    return Job(source=source, target=folder / f"out-{name}", payment=payment)


def words(space: Space, epsilon: float = 1.0, mechanism: str = "exponential") -> Privatizer:
    return Privatizer(policy="everything", mechanism=mechanism, epsilon=epsilon, vectors=space)


def used(payment: Payment, author: str) -> tuple[float, float, int]:
    with Budget.at(payment.budget, payment.key) as budget:
        account = budget.show(f"author:{author}")
    return account.spent.level, account.held.level, account.charges


def texts(job: Job) -> list[str]:
    return [json.loads(line)["text"] for line in job.target.read_text().splitlines()]


def test_each_author_pays_for_their_words_until_nothing_is_left(
    payment: Payment, small_space: Space
) -> None:
    lines = [("ada", "paris rome"), ("bob", "cat"), ("ada", "rome paris"), ("ada", "dog, 7!")]
    job = job_of(payment, lines)
    told = run_job(job, words(small_space))
    assert used(payment, "ada") == (4.0, 0.0, 2)
    assert used(payment, "bob") == (1.0, 0.0, 1)
    written = texts(job)
    assert written[3] == "[WORD], [WORD]!"
    assert not any("[" in one for one in written[:3])
    assert told["budget"]["records"] == {"paid": 3, "masked": 1, "without_author": 0}
    assert MASKED_LEAK in told["guarantee"]["leaks"]
    assert told["for_release"] is True


def test_what_is_withheld_is_left_out_and_its_header_stays(
    payment: Payment, small_space: Space
) -> None:
    payment = replace(payment, when_spent="withhold", author_limit=1.0)
    folder = Path(payment.budget).parent
    (folder / "in.csv").write_text("user,text\nada,paris\nada,rome\n,cat\nbob,dog\n")
    layout = Layout(author_field="user", keep=("user",), others=True)
    job = Job(
        source=Source.of(folder / "in.csv", layout), target=folder / "out.csv", payment=payment
    )
    told = run_job(job, words(small_space))
    assert [line.partition(",")[0] for line in job.target.read_text().splitlines()] == [
        "user", "ada", "bob",
    ]  # fmt: skip
    assert told["budget"]["records"] == {"paid": 2, "withheld": 2, "without_author": 1}
    assert told["counts"]["documents"] == 2
    assert run_job(replace(job, resume=True), words(small_space))["already_finished"]


@pytest.mark.parametrize("nobody", [None, "", "  ", "x" * 1001])
def test_a_line_without_an_author_is_paid_for_by_nobody(
    payment: Payment, small_space: Space, nobody: str | None
) -> None:
    job = job_of(payment, [(nobody, "paris"), ("ada", "rome")])
    told = run_job(job, words(small_space))
    assert texts(job)[0] == "[WORD]"
    assert told["budget"]["records"] == {"paid": 1, "masked": 1, "without_author": 1}


def test_a_missing_field_is_refused_by_its_line(payment: Payment, small_space: Space) -> None:
    job = job_of(payment, [("ada", "paris")])
    path = job.source.path
    assert path is not None
    path.write_text(path.read_text() + '{"text": "secret"}\n')
    with pytest.raises(MalformedRecord, match="line 2") as refused:
        run_job(job, words(small_space))
    assert "secret" not in str(refused.value)


def test_without_a_limit_an_unknown_author_has_nothing_left(
    payment: Payment, small_space: Space
) -> None:
    payment = replace(payment, author_limit=None)
    with Budget.at(payment.budget, payment.key) as budget:
        budget.open("author:ada", Limit.of("level", 1.0))
    job = job_of(payment, [("ada", "paris"), ("bob", "paris"), ("bob", "")])
    assert run_job(job, words(small_space))["budget"]["records"]["masked"] == 1
    assert texts(job)[1:] == ["[WORD]", ""]
    with Budget.at(payment.budget, payment.key) as budget:
        assert len(budget.accounts()) == 1


def test_dates_are_paid_for_once_in_a_line_and_names_cost_nothing(
    payment: Payment, small_vectors: None
) -> None:
    lines = [
        ("ada", "Tom Miller came on 3 May 2021 and left on 9 May 2021."),
        ("ada", "Ann Smith went to Boston."),
        ("ada", "Ann Smith called Tom Miller."),
    ]
    job = job_of(replace(payment, author_limit=0.11), lines)
    told = run_job(job, Privatizer())
    assert used(payment, "ada") == (0.1, 0.0, 1)
    assert texts(job)[1] == "[PERSON] went to [LOCATION]."  # 0.02 per km no longer fits
    assert "[" not in texts(job)[2]
    assert told["budget"]["records"]["masked"] == 1
    with Budget.at(payment.budget, payment.key) as budget:
        said = budget.show("author:ada").sentence()
    assert "each in the unit of its type" in said
    assert "DATE_TIME: days between dates" in said
    assert "costs nothing" in said


def test_all_that_was_charged_speaks_of_the_same(payment: Payment, small_space: Space) -> None:
    run_job(job_of(payment, [("ada", "paris")]), words(small_space))
    other = job_of(payment, [("ada", "paris")], "other.jsonl")
    with pytest.raises(IncomparableGuarantees, match="another"):
        run_job(other, words(small_space, mechanism="hyperbolic"))
    moved = Space(small_space.name, small_space.words, small_space.vectors * 2)
    with pytest.raises(IncomparableGuarantees, match="vectors or policy"):
        run_job(other, words(moved))
    assert used(payment, "ada") == (1.0, 0.0, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        pure := Guarantee(notion=Notion.PURE_DP, unit="word", neighbors="any two", epsilon=1.0),
        replace(metric_dp(epsilon=1.0, metric="m"), delta=1e-6),
        metric_dp(epsilon=1.0, metric="m", unit="sentence"),
        replace(metric_dp(epsilon=1.0, metric="m"), notion=Notion.UTILITY_OPTIMIZED_METRIC_LDP),
        by_type([Part(("PERSON",), independent()), Part((), pure)]),
    ],
)
def test_statements_that_bound_no_distance_are_refused(wrong: Guarantee) -> None:
    with pytest.raises(IncomparableGuarantees, match="bounds no such distance"):
        prices.refuse_unfit(wrong)


def test_settings_that_do_not_fit_are_refused(payment: Payment, small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="for authors"):
        replace(payment, account="text:memo")
    with pytest.raises(UnknownName):
        replace(payment, when_spent="drop")
    with pytest.raises(InvalidArgument, match="with a seed"):
        run_job(job_of(payment, []), replace(words(small_space), seed=1))
    with pytest.raises(IncomparableGuarantees, match="no proven level"):
        run_job(job_of(payment, []), Privatizer(mechanism="pseudonym"))
    plain = Path(payment.budget).with_name("in.txt")
    plain.write_text("paris\n")
    source = Source.of(plain, Layout(author_field="user"))
    with pytest.raises(InvalidArgument, match="no line names its author"):
        run_job(Job(source=source, target=plain.with_name("o.txt"), payment=payment),
                words(small_space))  # fmt: skip


# ---- What an account proves, put to the test on a space of three words.

LIMIT, IN_A_LINE, LINES = 4.0, 2, 4


def once_a_line(_: Guarantee, counts: Sequence[int]) -> Amount:
    """A twin: a line costs its level, however many words it has."""
    return Amount.charged(1.0 if any(counts) else 0.0)


@pytest.mark.parametrize("sound", [True, False])
def test_no_output_tells_two_authors_apart_better_than_the_limit_allows(
    payment: Payment, small_space: Space, monkeypatch: pytest.MonkeyPatch, sound: bool
) -> None:
    """All outputs of all authors over a tiny space, as far as the real run let their lines pass."""
    few = Space("few", ["paris", "cat", "quark"], small_space.vectors[[0, 7, 11]])
    if not sound:
        monkeypatch.setattr("sfumato.accounting.budget.charges.price", once_a_line)
    lines = [("ada", " ".join(["paris"] * IN_A_LINE))] * LINES
    job = job_of(replace(payment, author_limit=LIMIT), lines)
    run_job(job, words(few))
    passed = sum("[" not in one for one in texts(job))
    assert passed < LINES or not sound
    law = Exponential(space=few, epsilon=1.0)
    each = np.exp([law.log_row(point) for point in range(3)])
    released = passed * IN_A_LINE
    # The chances of all 3ⁿ outputs, for an author of the same word throughout: any other author
    # has a smaller distance at some places, and a smaller ratio there.
    laws = []
    for word in range(3):
        joint = np.ones(1)
        for _ in range(released):
            joint = np.multiply.outer(joint, each[word]).ravel()
        laws.append(joint)
    worst = max(
        np.max(np.log(laws[one]) - np.log(laws[other]))
        / np.linalg.norm(few.vectors[one] - few.vectors[other])
        for one, other in itertools.permutations(range(3), 2)
    )
    assert (worst <= LIMIT * (1 + 1e-9)) == sound


def test_the_price_of_a_line_does_not_tell_what_its_output_hides(small_vectors: None) -> None:
    """How many words stand under one replacement shows nowhere; a twin that counts them tells."""
    selective = Privatizer(epsilon=2.0).selective
    pair = [Document("Ask Tom on 3 May 2021."), Document("Ask Tom Miller on Monday, 3 May 2021.")]
    one, other = selective.privatize(pair, Randomness.secure())
    assert one.drawn == other.drawn
    assert one.selected != other.selected  # what the twin would charge for
    proven = Privatizer(epsilon=2.0).guarantee()
    assert cost(proven, one.drawn) == cost(proven, one.drawn, (0,) * len(one.drawn)) == 0.1
    assert cost(proven, one.drawn, other.drawn) == 0.2  # two documents, two draws
    with pytest.raises(InvalidArgument, match="counted for 1"):
        cost(proven, (1,))


def cost(proven: Guarantee, *documents: tuple[int, ...]) -> float:
    """What documents with so many places under each statement cost."""
    return prices.price(proven, prices.draws(proven, documents)).level


@pytest.mark.parametrize("shift", ["document", "each"])
def test_a_draw_for_all_dates_of_a_line_is_one_factor_and_a_draw_for_each_is_not(
    shift: str,
) -> None:
    """The exact law of two dates that are both moved by nine days, against what is charged."""
    date = Date(epsilon=0.1, shift=shift)
    moved, counts = 9, (2,)
    shifts = np.arange(-60, 61)
    law = -0.1 * np.abs(shifts)  # up to a constant, which is the same for both authors
    once = np.max(law[: -2 * moved] - law[moved:-moved])  # the same shift moves both dates
    loss = once if shift == "document" else 2 * once  # independent shifts: the worst of each
    charged = cost(date.guarantee(), counts)
    assert loss <= charged * moved + 1e-9
    twin = cost(Date(epsilon=0.1).guarantee(), counts)  # one draw is charged for all
    assert (loss <= twin * moved + 1e-9) == (shift == "document")


def test_a_chunk_can_travel_and_counts_add_up_over_the_texts_of_a_record(
    payment: Payment, small_space: Space
) -> None:
    folder = Path(payment.budget).parent
    (folder / "two.jsonl").write_text('{"user": "ada", "a": "paris rome", "b": "cat"}\n')
    layout = Layout(field=("a", "b"), several=True, author_field="user", keep=("user",))
    source = Source.of(folder / "two.jsonl", layout)
    run_job(Job(source=source, target=folder / "out.jsonl", payment=payment), words(small_space))
    assert used(payment, "ada") == (3.0, 0.0, 1)
    with source.opened() as (found, _):
        drawn = draw_chunk(Shared.of(words(small_space)), (0, next(found)))
    assert [one.drawn for one in pickle.loads(pickle.dumps(drawn)).results] == [(2,), (1,)]


# ---- Killed, resumed, copied.


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "RECORDS", 2)


def stopped(job: Job, privatizer: Privatizer, at: Callable[..., object], place: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, at)
        with pytest.raises(KeyboardInterrupt):
            run_job(job, privatizer)


def test_a_run_that_goes_on_charges_no_line_twice(
    payment: Payment, small_space: Space, small_parts: None
) -> None:
    lines = [("ada", "paris")] * 3 + [("bob", "cat dog")] * 3
    job = job_of(payment, lines)
    finish = Parts.finish

    def stop(parts: Parts, index: int, content: bytes, tally: object) -> None:
        if index == 1:
            raise KeyboardInterrupt  # charged, and not written
        finish(parts, index, content, tally)  # type: ignore[arg-type]

    stopped(job, words(small_space), stop, "sfumato.releases.parts.Parts.finish")
    assert used(payment, "ada") == (3.0, 1.0, 3)  # the third is held: its part is not there
    assert used(payment, "bob") == (2.0, 2.0, 1)
    with pytest.raises(CannotResume, match="payment"):
        run_job(replace(job, resume=True, payment=None), words(small_space))
    told = run_job(replace(job, resume=True), words(small_space))
    assert used(payment, "ada") == (3.0, 0.0, 3)
    assert used(payment, "bob") == (4.0, 0.0, 2)
    assert told["budget"]["records"] == {"paid": 5, "masked": 1, "without_author": 0}
    run_job(replace(job, overwrite=True), words(small_space))  # a new release, at a new price
    assert used(payment, "ada") == (4.0, 0.0, 4)


def test_a_part_that_was_finished_is_never_drawn_again(
    payment: Payment, small_space: Space, small_parts: None
) -> None:
    job = job_of(payment, [("ada", "paris")] * 4)
    folder, kept = Parts.beside(job.target).folder, job.target.with_name("kept")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    stopped(job, words(small_space), stop, "sfumato.releases.job._put_together")
    shutil.copytree(folder, kept)
    other = replace(job, target=job.target.with_name("copy.jsonl"), resume=True)
    shutil.copytree(kept, Parts.beside(other.target).folder)
    copied = Parts.beside(other.target).folder
    # Whoever wants a second draw deletes the note of the first, too.
    for part in [*copied.glob("00000001.*"), copied / "drawn"]:
        part.unlink()
    with pytest.raises(InvalidArgument, match="another request"):
        run_job(other, words(small_space))
    for part in [*folder.glob("00000001.*"), folder / "drawn"]:
        part.unlink()
    with pytest.raises(InvalidArgument, match="settled"):
        run_job(replace(job, resume=True), words(small_space))
    assert used(payment, "ada") == (4.0, 0.0, 4)


class PaysLate(Till):
    """A twin: a line leaves, and is paid for with the next one."""

    waiting: Drawn | None = None

    def pay(self, drawn: Drawn) -> Drawn:
        if self.waiting is not None:
            super().pay(self.waiting)
        self.waiting = drawn
        return drawn


@pytest.mark.parametrize("till", [Till, PaysLate])
def test_whoever_is_killed_has_written_no_line_that_is_not_paid_for(
    payment: Payment, small_space: Space, till: type[Till], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.releases.authors.Till", till)
    folder = Path(payment.budget).parent
    into, out = folder / "into", folder / "out"
    os.mkfifo(into)
    os.mkfifo(out)
    layout = Layout(author_field="user", keep=("user",), others=True, live=True)
    job = Job(source=Source.of(into, layout, file_format="jsonl"), target=out, payment=payment)
    child = os.fork()
    if child == 0:
        try:
            run_job(job, words(small_space))
        finally:
            os._exit(0)
    released = 0
    with out.open() as taken, into.open("w") as given:
        for _ in range(3):
            given.write('{"user": "ada", "text": "paris"}\n')
            given.flush()
            released += "text" in taken.readline()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert released == 3
    assert (used(payment, "ada")[0] >= released) == (till is Till)


def test_a_stream_that_is_not_followed_is_paid_for_by_authors_too(
    payment: Payment, small_space: Space
) -> None:
    job = replace(job_of(payment, [("ada", "paris"), ("bob", "cat")]), target=Path("/dev/null"))
    assert jobs.run_job(job, words(small_space))["budget"]["records"]["paid"] == 2
    assert used(payment, "ada") == (1.0, 0.0, 1)
