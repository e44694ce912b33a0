"""The folder of finished parts: one run at a time, one set of settings, nothing to guess from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.core.errors import CannotResume
from sfumato.releases.parts import Parts
from sfumato.releases.tally import Tally


def test_a_second_run_must_wait_even_to_start_afresh(tmp_path: Path) -> None:
    parts = Parts.beside(tmp_path / "out.txt")
    with parts.opened({"epsilon": 5}, {"pattern": "x"}):
        parts.finish(0, b"content", Tally())
        for afresh in (False, True):
            with (
                pytest.raises(CannotResume, match="another run is writing"),
                parts.opened({"epsilon": 5}, {"pattern": "x"}, afresh=afresh),
            ):
                pass
        assert parts.count() == 1


def test_what_is_private_is_not_written_down(tmp_path: Path) -> None:
    parts = Parts.beside(tmp_path / "out.txt")
    with parts.opened({"epsilon": 5}, {"policy or settings": "regex:Zyxquorthane"}):
        pass
    content = b"".join(path.read_bytes() for path in parts.folder.iterdir())
    assert b"Zyxquorthane" not in content
    with (
        pytest.raises(CannotResume, match="policy or settings changed"),
        parts.opened({"epsilon": 5}, {"policy or settings": "regex:other"}),
    ):
        pass
    # Two folders with the same secret must not show that it is the same.
    other = Parts.beside(tmp_path / "other.txt")
    with other.opened({"epsilon": 5}, {"policy or settings": "regex:Zyxquorthane"}):
        pass
    first, second = (json.loads((one.folder / "run.json").read_text()) for one in (parts, other))
    assert first["digests"] != second["digests"]


def test_starting_afresh_forgets_the_earlier_parts(tmp_path: Path) -> None:
    parts = Parts.beside(tmp_path / "out.txt")
    with parts.opened({"epsilon": 5}, {}):
        parts.finish(0, b"old", Tally())
    with parts.opened({"epsilon": 6}, {}, afresh=True):
        assert parts.finished(0) is None
        parts.finish(0, b"new", Tally(documents=1))
        assert [path.read_bytes() for path in parts.paths()] == [b"new"]
        finished = parts.finished(0)
        assert finished is not None
        assert finished.documents == 1
