"""One attempt at an answer over the `openai` library: ends by an answer, an error, its time, or a stop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol

from agent.llm.capabilities import Capabilities
from agent.llm.reply import CallError, Json, Reply
from agent.llm.settings import Settings

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

POLL_SECONDS = 0.1
"""How often a waiting call looks whether it is to stop."""


class Attempt(Protocol):
    """Asks an endpoint once. Raises CallError if that gives no answer."""

    def __call__(
        self, request: Json, capabilities: Capabilities, seconds: float, stop: Callable[[], bool]
    ) -> Reply: ...


class EndpointAttempt:
    """Attempts at the endpoint of some settings; a new connection each, closed when it ends."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock

    def __call__(
        self, request: Json, capabilities: Capabilities, seconds: float, stop: Callable[[], bool]
    ) -> Reply:
        return asyncio.run(self._watched(request, capabilities, seconds, stop))

    async def _watched(
        self, request: Json, capabilities: Capabilities, seconds: float, stop: Callable[[], bool]
    ) -> Reply:
        end = self._clock() + seconds
        task = asyncio.create_task(self._ask(request, capabilities, seconds))
        try:
            while True:
                await asyncio.wait({task}, timeout=POLL_SECONDS)
                if task.done():
                    return task.result()
                if stop():
                    raise CallError("stopped", "the search was told to stop")
                if self._clock() >= end:
                    raise CallError("timeout", f"an answer must come within {seconds:g} s, but did not")
        finally:
            if not task.done():
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _ask(self, request: Json, capabilities: Capabilities, seconds: float) -> Reply:
        import httpx2
        import openai

        from agent.llm.transport import TooLongError, http_client

        settings = self._settings
        async with openai.AsyncOpenAI(
            api_key=settings.key.reveal() or "none",
            base_url=settings.base_url,
            max_retries=0,
            organization="",
            project="",
            http_client=http_client(seconds),
        ) as client:
            try:
                return await self._exchange(client, request, capabilities)
            except CallError:
                raise
            except openai.APIStatusError as error:
                raise self._refused(error) from None
            except openai.APITimeoutError:
                raise CallError(
                    "timeout", "an answer must come in time, but the endpoint was silent"
                ) from None
            except (openai.APIConnectionError, httpx2.HTTPError) as error:
                cause = error.__cause__ or error
                kind = "too_long" if isinstance(cause, TooLongError) else "connection"
                raise CallError(
                    kind, self._hide(f"the endpoint must answer, but it did not ({cause})")
                ) from None
            except openai.APIError as error:
                raise CallError("cut_off", self._hide(f"an answer broke off: {error}")) from None
            except (ValueError, TypeError, AttributeError, KeyError, LookupError) as error:
                raise CallError(
                    "cut_off", self._hide(f"an answer must be whole JSON, but is not ({error})")
                ) from None

    async def _exchange(self, client: AsyncOpenAI, request: Json, capabilities: Capabilities) -> Reply:
        from agent.llm.gather import from_stream, from_whole

        parameters = parameters_of(request, capabilities)
        create: Any = client.chat.completions.create
        if not (capabilities.stream and self._settings.stream):
            return self._clean(from_whole(await create(**parameters)))
        parameters["stream"] = True
        if capabilities.usage:
            parameters["stream_options"] = {"include_usage": True}
        stream = await create(**parameters)
        kind = str(stream.response.headers.get("content-type", ""))
        try:
            if "html" in kind:
                return from_whole("")
            if "json" in kind:  # an endpoint that does not stream
                return self._clean(from_whole(json.loads(await stream.response.aread())))
            return self._clean(await from_stream(stream))
        finally:
            await stream.close()

    def _clean(self, reply: Reply) -> Reply:
        """The reply without the key, should the endpoint have repeated it."""
        calls = tuple(
            replace(c, id=self._hide(c.id), name=self._hide(c.name), arguments=self._hide(c.arguments))
            for c in reply.calls
        )
        return replace(
            reply,
            text=self._hide(reply.text),
            refusal=self._hide(reply.refusal),
            finish=self._hide(reply.finish)[:40],
            calls=calls,
        )

    def _refused(self, error: APIStatusError) -> CallError:
        status, said = error.status_code, self._hide(str(error.message))[:600]
        if status == 429:
            return CallError(
                "busy", f"the endpoint asks to wait: {said}", retry_after(error.response.headers)
            )
        if status in (408, 409, 425) or status >= 500:
            return CallError(
                "server",
                f"the endpoint failed with status {status}: {said}",
                retry_after(error.response.headers),
            )
        if status in (401, 403):
            return CallError("wrong_key", f"the endpoint must accept the key of SEIS_LLM_API_KEY: {said}")
        if status == 404:
            return CallError("no_such_model", f"the endpoint must know the address and the model: {said}")
        return CallError("refused", f"the endpoint refused the request with status {status}: {said}")

    def _hide(self, text: str) -> str:
        return self._settings.key.hide(text)


def parameters_of(request: Json, capabilities: Capabilities) -> Json:
    """What is sent for a request, less what the endpoint does not take."""
    parameters: Json = {"model": request["model"], "messages": request["messages"]}
    parameters[capabilities.output_limit] = request["max_output_tokens"]
    if request.get("temperature") is not None and capabilities.temperature:
        parameters["temperature"] = request["temperature"]
    for name in ("tools", "response_format"):
        if request.get(name):
            parameters[name] = request[name]
    return parameters


def retry_after(headers: Any) -> float | None:
    """Seconds that a server asks to wait, from milliseconds, seconds or a date; None if it does not."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = str(headers.get(name, "")).strip()
        try:
            value = float(text) * unit
        except ValueError:
            continue
        return value if 0 <= value < float("inf") else None
    try:
        at = parsedate_to_datetime(str(headers.get("retry-after", "")))
        return max(0.0, at.timestamp() - time.time())
    except (TypeError, ValueError):
        return None
