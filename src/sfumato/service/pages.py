"""Pages for people: the studio, and the documentation of the API, served from here alone."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from sfumato.service.problems import Problem

router = APIRouter(include_in_schema=False)
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
START = "index.html"


@router.get("/")
def studio() -> Response:
    """The studio page."""
    return _file(START)


@router.get("/studio/{name}")
def asset(name: str) -> Response:
    """A style sheet, script or picture of the studio."""
    return _file(name)


@router.get("/favicon.ico")
def icon() -> Response:
    """The picture in a browser's tab."""
    return _file("icon.svg")


@router.get("/docs")
def documentation(request: Request) -> HTMLResponse:
    """What can be asked for, from the OpenAPI document."""
    return HTMLResponse(_documentation(request.app.openapi()))


def _file(name: str) -> Response:
    content = _files().get(name)
    if content is None:
        raise Problem(404, "NotFound", "there is no such page")
    return Response(content, media_type=_TYPES[name.rpartition(".")[2]])


@cache
def _files() -> dict[str, bytes]:
    """All files of the studio by name: a path in a request never reaches the file system."""
    folder = files("sfumato.service").joinpath("studio")
    return {
        one.name: one.read_bytes()
        for one in folder.iterdir()
        if one.is_file() and one.name.rpartition(".")[2] in _TYPES
    }


def _documentation(api: dict[str, Any]) -> str:
    """A page without scripts."""
    rows = []
    for path, methods in sorted(api["paths"].items()):
        for method, one in methods.items():
            body = one.get("requestBody", {}).get("content", {}).get("application/json", {})
            fields = _fields(api, body.get("schema", {}))
            rows.append(
                f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>"
                f"<p>{escape(one.get('description', ''))}</p>{fields}"
            )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'><title>sfumato: the API</title>"
        "<link rel='stylesheet' href='/studio/studio.css'></head><body class='reference'><main>"
        f"<h1>sfumato {escape(api['info']['version'])}: the API</h1>"
        f"<p>{escape(api['info']['description'])} The same as a document: "
        "<a href='/openapi.json'>openapi.json</a>.</p>"
        f"{''.join(rows)}</main></body></html>"
    )


def _fields(api: dict[str, Any], schema: dict[str, Any]) -> str:
    name = schema.get("$ref", "").rpartition("/")[2]
    model = api.get("components", {}).get("schemas", {}).get(name, {})
    needed = model.get("required", ())
    cells = "".join(
        f"<tr><th scope='row'><code>{escape(field)}</code></th>"
        f"<td>{escape(_kind(one))}</td><td>{'needed' if field in needed else ''}</td></tr>"
        for field, one in model.get("properties", {}).items()
    )
    return f"<table><tbody>{cells}</tbody></table>" if cells else ""


def _kind(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        kinds = dict.fromkeys(_kind(one) for one in schema["anyOf"])
        return " or ".join(one for one in kinds if one != "null")
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type") or schema.get("$ref", "").rpartition("/")[2] or "any")
