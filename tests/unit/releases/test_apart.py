"""Parts that are drawn elsewhere: one draw of each is seen, whatever the engine does."""

from __future__ import annotations

import json
import os
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import (
    CannotResume,
    InputChanged,
    InvalidArgument,
    MalformedRecord,
    StorageFailed,
)
from sfumato.engines.errand import Errand
from sfumato.engines.local import LocalEngine
from sfumato.files import chunks
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.releases import apart
from sfumato.releases.apart import Drawing, draw_part
from sfumato.releases.drawn import draw_chunk, finish_chunk
from sfumato.releases.job import Job, run_job
from sfumato.releases.parts import Parts
from sfumato.releases.payment import Payment
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.tally import Tally
from sfumato.releases.vault import Vault
from sfumato.vectors.space import Space
from unsteady_engine import DOUBLED, EVENTS, LINKED, LOST, UNSEEN, Unsteady, counted_draws

CANARY, PATTERN = "Zyxquorthane", "Quexelbrandt"
LINES = [json.dumps({"text": f"Room {n} in paris, {CANARY}"}) + "\n" for n in range(8)]
PARTS = 4
Events = dict[int, tuple[str, ...]]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """Four chunks of two documents."""
    monkeypatch.setattr(chunks, "RECORDS", 2)
    source = tmp_path / "in.jsonl"
    source.write_text("".join(LINES))
    return Job(source=Source.of(source, Layout()), target=tmp_path / "out.jsonl", overwrite=True)


@pytest.fixture
def seeded(small_space: Space) -> Privatizer:
    return Privatizer(
        policy="everything", mechanism="laplace", epsilon=1, vectors=small_space, seed=5
    )


@pytest.fixture
def secure(small_space: Space) -> Privatizer:
    return Privatizer(policy="everything", mechanism="laplace", epsilon=1, vectors=small_space)


def schedules() -> list[Events]:
    """Every event alone, everywhere; then many at random, several to a chunk."""
    found: list[Events] = [dict.fromkeys(range(PARTS), (one,)) for one in EVENTS]
    chance = random.Random(20)
    return found + [
        {n: tuple(chance.choices(EVENTS, k=chance.randrange(4))) for n in range(PARTS)}
        for _ in range(12)
    ]


def draws_seen(job: Job, privatizer: Privatizer, events: Events, backwards: bool) -> int:
    """How many draws left a worker, be they released or not."""
    with counted_draws() as drawn:
        run_job(replace(job, engine=Unsteady(events, backwards=backwards)), privatizer)
    # At a death nothing is left of a draw; of two at once, one is deleted by its worker.
    return len(drawn) - sum(one in UNSEEN for several in events.values() for one in several)


@pytest.mark.parametrize("backwards", [False, True])
def test_draws_equal_parts_whatever_happens_and_the_output_is_that_of_local_workers(
    job: Job, seeded: Privatizer, backwards: bool
) -> None:
    told = run_job(job, seeded)
    expected = job.target.read_bytes()
    for events in schedules():
        engine = Unsteady(events, backwards=backwards)
        again = run_job(replace(job, engine=engine), seeded)
        assert job.target.read_bytes() == expected
        assert without_mark(again) == without_mark(told)
        assert not Parts.beside(job.target).folder.exists()
    # Where a draw is lost after its part stands, or its worker is doubled, no more are made.
    for one in (LINKED, LOST, DOUBLED):
        assert draws_seen(job, seeded, dict.fromkeys(range(PARTS), (one,)), backwards) == PARTS


def draw_again(drawing: Drawing, index: int) -> dict[str, int]:
    """A twin: it does not look whether the part is there, and puts its own in the place of it."""
    chunk = drawing.cut.cutter.take(index)
    part = finish_chunk(drawing.shared, vars(apart)["draw_chunk"](drawing.shared, (index, chunk)))
    for path in drawing.parts.folder.glob(f"{index:08d}.*"):
        path.unlink()
    drawing.parts.finish_first(index, part.content, part.tally, drawing.run)
    return {}


def test_the_count_of_draws_notices_a_worker_that_draws_again(
    job: Job, secure: Privatizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "draw_part", draw_again)
    assert draws_seen(job, secure, dict.fromkeys(range(PARTS), (LOST,)), False) == 2 * PARTS


def without_mark(told: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name != "input"}


def return_text(drawing: Drawing, index: int) -> dict[str, Any]:
    """A twin: what it drew goes back through the engine."""
    shared = drawing.shared
    part = finish_chunk(shared, draw_chunk(shared, (index, drawing.cut.cutter.take(index))))
    drawing.parts.finish_first(index, part.content, part.tally, drawing.run)
    return {part.content.decode(): 1}


def fail_with_text(drawing: Drawing, index: int) -> dict[str, int]:
    """A twin of another kind: some library fails, and quotes what it was given."""
    raise ValueError(drawing.cut.cutter.take(index).documents()[0].text)


def travels(engine: Unsteady) -> list[str]:
    return [word for word in (CANARY, PATTERN) if any(word.encode() in one for one in engine.sent)]


def test_neither_text_nor_pattern_goes_through_the_engine(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = Privatizer(policy=f"regex:{PATTERN}|paris", mechanism="redact")
    engine = Unsteady({1: (LOST, DOUBLED)})
    run_job(replace(job, engine=engine), private)
    assert CANARY in job.target.read_text()  # it is not what the policy looks for
    assert len(engine.sent) > 2 * PARTS
    assert not travels(engine)
    for twin, told in ((return_text, InvalidArgument), (fail_with_text, RuntimeError)):
        monkeypatch.setattr(apart, "draw_part", twin)
        engine = Unsteady()
        with pytest.raises(told) as caught:
            run_job(replace(job, engine=engine), private)
        assert not travels(engine)
        assert CANARY not in str(caught.value)


def test_the_look_at_what_travels_notices_an_errand_that_is_not_sealed(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Open(Errand):
        """A twin that takes its task along."""

        def __reduce__(self) -> Any:
            task = pickle.dumps(self.opened()[1].privatizer)
            return (Errand, (self.path, self.folder, self.version, self.key), {"task": task})

    real = Errand.sealed.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr("unsteady_engine.Errand.sealed", lambda *given: real(Open, *given))
    engine = Unsteady()
    run_job(replace(job, engine=engine), Privatizer(policy=f"regex:{PATTERN}", mechanism="redact"))
    assert travels(engine) == [PATTERN]


def test_what_is_sealed_is_for_its_owner_alone_and_is_gone_afterwards(
    job: Job, seeded: Privatizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, bool]] = []
    place = Parts.beside(job.target).folder / "errand"

    def look(drawing: Drawing, index: int) -> dict[str, int]:
        seen.append((place.stat().st_mode & 0o777, b"everything" in place.read_bytes()))
        return dict(draw_part(drawing, index))

    monkeypatch.setattr(apart, "draw_part", look)
    # A function in a function cannot travel: it is put where it can be found.
    look.__qualname__, look.__module__ = "draw_part", "sfumato.releases.apart"
    run_job(replace(job, engine=Unsteady()), seeded)
    assert seen == [(0o600, False)] * PARTS


def stop_after(job: Job, privatizer: Privatizer, count: int, engine: Unsteady | None) -> None:
    """A run that is killed when so many parts are finished."""
    note = Parts.note

    def stopping(self: Parts, index: int) -> None:
        note(self, index)
        if self.count() == count:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parts, "note", stopping)
        with pytest.raises(KeyboardInterrupt):
            run_job(replace(job, engine=engine), privatizer)


@pytest.mark.parametrize("first", [None, Unsteady(backwards=True), Unsteady({2: (LINKED, LOST)})])
def test_a_run_is_resumed_by_another_engine(
    job: Job, seeded: Privatizer, first: Unsteady | None
) -> None:
    run_job(job, seeded)
    expected = job.target.read_bytes()
    second = Unsteady({3: (LOST,)}) if first is None else None
    stop_after(job, seeded, 2, first)
    with counted_draws() as drawn:
        run_job(replace(job, engine=second, resume=True, overwrite=False), seeded)
    assert job.target.read_bytes() == expected
    if second is not None:
        assert sorted(drawn) == [2, 3]


def test_a_part_that_was_there_is_missed_also_where_gaps_are_usual(
    job: Job, secure: Privatizer
) -> None:
    going_on = replace(job, resume=True, overwrite=False, engine=Unsteady())
    stop_after(job, secure, 2, Unsteady(backwards=True))  # the last two are there
    folder = Parts.beside(job.target).folder
    for path in folder.glob("00000002.*"):
        path.unlink()
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(CannotResume, match=r"00000002\.part is damaged: .* there once"):
        run_job(going_on, secure)
    assert sorted(path.name for path in folder.iterdir()) == before
    # The twin forgets its notes; then parts seem to have been finished in order, and one that is
    # missing at the end is drawn a second time.
    stop_after(job, secure, 2, Unsteady())
    for path in [*folder.glob("00000001.*"), folder / "drawn"]:
        path.unlink()
    with counted_draws() as drawn:
        run_job(going_on, secure)
    assert 1 in drawn


def test_a_worker_that_outlived_its_run_cannot_write_into_the_next(
    job: Job, secure: Privatizer
) -> None:
    """Its part came of other settings: taken over, the guarantee would speak of something else."""
    weak = Privatizer(policy="digits", mechanism="redact")
    late: list[Callable[[], object]] = []

    class Outlived(Unsteady):
        """The first run leaves a worker behind, which finishes in the middle of the second."""

        def finish(self, folder: Parts, index: int, content: bytes, tally: Tally, run: str) -> None:
            if not late:
                late.append(lambda: finish_first(folder, 3, content, tally, run))
            elif index == 0:
                late[0]()

    finish_first = Parts.finish_first
    run_job(replace(job, engine=Outlived()), weak)
    before = job.target.read_bytes()
    with pytest.raises(CannotResume, match=r"00000003\.part is damaged"):
        run_job(replace(job, engine=Outlived()), secure)
    assert job.target.read_bytes() == before


def exchanged(job: Job) -> None:
    assert job.source.path is not None
    other = job.source.path.with_name("other")
    other.write_text("".join(reversed(LINES)))
    other.replace(job.source.path)


def touched(job: Job) -> None:
    assert job.source.path is not None
    os.utime(job.source.path, ns=(1, 1))


def gone(job: Job) -> None:
    assert job.source.path is not None
    job.source.path.unlink()


@pytest.mark.parametrize("change", [exchanged, touched, gone])
def test_a_worker_reads_the_input_that_the_run_began_with(
    job: Job, seeded: Privatizer, change: Callable[[Job], None]
) -> None:
    class Changing(Unsteady):
        def _ask(self, worker: Any, item: int) -> dict[str, Any]:
            change(job)
            return super()._ask(worker, item)

    with pytest.raises((InputChanged, StorageFailed)):
        run_job(replace(job, engine=Changing()), seeded)
    assert not job.target.exists()
    assert not Parts.beside(job.target).folder.exists() or not Parts.beside(job.target).count()


def test_an_error_of_the_input_arrives_as_what_it_was(job: Job, seeded: Privatizer) -> None:
    assert job.source.path is not None
    job.source.path.write_text("".join([*LINES, "not json\n"]))
    with pytest.raises(MalformedRecord, match="line 9"):
        run_job(replace(job, engine=Unsteady()), seeded)
    assert not Parts.beside(job.target).folder.exists()


def test_what_cannot_be_done_elsewhere_is_refused_with_its_reason(
    job: Job, seeded: Privatizer, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("k" * 32)
    names = Privatizer(policy="digits", mechanism="pseudonym")
    engine = Unsteady()
    pipe = replace(job, target=Path("-"), engine=engine)
    vault = replace(job, vault=Vault.of(tmp_path / "vault", tmp_path / "key"), engine=engine)
    layout = Layout(author_field="id")
    authors = replace(
        job,
        source=replace(job.source, layout=layout),
        payment=Payment(str(tmp_path / "budget"), "author:id"),
        engine=engine,
    )
    for refused, privatizer, reason in (
        (pipe, seeded, "not pipes"),
        (vault, names, "sealed where its key is"),
        (authors, seeded, "authors pay"),
        (replace(job, engine=engine), names, "key_file"),
    ):
        with pytest.raises(InvalidArgument, match=reason):
            run_job(refused, privatizer)
    keyed = replace(job, engine=engine)
    settings = {"key_file": str(tmp_path / "key")}
    run_job(keyed, Privatizer(policy="digits", mechanism="pseudonym", settings=settings))
    there = job.target.read_bytes()
    run_job(job, Privatizer(policy="digits", mechanism="pseudonym", settings=settings))
    assert job.target.read_bytes() == there
    assert not any(b"k" * 32 in one for one in engine.sent)


def test_a_node_that_would_draw_in_another_way_is_refused(job: Job, tmp_path: Path) -> None:
    """A key file of the same name with another key: equal entities would get two surrogates."""

    class OtherNode(Unsteady):
        def _hired(self, errand: Errand) -> Any:
            (tmp_path / "key").write_text("o" * 32)
            return super()._hired(errand)

    (tmp_path / "key").write_text("k" * 32)
    settings = {"key_file": str(tmp_path / "key")}
    privatizer = Privatizer(policy="digits", mechanism="pseudonym", settings=settings)
    with pytest.raises(StorageFailed, match="in another way"):
        run_job(replace(job, engine=OtherNode()), privatizer)
    assert not job.target.exists()


def test_processes_of_this_machine_are_an_engine_too(job: Job, seeded: Privatizer) -> None:
    run_job(job, seeded)
    expected = job.target.read_bytes()
    run_job(replace(job, engine=LocalEngine()), seeded)
    assert job.target.read_bytes() == expected
