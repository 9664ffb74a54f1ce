"""What the pages with forms share."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import Request, Response


async def fields(request: Request) -> dict[str, str]:
    """The fields of a form, without blanks around them."""
    body = (await request.body()).decode("utf-8", "replace")
    found = parse_qs(body, keep_blank_values=True, max_num_fields=200)
    return {k: v[0].strip() for k, v in found.items()}


def see(place: str) -> Response:
    """Go to another page after a form."""
    return Response(status_code=303, headers={"Location": place})
