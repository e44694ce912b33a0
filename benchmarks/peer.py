"""The peer mldp-text, in an environment of its own because it needs numpy below 2.

This file is two things: imported, it makes the environment and talks to the peer's process; run by
the Python of that environment, it is that process.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
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
    """A running process of the peer, which replaces words when told how many."""

    process: subprocess.Popen[str]

    @classmethod
    @contextlib.contextmanager
    def started(cls, space: Space, epsilon: float) -> Iterator[Peer | str]:
        """The peer over the same vectors, or the reason why there is none."""
        problem = _install()
        if problem:
            yield problem
            return
        import numpy as np

        with TemporaryDirectory() as folder:
            vectors = Path(folder) / "vectors.npy"
            np.save(vectors, np.asarray(space.vectors, dtype=np.float32))
            command = [_python(), __file__, str(vectors), str(epsilon)]
            with subprocess.Popen(
                command,
                env=_environment(),
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            ) as process:
                peer = cls(process)
                yield peer if peer._answered() else "its process did not start"
                process.terminate()

    def replace_words(self, count: int) -> None:
        """Have so many words replaced, and wait."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        if not self._answered():
            raise RuntimeError("the peer's process ended")

    def _answered(self) -> bool:
        assert self.process.stdout is not None
        return any(line == "done\n" for line in iter(self.process.stdout.readline, ""))


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


def _serve(vectors: str, epsilon: float) -> None:
    """The peer's process: its Laplace mechanism with its own defaults (an inverted-file index)."""
    from importlib import import_module

    import numpy as np

    keyed_vectors = import_module("gensim.models").KeyedVectors
    mechanism = import_module("mldp_text").MultivariateCalibrated
    matrix = np.load(vectors)
    words = [f"word{number}" for number in range(len(matrix))]
    known = keyed_vectors(matrix.shape[1])
    known.add_vectors(words, matrix)
    laplace = mechanism(epsilon, embedding_matrix=known, dim=matrix.shape[1])
    chosen = np.random.default_rng()
    print("done", flush=True)
    for line in sys.stdin:
        for index in chosen.integers(len(words), size=int(line)):
            laplace.replace_word(words[index])
        print("done", flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], float(sys.argv[2]))
