"""Tokens and the sessions of browsers; of both the hashes alone are kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import delete, or_, select, update

from db.errors import NotFoundError
from db.repositories.store import Store, from_record, insert_once, rows, to_record
from db.service_records import Token
from db.service_schema import SessionRow, TokenRow


class Tokens(Store):
    """Tokens by their public identifier, sessions by the hash of their secret."""

    def create_token(self, token: Token) -> None:
        """Store a new token."""
        with self._writing() as session:
            insert_once(session, TokenRow, from_record(token))

    def find_token(self, token_id: str) -> Token | None:
        """The token of this identifier, whatever its state, or None."""
        with self._reading() as session:
            found = rows(session, select(TokenRow).where(TokenRow.id == token_id))
            return to_record(Token, found[0]) if found else None

    def list_tokens(self) -> tuple[Token, ...]:
        """Every token, the oldest first."""
        with self._reading() as session:
            found = rows(session, select(TokenRow).order_by(TokenRow.created_at, TokenRow.id))
            return tuple(to_record(Token, row) for row in found)

    def revoke_token(self, token_id: str) -> Token:
        """End a token and its sessions; one that has ended stays so. Raises NotFoundError."""
        with self._writing() as session:
            statement = update(TokenRow).where(TokenRow.id == token_id, TokenRow.revoked_at.is_(None))
            session.execute(
                statement.values(revoked_at=self._now()).execution_options(synchronize_session=False)
            )
            session.execute(delete(SessionRow).where(SessionRow.token_id == token_id))
            found = rows(session, select(TokenRow).where(TokenRow.id == token_id))
            if not found:
                raise NotFoundError(
                    f"a token must exist to be revoked, but there is none {token_id[:80]!r}; list the tokens"
                )
            return to_record(Token, found[0])

    def use_token(self, token_id: str, least_seconds: float = 60.0) -> None:
        """Note that a token is in use, at most so often."""
        limit = self._now() - timedelta(seconds=least_seconds)
        old = or_(TokenRow.used_at.is_(None), TokenRow.used_at < limit)
        statement = update(TokenRow).where(TokenRow.id == token_id, old).values(used_at=self._now())
        with self._writing() as session:
            session.execute(statement.execution_options(synchronize_session=False))

    def create_session(self, session_hash: str, token_id: str, expires_at: datetime) -> None:
        """Store a session of a token."""
        values = {
            "session_hash": session_hash, "token_id": token_id, "created_at": self._now(),
            "expires_at": expires_at,
        }  # fmt: skip
        with self._writing() as session:
            insert_once(session, SessionRow, values)

    def find_session(self, session_hash: str) -> Token | None:
        """The token of a session that has not run out, or None."""
        statement = (
            select(TokenRow)
            .join(SessionRow, SessionRow.token_id == TokenRow.id)
            .where(SessionRow.session_hash == session_hash, SessionRow.expires_at > self._now())
        )
        with self._reading() as session:
            found = rows(session, statement)
            return to_record(Token, found[0]) if found else None

    def remove_session(self, session_hash: str) -> None:
        """End a session."""
        with self._writing() as session:
            session.execute(delete(SessionRow).where(SessionRow.session_hash == session_hash))

    def forget_sessions(self) -> int:
        """Remove sessions that have run out; returns how many."""
        statement = delete(SessionRow).where(SessionRow.expires_at <= self._now())
        with self._writing() as session:
            return len(session.execute(statement.returning(SessionRow.session_hash)).all())
