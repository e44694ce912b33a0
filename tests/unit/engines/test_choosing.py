"""Which engine, and what is said when it cannot be had; errands that are opened elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sfumato.core.errors import (
    CannotUnseal,
    InvalidArgument,
    MissingExtra,
    StorageFailed,
    UnknownName,
)
from sfumato.engines.engine import choose_engine
from sfumato.engines.errand import Doer, Errand, counts_in, plain_counts, told_of
from sfumato.engines.local import LocalEngine
from sfumato.engines.on_ray import RayEngine
from sfumato.files import chunks
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.policies.counting import count_elsewhere
from sfumato.policies.patterns import Digits
from sfumato.verbs.policy import scan
from unsteady_engine import BEFORE, LOST, Unsteady


def test_engines_have_names_and_ray_is_not_touched_until_it_works(tmp_path: Path) -> None:
    assert choose_engine() == LocalEngine(workers=1)
    made = choose_engine("ray", "10.0.0.5:6379", 3)
    assert made == RayEngine(workers=3, address="10.0.0.5:6379")
    with pytest.raises(UnknownName, match="did you mean 'ray'"):
        choose_engine("rai")
    with pytest.raises(InvalidArgument, match="engine='ray'"):
        choose_engine("local", "10.0.0.5:6379")
    with pytest.raises(InvalidArgument, match="ray://"):
        choose_engine("ray", "ray://head:10001")
    with pytest.raises(InvalidArgument, match="workers=0"):
        choose_engine("ray", None, 0)


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[ray\]"):
        list(RayEngine().each(double, 1, [1], tmp_path / "errand"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:99999999999"])
def test_an_address_where_nobody_answers_is_refused_at_once(tmp_path: Path, address: str) -> None:
    with pytest.raises(StorageFailed, match="nobody answers"):
        list(RayEngine(address=address).each(double, 1, [1], tmp_path / "errand"))
    assert not list(tmp_path.iterdir())


def double(factor: int, item: int) -> dict[str, int]:
    return {"twice": factor * item * 2}


def test_an_errand_is_opened_by_its_key_and_version_and_only_while_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Errand.sealed(double, 3, tmp_path / "errand") as errand:
        doer = Doer()
        assert doer.begin(errand) == {}
        assert counts_in(doer.do(2)) == {"twice": 12}
        assert "RuntimeError" in Doer().do(2)["message"]
        other = Errand(errand.path, errand.folder, errand.version, b"x" * 32)
        with pytest.raises(CannotUnseal):
            counts_in(Doer().begin(other))
        old = Errand(errand.path, errand.folder, "0.0", errand.key)
        with pytest.raises(StorageFailed, match="same one"):
            counts_in(Doer().begin(old))
        lost = Errand(errand.path, str(tmp_path / "nowhere"), errand.version, errand.key)
        with pytest.raises(StorageFailed, match="cannot enter"):
            counts_in(Doer().begin(lost))
        assert str(errand.key) not in repr(errand)
    with pytest.raises(StorageFailed):
        counts_in(Doer().begin(errand))


@pytest.mark.parametrize("found", ["text", None, {"a": "b"}, {"a": 1.5}, {"a": True}, {"a\n": 1},
                                   {"x" * 200: 1}, {1: 1}, ["a"]])  # fmt: skip
def test_only_counts_come_back(found: object) -> None:
    with pytest.raises(InvalidArgument, match="counts, and nothing else"):
        plain_counts(found)


def test_errors_come_back_without_what_they_quote() -> None:
    told = told_of(ValueError("Zyxquorthane"))
    assert "Zyxquorthane" not in str(told)
    with pytest.raises(RuntimeError, match="ValueError in a worker"):
        counts_in(told)
    with pytest.raises(InvalidArgument, match="unknown engine 'x'"):
        counts_in(told_of(UnknownName("engine", "x", ["ray"])))
    with pytest.raises(StorageFailed, match="No space"):
        counts_in(told_of(OSError(28, "No space left on device", "Zyxquorthane")))


def test_classes_of_a_script_cannot_be_sent(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidArgument, match=r"file\.py:Class"),
        Errand.sealed(double, "__main__", tmp_path / "errand"),
    ):
        pass


def test_a_scan_counts_the_same_wherever_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(chunks, "RECORDS", 2)
    file = tmp_path / "in.txt"
    file.write_text("".join(f"Room {n} of 12\n" for n in range(7)))
    here = scan(file, policy="digits").finish()
    source = Source.of(file, Layout(id_field="id"))
    engine = Unsteady({0: (LOST, BEFORE), 2: (LOST,)})
    there = count_elsewhere(Digits(), source, engine)
    assert (there.documents, there.words, there.selected) == (7, 28, 14)
    assert there.by_count() == here.by_count()
    assert list(there) == []
    with pytest.raises(InvalidArgument, match="not a pipe"):
        count_elsewhere(Digits(), Source.of("-", Layout()), engine)
