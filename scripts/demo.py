"""The main job from end to end: ``make demo``.

Generates customer dialogues, shows what a policy finds in them, privatizes all words (metric DP)
and the selected words (selective metric DP) at three levels, prints the same turns before and
after, and says what is guaranteed. Everything is written to ``demo/``.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfumato.cli.main import main as sfumato
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.metrics.deniability import typical_keep_probability
from sfumato.vectors.embedded import default_space

FOLDER = Path("demo")
DIALOGUES = 200
LEVELS = (3.0, 5.0, 8.0)
TURNS = 5


def run(*arguments: str, lines: int | None = None) -> None:
    """Show a command and run it; print the first lines of what it says."""
    print(f"\n$ sfumato {shlex.join(arguments)}", flush=True)
    said = io.StringIO()
    with contextlib.nullcontext() if lines is None else contextlib.redirect_stdout(said):
        code = sfumato(list(arguments))
    print("\n".join(said.getvalue().splitlines()[:lines]), end="" if lines is None else "\n")
    if code:
        sys.exit(code)


def turns(path: Path) -> Iterator[str]:
    """The turns of the first dialogues, one by one."""
    with path.open(encoding="utf-8") as lines:
        for line in islice(lines, 12):
            yield from json.loads(line)["text"].split("\n")


def main() -> None:
    """Run the demonstration."""
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    FOLDER.mkdir()
    corpus = FOLDER / "dialogues.jsonl"
    run("data", "customersim", "-n", str(DIALOGUES), "-o", str(corpus))
    run("scan", str(corpus), "--policy", "pii", "--show", "3")
    outputs: dict[str, Path] = {}
    for policy, kind in (("everything", "all words"), ("pii", "selected words")):
        for level in LEVELS:
            output = FOLDER / f"{policy}-epsilon-{level:g}.jsonl"
            outputs[f"{kind}, ε = {level:g}"] = output
            run(
                "privatize",
                str(corpus),
                "-o",
                str(output),
                "--policy",
                policy,
                "-e",
                f"{level:g}",
                lines=1,
            )
    print_levels()
    print_turns(corpus, outputs)
    side = outputs[f"selected words, ε = {LEVELS[1]:g}"].name + ".guarantee.json"
    print(
        "\nIn plain words: whoever reads a softened word cannot be sure which of several similar "
        "words stood\nthere; the smaller ε, the more words count as similar. At the highest level "
        "about every second\nword stays as it was, so look above for names that did."
    )
    print(f"\nWhat is guaranteed at ε = {LEVELS[1]:g} ({FOLDER / side}):\n")
    print(json.loads((FOLDER / side).read_text(encoding="utf-8"))["sentence"])
    print(f"\nEverything is in {FOLDER}/. Next: docs/tutorial.md")


def print_levels() -> None:
    """What a level means in this space, measured on public words."""
    table = Table("ε", "a word stays with probability", "95 % interval", title="\nThe levels")
    for level in LEVELS:
        mechanism = Laplace(space=default_space(), epsilon=level)
        kept = typical_keep_probability(mechanism, Randomness.secure())
        table.add_row(f"{level:g}", f"{kept.value:.2f}", f"{kept.low:.3f} – {kept.high:.3f}")
    Console().print(table)


def print_turns(corpus: Path, outputs: dict[str, Path]) -> None:
    """The same turns before and after, those with something in them that is sensitive."""
    console = Console()
    columns = {"before": list(turns(corpus))}
    columns |= {name: list(turns(path)) for name, path in outputs.items()}
    softened = columns[f"selected words, ε = {LEVELS[0]:g}"]
    changed = [
        place
        for place, (before, after) in enumerate(zip(columns["before"], softened, strict=True))
        if before != after
    ]
    table = Table("", "turn", title="\nBefore and after", show_lines=False)
    for place in changed[:TURNS]:
        for name, lines in columns.items():
            style = "bold" if name == "before" else ""
            table.add_row(Text(name, style="dim"), Text(lines[place], style=style))
        table.add_section()
    console.print(table)


if __name__ == "__main__":
    main()
