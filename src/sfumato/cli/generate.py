"""``sfumato generate``: what a trained model says."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.evaluate import RunArgument
from sfumato.cli.output import print_json, visible


def generate(  # noqa: PLR0913  # a command's options are its parameters
    run: RunArgument,
    prompt: Annotated[str, typer.Option("--prompt", help="How the text begins.")] = "",
    tokens: Annotated[
        int, typer.Option("--tokens", min=1, max=options.MOST, help="At most so many.")
    ] = 50,
    temperature: Annotated[
        float, typer.Option("--temperature", help="0 takes the likeliest token.")
    ] = 1.0,
    top: Annotated[
        int | None,
        typer.Option("--top", min=1, max=options.MOST, help="Only among so many likeliest tokens."),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", min=1, max=options.MOST, help="How many texts.")
    ] = 1,
    seed: Annotated[int | None, typer.Option("--seed", help="Say the same again.")] = None,
    json: options.JsonOption = False,
) -> None:
    """Let a trained model go on with a text.

    Example: sfumato generate run --prompt "The patient" --tokens 30
    """
    from sfumato.verbs.generate import generate as let_speak

    said = let_speak(
        run,
        prompt,
        tokens=tokens,
        temperature=temperature,
        top=top,
        samples=samples,
        seed=seed,
    )
    if json:
        print_json({"prompt": prompt, "texts": list(said)}, indent=2)
        return
    sys.stdout.write("\n\n".join(visible(text) for text in said) + "\n")
