"""Every setting of the service, from the environment (SEIS_...) or a .env file; secrets are never shown."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Settings(BaseSettings):
    """What can be configured; each field is read from SEIS_ and its name in capitals."""

    model_config = SettingsConfigDict(
        env_prefix="SEIS_", env_file=".env", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    host: str = Field("127.0.0.1", description="Address that the server listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port that it listens on; 0 takes any free one.")
    allowed_hosts: str = Field(
        "",
        description="Names, with commas between, that requests may call this server by, beside the loopback.",
    )
    database: SecretStr = Field(
        SecretStr("seis.db"), description="A SQLite file or a postgresql:// URL. Shown without its password."
    )
    redis_url: SecretStr | None = Field(
        None, description="redis:// URL, for the executor `dramatiq` and events among several servers."
    )
    queue_prefix: str = Field("seis", min_length=1, description="Beginning of every key in Redis.")
    executor: Literal["processes", "inline", "dramatiq"] = Field(
        "processes",
        description="Where candidates are tried: local processes, the job's own, or Redis workers.",
    )
    workers: int = Field(2, ge=1, le=1024, description="Processes that try candidates, per running job.")
    events: Literal["local", "redis"] = Field(
        "local", description="How servers tell each other of events: not at all, or over Redis."
    )
    coordinator: bool = Field(True, description="Whether this server runs jobs.")
    concurrent_jobs: int = Field(1, ge=1, le=64, description="Jobs that one coordinator runs at a time.")
    lease_seconds: float = Field(
        10.0, gt=0, le=600, description="Time without a sign of life after which a job is taken over."
    )
    compute_processes: int = Field(
        1, ge=1, le=64, description="Processes for evaluations asked for directly."
    )
    compute_seconds: float = Field(60.0, gt=0, description="Longest evaluation that is asked for directly.")
    compute_queue: int = Field(16, ge=1, description="Evaluations that may wait; further ones are refused.")
    max_body_bytes: int = Field(2_000_000, ge=1024, description="Largest request body.")
    body_seconds: float = Field(30.0, gt=0, description="Longest time that a request body may take to come.")
    event_days: float = Field(7.0, gt=0, description="Days for which events are kept for replay.")
    shutdown_seconds: float = Field(8.0, gt=0, le=60, description="Time that a shutdown gives running work.")
    first_job: bool = Field(True, description="Whether an empty database begins with a search.")
    unprotected: bool = Field(
        False,
        description="Serve an address beyond the loopback without tokens, as behind a gateway of one's own.",
    )
    require_tokens: bool = Field(
        False,
        description="Ask for tokens on the loopback too, as behind a gateway.",
    )
    https: bool = Field(
        False,
        description="Whether browsers reach the server over HTTPS, to which cookies are then kept.",
    )
    session_hours: float = Field(12.0, gt=0, le=720, description="How long a browser stays signed in.")
    requests_per_minute: int = Field(6000, ge=1, description="Requests of one caller, beyond which it waits.")
    failures_per_minute: int = Field(20, ge=1, description="Wrong tokens from one address, likewise.")
    streams: int = Field(64, ge=1, description="Streams of events that one caller may hold open.")
    connections: int = Field(512, ge=8, description="Connections at a time; further ones are answered 503.")
    header_seconds: float = Field(
        15.0, gt=0, description="Longest time that a request's head may take to come."
    )
    webhook_url: SecretStr | None = Field(
        None, description="https:// address on the internet that reports are sent to."
    )
    webhook_secret: SecretStr | None = Field(
        None, min_length=16, description="Key of the signature of sent reports, 16 characters at least."
    )
    job_days: float = Field(0.0, ge=0, description="Days after which ended jobs are removed; 0 keeps them.")
    run_days: float = Field(400.0, ge=0, description="Days after which runs and reports are; 0 keeps them.")
    llm_model: str = Field("", description="Language model of jobs that name the proposer `llm`.")
    llm_base_url: str = Field("", description="Its endpoint; empty for OpenAI's own.")
    llm_api_key: SecretStr | None = Field(None, description="Its key.")
    llm_prices: str = Field("", description="A file of prices of models.")
    llm_day_tokens: int | None = Field(None, ge=0, description="Its tokens in a day (UTC), over all jobs.")
    llm_day_cost: float | None = Field(None, ge=0, description="Dollars for it in a day.")
    llm_day_calls: int | None = Field(None, ge=0, description="Calls of it in a day.")
    llm_day_seconds: float | None = Field(None, ge=0, description="Seconds of waiting for it in a day.")
    llm_context_tokens: int = Field(131_072, ge=1, description="Tokens that it can read.")
    llm_max_output_tokens: int = Field(4096, ge=1, description="Tokens that it may write at once.")
    llm_turns: int = Field(16, ge=1, description="Answers that it is asked for per round.")
    llm_stream: bool = Field(True, description="Whether answers are asked for in pieces.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level logged.")
    log_format: Literal["console", "json"] = Field("console", description="Lines for people, or JSON.")

    @field_validator(
        "webhook_url", "webhook_secret", "llm_api_key", "llm_day_tokens", "llm_day_cost", "llm_day_calls",
        "llm_day_seconds", mode="before",
    )  # fmt: skip
    @classmethod
    def _given(cls, value: object) -> object:
        return None if value == "" else value

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not value.get_secret_value():
            return None
        if not value.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must begin with redis://, rediss:// or unix://")
        return value

    @field_validator("webhook_url")
    @classmethod
    def _webhook(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            from server.access.addresses import read_url

            read_url(value.get_secret_value())
        return value

    def model_post_init(self, _: object) -> None:
        """Settings that need each other."""
        if (self.executor == "dramatiq" or self.events == "redis") and self.redis_url is None:
            raise ValueError("SEIS_REDIS_URL must be given where the executor or the events use Redis")
        if (self.webhook_url is None) != (self.webhook_secret is None):
            raise ValueError("SEIS_WEBHOOK_URL and SEIS_WEBHOOK_SECRET must be given together")

    @property
    def database_url(self) -> str:
        """The place of the database, with its password."""
        return self.database.get_secret_value()

    @property
    def redis(self) -> str:
        """The URL of Redis, with its password; empty if there is none."""
        return self.redis_url.get_secret_value() if self.redis_url else ""

    @property
    def language_model(self) -> dict[str, str]:
        """What is set of the language model, as its variables; with the key."""
        found: dict[str, str] = {}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name.startswith("llm_") and value not in (None, ""):
                value = value.get_secret_value() if isinstance(value, SecretStr) else value
                found[f"SEIS_{name.upper()}"] = str(int(value) if isinstance(value, bool) else value)
        return found

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK

    @property
    def protected(self) -> bool:
        """Whether requests need a token."""
        return self.require_tokens or not (self.loopback or self.unprotected)

    @property
    def hosts(self) -> frozenset[str]:
        """Names that a request may call this server by; empty for any."""
        if not self.loopback and not self.allowed_hosts:
            return frozenset()
        return frozenset(
            {*LOOPBACK, self.host, *(h.strip() for h in self.allowed_hosts.split(",") if h.strip())}
        )


def reference() -> str:
    """The table of settings of `docs/service.md`."""
    lines = ["| variable | default | what |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = field.default
        shown = default.get_secret_value() if isinstance(default, SecretStr) else default
        text = "" if shown in (None, "") else f"`{str(shown).lower() if isinstance(shown, bool) else shown}`"
        lines.append(f"| `SEIS_{name.upper()}` | {text} | {field.description} |")
    return "\n".join(lines)
