"""The page of a privatized file: private text only where it was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli.main import app, main
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput, OutputExists, StorageFailed
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.releases.job import Job, run_job
from sfumato.releases.privatizer import Privatizer
from sfumato.reports import write_report
from sfumato.reports.release import release_page
from sfumato.reports.samples import Showing
from unit.reports.reading import HOSTILE_LINE, assert_sound

NOTES = [f"Zebedee lives at 4711 Elm and 12 {HOSTILE_LINE}", "Room 12 is free"]


@pytest.fixture
def released(tmp_path: Path) -> Path:
    (tmp_path / "notes.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in NOTES)
    )
    return privatized(tmp_path, Privatizer(policy="digits", mechanism="laplace", epsilon=4))


def privatized(folder: Path, privatizer: Privatizer) -> Path:
    source = Source.of(folder / "notes.jsonl", Layout())
    target = folder / "soft.jsonl"
    run_job(Job(source=source, target=target, overwrite=True), privatizer)
    return target


def test_without_originals_there_is_no_text(released: Path) -> None:
    written = write_report(released)
    read = assert_sound(written.path.read_bytes())
    assert written.path == released.with_name("soft.jsonl.report.html")
    assert not written.private_text
    text = read.text()
    assert "Zebedee" not in text
    assert "at most exp(4·d) times likelier" in text
    assert "whatever the policy does not select" in text
    side = json.loads(released.with_name("soft.jsonl.guarantee.json").read_text())
    assert f"words that were replaced {side['counts']['privatized_words']}" in text
    assert "The originals were not looked at" in text


def test_originals_are_counted_and_not_shown(released: Path) -> None:
    written = write_report(released, originals=released.with_name("notes.jsonl"))
    text = assert_sound(written.path.read_bytes()).text()
    assert not written.private_text
    assert "Zebedee" not in text
    assert "Found in 2 originals, by type" in text


def test_samples_are_private_and_say_so(released: Path) -> None:
    written = write_report(released, samples=1, originals=released.with_name("notes.jsonl"))
    read = assert_sound(written.path.read_bytes())
    assert written.private_text
    assert written.path.stat().st_mode & 0o077 == 0
    texts = [one.text for one in read.elements if one.tag == "strong"]
    assert texts[0] == "This page contains private text."
    assert "Zebedee" in read.text()
    assert "</script><script>window.hacked=" in read.text()
    assert "Room" not in read.text()
    found = [one.text for one in read.all("mark") if one.attributes["class"] == "found"]
    assert found[1] == "4711"


def test_samples_need_originals(released: Path) -> None:
    with pytest.raises(InvalidArgument, match="needs `originals=FILE`"):
        write_report(released, samples=1)


def test_originals_must_be_the_same_documents(released: Path) -> None:
    longer = released.with_name("longer.jsonl")
    longer.write_text("".join(json.dumps({"text": "x"}) + "\n" for _ in range(3)))
    with pytest.raises(BadInput, match="only one of them has a document 3"):
        write_report(released, samples=9, originals=longer)


def test_a_policy_that_is_not_told_gives_no_types(released: Path) -> None:
    secret = privatized(
        released.parent, Privatizer(policy=r"regex:Zeb\w+", mechanism="laplace", epsilon=4)
    )
    written = write_report(secret, samples=1, originals=released.with_name("notes.jsonl"))
    read = assert_sound(written.path.read_bytes())
    assert "does not contain the whole policy" in read.text()
    assert "Found in" not in read.text()
    new = [one.text for one in read.all("mark") if one.attributes["class"] == "new"]
    assert len(new) > 1


def test_a_policy_with_other_settings_is_not_taken_for_the_same(released: Path) -> None:
    narrow = privatized(
        released.parent, Privatizer(policy="pii:email", mechanism="laplace", epsilon=4)
    )
    written = write_report(narrow, originals=released.with_name("notes.jsonl"))
    text = assert_sound(written.path.read_bytes()).text()
    assert "Found in" not in text
    assert "cannot be counted by type here" in text


def test_other_originals_are_not_counted(released: Path) -> None:
    other = released.with_name("other.jsonl")
    other.write_text("".join(json.dumps({"text": "Room 12 34 56"}) + "\n" for _ in NOTES))
    text = assert_sound(write_report(released, originals=other).path.read_bytes()).text()
    assert "Found in" not in text
    assert "the originals are not those of this file" in text


def test_a_seed_is_not_for_release(released: Path) -> None:
    seeded = privatized(
        released.parent, Privatizer(policy="digits", mechanism="laplace", epsilon=4, seed=1)
    )
    text = assert_sound(write_report(seeded).path.read_bytes()).text()
    assert "Not for release." in text


def test_undecided_columns_are_named_at_the_top_and_types_have_a_table(tmp_path: Path) -> None:
    tickets = tmp_path / "tickets.csv"
    tickets.write_text("id,body,customer\n1,I am Tom Miller since 5 May 2021,Tom Miller\n")
    soft = tmp_path / "soft.csv"
    source = Source.of(tickets, Layout(field="body", keep=("id",), others=True))
    run_job(Job(source=source, target=soft), Privatizer())
    text = assert_sound(write_report(soft).path.read_bytes()).text()
    top, _, below = text.partition("found as protects proven")
    assert "privatize, drop or keep: customer." in top
    table, _, _ = below.partition("Is it safe?")
    assert all(said in table for said in ("DATE_TIME", "within 10 days", "a year alone"))


def test_a_mask_tells_no_words(released: Path) -> None:
    masked = privatized(released.parent, Privatizer(policy="digits", mechanism="redact"))
    text = assert_sound(write_report(masked).path.read_bytes()).text()
    assert "does not depend on what stood there" in text
    assert "stretches that were replaced" in text
    assert "words that were replaced" not in text


def test_an_existing_page_is_not_replaced(released: Path) -> None:
    write_report(released)
    with pytest.raises(OutputExists):
        write_report(released)
    write_report(released, overwrite=True)


def test_what_has_no_report(tmp_path: Path, released: Path) -> None:
    with pytest.raises(StorageFailed, match="there is no"):
        write_report(tmp_path / "nothing.txt")
    with pytest.raises(MissingInput, match=r"guarantee\.json is missing"):
        write_report(tmp_path / "notes.jsonl")
    with pytest.raises(StorageFailed, match="neither"):
        write_report(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["[]", "{", '{"settings": {}}', '{"schema": 1, "settings": {}, "guarantee": {"epsilon": -1}}'],
)
def test_a_damaged_side_file_is_refused(released: Path, content: str) -> None:
    released.with_name("soft.jsonl.guarantee.json").write_text(content)
    with pytest.raises(BadInput):
        write_report(released)
    assert not released.with_name("soft.jsonl.report.html").exists()


def test_the_command(released: Path) -> None:
    page = released.with_name("page.html")
    notes = str(released.with_name("notes.jsonl"))
    answer = CliRunner().invoke(
        app,
        [
            "report",
            str(released),
            "-o",
            str(page),
            "--samples",
            "2",
            "--originals",
            notes,
            "--json",
        ],
    )
    found = json.loads(answer.output)
    assert found["private_text"] is True
    assert found["of"] == "release"
    assert found["bytes"] == page.stat().st_size
    assert main(["report", str(released), "-o", str(page)]) == 4
    assert main(["report", str(released.parent / "gone")]) == 4
    assert main(["report", str(released), "--samples", "1", "--overwrite"]) == 2


def test_vectors_are_told_from_texts(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a red wine\ntwo dogs\n")
    made = sfumato.embed(tmp_path / "in.txt", tmp_path / "out.npy", epsilon=30)
    page = release_page(made.path, Showing())
    assert page.kind == "Report on noisy vectors"
    assert page.lead == (
        "2 documents, as vectors by public word vectors (glove-6b-50d), with noise at ε = 30."
    )
