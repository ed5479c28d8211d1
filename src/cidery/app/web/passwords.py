"""What a password must be like, beyond Django's own rules."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError

FEWEST_CHARACTERS = 4
"""Different ones, blanks left out."""


class VarietyValidator:
    """Refuses passwords such as twelve blanks, or one letter again and again."""

    def validate(self, password: str, user: Any = None) -> None:  # noqa: ARG002  # as Django calls it
        """Count the different characters."""
        if len(set("".join(password.split()))) < FEWEST_CHARACTERS:
            raise ValidationError(self.get_help_text())

    def get_help_text(self) -> str:
        """Say what is wanted."""
        return f"A password has at least {FEWEST_CHARACTERS} different characters, besides blanks."
