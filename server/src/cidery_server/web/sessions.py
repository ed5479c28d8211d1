"""Sessions, stored under digests of their keys, so that readers of the database cannot use them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from django.contrib.sessions.backends.db import SessionStore as PlainStore
from django.utils import timezone


def digest(key: str | None) -> str:
    """Return the digest of a session's key, as long as Django's column."""
    return sha256((key or "").encode()).hexdigest()[:40]


class SessionStore(PlainStore):
    """Django's sessions in the database, without the keys of cookies."""

    def _get_session_from_db(self) -> Any:
        stored = self.model.objects.filter(session_key=digest(self.session_key))
        found = stored.filter(expire_date__gt=timezone.now()).first()
        if found is None:
            self._session_key = None  # as Django does: a visitor cannot choose a key
        return found

    def exists(self, session_key: str) -> bool:
        """Return True if a key is taken."""
        return bool(super().exists(digest(session_key)))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """Return the row to write."""
        row = super().create_model_instance(data)
        row.session_key = digest(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Forget a session, this one by default."""
        key = session_key or self.session_key
        if key is not None:
            super().delete(digest(key))
