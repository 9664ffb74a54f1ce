"""HTTP to an endpoint that is not trusted: no redirects, no compression, and only so many bytes.

Imported lazily, since the HTTP library is slow to import.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

MOST_BYTES = 8_000_000
"""Of one response, whatever is in it."""


class TooLongError(httpx2.TransportError):
    """A response has more bytes than an answer can have."""


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._limit
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                raise TooLongError(f"an answer must have at most {self._limit} bytes, but it has more")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class LimitedTransport(httpx2.AsyncHTTPTransport):
    """A transport whose responses end at `limit` bytes; compressed ones, asked for by nobody, are refused."""

    def __init__(self, limit: int = MOST_BYTES) -> None:
        super().__init__(retries=0)
        self._limit = limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise TooLongError("an answer must not be compressed, but it is")
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            response.stream = _Limited(stream, self._limit)
        return response


def http_client(seconds: float, limit: int = MOST_BYTES) -> httpx2.AsyncClient:
    """A client for one endpoint; a silence of `seconds` is an error."""
    return httpx2.AsyncClient(
        transport=LimitedTransport(limit), timeout=httpx2.Timeout(seconds), follow_redirects=False
    )
