"""WikiText-2: paragraphs and articles, as many as there are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sfumato.cli.main import main
from sfumato.core.errors import BadInput, StorageFailed, UnknownName
from sfumato.corpora.wikitext import read_wikitext, wikitext

LINES = [
    " ", " = One = ", " ", " First , with = a sign . ", " = = Part = = ", " Second . ",
    " = Two = ", " Third \u2028 same line . ", "",
]  # fmt: skip


def test_paragraphs_leave_headings_out_and_name_their_article() -> None:
    found = list(wikitext(LINES))
    assert [one.text for one in found] == [
        "First , with = a sign .", "Second .", "Third \u2028 same line .",
    ]  # fmt: skip
    assert [one.author for one in found] == ["article-1", "article-1", "article-2"]


def test_articles_keep_their_headings() -> None:
    found = list(wikitext(LINES, record="article"))
    assert len(found) == 2
    assert found[0].text.startswith("= One =\nFirst")


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed):
        list(read_wikitext(tmp_path / "none.raw"))
    (tmp_path / "bad.raw").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(BadInput, match="utf-8"):
        list(read_wikitext(tmp_path / "bad.raw"))
    with pytest.raises(UnknownName):
        list(read_wikitext(tmp_path / "bad.raw", record="sentence"))


def test_the_command_writes_json_lines(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "in.raw.gz", "wt", encoding="utf-8") as stream:
        stream.write("\n".join(LINES))
    output = tmp_path / "out.jsonl"
    assert main(["data", "wikitext", str(tmp_path / "in.raw.gz"), "-o", str(output)]) == 0
    rows = [json.loads(line) for line in output.read_bytes().splitlines()]
    assert rows[0] == {
        "id": "paragraph-1", "text": "First , with = a sign .", "article": "article-1",
    }  # fmt: skip
    assert main(["data", "wikitext", str(tmp_path / "in.raw.gz"), "-o", str(output)]) == 4


@pytest.mark.resources
def test_the_real_one_has_as_many_as_published(resources: Path) -> None:
    path = resources / "data" / "wikitext-2" / "train.raw.gz"
    assert sum(1 for _ in read_wikitext(path)) == 17_556
    assert 600 <= sum(1 for _ in read_wikitext(path, record="article")) <= 630
