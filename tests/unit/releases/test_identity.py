"""What must not change on resuming: the policy, the mechanism, the vectors, the seed, the key."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.cli.main import main
from sfumato.core.errors import CannotResume
from sfumato.files import chunks
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.mechanisms.by_type import ByType
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.redact import Redact
from sfumato.mechanisms.sanitize_plus import SanitizePlus
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.combine import Minus, Union
from sfumato.policies.identity import Identity
from sfumato.policies.imperfect import Imperfect
from sfumato.policies.lexicon import Lexicon
from sfumato.policies.patterns import Digits, Everything, Regex
from sfumato.policies.pii import Pii
from sfumato.releases import job as jobs
from sfumato.releases.drawn import Part
from sfumato.releases.input import Input
from sfumato.releases.job import Job, run_job
from sfumato.releases.parts import Parts
from sfumato.releases.privatizer import Privatizer
from sfumato.text.document import Document
from sfumato.text.span import Spans
from sfumato.vectors.space import Space

LINES = [json.dumps({"text": f"Room {number} of alpha and beta"}) + "\n" for number in range(6)]
Make = Callable[[Space], Privatizer]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """Three chunks of two documents."""
    monkeypatch.setattr(chunks, "RECORDS", 2)
    source = tmp_path / "in.jsonl"
    source.write_text("".join(LINES))
    return Job(source=Source.of(source, Layout()), target=tmp_path / "out.jsonl")


def stop(job: Job, privatizer: Privatizer) -> Job:
    """Interrupt a job in its second chunk; what comes back is about to resume it."""
    work = jobs._privatize_chunk

    def interrupted(shared: Any, item: Any) -> Part:
        if item[0] == 1:
            raise KeyboardInterrupt
        return work(shared, item)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "_privatize_chunk", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_job(job, privatizer)
    return replace(job, resume=True, overwrite=False)


def refuses(job: Job, begun: Privatizer, resumed: Privatizer) -> bool:
    """Whether a job begun with one privatizer is not gone on with by another."""
    stopped = stop(job, begun)
    try:
        run_job(stopped, resumed)
    except CannotResume as error:
        assert "changed since the run began" in str(error)  # noqa: PT017
        return True
    return False


def words(policy: Any = "everything", **more: Any) -> Make:
    def make(space: Space) -> Privatizer:
        given: dict[str, Any] = {"mechanism": "laplace", "epsilon": 1, "vectors": space} | more
        return Privatizer(policy=policy, **given)

    return make


def leveled(*levels: tuple[float, Any]) -> Make:
    return lambda space: Privatizer(levels=levels, vectors=space)


def over(**settings: Any) -> Make:
    return lambda space: Privatizer(
        policy="everything", mechanism=SanitizePlus(space=space, epsilon=1, **settings)
    )


def elsewhere(space: Space) -> Space:
    """The same words, and one number of their vectors another."""
    vectors = space.vectors.copy()
    vectors[0, 0] = np.nextafter(vectors[0, 0], np.float32(9))
    return replace(space, vectors=vectors)


ADA, BOB = Lexicon(("ada",)), Lexicon(("bob",))
OTHERS: dict[str, tuple[Make, Make]] = {
    "pattern": (words(Regex("alpha")), words(Regex("beta"))),
    "label of a pattern": (words(Regex("alpha")), words(Regex("alpha", label="NAME"))),
    "word list": (words(ADA), words(BOB)),
    "word list, held": (words(Union((ADA, Digits()))), words(Union((BOB, Digits())))),
    "exception": (words(Minus(Everything(), ADA)), words(Minus(Everything(), BOB))),
    "seed of misses": (
        words(Imperfect(policy=Digits(), misses=0.5, seed=1)),
        words(Imperfect(policy=Digits(), misses=0.5, seed=2)),
    ),
    "regions": (words(Pii(types=("phone",))), words(Pii(types=("phone",), regions=("DE",)))),
    "level": (words(), words(epsilon=2)),
    "policy of a level": (
        leveled((1, ADA), (2, Digits())),
        leveled((1, BOB), (2, Digits())),
    ),
    "level of a policy": (leveled((1, ADA), (2, BOB)), leveled((1, BOB), (2, ADA))),
    "setting": (over(p=0.3), over(p=0.4)),
    "words of a setting": (over(sensitive=("ada",)), over(sensitive=("bob",))),
    "unknown words": (words(), words(unknown="keep")),
    "seed": (words(seed=1), words(seed=2)),
    "a seed or none": (words(seed=1), words()),
    "vectors": (words(), lambda space: words()(elsewhere(space))),
    "search": (words(), words(search="approximate")),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_job_is_not_gone_on_with_by_another_privatizer(
    job: Job, small_space: Space, what: str
) -> None:
    begun, resumed = (make(small_space) for make in OTHERS[what])
    assert refuses(job, begun, resumed)
    assert not job.target.exists()
    assert Parts.beside(job.target).count() == 1, "what is finished is kept"


@pytest.mark.parametrize("what", OTHERS)
def test_a_job_is_gone_on_with_by_the_same(job: Job, small_space: Space, what: str) -> None:
    make = OTHERS[what][0]
    assert not refuses(job, make(small_space), make(small_space))
    assert len(job.target.read_text().splitlines()) == len(LINES)


def test_twin_an_identity_without_the_pattern_lets_another_one_through(
    job: Job, small_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Regex, "identity", lambda self: Identity((self.name, self.label)))
    assert not refuses(job, *(make(small_space) for make in OTHERS["pattern"]))


def test_twin_vectors_told_by_their_name_let_others_through(
    job: Job, small_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Space, "digest", property(lambda self: self.name))
    assert not refuses(job, *(make(small_space) for make in OTHERS["vectors"]))


def test_names_and_objects_are_the_same_job(job: Job, small_space: Space) -> None:
    by_name = Privatizer(policy="regex:alpha", mechanism="laplace", epsilon=1, vectors=small_space)
    made = Laplace(space=small_space, epsilon=1)
    for mechanism in (made, OverVocabulary(points=made)):
        given = Privatizer(policy=Regex("alpha"), mechanism=mechanism)
        assert given.identity == by_name.identity
    assert not refuses(job, by_name, given)


def test_the_command_line_goes_on_with_what_python_began(job: Job) -> None:
    stopped = stop(job, Privatizer(policy=Regex("alpha"), mechanism="laplace", epsilon=1))
    arguments = ["privatize", str(job.source.path), "-o", str(job.target), "--resume"]
    arguments += ["--mechanism", "laplace"]
    assert main([*arguments, "--policy", "regex:beta", "--epsilon", "1"]) == 4
    assert main([*arguments, "--policy", "regex:alpha", "--epsilon", "2"]) == 4
    assert main([*arguments, "--policy", "regex:alpha", "--epsilon", "1"]) == 0
    assert stopped.target.exists()


def test_a_word_list_is_told_by_its_words_and_not_by_its_file(
    job: Job, tmp_path: Path, small_space: Space
) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("alpha\n")
    second.write_text("alpha\n")
    stopped = stop(job, words(f"lexicon:{first}")(small_space))
    second.write_text("beta\n")
    with pytest.raises(CannotResume, match="changed since the run began"):
        run_job(stopped, words(f"lexicon:{second}")(small_space))
    second.write_text("alpha\n")
    run_job(stopped, words(f"lexicon:{second}")(small_space))


def test_a_key_file_is_told_by_its_key(job: Job, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("a key of at least sixteen bytes")

    def made() -> Privatizer:
        settings = {"key_file": str(key)}
        return Privatizer(policy="digits", mechanism="pseudonym", settings=settings)

    stopped = stop(job, made())
    key.write_text("a key of at least sixteen BYTES")
    with pytest.raises(CannotResume, match="changed since the run began"):
        run_job(stopped, made())
    key.write_text("a key of at least sixteen bytes")
    run_job(stopped, made())


def test_nothing_private_is_in_the_folder_of_parts(job: Job, small_space: Space) -> None:
    policy = Union((Regex("Zyxquorthane"), Lexicon(("Brumbledore",))))
    stop(job, words(policy, seed=987_654_321)(small_space))
    for path in Parts.beside(job.target).folder.iterdir():
        content = path.read_text().lower()
        assert not any(one in content for one in ("zyxq", "brumble", "987654321"))


def test_a_finished_job_is_known_again_only_by_what_is_public(job: Job, small_space: Space) -> None:
    make = words(Pii(types=("phone",)))
    run_job(job, make(small_space))
    again = replace(job, resume=True)
    assert run_job(again, make(small_space))["already_finished"]
    with pytest.raises(CannotResume, match="with other settings"):
        run_job(again, OTHERS["regions"][1](small_space))
    run_job(replace(job, overwrite=True), words(Regex("alpha"))(small_space))
    side = json.loads((job.target.parent / "out.jsonl.guarantee.json").read_text())
    assert side["identity"] is None
    with pytest.raises(CannotResume, match="cannot be told"):
        run_job(again, words(Regex("alpha"))(small_space))


@dataclass(frozen=True)
class Stranger:
    """Somebody's policy, which does not say what it is."""

    pattern: str
    name: str = "stranger"

    def find(self, document: Document) -> Spans:
        return Regex(self.pattern).find(document)


@dataclass(frozen=True)
class Known(Stranger):
    """The same, and it says so."""

    def identity(self) -> Identity:
        return Identity((self.name, self.pattern), private=True)


class Other(Known):
    """It inherits what it says, but it finds something else."""

    def find(self, document: Document) -> Spans:
        return Regex("room").find(document)


def test_a_policy_without_an_identity_is_not_resumed(job: Job, small_space: Space) -> None:
    privatizer = words(Stranger("alpha"))(small_space)
    stopped = stop(job, privatizer)
    assert not Parts.beside(job.target).folder.exists(), "parts that nobody may use are kept"
    with pytest.raises(CannotResume, match=r"'stranger' .*identity\(\)"):
        run_job(stopped, privatizer)
    assert run_job(job, privatizer)["counts"]["privatized_words"] == len(LINES)


def test_a_policy_of_ones_own_is_told_by_its_identity_and_its_code(
    job: Job, small_space: Space
) -> None:
    assert refuses(job, words(Known("alpha"))(small_space), words(Known("beta"))(small_space))
    again = replace(job, overwrite=True)
    assert refuses(again, words(Known("alpha"))(small_space), words(Other("alpha"))(small_space))
    assert not refuses(
        again, words(Known("alpha"))(small_space), words(Known("alpha"))(small_space)
    )


class Listed(Digits):
    """Ours, with words of its own that what it inherits does not speak of."""

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def find(self, document: Document) -> Spans:
        return Lexicon(vars(self)["words"]).find(document)


def test_a_policy_that_inherits_its_identity_and_holds_more_is_not_resumed(
    job: Job, small_space: Space
) -> None:
    stopped = stop(job, words(Listed("alpha"))(small_space))
    with pytest.raises(CannotResume, match=r"'digits' .*identity\(\)"):
        run_job(stopped, words(Listed("beta"))(small_space))


def test_no_guess_of_own_code_can_be_tested_with_a_side_file(job: Job, tmp_path: Path) -> None:
    source = (
        "from sfumato.policies.patterns import Digits\nclass Client(Digits):\n    who = 'Ada'\n"
    )
    (tmp_path / "client.py").write_text(source)
    privatizer = Privatizer(policy=f"{tmp_path / 'client.py'}:Client", mechanism="redact")
    assert privatizer.resumable
    assert run_job(job, privatizer)["identity"] is None
    ours = Privatizer(policy="digits", mechanism="redact")
    assert run_job(replace(job, overwrite=True), ours)["identity"].startswith("public:")


class Same(Redact):
    """Ours under another name."""


@dataclass(frozen=True)
class Hiding(Redact):
    """With a setting that no log shows."""

    secret: str = field(default="hunter2", repr=False)
    shown: int = 3


def test_a_mechanism_that_is_no_dataclass_itself_runs_and_is_not_resumed(job: Job) -> None:
    privatizer = Privatizer(policy="digits", mechanism=Same())
    assert not privatizer.resumable
    assert run_job(job, privatizer)["identity"] is None
    assert "[NUMBER]" in job.target.read_text()


def test_a_hidden_setting_is_in_no_side_file_and_still_decides(job: Job) -> None:
    assert refuses(
        job,
        Privatizer(policy="digits", mechanism=Hiding()),
        Privatizer(policy="digits", mechanism=Hiding("other")),
    )
    again = replace(job, overwrite=True)
    summary = run_job(again, Privatizer(policy="digits", mechanism=Hiding()))
    assert summary["settings"]["mechanism_settings"] == {"shown": 3}
    assert summary["identity"] is None
    side = job.target.parent / "out.jsonl.guarantee.json"
    assert "hunter2" not in side.read_text()


@dataclass(frozen=True)
class Holding:
    """Something with one setting."""

    value: Any


class Odd(Space):
    """A space that may measure otherwise."""


class Word(StrEnum):
    ADA = "ada"


@dataclass(frozen=True)
class Made:
    """Made with what is no field."""

    words: InitVar[str]
    table: Any = field(init=False)

    def __post_init__(self, words: str) -> None:
        object.__setattr__(self, "table", words)


@dataclass(frozen=True)
class Beside:
    """With something that is no field."""

    def __init__(self, words: str) -> None:
        object.__setattr__(self, "words", words)


UNKNOWN: dict[str, Callable[[Space], object]] = {
    "a mask": lambda _: Holding(np.ma.array([1, 2], mask=[False, True])),
    "objects": lambda _: Holding(np.array([["ada"], None], dtype=object)),
    "texts of any length": lambda _: Holding(np.array(["ada"], dtype=np.dtypes.StringDType())),
    "a space of another kind": lambda space: Holding(Odd(space.name, space.words, space.vectors)),
    "a text of another kind": lambda _: Holding(Word.ADA),
    "one moment": lambda _: Holding(np.datetime64(1, "ns")),
    "a class": lambda _: Holding(Regex),
    "an attribute": lambda _: Beside("ada"),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_cannot_be_told_for_certain_has_no_identity(small_space: Space, what: str) -> None:
    assert mechanism_identity(UNKNOWN[what](small_space)) is None


def test_arrays_are_told_by_kind_shape_and_content() -> None:
    numbers = np.arange(6, dtype=np.int64)
    values = [
        numbers,
        numbers + 1,
        numbers.reshape(2, 3),
        numbers.reshape(2, 3).T,
        numbers.view(np.float64),
        numbers.view("datetime64[s]"),
        numbers.view("datetime64[ms]"),
        numbers.view([("a", np.int64)]),
        numbers.view([("b", np.int64)]),
    ]
    found = [mechanism_identity(Holding(value)) for value in values]
    assert all(one is not None and one.private for one in found)
    assert len({one.spelled for one in found if one is not None}) == len(values)
    assert mechanism_identity(Holding(numbers[::-1][::-1])) == found[0]


def test_what_follows_from_no_field_counts_itself() -> None:
    first, second = (mechanism_identity(Made(words)) for words in ("ada", "bob"))
    assert first is not None
    assert first != second


def test_a_finished_table_by_type_is_known_again_and_another_one_is_not(
    job: Job, small_space: Space
) -> None:
    """Types and settings are public: only a key, or a mechanism that is private, hides them."""

    def table(**settings: Any) -> Privatizer:
        return Privatizer(policy="digits", epsilon=1, vectors=small_space, **settings)

    assert run_job(job, table())["identity"].startswith("public:")
    again = replace(job, resume=True)
    assert run_job(again, table())["already_finished"] is True
    for other in ({"by_type": {"PERSON": "redact"}}, {"settings": {"date_epsilon": 0.2}}):
        with pytest.raises(CannotResume, match="other settings"):
            run_job(again, table(**other))
    hidden = mechanism_identity(ByType(parts=(("NUMBER", Hiding()),), otherwise=Redact()))
    assert hidden is not None
    assert hidden.private


def test_what_stands_beside_an_output_does_not_date_its_input(job: Job) -> None:
    privatizer = Privatizer(policy="digits", mechanism="redact")
    assert job.source.path is not None
    changed = job.source.path.stat().st_mtime_ns
    first = run_job(job, privatizer)["input"]
    side = job.default_side.read_text()
    assert str(changed // 10**9) not in side
    assert run_job(replace(job, resume=True), privatizer)["already_finished"] is True
    # Two outputs of one input are not linked by it either.
    assert run_job(replace(job, overwrite=True), privatizer)["input"] != first
    os.utime(job.source.path, ns=(7, 7))
    with pytest.raises(CannotResume, match="another input"):
        run_job(replace(job, resume=True), privatizer)


@pytest.mark.parametrize("mark", [None, 7, {}, {"salt": "zz", "mark": ""}, {"salt": 3}])
def test_a_mark_that_is_none_is_that_of_no_file(job: Job, mark: object) -> None:
    found = Input.of(job.source)
    assert not found.is_marked(mark)
    assert found.is_marked(found.mark())
