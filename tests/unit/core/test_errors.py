"""The tree of errors: its shape, and what survives a trip between processes."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from sfumato.core import errors


def classes() -> dict[str, type[errors.SfumatoError]]:
    return {
        name: found
        for name, found in inspect.getmembers(errors, inspect.isclass)
        if issubclass(found, errors.SfumatoError)
    }


def test_every_error_stands_in_the_tree_at_the_top_of_the_file() -> None:
    drawn = errors.__doc__ or ""
    for name in classes():
        assert re.search(rf"\b{name}\b", drawn)


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("InvalidArgument", ValueError),
        ("BadInput", ValueError),
        ("StorageFailed", OSError),
        ("MissingExtra", ImportError),
        ("BudgetExceeded", RuntimeError),
        ("IncomparableGuarantees", TypeError),
    ],
)
def test_errors_can_be_caught_by_their_builtin_kin(name: str, builtin: type[Exception]) -> None:
    assert issubclass(classes()[name], builtin)


@pytest.mark.parametrize(
    "error",
    [
        errors.UnknownName("policy", "digit", ["digits", "nothing"]),
        errors.MissingExtra("reading parquet", "parquet"),
        errors.MalformedRecord("line 3 is not JSON"),
        errors.StorageFailed("cannot write"),
        errors.OutputExists("there is a file"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_back_whole_from_a_worker_process(error: errors.SfumatoError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_a_suggestion_ignores_case_and_keeps_quiet_when_nothing_is_near() -> None:
    assert errors.suggestion("LAPLACE", ["laplace"]).startswith("did you mean 'laplace'?")
    assert errors.suggestion("zebra", ["laplace", "digits"]) == "known: digits, laplace"
    assert errors.suggestion("any", []) == "known: there are none"
