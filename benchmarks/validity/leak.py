"""Attacks on hidden references through scores: words recovered per 1,000 submissions.

    python benchmarks/run.py leak [--submissions 1000] [--teams 3]

The challenge has the 72 bundled images; the attacker wants the words of one image's references and
knows all words that occur. Every account is theirs. `before`: every team may submit and sees all
digits. `after`: the rules that new challenges have, of which the owner has approved some of the
attacker's teams, taking them for others. A refused submission counts as one, too.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from cidery.corpus import bundled
from cidery.errors import InputError
from cidery.files import read_candidates, read_references
from cidery_server.web.environment import Environment, set_up

METRICS = ["cider-d", "bleu-1", "rouge-l"]
GROUP = 16
"""Words that one submission asks for at first."""
RULES: dict[str, dict[str, Any]] = {
    "before": {"entry": "open", "exact_scores": True, "probes_shown": 10**6},
    "after": {},
}


def words_of(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text).lower().split()


@dataclass
class Server:
    """A challenge in this process: what its pages would show, without the pages."""

    slug: str
    rules: dict[str, Any]
    approved: int
    sliced: bool = False
    """Score every sixth image separately, too."""
    phases: int = 1
    """With the same references."""
    sent: int = 0
    refused: int = 0
    accounts: list[Any] = field(default_factory=list)
    challenge: Any = None
    phased: list[Any] = field(default_factory=list)
    scorers: Any = None

    def __post_init__(self) -> None:
        from cidery_server.challenges.creation import add_phase, create_challenge
        from cidery_server.challenges.definition import NamedSlices
        from cidery_server.challenges.scorer_cache import ScorerCache

        references = read_references(bundled.path("references.json"))
        fields = {"slug": self.slug, "title": self.slug, "metrics": METRICS, **self.rules}
        parts = {image: "few" if n % 6 == 0 else "rest" for n, image in enumerate(references)}
        named = NamedSlices("part", parts) if self.sliced else None
        self.challenge = create_challenge(fields, {"c5": references}, named)
        self.phased = [self.challenge]
        for number in range(1, self.phases):
            own = {name: value for name, value in self.rules.items() if name == "exact_scores"}
            phase = {"phase": f"phase-{number}", **own}
            self.phased.append(add_phase(self.challenge, phase, {"c5": references}))
        self.scorers = ScorerCache()

    def _next_account(self) -> Any:
        """Sign up another team; the owner approves the first ones."""
        from cidery_server.challenges.models import Participation
        from cidery_server.web.models import Account

        number = len(self.accounts)
        account = Account.objects.sign_up(f"{self.slug} {number * 7919}", None)
        if number < self.approved:
            state = Participation.State.APPROVED
            self.challenge.teams.create(team=account, state=state)
        self.accounts.append(account)
        return account

    def submit(self, captions: Sequence[str], phase: int = 0) -> dict[str, float] | None:
        """Return the scores that the attacker is shown, from whichever account may submit.

        Those of a slice have its name, `rouge-l few`.
        """
        import json

        from cidery_server.challenges.models import Submission
        from cidery_server.challenges.ranking import list_scores
        from cidery_server.challenges.scoring import score_submission
        from cidery_server.challenges.submissions import submit

        self.sent += 1
        content = json.dumps(
            [
                {"image_id": image, "caption": caption}
                for image, caption in zip(self.challenge.images, captions, strict=True)
            ]
        ).encode()
        may_grow = self.challenge.entry == "open" or len(self.accounts) < self.approved
        for account in (*self.accounts[-self.approved :], *([None] if may_grow else [])):
            team = account or self._next_account()
            try:
                made = submit(team, self.phased[phase], "x", content)
            except InputError:
                continue
            score_submission(made.pk, self.scorers)
            # A day goes by whenever a team has used its own: attackers have time.
            day = timedelta(days=1)
            Submission.objects.filter(pk=made.pk).update(created=made.created - day)
            made.refresh_from_db()
            found = list_scores(made, team)
            if not found:
                self.refused += 1
            return {f"{s.metric} {s.slice}".strip(): s.value for s in found} or None
        self.refused += 1
        return None


@dataclass
class Attack:
    """Group testing: ask for many words at once, and for half of them where the answer is yes."""

    server: Server
    budget: int
    vocabulary: list[str]
    ask: Callable[[Sequence[str]], bool | None]
    found: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Go on until all words are known or all submissions are used."""
        groups = [
            self.vocabulary[start : start + GROUP]
            for start in range(0, len(self.vocabulary), GROUP)
        ]
        while groups and self.server.sent < self.budget:
            words = groups.pop()
            answer = self.ask(words)
            if answer is None:  # no scores: ask again later
                groups.insert(0, words)
            if not answer:
                continue
            if len(words) == 1:
                self.found.add(words[0])
            else:
                half = len(words) // 2
                groups += [words[:half], words[half:]]


def nonsense(server: Server, target: int, _rng: random.Random) -> Callable[..., bool | None]:
    """Ask about one image, with nonsense for the others."""
    base = ["zzqx"] * len(server.challenge.images)
    return _change_one(server, target, base)


def one_change(server: Server, target: int, _rng: random.Random) -> Callable[..., bool | None]:
    """Ask about one image of a good submission."""
    base = system("a")
    base[target] = "zzqx"
    return _change_one(server, target, base)


def _change_one(server: Server, target: int, base: list[str]) -> Callable[..., bool | None]:
    before = server.submit(base)

    def ask(words: Sequence[str]) -> bool | None:
        scores = server.submit([*base[:target], " ".join(words), *base[target + 1 :]])
        if scores is None or before is None:
            return None
        return scores["rouge-l"] > before["rouge-l"]

    return ask


def other_nonsense(server: Server, target: int, rng: random.Random) -> Callable[..., bool | None]:
    """Ask about one image, and change half of the others from nonsense to other nonsense."""
    base = system("a")
    half = [place for place in range(len(base)) if place % 2 and place != target]

    def dress(caption: str) -> list[str]:
        captions = list(base)
        for place in half:
            captions[place] = f"zz{rng.randrange(10**6)} qx{rng.randrange(10**6)}"
        captions[target] = caption
        return captions

    before = server.submit(dress("zzqx"))

    def ask(words: Sequence[str]) -> bool | None:
        scores = server.submit(dress(" ".join(words)))
        if scores is None or before is None:
            return None
        return scores["rouge-l"] > before["rouge-l"]

    return ask


def in_a_slice(server: Server, target: int, rng: random.Random) -> Callable[..., bool | None]:
    """Ask about one image of a small slice, and have other captions everywhere else."""
    one, other = system("a"), system("b")

    def dress(caption: str) -> list[str]:
        pairs = enumerate(zip(one, other, strict=True))
        captions = [a if place % 6 == 0 else rng.choice((a, b)) for place, (a, b) in pairs]
        captions[target] = caption
        return captions

    before = server.submit(dress("zzqx"))

    def ask(words: Sequence[str]) -> bool | None:
        scores = server.submit(dress(" ".join(words)))
        if scores is None or before is None:
            return None
        return scores["rouge-l few"] > before["rouge-l few"]

    return ask


def two_phases(server: Server, target: int, _rng: random.Random) -> Callable[..., bool | None]:
    """Ask about one image in one phase, then in another one with the same references."""
    base = system("a")
    base[target] = "zzqx"
    before = server.submit(base)
    turn = count()

    def ask(words: Sequence[str]) -> bool | None:
        captions = [*base[:target], " ".join(words), *base[target + 1 :]]
        scores = server.submit(captions, next(turn) % 2)
        if scores is None or before is None:
            return None
        return scores["rouge-l"] > before["rouge-l"]

    return ask


def equations(server: Server, target: int, rng: random.Random) -> Callable[..., bool | None]:
    """Mix two systems at random, learn by least squares what each image adds, then ask."""
    one, other = system("a"), system("b")
    one[target] = other[target] = "zzqx"
    total = len(one)

    def mix(caption: str) -> tuple[np.ndarray, list[str]]:
        chosen = np.array([rng.randrange(2) for _ in range(total)])
        captions = [(one, other)[pick][place] for place, pick in enumerate(chosen)]
        captions[target] = caption
        return chosen, captions

    rows, values = [], []
    for _ in range(2 * total):
        chosen, captions = mix("zzqx")
        scores = server.submit(captions)
        if scores is not None:
            rows.append([1.0, *chosen])
            values.append(scores["rouge-l"])
    known = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0] if rows else None

    def ask(words: Sequence[str]) -> bool | None:
        chosen, captions = mix(" ".join(words))
        scores = server.submit(captions)
        if scores is None or known is None:
            return None
        # A word in sixteen of an image in seventy-two adds about this much.
        return bool(scores["rouge-l"] - known @ [1.0, *chosen] > 0.5 * 0.1 / total)

    return ask


def system(name: str) -> list[str]:
    captions = dict(read_candidates(bundled.path(f"system_{name}.json")))
    return [captions[image] for image in read_references(bundled.path("references.json"))]


STRATEGIES = (nonsense, one_change, other_nonsense, in_a_slice, two_phases, equations)


def attack_all(budget: int, teams: int) -> Iterator[tuple[str, str, int, int, int, int, float]]:
    """Yield rules, strategy, submissions, refused, words found, wrong words, words per 1,000."""
    references = read_references(bundled.path("references.json"))
    counts = Counter(
        word for found in references.values() for text in found for word in words_of(text)
    )
    vocabulary = [word for word, _ in reversed(counts.most_common())]  # groups are popped
    target = len(references) // 3
    secret = {word for text in list(references.values())[target] for word in words_of(text)}
    for name, rules in RULES.items():
        for number, strategy in enumerate(STRATEGIES):
            server = Server(
                f"{name}-{number}",
                rules,
                teams,
                sliced=strategy is in_a_slice,
                phases=2 if strategy is two_phases else 1,
            )
            attack = Attack(server, budget, vocabulary, strategy(server, target, random.Random(0)))
            attack.run()
            right = len(attack.found & secret)
            wrong = len(attack.found - secret)
            shown = strategy.__name__.replace("_", " ")
            rate = 1000 * right / server.sent
            yield name, shown, server.sent, server.refused, right, wrong, rate


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--teams", type=int, default=3, help="of the attacker's that are approved")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        set_up(Environment(data=Path(folder)))
        from cidery_server.web.database import migrate

        migrate()
        header = ("rules", "strategy", "submissions", "no scores", "words", "wrong", "per 1,000")
        print(f"| {' | '.join(header)} |\n|---|---|{'---:|' * 5}")
        worst = 0.0
        for row in attack_all(options.submissions, options.teams):
            print("| {} | {} | {} | {} | {} | {} | {:.1f} |".format(*row), flush=True)
            worst = max(worst, row[-1] if row[0] == "after" else 0.0)
    sys.exit(worst > 2)


if __name__ == "__main__":
    main()
