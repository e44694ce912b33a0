"""The OpenAPI document: what FastAPI writes of the routes, with rights, errors and examples.

FastAPI knows neither the guard nor the shape of our errors, so these are added here, from the same
tables that the guard and the problems use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi

from sfumato.service.answers import ProblemShown
from sfumato.service.guard import OPEN, RIGHTS
from sfumato.service.problems import MEDIA_TYPE, TITLES
from sfumato.service.tokens import Right

if TYPE_CHECKING:
    from fastapi import FastAPI

# Which errors a request can meet: any, one that needs a token, one with a body, a release.
_ANY = (400, 421, 500)
_WITH_TOKEN = (401, 403, 429)
_WITH_BODY = (408, 413, 415, 422, 503, 504)
_RELEASE = (404, 409, 410, 501)
_BUDGET = (404, 409)
_WAITS = (429, 503)
_FOREIGN = ("HTTPValidationError", "ValidationError")  # FastAPI's own, which are never sent


def describe(app: FastAPI) -> None:
    """Let an application serve a document that says all of it."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(
                get_openapi(
                    title=app.title,
                    version=app.version,
                    description=app.description,
                    routes=app.routes,
                )
            )
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _completed(made: dict[str, Any]) -> dict[str, Any]:
    parts = made["components"]
    shapes = ProblemShown.model_json_schema(ref_template="#/components/schemas/{model}")
    parts["schemas"] |= shapes.pop("$defs") | {"Problem": shapes}
    for name in _FOREIGN:
        parts["schemas"].pop(name, None)
    parts["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of the service's owner. It has some of the rights "
            f"{', '.join(Right)}; no right includes another.",
        }
    }
    for path, methods in made["paths"].items():
        for operation in methods.values():
            _complete(path, operation)
    return made


def _complete(path: str, operation: dict[str, Any]) -> None:
    statuses = list(_ANY)
    if path not in OPEN:
        right = RIGHTS[path]
        operation["security"] = [{"token": []}]
        needed = "any valid token" if right is None else f"the right `{right.value}`"
        operation["description"] = f"{operation['description']} Needs {needed}."
        statuses += _WITH_TOKEN
        if "requestBody" in operation:
            statuses += _WITH_BODY
            statuses += _RELEASE if right is Right.RELEASE else ()
            statuses += _BUDGET if right in (Right.BUDGET, Right.ADMIN) else ()
        elif operation.get("parameters"):
            statuses.append(422)
    answers = operation["responses"]
    answers.pop("422", None)
    for status in sorted(statuses):
        answers[str(status)] = _answer(status)


def _answer(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    said: dict[str, Any] = {
        "description": TITLES[status].capitalize(),
        "content": {MEDIA_TYPE: {"schema": schema}},
    }
    if status in _WAITS:
        wait = {"description": "Seconds to wait", "schema": {"type": "integer"}}
        said["headers"] = {"Retry-After": wait}
    return said
