"""Challenges in this process: the app's own pages and scoring, without a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.test import Client

    from cidery_server.challenges.models import Challenge
    from cidery_server.web.models import Account

WORDS = ["dog", "cat", "bird", "horse", "sheep", "cow", "bear", "zebra", "fox", "deer"]


def references(images: Sequence[int], word: str = "walks") -> dict[int, list[str]]:
    """Return two references for each image; those of an image depend on its number alone."""
    return {
        n: [f"a {WORDS[n % 10]} {word} over field {n}", f"the {WORDS[n % 10]} is in field {n}"]
        for n in images
    }


def captions(images: Sequence[int], word: str = "walks", **changed: str) -> list[dict[str, Any]]:
    """Return results; `_3="a fish"` is another caption for image 3."""
    return [
        {
            "image_id": n,
            "caption": changed.get(f"_{n}", f"a {WORDS[n % 10]} {word} in field {n} today"),
        }
        for n in images
    ]


@dataclass
class Person:
    """An account and its browser."""

    account: Account
    browser: Client

    def get(self, path: str, **query: Any) -> Any:
        return self.browser.get(path, query)

    def post(self, path: str, **fields: Any) -> Any:
        """Send a form's fields: as JSON to an endpoint, with files as a form."""
        has_files = any(hasattr(value, "read") for value in fields.values())
        if path.startswith("/api/") and not has_files:
            return self.browser.post(path, json.dumps(fields), "application/json")
        return self.browser.post(path, fields)

    def submit(self, slug: str, content: Any, **fields: Any) -> Any:
        """Send results and return the answer; nothing is scored yet."""
        from django.core.files.base import ContentFile

        file = ContentFile(json.dumps(content).encode(), "results.json")
        path = f"/api/challenges/{slug}/submissions"
        return self.post(path, title=fields.pop("title", "a try"), file=file, **fields)


@dataclass
class Host:
    """An owner, and whoever comes."""

    people: dict[str, Person] = field(default_factory=dict)

    def person(self, name: str, **fields: Any) -> Person:
        """Return an account of this name, which is made if there is none."""
        if name not in self.people:
            from django.test import Client

            from cidery_server.web.models import Account

            account = Account.objects.sign_up(name, None, **fields)
            browser = Client()
            browser.force_login(account)
            self.people[name] = Person(account, browser)
        return self.people[name]

    @property
    def owner(self) -> Person:
        return self.person("the host", kind="owner")

    def stranger(self) -> Person:
        from django.contrib.auth.models import AnonymousUser
        from django.test import Client

        nobody: Any = AnonymousUser()
        return Person(nobody, Client())

    def challenge(
        self,
        slug: str,
        sets: Mapping[str, Mapping[int, list[str]]],
        named: Any = None,
        **fields: Any,
    ) -> Challenge:
        """Make a challenge with the rules of new ones."""
        from cidery_server.challenges.creation import create_challenge

        given = {"slug": slug, "title": slug.title(), "metrics": ["rouge-l", "bleu-1"]} | fields
        return create_challenge(given, sets, named)

    def approve(self, slug: str, *names: str) -> None:
        for name in names:
            self.person(name)
            answer = self.owner.post(f"/api/challenges/{slug}/teams", team=name)
            assert answer.status_code == 200, answer.content

    def submit(self, name: str, slug: str, content: Any, **fields: Any) -> int:
        """Submit for someone, score it and return its number."""
        answer = self.person(name).submit(slug, content, **fields)
        assert answer.status_code == 201, answer.content
        number = int(answer.json()["id"])
        self.score(number)
        return number

    def score(self, number: int) -> None:
        from cidery_server.challenges.scoring import score_submission
        from cidery_server.challenges.tasks import SCORERS

        score_submission(number, SCORERS)

    def refusal(self, name: str, slug: str, content: Any) -> str:
        """Return why a submission is refused."""
        answer = self.person(name).submit(slug, content)
        assert answer.status_code == 400, answer.content
        return str(answer.json()["errors"]["file"][0])

    def close(self) -> None:
        from cidery_server.challenges.models import Challenge
        from cidery_server.web.models import Account

        Challenge.objects.all().delete()
        Account.objects.filter(name__in=self.people).delete()
