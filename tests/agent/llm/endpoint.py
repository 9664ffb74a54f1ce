"""A real HTTP server on this machine that speaks the OpenAI protocol and misbehaves as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Response = Callable[["Handler", Json], None]


@dataclass
class Endpoint:
    """Answers each request with the next response of its script, the last one again and again."""

    script: list[Response]
    url: str = ""
    requests: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, body: Json, headers: dict[str, str]) -> Response:
        with self.lock:
            self.requests.append(body)
            self.headers.append(headers)
            return self.script[min(len(self.requests), len(self.script)) - 1]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    endpoint: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            self.endpoint.next(body, dict(self.headers))(self, body)
        except OSError:
            return  # the client has gone
        finally:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def send(self, status: int, content: bytes, kind: str = "application/json", **more: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", more.pop("length", str(len(content))))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def events(self, chunks: Sequence[Json], end: bool = True) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        if end:
            self.wfile.write(b"data: [DONE]\n\n")


@contextmanager
def serving(*script: Response) -> Iterator[Endpoint]:
    """The server, while the block runs."""
    endpoint = Endpoint(list(script))
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"endpoint": endpoint}))
    server.daemon_threads = False
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "completion_tokens_details": {"reasoning_tokens": 7}}


def called(*tools: tuple[str, Json | str], text: str = "") -> list[Json]:
    """Calls of tools as an answer has them."""
    return [
        {"id": f"c{i}", "type": "function",
         "function": {"name": name, "arguments": a if isinstance(a, str) else json.dumps(a)}}
        for i, (name, a) in enumerate(tools)
    ]  # fmt: skip


def says(
    text: str = "",
    *tools: tuple[str, Json | str],
    finish: str = "stop",
    usage: Json | None = USAGE,
    **more: Any,
) -> Response:
    """An answer, streamed if the request wants it so."""

    def respond(handler: Handler, body: Json) -> None:
        message: Json = {"role": "assistant", "content": text or None, **more}
        if tools:
            message["tool_calls"] = called(*tools)
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            whole: Json = {"id": "1", "choices": [choice], "usage": usage}
            handler.send(200, json.dumps(whole).encode())
            return
        half = len(text) // 2
        deltas: list[Json] = [
            {"role": "assistant", **more},
            {"content": text[:half]},
            {"content": text[half:]},
        ]
        for index, call in enumerate(message.get("tool_calls", ())):
            arguments = call["function"]["arguments"]
            first = {**call, "index": index, "function": {**call["function"], "arguments": arguments[:3]}}
            deltas.append({"tool_calls": [first]})
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments[3:]}}]})
        chunks = [{"id": "1", "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
        chunks.append({"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        chunks.append({"id": "1", "choices": [], "usage": usage})
        handler.events(chunks)

    return respond


def status(code: int, message: str = "no", **headers: str) -> Response:
    """An error as the protocol has it."""
    content = json.dumps({"error": {"message": message, "type": "t", "code": code}}).encode()
    return lambda handler, body: handler.send(code, content, **headers)


def raw(content: str, kind: str = "application/json", **headers: str) -> Response:
    """Anything with status 200."""
    return lambda handler, body: handler.send(200, content.encode(), kind, **headers)


def reset(handler: Handler, body: Json) -> None:
    """The connection is closed without an answer."""
    import socket

    handler.connection.shutdown(socket.SHUT_RDWR)


def half(handler: Handler, body: Json) -> None:
    """The stream, or the text, ends in the middle."""
    if body.get("stream"):
        handler.events([{"id": "1", "choices": [{"index": 0, "delta": {"content": "half"}}]}], end=False)
    else:
        handler.send(200, b'{"choices": [{"mess', length="4000")


def silent(handler: Handler, body: Json) -> None:
    """Nothing comes, for as long as the test takes."""
    handler.endpoint.over.wait(30)


def endless(handler: Handler, body: Json, pause: float = 0.0) -> None:
    """A stream without an end."""
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.end_headers()
    chunk = {"id": "1", "choices": [{"index": 0, "delta": {"content": "a" * 2000}}]}
    while not handler.endpoint.over.wait(pause):
        handler.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        handler.wfile.flush()


def drizzle(handler: Handler, body: Json) -> None:
    """A stream without an end, too slow to become too long before it is stopped."""
    endless(handler, body, pause=0.05)


def trickle(handler: Handler, body: Json) -> None:
    """A stream that began, and then stays silent."""
    handler.events([{"id": "1", "choices": [{"index": 0, "delta": {"content": "a"}}]}], end=False)
    handler.wfile.flush()
    handler.endpoint.over.wait(30)
