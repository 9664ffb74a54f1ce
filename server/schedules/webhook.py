"""Sends reports to one configured address, signed, with retries; each as often as it takes, but no more.

The signature is `X-Seis-Signature: t=TIME,v1=HEX`, where HEX is HMAC-SHA256 under the secret of `TIME.BODY`.
"""

from __future__ import annotations

import hmac
import json
from datetime import datetime, timedelta
from hashlib import sha256

import httpx
import structlog

from db import Database, ScheduledRun
from server.access.addresses import AddressError, Resolve, public_address, read_url, resolve
from server.settings import Settings

log = structlog.get_logger(__name__)

SECONDS = 5.0
MOST_TRIES = 5


class Webhook:
    """One receiver. Raises AddressError for a URL that cannot be one."""

    def __init__(
        self,
        url: str,
        secret: str,
        *,
        lookup: Resolve = resolve,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url = read_url(url)
        self._secret = secret.encode()
        self._lookup = lookup
        self._transport = transport
        self._tried: dict[str, datetime] = {}

    def deliver(self, database: Database, now: datetime) -> None:
        """Send one report that waits, if its time has come."""
        for run in database.undelivered_runs():
            wait = timedelta(minutes=2**run.deliveries / 2) if run.deliveries else timedelta(0)
            if run.id in self._tried and now < self._tried[run.id] + wait:
                continue
            self._tried[run.id] = now
            problem = self.send(run, now)
            tries = run.deliveries + 1
            state = "sent" if not problem else "failed" if tries >= MOST_TRIES else "due"
            database.deliver_run(run.id, state, tries)
            if state != "due":
                self._tried.pop(run.id, None)
            if problem:
                log.warning("report_not_sent", run=run.id, tries=tries, detail=problem)
            return

    def send(self, run: ScheduledRun, now: datetime) -> str:
        """Send a report once; why it failed, or nothing."""
        body = json.dumps(dict(run.report or {}), ensure_ascii=False).encode()
        host = self._url.netloc.decode()
        headers = {
            "Host": host, "Content-Type": "application/json", "User-Agent": "seis",
            "X-Seis-Delivery": run.id, "X-Seis-Signature": signature(self._secret, now, body),
        }  # fmt: skip
        try:
            address = public_address(self._url, self._lookup)
            with httpx.Client(
                transport=self._transport, timeout=SECONDS, follow_redirects=False, trust_env=False
            ) as client:
                # The host that was checked is the host that is called; the certificate is of its name.
                request = client.build_request(
                    "POST", self._url.copy_with(host=address), content=body, headers=headers,
                    extensions={"sni_hostname": self._url.host},
                )  # fmt: skip
                answer = client.send(request, stream=True)
                answer.close()
        except AddressError as error:
            return str(error)
        except httpx.HTTPError as error:
            return f"the receiver must answer, but {type(error).__name__}; check it"
        if answer.is_success:
            return ""
        return f"the receiver must answer with 2xx, but answered {answer.status_code}; check it"


def webhook_of(settings: Settings) -> Webhook | None:
    """The configured receiver, or None. Raises AddressError."""
    if settings.webhook_url is None or settings.webhook_secret is None:
        return None
    return Webhook(settings.webhook_url.get_secret_value(), settings.webhook_secret.get_secret_value())


def signature(secret: bytes, now: datetime, body: bytes) -> str:
    """The value of X-Seis-Signature."""
    moment = str(int(now.timestamp()))
    digest = hmac.new(secret, moment.encode() + b"." + body, sha256).hexdigest()
    return f"t={moment},v1={digest}"
