"""The page of the API: its OpenAPI document as plain HTML, without scripts and without other hosts."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request, Response

router = APIRouter(include_in_schema=False)


@router.get("/api")
@router.get("/api/v1")
def api_page(request: Request) -> Response:
    """Every operation, with its parameters and examples."""
    schema = request.app.openapi()
    by_tag: dict[str, list[str]] = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            tag = operation.get("tags", ["other"])[0]
            by_tag.setdefault(tag, []).append(_operation(schema, method, path, operation))
    parts = "".join(
        f"<section><h2>{escape(tag)}</h2>{''.join(items)}</section>" for tag, items in by_tag.items()
    )
    about = "".join(f"<p>{escape(p)}</p>" for p in schema["info"]["description"].split("\n\n"))
    return Response(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>SEIS: API</title>'
        '<meta name="viewport" content="width=device-width">'
        '<link rel="stylesheet" href="/api/style.css"></head>'
        f'<body><main><h1>SEIS: API</h1>{about}<p><a href="/api/v1/openapi.json">OpenAPI document</a></p>'
        f"{parts}</main></body></html>",
        media_type="text/html; charset=utf-8",
    )


@router.get("/api/style.css")
def style() -> Response:
    """The page's style."""
    text = files("server").joinpath("api.css").read_text(encoding="utf-8")
    return Response(text, media_type="text/css; charset=utf-8")


def _operation(schema: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(p['name'])}</code></td><td>{escape(p['in'])}</td>"
        f"<td>{escape(p.get('description', ''))}</td></tr>"
        for p in operation.get("parameters", ())
    )
    table = f"<table>{rows}</table>" if rows else ""
    answers = "".join(
        f"<tr><td>{escape(status)}</td><td>{escape(r.get('description', ''))}</td></tr>"
        for status, r in operation["responses"].items()
    )
    return (
        f'<details><summary><span class="method">{method.upper()}</span> <code>{escape(path)}</code> '
        f"{escape(operation.get('description', ''))}</summary>{table}{_example(schema, operation)}"
        f"<table>{answers}</table></details>"
    )


def _example(schema: dict[str, Any], operation: dict[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = str(body.get("$ref", "")).rpartition("/")[2]
    found = schema["components"]["schemas"].get(name, {}).get("examples")
    return f"<pre>{escape(json.dumps(found[0], indent=2))}</pre>" if found else ""
