"""Sending e-mail: by SMTP where the installation has a server, else to the log."""

from __future__ import annotations

import logging
from smtplib import SMTPException

from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email

from cidery_server.web.environment import Environment
from cidery_server.web.models import Account

log = logging.getLogger(__name__)


def address_of(account: Account) -> list[str]:
    """Return an account's address: its contact, if that is one."""
    contact = account.contact.strip()
    try:
        validate_email(contact)
    except ValidationError:
        return []
    return [contact]


def send(address: str, subject: str, text: str, path: str) -> None:
    """Send a message that ends with the address of a page; failures are logged, not retried.

    Each address has a message of its own, so that no one sees the others.
    """
    body = f"{text}\n\n{Environment.read().address}{path}\n".lstrip()
    try:
        EmailMessage(" ".join(subject.split()), body, to=[address]).send()
    except (SMTPException, OSError) as error:
        # Not the address: logs hold no contacts.
        log.error("a message could not be sent: %s", type(error).__name__)
