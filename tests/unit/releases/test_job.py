"""The file job: damaged parts and changed inputs are refused, and nothing is drawn twice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest

from sfumato.core import keys
from sfumato.core.errors import BadInput, CannotResume, InputChanged, MalformedRecord, StorageFailed
from sfumato.files import chunks
from sfumato.files.chunks import Chunk
from sfumato.files.layout import Layout
from sfumato.files.source import Source, Stamp
from sfumato.releases import job as jobs
from sfumato.releases.drawn import Part
from sfumato.releases.job import Job, run_job
from sfumato.releases.parts import Parts
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.tally import Tally
from sfumato.releases.workers import Shared
from sfumato.vectors.space import Space

Act = Callable[[], object]
LINES = [json.dumps({"text": f"Room {number} in paris"}) + "\n" for number in range(8)]
ENTRY_TIME = 1_600_000_000_000_000_000


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """Four chunks of two documents."""
    monkeypatch.setattr(chunks, "RECORDS", 2)
    source = tmp_path / "in.jsonl"
    source.write_text("".join(LINES))
    os.utime(source, ns=(ENTRY_TIME, ENTRY_TIME))
    return Job(source=Source.of(source, Layout()), target=tmp_path / "out.jsonl")


@pytest.fixture
def privatizer(small_space: Space) -> Privatizer:
    return Privatizer(policy="everything", mechanism="laplace", epsilon=1, vectors=small_space)


def doing(monkeypatch: pytest.MonkeyPatch, index: int, act: Act) -> None:
    """Something happens while a chunk is at work."""
    work = jobs._privatize_chunk

    def acting(shared: Shared, item: tuple[int, Chunk]) -> Part:
        if item[0] == index:
            act()
        return work(shared, item)

    monkeypatch.setattr(jobs, "_privatize_chunk", acting)


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def stopped(job: Job, privatizer: Privatizer) -> Job:
    """The job after an interrupt in its third chunk, about to be resumed."""
    with pytest.MonkeyPatch.context() as patch:
        doing(patch, 2, interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_job(job, privatizer)
    assert Parts.beside(job.target).count() == 2
    return replace(job, resume=True)


def folder_of(job: Job) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Parts.beside(job.target).folder.iterdir()}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def changed(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"e", b"E", 1))


def counted_otherwise(path: Path) -> None:
    counts = path.with_suffix(".json")
    counts.write_text(counts.read_text().replace('"documents": 2', '"documents": 3'))


def exchanged(path: Path) -> None:
    other = path.with_name("00000001.part")
    path.rename(path.with_suffix(".tmp"))
    other.rename(path)
    path.with_suffix(".tmp").rename(other)


def gone(path: Path) -> None:
    path.unlink()


def counts_cut(path: Path) -> None:
    cut(path.with_suffix(".json"))


def record_cut(path: Path) -> None:
    cut(path.with_name("run.json"))


DAMAGES = [cut, emptied, changed, counted_otherwise, exchanged, gone, counts_cut, record_cut]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_part_is_named_and_neither_used_nor_drawn_anew(
    stopped: Job, privatizer: Privatizer, damage: Callable[[Path], None]
) -> None:
    damage(Parts.beside(stopped.target).folder / "00000000.part")
    before = folder_of(stopped)
    name = "run.json" if damage is record_cut else "00000000.part"
    with pytest.raises(CannotResume, match=rf"{name} is damaged: .* `overwrite=True`"):
        run_job(stopped, privatizer)
    assert not stopped.target.exists()
    assert folder_of(stopped) == before
    run_job(replace(stopped, resume=False, overwrite=True), privatizer)
    assert len(stopped.target.read_text().splitlines()) == len(LINES)


def test_the_check_of_damage_notices_a_job_that_trusts_its_parts(
    stopped: Job, privatizer: Privatizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trusting(self: Parts, index: int) -> Tally | None:
        counts = self.folder / f"{index:08d}.json"
        kept = json.loads(counts.read_bytes()) if counts.exists() else None
        return None if kept is None else Tally.from_dict(kept["counts"])

    monkeypatch.setattr(Parts, "finished", trusting)
    emptied(Parts.beside(stopped.target).folder / "00000000.part")
    run_job(stopped, privatizer)
    assert len(stopped.target.read_text().splitlines()) < len(LINES)


def test_a_part_that_is_damaged_in_the_same_run_is_found_before_it_is_used(
    job: Job, privatizer: Privatizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    doing(monkeypatch, 3, lambda: cut(Parts.beside(job.target).folder / "00000001.part"))
    with pytest.raises(CannotResume, match=r"00000001\.part is damaged"):
        run_job(job, privatizer)
    assert not job.target.exists()


def test_what_is_not_damaged_goes_on_with_the_parts_that_are_there(
    stopped: Job, privatizer: Privatizer
) -> None:
    parts = b"".join(content for name, content in sorted(folder_of(stopped).items())
                     if name.endswith(".part"))  # fmt: skip
    run_job(stopped, privatizer)
    assert stopped.target.read_bytes().startswith(parts)
    assert len(stopped.target.read_text().splitlines()) == len(LINES)


@pytest.mark.parametrize("moment", ["replace", "remove"])
def test_who_is_killed_while_tidying_up_draws_nothing_anew(
    job: Job, privatizer: Privatizer, moment: str
) -> None:
    """The output is there, or as good as there: another one would be a second release."""
    with pytest.MonkeyPatch.context() as patch:
        if moment == "remove":
            patch.setattr(Parts, "remove", half_removed)
        else:
            patch.setattr(jobs, "_put_in_place", lambda *_: interrupt())
        with pytest.raises(KeyboardInterrupt):
            run_job(job, privatizer)
    drawn = job.target if moment == "remove" else Parts.beside(job.target).together
    first = drawn.read_bytes()
    summary = run_job(replace(job, resume=True), privatizer)
    assert summary["already_finished"] is True
    assert job.target.read_bytes() == first
    assert not Parts.beside(job.target).folder.exists()


def half_removed(parts: Parts) -> None:
    for path in parts.folder.iterdir():
        if path.name != "run.json":  # which is always removed last
            path.unlink()
    interrupt()


def size_guessed(folder: Path, sizes: list[int]) -> int | None:
    """What an attacker who finds the folder does: try every size until a digest fits."""
    content = b"".join(path.read_bytes() for path in sorted(folder.glob("*.json")))
    kept = json.loads((folder / "run.json").read_bytes())
    salt = bytes.fromhex(kept["salt"])
    for size in sizes:
        spelled = str(size).encode()
        digests = (
            hashlib.scrypt(spelled, salt=salt, n=keys.COST, r=8, p=1).hex(),
            hashlib.sha256(spelled).hexdigest(),
            hashlib.sha256(salt + spelled).hexdigest(),
        )
        if any(one.encode() in content for one in digests):
            return size
    return None


@pytest.mark.parametrize("sabotaged", [False, True])
def test_the_folder_does_not_tell_how_large_the_input_is(
    job: Job, privatizer: Privatizer, monkeypatch: pytest.MonkeyPatch, sabotaged: bool
) -> None:
    """The twin keeps a slow, salted digest of the size."""
    size = job.source.path.stat().st_size if job.source.path else 0
    if sabotaged:
        opened = Parts.opened
        monkeypatch.setattr(
            Parts,
            "opened",
            lambda self, claims, private, afresh: opened(
                self, claims, private | {"input": str(size)}, afresh=afresh
            ),
        )
    doing(monkeypatch, 2, interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_job(job, privatizer)
    folder = Parts.beside(job.target).folder
    found = size_guessed(folder, [size - 1, size, size + 1])
    assert found == (size if sabotaged else None)
    assert job.source.path is not None
    status = job.source.path.stat()
    kept = json.loads((folder / "run.json").read_bytes())["claims"]["input"]
    assert kept == [status.st_ino, status.st_mtime_ns]


def appended_to(path: Path) -> None:
    with path.open("a") as stream:
        stream.write(LINES[0])
    os.utime(path, ns=(ENTRY_TIME, ENTRY_TIME))  # the size alone shows it


def rewritten(path: Path) -> None:
    path.write_text(path.read_text().replace("Room", "Hall"))  # the time alone shows it


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(ENTRY_TIME, ENTRY_TIME))
    other.replace(path)  # its number on the disk alone shows it


def spoiled(path: Path) -> None:
    path.write_text("".join(LINES[:2]) + "{" * 200_000)  # it cannot be read, but that is no wonder


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


CHANGES = [appended_to, rewritten, replaced, spoiled, moved]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("streams", [False, True])
def test_an_input_that_changes_meanwhile_is_noticed_and_nothing_is_kept(
    job: Job,
    privatizer: Privatizer,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    streams: bool,
) -> None:
    assert job.source.path is not None
    path, side = job.source.path, job.target.with_name("side.json")
    doing(monkeypatch, 1, lambda: change(path))
    target = Path(os.devnull) if streams else job.target
    with pytest.raises(InputChanged, match="while it was read"):
        run_job(replace(job, target=target, guarantee=side), privatizer)
    assert not job.target.exists()
    assert not side.exists()
    assert not Parts.beside(job.target).folder.exists()


def test_the_check_of_changes_notices_a_job_that_does_not_look(
    job: Job, privatizer: Privatizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert job.source.path is not None
    path = job.source.path
    monkeypatch.setattr(Source, "stamp", lambda _: None)
    doing(monkeypatch, 1, lambda: appended_to(path))
    run_job(job, privatizer)
    assert job.target.exists()


def test_bad_input_that_nobody_changed_is_still_that(job: Job, privatizer: Privatizer) -> None:
    assert job.source.path is not None
    job.source.path.write_text("".join(LINES) + "{")
    with pytest.raises(MalformedRecord, match="line 9"):
        run_job(job, privatizer)


@pytest.mark.parametrize("change", [rewritten, replaced, appended_to])
def test_an_input_that_changed_between_two_runs_is_refused(
    stopped: Job, privatizer: Privatizer, change: Callable[[Path], None]
) -> None:
    assert stopped.source.path is not None
    path = stopped.source.path
    if change is appended_to:
        # Neither its number on the disk nor its time: only how many words the parts came of.
        path.write_text(path.read_text().replace("Room 0", "Room 0 a"))
        os.utime(path, ns=(ENTRY_TIME, ENTRY_TIME))
    else:
        change(path)
    with pytest.raises(CannotResume, match="input changed since the run began"):
        run_job(stopped, privatizer)
    assert not stopped.target.exists()


def test_an_input_without_a_size_or_a_time_has_no_stamp(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert Source.of(tmp_path / "pipe.txt", Layout()).stamp() is None
    assert Source.of("-", Layout()).stamp() is None
    assert "5" not in repr(Stamp(device=1, number=2, size=5, changed=3))
    resumed = Job(
        source=Source.of(tmp_path / "pipe.txt", Layout()), target=tmp_path / "o.txt", resume=True
    )
    with pytest.raises(StorageFailed, match="not a pipe"):
        run_job(resumed, Privatizer(policy="digits", mechanism="redact"))


def test_a_pipe_gets_all_of_it_and_nothing_is_put_beside_it(
    job: Job, privatizer: Privatizer
) -> None:
    pipe, link = job.target.with_name("pipe.jsonl"), job.target.with_name("link.jsonl")
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    before = set(pipe.parent.iterdir())
    for target in (pipe, link):
        with ThreadPoolExecutor(1) as reader:
            content = reader.submit(pipe.read_bytes)
            run_job(replace(job, target=target), privatizer)
            assert len(content.result().splitlines()) == len(LINES)
    assert set(pipe.parent.iterdir()) == before


def test_links_that_lead_to_themselves_are_named(job: Job) -> None:
    one, other = job.target.with_name("one.jsonl"), job.target.with_name("other.jsonl")
    one.symlink_to(other)
    other.symlink_to(one)
    with pytest.raises(StorageFailed, match=r"cannot write .*one\.jsonl: it is a link"):
        replace(job, target=one)


def test_a_folder_that_cannot_be_written_to_and_a_guarantee_that_cannot_be_written(
    job: Job, privatizer: Privatizer
) -> None:
    with pytest.raises(StorageFailed, match=r"cannot write /proc/out\.jsonl"):
        run_job(replace(job, target=Path("/proc/out.jsonl")), privatizer)
    side = job.target.with_name("s" * 250)  # there is no room for the name it has at first
    with pytest.raises(StorageFailed, match=r"cannot write .*sss: .*4 finished parts are kept"):
        run_job(replace(job, guarantee=side), privatizer)
    assert not job.target.exists()
    drawn = b"".join(path.read_bytes() for path in Parts.beside(job.target).whole(4))
    run_job(replace(job, resume=True), privatizer)
    assert job.target.read_bytes() == drawn


def test_who_is_killed_before_the_first_part_leaves_nothing_to_decide(
    job: Job, privatizer: Privatizer
) -> None:
    """A lock that nobody holds, and a record of other settings: there is nothing to go on with."""
    folder = Parts.beside(job.target).folder
    folder.mkdir()
    (folder / "lock").touch()
    (folder / "run.json").write_text("{}")
    (folder / "00000000.part.unfinished").write_text("ha")
    run_job(job, privatizer)
    assert len(job.target.read_text().splitlines()) == len(LINES)
    assert not folder.exists()


def test_a_clock_that_goes_backwards_changes_nothing(stopped: Job, privatizer: Privatizer) -> None:
    """Times are compared for being the same, never for being earlier or later."""
    for path in Parts.beside(stopped.target).folder.iterdir():
        os.utime(path, ns=(ENTRY_TIME // 2, ENTRY_TIME // 2))
    run_job(stopped, privatizer)
    assert len(stopped.target.read_text().splitlines()) == len(LINES)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("workers", [1, 2])
def test_no_descriptor_and_no_process_is_left(
    job: Job, privatizer: Privatizer, workers: int
) -> None:
    job = replace(job, overwrite=True, workers=workers)
    bad = replace(job.source, layout=Layout(field="none"))

    def use() -> None:
        run_job(job, privatizer)
        with pytest.raises(BadInput):
            run_job(replace(job, source=bad), privatizer)

    use()  # what is opened once and kept
    before = descriptors()
    use()
    assert descriptors() <= before
    assert not active_children()
