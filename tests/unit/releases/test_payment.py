"""Runs that a budget pays for: before the first noise, once, and never for less."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.accounting.budget import Budget, Limit
from sfumato.core.errors import BudgetExceeded, IncomparableGuarantees, InvalidArgument
from sfumato.files import chunks
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.policies.patterns import Digits
from sfumato.releases import job as jobs
from sfumato.releases.job import Job, run_job
from sfumato.releases.parts import Parts
from sfumato.releases.payment import Payment, claim_of
from sfumato.releases.privatizer import Privatizer
from sfumato.text.document import Document
from sfumato.text.span import Spans
from sfumato.vectors.space import Space

ACCOUNT = "text:memo"


@pytest.fixture
def payment(tmp_path: Path) -> Payment:
    key, place = tmp_path / "budget.key", tmp_path / "budget.db"
    key.write_text(secrets.token_hex(32))
    with Budget.at(place, key, new=True) as budget:
        budget.open(ACCOUNT, Limit.of("level", 3.0))
    return Payment(str(place), ACCOUNT, key)


@pytest.fixture
def job(tmp_path: Path, payment: Payment, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr(chunks, "RECORDS", 2)
    source = tmp_path / "in.jsonl"
    lines = [json.dumps({"text": f"Room {number} in paris"}) + "\n" for number in range(8)]
    source.write_text("".join(lines))
    return Job(source=Source.of(source, Layout()), target=tmp_path / "out.jsonl", payment=payment)


def privatizer(space: Space, epsilon: float = 1.0, policy: object = "everything") -> Privatizer:
    return Privatizer(
        policy=policy,  # type: ignore[arg-type]
        mechanism="laplace",
        epsilon=epsilon,
        vectors=space,
    )


def used(payment: Payment) -> tuple[float, float, int]:
    with Budget.at(payment.budget, payment.key) as budget:
        account = budget.show(ACCOUNT)
    return account.spent.level, account.held.level, account.charges


def test_every_run_is_charged_and_refused_when_too_little_is_left(
    job: Job, payment: Payment, small_space: Space
) -> None:
    run_job(job, privatizer(small_space))
    again = replace(job, target=job.target.with_name("again.jsonl"))
    run_job(again, privatizer(small_space, 2.0))
    assert used(payment) == (3.0, 0.0, 2)
    more = replace(job, target=job.target.with_name("more.jsonl"))
    with pytest.raises(BudgetExceeded, match=r"costs 0\.5 and 0 is left"):
        run_job(more, privatizer(small_space, 0.5))
    assert not more.target.exists()
    assert not Parts.beside(more.target).folder.exists()


def test_what_is_refused_was_never_drawn(
    job: Job, small_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(*_: object) -> None:
        raise AssertionError("drawn before it was paid for")

    monkeypatch.setattr(jobs, "_privatize_chunk", draw)
    with pytest.raises(BudgetExceeded):
        run_job(job, privatizer(small_space, 50.0))


def test_a_run_that_was_stopped_is_charged_once_if_it_goes_on_and_again_if_it_starts_again(
    job: Job, payment: Payment, small_space: Space
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        work = jobs._privatize_chunk

        def stop(shared: object, item: tuple[int, object]) -> object:
            if item[0] == 2:
                raise KeyboardInterrupt
            return work(shared, item)  # type: ignore[arg-type]

        patch.setattr(jobs, "_privatize_chunk", stop)
        with pytest.raises(KeyboardInterrupt):
            run_job(job, privatizer(small_space))
    assert used(payment) == (1.0, 1.0, 1)  # held: whether something was seen is not known
    run_job(replace(job, resume=True), privatizer(small_space))
    assert used(payment) == (1.0, 0.0, 1)
    run_job(replace(job, resume=True), privatizer(small_space))  # finished already
    run_job(replace(job, overwrite=True), privatizer(small_space))
    assert used(payment) == (2.0, 0.0, 2)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_copies_of_a_stopped_run_do_not_share_its_charge(
    job: Job, payment: Payment, small_space: Space
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "_put_together", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_job(job, privatizer(small_space))
    parts = Parts.beside(job.target).folder
    other = replace(job, target=job.target.with_name("other.jsonl"), resume=True)
    shutil.copytree(parts, Parts.beside(other.target).folder)
    shutil.copytree(parts, job.target.with_name("kept"))
    with pytest.raises(InvalidArgument, match="another request"):
        run_job(other, privatizer(small_space))
    run_job(replace(job, resume=True), privatizer(small_space))
    job.target.unlink()
    shutil.copytree(job.target.with_name("kept"), parts)
    with pytest.raises(InvalidArgument, match="settled"):
        run_job(replace(job, resume=True), privatizer(small_space))
    assert used(payment) == (1.0, 0.0, 1)


def test_another_text_under_the_same_name_and_time_is_another_request(
    job: Job, payment: Payment, small_space: Space
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "_finish_parts", interrupt)
        patch.setattr(Parts, "remove", lambda _: None)  # as if it had been killed
        with pytest.raises(KeyboardInterrupt):
            run_job(job, privatizer(small_space))
    path = job.source.path
    assert path is not None
    before = path.stat()
    with path.open("r+b") as opened:
        opened.write(b'{"text": "Hall')
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(InvalidArgument, match="another request"):
        run_job(replace(job, resume=True), privatizer(small_space))


def test_a_stream_is_charged_too(job: Job, payment: Payment, small_space: Space) -> None:
    run_job(replace(job, target=Path("/dev/null")), privatizer(small_space))
    assert used(payment) == (1.0, 0.0, 1)


def test_other_vectors_and_other_policies_are_other_accounts(
    job: Job, payment: Payment, small_space: Space
) -> None:
    run_job(job, privatizer(small_space))
    moved = Space(small_space.name, small_space.words, small_space.vectors * 2)
    other = replace(job, target=job.target.with_name("other.jsonl"))
    with pytest.raises(IncomparableGuarantees, match="another vectors or policy than"):
        run_job(other, privatizer(moved))
    with pytest.raises(IncomparableGuarantees, match="another vectors or policy"):
        run_job(other, privatizer(small_space, policy="digits"))
    assert used(payment) == (1.0, 0.0, 1)


class Nameless:
    """A policy that does not say what it is."""

    name = "nameless"

    def find(self, document: Document) -> Spans:
        return Digits().find(document)


def test_what_does_not_say_what_it_is_cannot_be_charged(small_space: Space) -> None:
    with pytest.raises(IncomparableGuarantees, match="does not say what it is"):
        claim_of(privatizer(small_space, policy=Nameless()).guarantee())


def test_seeds_are_refused(job: Job, payment: Payment, small_space: Space) -> None:
    seeded = replace(privatizer(small_space), seed=1)
    with pytest.raises(InvalidArgument, match="with a seed"):
        run_job(job, seeded)
    assert used(payment) == (0.0, 0.0, 0)


def test_a_line_and_a_whole_file_are_two_units_though_both_are_called_documents(
    job: Job, payment: Payment, tmp_path: Path
) -> None:
    pool, lines = tmp_path / "pool.txt", tmp_path / "in.txt"
    pool.write_text("The food was good.\nThe soup was cold.\nA lovely view.\n")
    lines.write_text("Ada lives here.\nShe has a cat.\n")
    rewriter = Privatizer(
        policy="everything",
        mechanism="sentences",
        epsilon=1.0,
        settings={"pool": str(pool), "most": 2, "fill": True},
    )
    by_line = replace(job, source=Source.of(lines, Layout()), target=tmp_path / "a.txt")
    whole = Source.of(lines, Layout(whole_file=True))
    assert run_job(by_line, rewriter)["guarantee"]["record"] == "line of the file"
    with pytest.raises(IncomparableGuarantees, match="another record"):
        run_job(replace(by_line, source=whole, target=tmp_path / "b.txt"), rewriter)
    assert used(payment)[2] == 1
    unpaid = replace(by_line, source=whole, target=tmp_path / "c.txt", payment=None)
    assert run_job(unpaid, rewriter)["guarantee"]["record"] == "file as a whole"
    # The twin: claims in the words of a privatizer alone cannot be told apart, and add up.
    assert claim_of(rewriter.guarantee()).guarantee.record == "text that was handed over"
