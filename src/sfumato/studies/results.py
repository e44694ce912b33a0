"""The figures of a study as flat files, for whatever reads JSON lines or Parquet."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from importlib.util import find_spec
from io import BytesIO
from typing import Any, get_args, get_type_hints

from sfumato.core.files import write_whole
from sfumato.metrics.rows import Row
from sfumato.studies.folder import StudyFolder
from sfumato.studies.locking import held


def collect(folder: StudyFolder) -> list[Row]:
    """Write ``results.jsonl``, and ``results.parquet`` if there is pyarrow, from finished cells."""
    # Two commands may end at the same time.
    with held(folder.lock("results"), wait=True):
        rows = folder.rows()
        lines = "".join(json.dumps(row.as_dict(), ensure_ascii=False) + "\n" for row in rows)
        write_whole(folder.results, lines.encode())
        if find_spec("pyarrow") is not None:
            write_whole(folder.results.with_suffix(".parquet"), _parquet(rows))
    return rows


def _parquet(rows: list[Row]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    hints = get_type_hints(Row)
    # The types are fixed, so that a column of nothing yet is not taken for another type.
    kinds = {str: pyarrow.string(), float: pyarrow.float64(), int: pyarrow.int64()}
    schema = pyarrow.schema(
        [(field.name, kinds[_type(hints[field.name])]) for field in fields(Row)]
    )
    content = BytesIO()
    table = pyarrow.Table.from_pylist([asdict(row) for row in rows], schema=schema)
    pyarrow.parquet.write_table(table, content)
    return content.getvalue()


def _type(hint: Any) -> Any:
    return next((one for one in get_args(hint) if one is not type(None)), hint)
