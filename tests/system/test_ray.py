"""Real Ray, started once: the same output, one draw of each part after ten kills, no text in it.

What the engine must bear is shown without Ray in ``test_apart.py`` and ``test_elsewhere.py``, with
twins. Here is shown that Ray does what it is told.
"""

from __future__ import annotations

import os
import random
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import low_costs
import sfumato
from sfumato.core import sealing
from sfumato.engines import on_ray
from sfumato.engines.on_ray import connected
from sfumato.studies.study import Study
from sfumato.verbs.policy import scan
from small_study import SMALL

CANARY, PATTERN, SPOKEN = "Zyxquorthane", "Quexelbrandt", "Hovrelkamsin"
KILLS, CHUNKS = 10, 12
# Each line is a chunk, and says which.
LINES = [f"{n} {CANARY} {PATTERN} " + "so it goes " * 24_000 + "\n" for n in range(CHUNKS)]
NOTED = f'''
import os
from pathlib import Path
from sfumato.policies.patterns import Regex

class Noted:
    """Notes every draw, and whether the part of it stood already."""

    name = "noted"

    def find(self, document):
        here, number = Path(__file__).parent, document.text.split()[0]
        if number.isdigit():
            there = (here / "there.txt.parts" / f"{{int(number):08d}}.part").exists()
            with (here / "draws").open("a") as stream:
                stream.write(f"{{number}} {{os.getpid()}} {{int(there)}}\\n")
        return Regex("{PATTERN}").find(document)

    def identity(self):
        return None
'''
STUDY = SMALL.replace("seeds = [1, 2]", "seeds = [1]").replace("epsilon = [1, 9]", "epsilon = 1")


class Killing:
    """Kills actors while they work, each with another item, at some moment of it."""

    def __init__(self) -> None:
        self.left, self.chance = KILLS, random.Random(4)
        self.wait = on_ray._Crew._wait

    def wait_for(self, crew: Any) -> list[Any]:
        working = [
            actor for actor, item in crew.under_way.values() if item >= 0 and not crew.deaths[item]
        ]
        if self.left and working:
            self.left -= 1
            time.sleep(self.chance.uniform(0, 0.2))
            crew.ray.kill(working[0])
        return self.wait(crew)


def found_in(folder: Path, word: str) -> list[str]:
    """The files of Ray in which a word stands, in whatever form bytes are."""
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and word.encode() in path.read_bytes()
    ]


def figures(study: Study) -> list[object]:
    """All but what they cost."""
    return [
        (one.method, one.level, one.by, one.metric, one.value, one.low, one.high)
        for one in study.rows()
        if one.role != "cost"
    ]


def test_ray_moves_the_work_and_neither_text_nor_a_second_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("".join(LINES))
    Path("noted.py").write_text(NOTED)
    monkeypatch.setattr(sealing, "COST", low_costs.VAULT)  # actors have the cost of the package
    privatize = partial(sfumato.privatize, policy="noted.py:Noted", mechanism="redact")
    privatize("in.txt", "here.txt")
    Path("draws").unlink()
    with connected(None, 2) as ray:
        session = Path(ray._private.worker._global_node.get_session_dir_path())

        killing = Killing()

        def waiting(crew: Any) -> list[Any]:
            return killing.wait_for(crew)

        with monkeypatch.context() as patch:
            patch.setattr(on_ray._Crew, "_wait", waiting)
            privatize("in.txt", "there.txt", engine="ray", workers=2)
        draws = [line.split() for line in Path("draws").read_text().splitlines()]
        assert killing.left == 0
        assert Path("there.txt").read_bytes() == Path("here.txt").read_bytes()
        assert not Path("there.txt.parts").exists()
        # Nobody drew what stood; whatever was drawn twice died with its actor the first time.
        assert {number for number, _, _ in draws} == {str(n) for n in range(CHUNKS)}
        assert not [one for one in draws if one[2] == "1"]
        assert CHUNKS <= len(draws) <= CHUNKS + KILLS
        assert len({process for _, process, _ in draws}) > 2

        counted = scan("in.txt", policy=f"regex:{PATTERN}", engine="ray", workers=2)
        assert (counted.documents, counted.selected) == (CHUNKS, CHUNKS)

        found = Study.parse(STUDY, folder=tmp_path).run(
            workers=2, engine="ray", watch=lambda _: None
        )
        assert found.outcome.complete
        local = Study.parse(STUDY, folder=tmp_path, name="local").run(workers=0)
        assert figures(found) == figures(local)

        assert ray.is_initialized()  # who was connected before stays so
        for word in (CANARY, PATTERN):
            assert not found_in(session, word)
        # The twin says it aloud, and the look must find it.
        spoken = ray.remote(num_cpus=0)(lambda: os.write(1, SPOKEN.encode()))
        ray.get(spoken.remote())
        assert found_in(session, SPOKEN)
        assert session.parent.parent.stat().st_mode & 0o077 == 0
    assert not ray.is_initialized()
    assert not session.parent.parent.exists()
