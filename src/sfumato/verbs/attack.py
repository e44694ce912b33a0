"""``sfumato.attack``: what a model or a privatized text still gives away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import refuse_class
from sfumato.core.errors import BadInput, MissingInput, SfumatoError, StorageFailed
from sfumato.core.progress import announce, progress
from sfumato.verbs.inputs import (
    Placed,
    Settings,
    draws_from,
    path_of,
    refuse_policy_settings,
    split_settings,
)

if TYPE_CHECKING:
    from sfumato.attacks.attack import Attack, Done, Inputs
    from sfumato.core.randomness import Randomness
    from sfumato.results.scores import Scores, ScoresOfAll

# A bar counts in hundredths: an attack's phases have totals of their own.
_STEPS = 100


def attack(
    attack: str | Attack[Any, Any],
    target: Placed,
    *,
    members: str | Path | None = None,
    others: str | Path | None = None,
    originals: str | Path | None = None,
    canaries: str | Path | None = None,
    reference: Sequence[str | Path] = (),
    settings: Settings | None = None,
    cache: str | Path | None = None,
    no_cache: bool = False,
    field: str | None = None,
    author_field: str | None = None,
    label_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    seed: int | None = None,
) -> Scores:
    """Attack a trained model or a privatized text, and say what leaks.

    ``attack`` is a name of the catalog or an object; ``target`` a run, its folder, the folder of a
    model, or a privatized file. Each attack takes the files it needs and says which are missing.
    Every figure has its interval, what chance would score, and the same attack where nothing can
    leak. The figures are measured on private text and are a release of their own. ``field`` is
    "text", or the one that a privatized file was privatized in; without a ``header`` columns are
    called 1, 2, …
    """
    given = _inputs(
        target,
        members=members,
        others=others,
        originals=originals,
        canaries=canaries,
        reference=reference,
        cache=cache,
        no_cache=no_cache,
        field=field,
        author_field=author_field,
        label_field=label_field,
        format=format,
        encoding=encoding,
        header=header,
    )
    return _score(choose_attack(attack, settings), given, draws_from(seed))


def attack_all(
    target: Placed,
    *,
    members: str | Path | None = None,
    others: str | Path | None = None,
    originals: str | Path | None = None,
    canaries: str | Path | None = None,
    reference: Sequence[str | Path] = (),
    cache: str | Path | None = None,
    no_cache: bool = False,
    field: str | None = None,
    author_field: str | None = None,
    label_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    seed: int | None = None,
) -> ScoresOfAll:
    """Every attack of the catalog for which the files are given, each with its own defaults."""
    from sfumato.catalog import entries
    from sfumato.results.scores import ScoresOfAll

    given = _inputs(
        target,
        members=members,
        others=others,
        originals=originals,
        canaries=canaries,
        reference=reference,
        cache=cache,
        no_cache=no_cache,
        field=field,
        author_field=author_field,
        label_field=label_field,
        format=format,
        encoding=encoding,
        header=header,
    )
    randomness = draws_from(seed)
    found: list[Scores] = []
    every = {name: choose_attack(name) for name in entries("attacks")}
    why = {name: chosen.missing(given) for name, chosen in every.items()}
    skipped = {name: lacking for name, lacking in why.items() if lacking is not None}
    ready = [name for name in every if name not in skipped]
    if ready:
        announce(
            f"{len(ready)} of {len(every)} attacks can be run: {', '.join(ready)}. Each says how "
            "long it takes, if it takes long."
        )
    for place, (name, chosen) in enumerate(every.items()):
        if name in skipped:
            continue
        try:
            which = f" ({ready.index(name) + 1} of {len(ready)})"
            found.append(_score(chosen, given, randomness.stream(place), which))
        except MissingInput as error:
            skipped[name] = str(error).removeprefix(f"{name}: ")
        except SfumatoError as error:
            skipped[name] = f"failed: {error}"
    if not found:
        reasons = "; ".join(f"{name}: {why}" for name, why in skipped.items())
        raise BadInput(f"no attack could be run on {given.target}. {reasons}")
    return ScoresOfAll(tuple(found), skipped)


def choose_attack(
    attack: str | Attack[Any, Any], settings: Settings | None = None
) -> Attack[Any, Any]:
    """The attack of that name with these settings, or the object that was given."""
    from sfumato.catalog import find
    from sfumato.core.errors import InvalidArgument
    from sfumato.core.settings import configure

    own, of_policies = split_settings(settings)
    refuse_policy_settings(of_policies, "an attack has no policy")
    refuse_class("attack", attack)
    if not isinstance(attack, str):
        if own:
            raise InvalidArgument(
                "an attack that is an object has its settings already: leave them out"
            )
        return attack
    made: Attack[Any, Any] = configure(find("attacks", attack).load(), own)
    return made


def _inputs(
    target: Placed,
    *,
    members: str | Path | None,
    others: str | Path | None,
    originals: str | Path | None,
    canaries: str | Path | None,
    reference: Sequence[str | Path],
    cache: str | Path | None,
    no_cache: bool,
    field: str | None,
    author_field: str | None,
    label_field: str | None,
    format: str | None,
    encoding: str,
    header: bool,
) -> Inputs:
    from sfumato.attacks.attack import Inputs
    from sfumato.releases.recorded import one_field, recorded_layout, recorded_settings

    place = path_of(target)
    if not place.exists():
        raise StorageFailed(f"there is no {place}; give the folder of a run or a privatized file")
    recorded = recorded_settings(place)
    return Inputs(
        target=place,
        members=_path(members),
        others=_path(others),
        originals=_path(originals),
        canaries=_path(canaries),
        references=tuple(Path(one) for one in reference),
        cache=None if no_cache else _cache(place, _path(cache)),
        layout=recorded_layout(
            recorded if header else {**recorded, "header": False},
            field=one_field(place, field),
            encoding=encoding,
            author_field=author_field,
            label_field=label_field,
        ),
        file_format=format,
    )


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)


def _cache(target: Path, chosen: Path | None) -> Path | None:
    """Beside the model and not in its folder, which is meant to be given away."""
    if chosen is not None or not target.is_dir():
        return chosen
    from sfumato.attacks.token_scores import run_around

    whole = target.resolve()
    # Of a model inside a run it is the run that is given away.
    given_away = run_around(whole) or whole
    return given_away.with_name(given_away.name + ".attacks")


def _score(
    chosen: Attack[Any, Any], given: Inputs, randomness: Randomness, which: str = ""
) -> Scores:
    from sfumato.attacks.attack import run_attack

    with _bar(chosen.name + which) as done:
        return run_attack(chosen, given, randomness, done)


@contextmanager
def _bar(name: str) -> Iterator[Done]:
    with progress(f"attacking: {name}", _STEPS, unit_is_bytes=False) as advance:
        yield lambda reached, whole: advance(_STEPS * reached // max(whole, 1))
