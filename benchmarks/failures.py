"""Actors of a real Ray that are killed at work: draws that are seen, and work that is repeated.

A share of all pieces of work loses its actor, at a moment that is drawn. What is counted: parts,
draws that began, and draws of a part that stood already, of which there must be none. A cluster
that loses r of its actors in a minute, with pieces of s seconds, loses an actor in r·s/60 of them.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sfumato
from benchmarks.timing import Row
from sfumato.core.progress import QUIET
from sfumato.engines import on_ray
from sfumato.engines.on_ray import connected

SHARES = (0.0, 0.1, 0.3)
# Each line is a chunk, and its first word says which.
LINE = "{number} is where it begins, " + "and so it goes on to 7 " * 12_000 + "\n"
NOTED = '''
from pathlib import Path
from sfumato.policies.patterns import Digits

class Noted:
    """Finds digits; notes every draw, and whether the part of it stood already."""

    name = "noted"

    def find(self, document):
        here, first = Path(__file__).parent, document.text.split()[0]
        if first.isdigit():
            part = here / "out.txt.parts" / f"{int(first):08d}.part"
            with (here / "draws").open("a") as stream:
                stream.write(f"{int(part.exists())}\\n")
        return Digits().find(document)
'''


def run(quick: bool) -> list[Row]:
    """The same file without deaths, and with more and more of them."""
    QUIET.set(True)
    rows: list[Row] = []
    with TemporaryDirectory() as name, connected(None, 2):
        folder = Path(name)
        chunks = 12 if quick else 60
        lines = (LINE.format(number=number) for number in range(chunks))
        (folder / "in.txt").write_text("".join(lines))
        (folder / "noted.py").write_text(NOTED)
        outputs: list[bytes] = []
        for share in SHARES:
            killed, wall = _privatize(folder, share, chunks)
            draws = (folder / "draws").read_text().split()
            outputs.append((folder / "out.txt").read_bytes())
            rows.append(
                {
                    "share of pieces that lose their actor": share,
                    "parts": chunks,
                    "actors killed": killed,
                    "draws that began": len(draws),
                    "draws of a part that stood": draws.count("1"),
                    "draws repeated / parts": f"{len(draws) / chunks - 1:.3f}",
                    "wall s": f"{wall:.0f}",
                    "same output": outputs[-1] == outputs[0],
                }
            )
    return rows


def _privatize(folder: Path, share: float, chunks: int) -> tuple[int, float]:
    """How many actors were killed, and how long it took."""
    chance = random.Random(7)
    victims = set(chance.sample(range(chunks), round(share * chunks)))
    killed: set[int] = set()
    real = on_ray._Crew._wait

    def wait(crew: Any) -> list[Any]:
        for actor, item in crew.under_way.values():
            if item in victims - killed:
                killed.add(item)
                time.sleep(chance.uniform(0, 0.4))
                crew.ray.kill(actor)
        return real(crew)

    (folder / "draws").write_text("")
    on_ray._Crew._wait = wait  # type: ignore[method-assign, assignment]
    began = time.perf_counter()
    try:
        sfumato.privatize(
            folder / "in.txt",
            folder / "out.txt",
            policy=f"{folder / 'noted.py'}:Noted",
            mechanism="redact",
            engine="ray",
            workers=2,
            overwrite=True,
        )
    finally:
        on_ray._Crew._wait = real  # type: ignore[method-assign]
    return len(killed), time.perf_counter() - began
