"""Whatever is charged, held, settled and closed: the budget agrees with a few lines of Python."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from budget_claims import pure
from sfumato.accounting.budget import Amount, Budget, Limit
from sfumato.accounting.budget.shared import Request
from sfumato.core.errors import BudgetExceeded, SfumatoError

LIMIT = 10
keys, amounts = st.sampled_from("abc"), st.integers(1, 7)
steps = st.one_of(
    st.tuples(st.sampled_from(["charge", "hold", "settle"]), keys, amounts),
    st.tuples(st.just("close"), st.just(""), st.just(0)),
)


@dataclass
class Model:
    """What should be: amounts by key, and which of them are held."""

    charged: dict[str, int] = field(default_factory=dict)
    asked: dict[str, tuple[int, bool]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    closed: bool = False

    def enter(self, key: str, amount: int, *, held: bool) -> bool:
        if key in self.charged:
            return self.asked[key] == (amount, held) and (not held or key in self.held)
        if self.closed or sum(self.charged.values()) + amount > LIMIT:
            return False
        self.charged[key] = amount
        self.asked[key] = amount, held
        self.held |= {key} if held else set()
        return True

    def settle(self, key: str, amount: int) -> bool:
        if key not in self.charged:
            return False
        if key not in self.held:
            return amount == self.charged[key]
        if amount > self.charged[key]:
            return False
        self.charged[key] = amount
        self.held.remove(key)
        return True


def done(budget: Budget, name: str, step: tuple[str, str, int]) -> bool:
    what, key, amount = step
    try:
        if what == "settle":
            budget.settle(name, key, Amount.charged(float(amount)))
        elif what == "close":
            budget.end(name)
        else:
            enter = budget.charge if what == "charge" else budget.hold
            enter(name, pure(float(amount)), Request(key))
    except BudgetExceeded:
        return False
    except SfumatoError:
        return False
    return True


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(course=st.lists(steps, max_size=12))
def test_a_budget_agrees_with_its_model(budget: Budget, course: list[tuple[str, str, int]]) -> None:
    name, model = f"corpus:{secrets.token_hex(8)}", Model()
    budget.open(name, Limit.of("level", float(LIMIT)))
    for step in course:
        what, key, amount = step
        if what == "close":
            model.closed = expected = True
        elif what == "settle":
            expected = model.settle(key, amount)
        else:
            expected = model.enter(key, amount, held=what == "hold")
        assert done(budget, name, step) == expected
        account = budget.show(name)
        assert account.spent == Amount.charged(float(sum(model.charged.values())))
        assert account.held.level == sum(model.charged[one] for one in model.held)
        assert account.spent.units <= account.limit.most.units
