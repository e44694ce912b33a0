"""The folder of finished parts: one run at a time, one set of settings, nothing to guess from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.core.errors import CannotResume, OutputExists
from sfumato.core.files import write_whole
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


def test_parts_that_no_record_vouches_for_are_nobodys(tmp_path: Path) -> None:
    """Such a part may come of other settings: taking it over would certify what is not so."""
    parts = Parts.beside(tmp_path / "out.txt")
    with parts.opened({"epsilon": 500}, {}):
        parts.finish(0, b"hardly private", Tally())
    (parts.folder / "run.json").unlink()
    for afresh in (False, True):
        with pytest.raises(OutputExists, match="not ours"), parts.opened({}, {}, afresh=afresh):
            pass


def test_the_record_is_forgotten_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts.beside(tmp_path / "out.txt")
    gone: list[str] = []
    unlink = Path.unlink

    def noted(self: Path, missing_ok: bool = False) -> None:
        gone.append(self.name)
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", noted)
    with parts.opened({"epsilon": 5}, {}):
        parts.finish(0, b"old", Tally())
        gone.clear()
        parts.remove()
    assert gone.index("run.json") == len(gone) - 2
    assert gone[-1] == "lock"


def test_a_part_whose_counts_have_vanished_is_damaged(tmp_path: Path) -> None:
    """Counts are written first; computing the part anew would be a second draw of its noise."""
    parts = Parts.beside(tmp_path / "out.txt")
    with parts.opened({"epsilon": 5}, {}):
        parts.finish(0, b"old", Tally())
        (parts.folder / "00000000.json").unlink()
        with pytest.raises(CannotResume, match=r"00000000\.part is damaged"):
            parts.finished(0)


def test_counts_without_a_part_are_what_a_kill_leaves(tmp_path: Path) -> None:
    parts = Parts.beside(tmp_path / "out.txt")
    with parts.opened({"epsilon": 5}, {}):
        parts.finish(0, b"old", Tally())
        (parts.folder / "00000000.part").unlink()
        assert parts.finished(0) is None


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary" / "20240101.json").write_text("precious")
    (tmp_path / "out.txt.parts").symlink_to(tmp_path / "diary")
    with (
        pytest.raises(OutputExists, match="link"),
        Parts.beside(tmp_path / "out.txt").opened({}, {}),
    ):
        pass
    (tmp_path / "b.txt.parts").mkdir()
    (tmp_path / "b.txt.parts" / "lock").symlink_to(tmp_path / "diary" / "20240101.json")
    with pytest.raises(OSError, match="symbolic"), Parts.beside(tmp_path / "b.txt").opened({}, {}):
        pass
    assert (tmp_path / "diary" / "20240101.json").read_text() == "precious"
    (tmp_path / "x.unfinished").symlink_to(tmp_path / "diary" / "20240101.json")
    write_whole(tmp_path / "x", b"new")
    assert (tmp_path / "diary" / "20240101.json").read_text() == "precious"
    assert not (tmp_path / "x").is_symlink()


def test_starting_afresh_forgets_the_earlier_parts(tmp_path: Path) -> None:
    parts = Parts.beside(tmp_path / "out.txt")
    with parts.opened({"epsilon": 5}, {}):
        parts.finish(0, b"old", Tally())
    with parts.opened({"epsilon": 6}, {}, afresh=True):
        assert parts.finished(0) is None
        parts.finish(0, b"new", Tally(documents=1))
        assert [path.read_bytes() for path in parts.whole(1)] == [b"new"]
        finished = parts.finished(0)
        assert finished is not None
        assert finished.documents == 1
