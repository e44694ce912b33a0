"""The peer mldp-text, in an environment of its own because it needs numpy below 2.

This file is two things: imported, it makes the environment and talks to the peer's process; run by
the Python of that environment, it is that process.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.vectors.space import Space

FOLDER = Path(__file__).parent / ".environments" / "mldp-text"
REQUIREMENTS = ("mldp-text", "numpy<2")


@dataclass(frozen=True)
class Peer:
    """A running process of the peer, which replaces words when told by which mechanism."""

    process: subprocess.Popen[str]

    @classmethod
    @contextlib.contextmanager
    def started(cls, space: Space) -> Iterator[Peer | str]:
        """The peer over the same vectors, or the reason why there is none."""
        problem = _install()
        if problem:
            yield problem
            return
        import numpy as np

        with TemporaryDirectory() as folder:
            vectors = Path(folder) / "vectors.npy"
            np.save(vectors, np.asarray(space.vectors, dtype=np.float32))
            command = [_python(), __file__, str(vectors)]
            with subprocess.Popen(
                command,
                env=_environment(),
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            ) as process:
                peer = cls(process)
                yield peer if peer._answer() is not None else "its process did not start"
                process.terminate()

    def replace_words(self, mechanism: str, epsilon: float, count: int) -> None:
        """Have so many random words replaced, and wait."""
        self._ask(f"{mechanism} {epsilon} random {count}")

    def kept(self, mechanism: str, epsilon: float, points: Iterable[int]) -> int:
        """How many of these words came out as they went in, each replaced once."""
        return self._ask(f"{mechanism} {epsilon} these {','.join(map(str, points))}")

    def _ask(self, question: str) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        answer = self._answer()
        if answer is None:
            raise RuntimeError("the peer's process ended")
        return answer

    def _answer(self) -> int | None:
        assert self.process.stdout is not None
        for line in iter(self.process.stdout.readline, ""):
            if line.startswith("done "):
                return int(line.split()[1])
        return None


def _install() -> str:
    """Make the environment if it is not there; the reason if that fails."""
    finished = FOLDER / "finished"
    if finished.exists():
        return ""
    commands = [
        [sys.executable, "-m", "venv", "--clear", str(FOLDER)],
        [_python(), "-m", "pip", "install", "--quiet", *REQUIREMENTS],
    ]
    for command in commands:
        done = subprocess.run(
            command, env=_environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            return f"'{' '.join(command[1:4])}' failed: {done.stderr.strip()[-300:]}"
    finished.touch()
    return ""


def _python() -> str:
    return str(FOLDER / "bin" / "python")


def _environment() -> dict[str, str]:
    from benchmarks.inputs import resource

    # Our own constraints ask for numpy 2.
    kept = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
    wordnet = resource("nltk_data")  # the peer looks for it when imported
    return kept | ({"NLTK_DATA": str(wordnet)} if wordnet else {})


_CLASSES = {
    "laplace": "MultivariateCalibrated",
    "mahalanobis": "Mahalanobis",
    "truncated": "TEM",
    "vickrey": "VickreyMechanism",
}


def _serve(vectors: str) -> None:
    """The peer's process: its mechanisms with their own defaults (an inverted-file index)."""
    from functools import cache
    from importlib import import_module
    from typing import Any

    import numpy as np

    peer = import_module("mldp_text")
    matrix = np.load(vectors)
    words = [f"word{number}" for number in range(len(matrix))]
    known = import_module("gensim.models").KeyedVectors(matrix.shape[1])
    known.add_vectors(words, matrix)

    @cache
    def made(name: str, epsilon: float) -> Any:
        component = getattr(peer, _CLASSES[name])
        # Without "vocab" it would count the words of a list of its own.
        return component(epsilon, embedding_matrix=known, dim=matrix.shape[1], vocab=words)

    chosen = np.random.default_rng()
    print("done 0", flush=True)
    for line in sys.stdin:
        name, epsilon, kind, what = line.split()
        mechanism = made(name, float(epsilon))
        if kind == "these":
            points = [int(point) for point in what.split(",")]
        else:
            points = chosen.integers(len(words), size=int(what)).tolist()
        kept = sum(mechanism.replace_word(words[point]) == words[point] for point in points)
        print(f"done {kept}", flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
