"""Commands that take settings from files: the command line first, then files, then a preset.

A command of this class has ``--config``, ``--no-config``, ``--preset`` and ``-q`` beside its own
options. What a file says is handed to the parser as defaults, so that a file is checked as the
command line is, and whatever is typed wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand

from sfumato.cli.output import note
from sfumato.core.config import OF_ONE_RUN, Config, find_config, read_config, read_preset
from sfumato.core.errors import InvalidArgument, SfumatoError, UnknownName
from sfumato.core.kinds import kind_of
from sfumato.core.progress import QUIET

# Parameters that are called otherwise than their setting.
_CALLED = {"file_format": "format"}
# What is given in one place takes the place of what belongs together with it in a weaker one: the
# level and the settings of another mechanism are none of this one's.
_INSTEAD = {
    "level": ("policy", "epsilon"),
    "policy": ("level",),
    "epsilon": ("level",),
    "mechanism": ("epsilon", "by_type", "settings"),
}
# Tables, of which a stronger place changes single rows.
_TABLES = ("by_type", "settings")
_SPECS = ("policy", "exclude", "level")


class Configured(TyperCommand):
    """A command with settings files."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.params.extend(_own_options())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed, over what files say."""
        if not ctx.resilient_parsing:
            typed, _, _ = self.make_parser(ctx).parse_args(args=list(args))
            QUIET.set(QUIET.get() or bool(typed.get("quiet")))
            if not typed.get("help"):
                ctx.default_map = self._defaults(ctx, typed)
                args = [*self._beside(typed, ctx.default_map), *args]
        return super().parse_args(ctx, args)

    def _beside(self, typed: Mapping[str, Any], defaults: dict[str, Any]) -> Iterator[str]:
        """Rows that files have in tables of which other rows are typed, as they would be typed."""
        for one in self.params:
            if one.name in _TABLES and typed.get(one.name):
                for row in defaults.pop(one.name, ()):
                    yield from (one.opts[0], row)

    def _defaults(self, ctx: Any, typed: Mapping[str, Any]) -> dict[str, Any]:
        """Defaults by parameter: those of a preset, then those of a file."""
        given = {name: value for name, value in typed.items() if value}
        defaults: dict[str, Any] = {}
        for config in _layers(given):
            _refuse_unknown_tables(ctx, config)
            own = self._read(ctx, config)
            defaults = _over(own, defaults)
            used = [name for name in _over(given, own) if name not in given]
            if own:
                said = ", ".join(_CALLED.get(name, name) for name in used)
                note(f"settings from {config.label}: {said or 'none, for others are given'}")
        kept = _over(given, defaults)
        rows = {name: _other_rows(name, given, kept) for name in _TABLES if name in given}
        return {name: value for name, value in kept.items() if name not in given} | rows

    def _read(self, ctx: Any, config: Config) -> dict[str, Any]:
        known = dict(self._settings())
        found = {}
        for key, value in config.table(str(self.name)).items():
            where = f"{config.label}: {self.name}.{key}"
            if key in OF_ONE_RUN:
                raise InvalidArgument(f"{where} is for one run, and not for a settings file")
            if key not in known:
                raise UnknownName(f"key in [{self.name}] of {config.label}", key, sorted(known))
            option = known[key]
            words = _as_typed(option, _placed(option.name, value, config.folder), where)
            try:
                option.process_value(ctx, words)
            except SfumatoError:
                raise
            except Exception as error:
                said = getattr(error, "message", None)
                if said is None:
                    raise
                raise InvalidArgument(f"{where}: {said}") from None
            found[option.name] = words
        return found

    def _settings(self) -> Iterator[tuple[str, Any]]:
        """What may stand in a file, by the parameter's name and by that of its option."""
        for one in self.params:
            name = _CALLED.get(one.name or "", one.name or "")
            if isinstance(one, TyperArgument) or name in OF_ONE_RUN:
                continue
            yield name, one
            for option in one.opts:
                if option.startswith("--"):
                    yield option.removeprefix("--").replace("-", "_"), one


def _layers(typed: Mapping[str, Any]) -> Iterator[Config]:
    """Weakest first."""
    if typed.get("preset"):
        yield read_preset(typed["preset"])
    if not typed.get("no_config"):
        found = None if typed.get("config") else find_config(Path.cwd())
        if found is not None:
            yield read_config(found, found=True)
    if typed.get("config"):
        yield read_config(Path(typed["config"]))


def _over(stronger: Mapping[str, Any], weaker: Mapping[str, Any]) -> dict[str, Any]:
    """Both together: where they meet, and where the stronger replaces the weaker, the stronger."""
    gone = {other for name in stronger for other in _INSTEAD.get(name, ())}
    kept = {name: value for name, value in weaker.items() if name not in gone}
    of_policies = [one for one in weaker.get("settings", ()) if "." in one.partition("=")[0]]
    if "settings" in gone and of_policies:
        kept["settings"] = of_policies
    tables = {
        name: [*_other_rows(name, stronger, kept), *stronger[name]]
        for name in _TABLES
        if name in stronger and name in kept
    }
    return kept | dict(stronger) | tables


def _other_rows(name: str, stronger: Mapping[str, Any], weaker: Mapping[str, Any]) -> list[str]:
    """The rows of a weaker table for which the stronger has none; a file takes its place."""
    own, others = _rows(name, stronger[name]), _rows(name, weaker[name])
    if not all("=" in row for row in own):
        return []
    had = set(map(_key, own))
    return [row for row in others if _key(row) not in had]


def _rows(name: str, given: Sequence[str]) -> list[str]:
    """Single rows; types may stand with commas between, and values of settings may hold some."""
    return [row for one in given for row in (one.split(",") if name == "by_type" else [one])]


def _key(row: str) -> str:
    name = row.partition("=")[0].strip()
    return kind_of(name) or name


def _refuse_unknown_tables(ctx: Any, config: Config) -> None:
    """A misspelt table would be left out without a word."""
    commands = sorted(getattr(getattr(ctx.parent, "command", None), "commands", {}))
    for name in config.tables:
        if commands and name not in commands:
            raise UnknownName(f"table in {config.label}", name, commands)


def _as_typed(option: Any, value: object, where: str) -> Any:
    """A value of a file as the parser takes it from a command line."""
    if option.multiple:
        if isinstance(value, Mapping):
            return [f"{key}={_word(one, where)}" for key, one in value.items()]
        items = value if isinstance(value, list) else [value]
        return [_word(one, where) for one in items]
    if option.is_flag:
        if not isinstance(value, bool):
            raise InvalidArgument(f"{where} must be true or false")
        return value
    return _word(value, where)


def _word(value: object, where: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(_word(one, where) for one in value)
    if isinstance(value, (str, int, float)):
        return str(value)
    raise InvalidArgument(f"{where} must be a text, a number, or a list or table of them")


def _placed(name: str | None, value: object, folder: Path | None) -> object:
    """Files that a setting names, seen from the folder of the settings file."""
    if folder is None:
        return value
    if name in _SPECS:
        items = value if isinstance(value, list) else [value]
        return [_place_spec(one, folder) if isinstance(one, str) else one for one in items]
    if name == "vectors":
        return _place_vectors(value, folder)
    return value


def _place_vectors(value: object, folder: Path) -> object:
    """A path, or a table of them by language."""
    if isinstance(value, Mapping):
        return {code: _place_vectors(one, folder) for code, one in value.items()}
    exists = isinstance(value, str) and (folder / value).exists()
    return str(folder / str(value)) if exists else value


def _place_spec(spec: str, folder: Path) -> str:
    from sfumato.policies.parsing import with_files

    level, equals, policy = spec.partition("=")
    if equals and level.replace(".", "", 1).isdigit():
        return f"{level}={_place_spec(policy, folder)}"
    return with_files(spec, lambda path, _: str(folder / path))


def _template(
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="A settings file. [default: sfumato.toml here or in a folder above]",
        ),
    ] = None,
    no_config: Annotated[
        bool, typer.Option("--no-config", help="Use no sfumato.toml that was found.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Settings by name: 'sfumato init --print --preset NAME' shows them.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No notes and no progress; only what is wrong.")
    ] = False,
) -> None:
    """The options that every command of this class has."""


@cache
def _own_options() -> tuple[Any, ...]:
    """Made by Typer from the template, so that they are what its other options are."""
    made = typer.Typer(add_completion=False)
    made.command()(_template)
    options = typer.main.get_command(made).params
    for one in options:
        one.expose_value = False
    return tuple(options)
