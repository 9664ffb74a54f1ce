"""What the pages share: forms, and refusals shown as pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar
from urllib.parse import parse_qs

from fastapi import Request, Response

from server.dashboard.render import refused, wants_json
from server.problems import refusal_of

Page = TypeVar("Page", bound=Callable[..., Awaitable[Response]])


def shown(here: str) -> Callable[[Page], Page]:
    """A page whose refusals are pages too; callers that ask for JSON get problem details."""

    def around(function: Page) -> Page:
        @wraps(function)
        async def page(*args: Any, **kwargs: Any) -> Response:
            request: Request = kwargs["request"]
            try:
                return await function(*args, **kwargs)
            except Exception as error:
                refusal = refusal_of(error)
                if refusal is None or wants_json(request):
                    raise
                return refused(request, refusal, here)

        return page  # type: ignore[return-value]

    return around


async def fields(request: Request) -> dict[str, str]:
    """The fields of a form, without blanks around them."""
    body = (await request.body()).decode("utf-8", "replace")
    found = parse_qs(body, keep_blank_values=True, max_num_fields=200)
    return {k: v[0].strip() for k, v in found.items()}


def see(place: str) -> Response:
    """Go to another page after a form."""
    return Response(status_code=303, headers={"Location": place})
