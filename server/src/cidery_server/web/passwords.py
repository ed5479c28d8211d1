"""Password hashing, and a password rule beyond Django's own."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.exceptions import ValidationError

from cidery_server.web.translation import translate as _

MIN_CHARACTERS = 4
"""Minimum number of different characters, without blanks."""


class PasswordHasher(Argon2PasswordHasher):
    """Argon2id with the memory and passes that OWASP's Password Storage Cheat Sheet names first.

    Django's own take 100 MB for each sign-in, so that few at once exhaust a small machine.
    Hashes made with other numbers are read, and made again at the next sign-in.
    """

    memory_cost = 19 * 1024
    time_cost = 2
    parallelism = 1


class VarietyValidator:
    """Refuses passwords such as twelve blanks, or one letter again and again."""

    def validate(self, password: str, user: Any = None) -> None:  # noqa: ARG002  # as Django calls it
        """Count the different characters."""
        if len(set("".join(password.split()))) < MIN_CHARACTERS:
            raise ValidationError(self.get_help_text())

    def get_help_text(self) -> str:
        """Return the rule as a sentence."""
        return _(
            "A password needs at least {fewest} different characters, not counting spaces."
        ).format(fewest=MIN_CHARACTERS)
