"""The statement of an account as a page: it runs nothing, fetches nothing, and shows markup."""

from __future__ import annotations

from sfumato.accounting.budget.statement import Statement
from sfumato.charts.chart import Chart
from sfumato.reports.budget import write_statement

STATED = Statement(
    sentence="all together: <b>exp(2)</b>",
    plain=("In words.",),
    facts=(("account", "c0de (a code)"), ("limit", "2")),
    head=("at", "charged"),
    rows=(("2026-03-01", "<script>1</script>"),),
    earlier="1 earlier charge came to 3.",
)


def test_the_page_is_whole_and_quiet() -> None:
    page = write_statement(STATED, None).decode()
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "&lt;script&gt;1&lt;/script&gt;" in page
    assert "&lt;b&gt;exp(2)" in page
    assert "default-src &#x27;none&#x27;" in page
    assert "http:" not in page
    assert "1 earlier charge" in page


def test_the_chart_stands_inside() -> None:
    spec = {"mark": "bar", "data": {"values": [{"a": 1}]}, "encoding": {}}
    page = write_statement(STATED, Chart(spec)).decode()
    assert page.count("<svg") == 1
    assert "<script" not in page
    none = write_statement(Statement("s", (), (("account", "c"),), ("at",), ()), None).decode()
    assert "None so far." in none
