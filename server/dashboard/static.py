"""Style sheets and modules, under an address that names their content, so that browsers may keep them."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from server.problems import Refusal

router = APIRouter()

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@lru_cache(maxsize=1)
def contents() -> dict[str, bytes]:
    """Every file by its name."""
    folder = files("server.dashboard").joinpath("static")
    return {
        f.name: f.read_bytes()
        for f in sorted(folder.iterdir(), key=lambda f: f.name)
        if f.name.endswith(tuple(TYPES))
    }


@lru_cache(maxsize=1)
def version() -> str:
    """A digest of all files: modules import each other, so they are of one version."""
    found = sha256()
    for name, content in contents().items():
        found.update(name.encode() + b"\0" + content)
    return found.hexdigest()[:16]


@router.get("/static/{digest}/{name}")
def static_file(digest: str, name: str, request: Request) -> Response:
    """One file; an address of another version gives the present one, not to be kept."""
    content = contents().get(name)
    if content is None:
        raise Refusal("not_found", f"a file of the dashboard must exist, but there is none {name[:80]!r}")
    kept = "public, max-age=31536000, immutable" if digest == version() else "no-cache"
    kind = TYPES[name[name.rindex(".") :]]
    return Response(content, media_type=kind, headers={"Cache-Control": kept})


@router.get("/favicon.ico")
def icon() -> Response:
    """The icon, where browsers look for it unasked."""
    return Response(contents()["icon.svg"], media_type="image/svg+xml")
