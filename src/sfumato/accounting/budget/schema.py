"""The tables of a budget, and how they grow from version to version.

``STEPS`` leads from version 1 to ``VERSION``, one version at a time; a new budget takes the same
way, so it has the same tables as one that grew (``migration`` takes it). A step may add, and must
neither lose nor lower anything.

Accounts have names that only the holder of the key can compute. Neither database lets anyone who
goes through it delete an account or a charge, raise a limit, change what an account speaks of, or
make a charge smaller, except when held work is settled; outcomes may be forgotten.

Care
    Whoever owns the database can do all of that, and a backup that is restored forgets what was
    charged since.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.accounting.budget.accounts import ABOUT, DIFFERENTIAL
from sfumato.accounting.budget.charges import OF_UNITS
from sfumato.guarantees.guarantee import Notion


@dataclass(frozen=True)
class Step:
    """What leads to a version from the one before, as statements for either database.

    ``respell`` gives accounts of a corpus the words in which this version says what they speak of.
    """

    to: int
    sqlite: tuple[str, ...]
    postgres: tuple[str, ...]
    respell: Callable[[str], str] | None = None


def of_units(before: str) -> str:
    """What an account of a corpus speaks of: its neighbors alone, whatever was released of them.

    In version 1 the notion, the scope and what shows were part of it. All charges had them in
    common, so they have the neighbors in common.
    """
    told = json.loads(before) if before else {}
    if "leaks" not in told:
        return before
    kept = {name: told[name] for name in ("unit", "neighbors", "record", "policy") if name in told}
    notion = DIFFERENTIAL if Notion(told["notion"]) in OF_UNITS else told["notion"]
    return json.dumps(kept | {"notion": notion, ABOUT: told[ABOUT]}, sort_keys=True)


# An author has a charge for each line: what is held must be found without looking at all of them.
_HELD = "CREATE INDEX charge_held ON charge (account) WHERE state = 'held'"
STEPS = (Step(2, (_HELD,), (_HELD,), of_units),)
VERSION = 1 + len(STEPS)

_ACCOUNT = """
CREATE TABLE account (
  id {id} PRIMARY KEY,
  name {bytes} NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  measure TEXT NOT NULL,
  alpha {real},
  speaks_of TEXT NOT NULL,
  most {whole} NOT NULL,
  spent {whole} NOT NULL DEFAULT 0,
  most_delta {whole} NOT NULL,
  spent_delta {whole} NOT NULL DEFAULT 0,
  opened TEXT NOT NULL,
  closed TEXT,
  CHECK (spent BETWEEN 0 AND most),
  CHECK (spent_delta BETWEEN 0 AND most_delta)
) {strict}
"""
_CHARGE = """
CREATE TABLE charge (
  account {whole} NOT NULL REFERENCES account,
  key TEXT NOT NULL,
  request {bytes} NOT NULL,
  amount {whole} NOT NULL CHECK (amount >= 0),
  delta {whole} NOT NULL CHECK (delta >= 0),
  state TEXT NOT NULL CHECK (state IN ('held', 'spent')),
  guarantee TEXT NOT NULL,
  outcome TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (account, key)
) {strict}
"""
_META = "CREATE TABLE meta (schema {whole} NOT NULL, key_check {bytes} NOT NULL) {strict}"

_SAME = "NEW.{0} IS NOT DISTINCT FROM OLD.{0}"
_FIXED_OF_ACCOUNT = ("id", "name", "kind", "measure", "alpha", "most", "most_delta", "opened")
_FIXED_OF_CHARGE = ("account", "key", "request", "guarantee", "at")

_ACCOUNT_MAY_CHANGE = " AND ".join(
    [
        *map(_SAME.format, _FIXED_OF_ACCOUNT),
        "(OLD.speaks_of = '' OR NEW.speaks_of = OLD.speaks_of)",
        "(OLD.closed IS NULL OR (NEW.closed = OLD.closed AND NEW.spent <= OLD.spent))",
        # What is spent falls only by what a settled charge gives back.
        "(NEW.spent >= OLD.spent OR NEW.spent >= (SELECT COALESCE(SUM(amount), 0) FROM charge"
        " WHERE account = OLD.id))",
        "(NEW.spent_delta >= OLD.spent_delta OR NEW.spent_delta >="
        " (SELECT COALESCE(SUM(delta), 0) FROM charge WHERE account = OLD.id))",
    ]
)
_CHARGE_MAY_CHANGE = " AND ".join(
    [
        *map(_SAME.format, _FIXED_OF_CHARGE),
        "((OLD.state = 'held' AND NEW.state = 'spent' AND NEW.amount <= OLD.amount"
        " AND NEW.delta <= OLD.delta) OR (NEW.state = OLD.state AND NEW.amount = OLD.amount"
        " AND NEW.delta = OLD.delta AND NEW.outcome IS NULL))",
    ]
)
_RULES = {"account": _ACCOUNT_MAY_CHANGE, "charge": _CHARGE_MAY_CHANGE, "meta": "1 = 0"}
_THE_SAME = {
    "account": "name = NEW.name OR id = NEW.id",
    "charge": "account = NEW.account AND key = NEW.key",
}
REFUSAL = "what is in a budget stays as it is"
KNOWN = "there is one of this name"


def for_sqlite() -> list[str]:
    """The statements that make the tables of version 1 in SQLite."""
    types = {
        "id": "INTEGER", "whole": "INTEGER", "bytes": "BLOB", "real": "REAL", "strict": "STRICT",
    }  # fmt: skip
    made = [table.format(**types) for table in (_ACCOUNT, _CHARGE, _META)]
    for table in _RULES:
        made += _sqlite_locks(table)
    # An insertion may ask to replace what is there, without a word about deleting it.
    made += [
        f"CREATE TRIGGER {table}_doubled BEFORE INSERT ON {table} "  # noqa: S608  # constants
        f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) "
        f"BEGIN SELECT RAISE(ABORT, '{KNOWN}'); END"
        for table, same in _THE_SAME.items()
    ]
    return made


def _sqlite_locks(table: str) -> list[str]:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    # Before version 3.39, SQLite spells this comparison in another way.
    changed = _RULES[table].replace("IS NOT DISTINCT FROM", "IS")
    return [
        f"CREATE TRIGGER {table}_deleted BEFORE DELETE ON {table} {refuse}",
        f"CREATE TRIGGER {table}_changed BEFORE UPDATE ON {table} WHEN NOT ({changed}) {refuse}",
    ]


def for_postgres() -> list[str]:
    """The same for PostgreSQL."""
    types = {
        "id": "BIGINT GENERATED ALWAYS AS IDENTITY", "whole": "BIGINT", "bytes": "BYTEA",
        "real": "DOUBLE PRECISION", "strict": "",
    }  # fmt: skip
    made = [table.format(**types) for table in (_ACCOUNT, _CHARGE, _META)]
    refuse = f"RAISE EXCEPTION '{REFUSAL}'"
    for table, rule in _RULES.items():
        made += [
            f"CREATE FUNCTION keep_{table}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN IF TG_OP <> 'UPDATE' THEN {refuse}; END IF; "
            f"IF NOT ({rule}) THEN {refuse}; END IF; RETURN NEW; END $$",
            _postgres_lock(table),
            f"CREATE TRIGGER {table}_emptied BEFORE TRUNCATE ON {table} "
            f"EXECUTE FUNCTION keep_{table}()",
        ]
    return made


def _postgres_lock(table: str) -> str:
    return (
        f"CREATE TRIGGER {table}_changed BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW "
        f"EXECUTE FUNCTION keep_{table}()"
    )


# What nobody may change, a migration may: it takes the lock away, and puts it back in the same
# transaction. First the statement that opens, then the one that closes.
SQLITE_LOCKS = {
    table: (f"DROP TRIGGER {table}_changed", _sqlite_locks(table)[1]) for table in _RULES
}
POSTGRES_LOCKS = {
    table: (f"DROP TRIGGER {table}_changed ON {table}", _postgres_lock(table)) for table in _RULES
}
