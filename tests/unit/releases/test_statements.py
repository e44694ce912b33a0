"""What a privatizer states: about all calls, about the right things, and what a document is."""

from __future__ import annotations

import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

import sfumato
from sfumato.core.errors import CannotResume
from sfumato.mechanisms.place import Place
from sfumato.mechanisms.redact import Redact
from sfumato.mechanisms.unchanged import tell_unchanged
from sfumato.releases.privatizer import TEXT, Privatizer
from sfumato.releases.sidefile import LINE, RECORD

MAIL, DAY = "Mail ada@example.org", "It was on 3 May 2021"


def types(privatizer: Privatizer) -> set[str]:
    return {label for part in privatizer.guarantee().parts for label in part.types}


def test_all_calls_are_spoken_of_not_the_last() -> None:
    privatizer = Privatizer()
    privatizer.privatize([MAIL])
    privatizer.privatize([DAY])
    assert types(privatizer) == {"EMAIL", "DATE_TIME"}
    # The twin that knows the last call only would say nothing about addresses.
    assert set(privatizer.tally_.types) == {"DATE_TIME"}


def test_calls_of_threads_are_counted_all_of_them() -> None:
    privatizer = Privatizer(policy="digits", mechanism="redact")
    privatizer.guarantee()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: privatizer.privatize(["room 12"]), range(64)))
    assert privatizer._so_far.types == {"NUMBER": 64}
    assert privatizer._calls == 63


def test_a_copy_and_new_settings_state_everything_that_may_come() -> None:
    privatizer = Privatizer()
    privatizer.privatize([MAIL])
    for other in (pickle.loads(pickle.dumps(privatizer)), privatizer.set_params(seed=3)):
        assert {"PERSON", "DATE_TIME", "LOCATION"} <= types(other)


def test_a_mechanism_of_stretches_alone_keeps_its_scope_and_what_it_compares() -> None:
    days = Privatizer(policy="pii:dates", mechanism="date", epsilon=0.1).guarantee()
    assert days.scope.startswith("all dates of a document together, as far as the policy")
    assert days.neighbors.startswith("documents whose dates have the same forms")
    assert days.record == TEXT
    places = Privatizer(policy="pii", mechanism="place", epsilon=0.1).guarantee()
    assert places.scope.startswith("every place that the gazetteer knows")
    masks = Privatizer(policy="digits", mechanism="redact").guarantee()
    assert masks.scope == "every stretch that the policy 'digits' selects"
    assert masks.record == ""


def test_unknown_places_do_not_come_under_the_statement_in_km() -> None:
    (part,) = [one for one in Privatizer().guarantee().parts if "LOCATION" in one.types]
    assert part.guarantee.scope.startswith("every place that the gazetteer knows")


def test_what_mostly_stays_is_told_from_public_examples() -> None:
    chances = {
        what: chance
        for part in Privatizer().guarantee().parts
        for what, chance in part.guarantee.unchanged
    }
    assert chances["a full date"] == pytest.approx(0.05, abs=0.05)
    assert chances["a year alone"] > 0.95
    assert chances["a country"] > 0.8
    assert chances["a city"] < 0.2
    (line,) = [one for one in Privatizer().guarantee().summary() if one.startswith("Not")]
    assert "a year alone" in line
    assert "a country" in line


def test_the_chances_follow_the_level() -> None:
    """The twin with one set of chances for all levels is seen."""
    said = [
        dict(tell_unchanged(one.guarantee(), one).unchanged)
        for one in (Place(epsilon=1e-4), Place(epsilon=50.0))
    ]
    assert said[0]["a country"] < 0.2
    assert said[1]["a city"] > 0.99
    assert tell_unchanged(Redact().guarantee(), Redact()).unchanged == ()


def test_a_document_is_a_record_with_all_of_its_fields(tmp_path: Path) -> None:
    rows = "".join(f'{{"a": "on 2021-05-03", "b": "on 2021-05-10", "n": {n}}}\n' for n in range(20))
    (tmp_path / "in.jsonl").write_text(rows)
    release = sfumato.privatize(
        tmp_path / "in.jsonl", tmp_path / "out.jsonl", field=["a", "b"], policy="pii:dates",
        mechanism="date", epsilon=0.001, keep=["n"],
    )  # fmt: skip
    assert release.guarantee.record == RECORD
    assert f"one document being one {RECORD}" in release.guarantee.sentence()
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    days = [[date.fromisoformat(one[key][3:]) for key in "ab"] for one in written]
    assert {(last - first).days for first, last in days} == {7}
    assert len({first for first, _ in days}) > 10
    (tmp_path / "in.txt").write_text("on 2021-05-03\n" * 20)
    lines = sfumato.privatize(
        tmp_path / "in.txt",
        tmp_path / "out.txt",
        policy="pii:dates",
        mechanism="date",
        epsilon=0.001,
    )
    assert lines.guarantee.record == LINE
    assert len(set((tmp_path / "out.txt").read_text().splitlines())) > 10


def test_the_side_file_does_not_tell_when_the_input_was_changed(tmp_path: Path) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("room 12\n")
    release = sfumato.privatize(source, out, policy="digits", mechanism="redact")
    changed = source.stat().st_mtime_ns
    side = (tmp_path / "out.txt.guarantee.json").read_text()
    assert str(changed) not in side
    assert str(changed)[:10] not in side
    code = release.summary["input"]
    again = sfumato.privatize(source, out, policy="digits", mechanism="redact", resume=True)
    assert again.summary["input"] == code  # known again, and nothing was done
    os.utime(source, ns=(changed, changed + 10**9))
    with pytest.raises(CannotResume, match="another input"):
        sfumato.privatize(source, out, policy="digits", mechanism="redact", resume=True)
