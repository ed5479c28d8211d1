"""All pages in two languages: nothing outside of translation, and programs read English."""

from __future__ import annotations

import ast
import gettext
import importlib.util
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.tests.support.challenges import Host, captions, references

ROOT = Path(__file__).parents[2]
APP = ROOT / "server" / "src" / "cidery_server"
IMAGES = range(10)
GERMAN = {"HTTP_ACCEPT_LANGUAGE": "de-AT,de;q=0.9,en;q=0.5"}
ITEMS = [
    {
        "image": str(n),
        "pair": [f"a dog runs over field {n}", f"a cat sleeps in house {n}"],
        "systems": ["ours", "theirs"],
    }
    for n in IMAGES
]
NAMES = {"cidery", "UTC", "MB", "optional"}
"""Words that are the same in all languages."""


@pytest.fixture(scope="module")
def tool() -> Any:
    pytest.importorskip("babel", reason="Babel comes with the packages of the documentation")
    path = ROOT / "tools" / "translate.py"
    spec = importlib.util.spec_from_file_location("translate", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def host(local_app: None) -> Iterator[Host]:
    made = Host()
    made.challenge("orchard", {"c5": references(IMAGES)}, per_day=1000, probes_shown=1000)
    made.approve("orchard", "Pickers")
    made.number = made.submit("Pickers", "orchard", captions(IMAGES))  # type: ignore[attr-defined]
    lines = "".join(json.dumps(item) + "\n" for item in ITEMS)
    study = {"name": "closer", "title": "Closer?", "design": "pairwise", "items": lines}
    study |= {"question": "Which?", "judges_each": 1, "scale_step": 0.5}
    assert made.owner.post("/api/new-study", **study).status_code == 201
    yield made
    from cidery_server.studies.models import Study

    Study.objects.all().delete()
    made.close()


def test_every_text_is_translated(tool: Any, local_app: None) -> None:
    """What can be translated is, and what is compiled is what the file of translations says."""
    wanted = {(message.id, message.context) for message in tool.find_texts() if message.id}
    for path in tool.LOCALES.glob("*/LC_MESSAGES/django.po"):
        catalog = tool.read_catalog(path)
        known = {(message.id, message.context): message for message in catalog if message.id}
        assert set(known) == wanted, "run tools/translate.py"
        for message in known.values():
            texts = [message.string] if isinstance(message.string, str) else message.string
            ids = [message.id] if isinstance(message.id, str) else message.id
            assert all(texts), message.id
            assert not message.fuzzy
            assert not list(message.check(catalog)), message.id  # the same placeholders
            for one, other in zip(ids, texts, strict=True):
                assert find_places(one) == find_places(other), message.id
        compiled = path.with_suffix(".mo").read_bytes()
        assert compiled == tool.compile_catalog(catalog), "run tools/translate.py"
        assert gettext.GNUTranslations(io.BytesIO(compiled)).gettext("Send") != "Send"


def find_places(text: str) -> set[str]:
    """Return what is filled in, and the tags around words."""
    return {*re.findall(r"{\w+[^}]*}|%\(\w+\)s", text), *re.findall(r"</?\w+", text)}


def find_loose_words(template: str) -> list[str]:
    """Return the words of a template that no translator ever sees."""
    text = re.sub(r"{% comment %}.*?{% endcomment %}", "", template, flags=re.S)
    text = re.sub(r"{% blocktranslate.*?{% endblocktranslate %}", "", text, flags=re.S)
    text = re.sub(r"{[%{#].*?[%}#]}", "", text, flags=re.S)
    read = re.findall(r'(?:alt|title|aria-label|placeholder)="([^"]*)"', text)
    text = re.sub(r"<(code|pre|style|script)\b.*?</\1>", "", text, flags=re.S)
    text = re.sub(r"<[^>]*>", " ", text) + " ".join(word for word in read if "-" not in word)
    return [w for w in re.findall(r"[^\W\d_]{2,}", text.replace("&nbsp;", " ")) if w not in NAMES]


def test_templates_have_no_text_outside_of_translation() -> None:
    assert find_loose_words('<p>Hello {{ name }}</p><img alt="A dog">') == ["Hello", "dog"]
    for path in APP.rglob("*.html"):
        if path.name == "attributes.html":  # of an element, which is elsewhere
            continue
        entities = {"lt", "amp", "gt"}
        assert not set(find_loose_words(path.read_text())) - entities, path


TOLD = {"ValidationError", "NotFound", "PermissionDenied", "Throttled", "RefusedAnswerError"}


def find_loose_texts(source: str) -> list[str]:
    """Return texts of errors and messages that are not given to gettext."""
    found = []

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Attribute):
            return  # whatever makes the text translates it
        if isinstance(node, ast.Constant) and re.search("[a-z] [a-z]", str(node.value)):
            found.append(str(node.value))
        if isinstance(node, ast.JoinedStr):
            texts = [part.value for part in node.values if isinstance(part, ast.Constant)]
            found.extend(str(text) for text in texts if re.search("[a-z]{2},? ", str(text)))
            return
        for child in ast.iter_child_nodes(node):
            look(child)

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in TOLD:
                for argument in node.args:
                    look(argument)
            for keyword in node.keywords:
                if keyword.arg == "message":
                    look(keyword.value)
    return found


def test_errors_and_messages_are_given_to_translators() -> None:
    assert find_loose_texts('raise NotFound("no such page")') == ["no such page"]
    assert find_loose_texts('self.done(message=f"Welcome, {name}.")') == ["Welcome, "]
    for path in APP.rglob("*.py"):
        if "migrations" not in path.parts:
            assert not find_loose_texts(path.read_text()), path


def test_every_field_of_a_form_is_named_in_german(local_app: None) -> None:
    """Where a field has no label, REST framework makes one of its name, in English."""
    from django.utils.translation import override
    from rest_framework import serializers

    from cidery_server.studies.pages.edit import EditFields, EditForm
    from cidery_server.web.pages import FormPage
    from cidery_server.web.urls import pages

    unseen = {"JudgeForm", "AccountChange", "AnswerForm", "LeaveForm", "TeamChange", "ReviewForm"}
    same = {"Name", "System", "Text", "Export:", "Team", "Markdown.", "English", "Deutsch"}
    seen = 0
    views: list[Any] = [route.callback.view_class for route in pages]  # type: ignore[union-attr]
    forms = {page.form for page in views if issubclass(page, FormPage)} - {EditFields}
    for form in {*forms, EditForm}:
        if form.__name__ in unseen:
            continue
        for name, field in form().fields.items():
            texts = [field.label, field.help_text]
            if isinstance(field, serializers.ChoiceField):
                texts += field.choices.values()
            for text in filter(None, texts):
                with override("de"):
                    german = str(text)
                with override("en"):
                    if str(text) in same or not re.search(r"[a-z]{3}", str(text)):
                        continue
                    if str(text) in field_values(field):
                        continue
                    assert german != str(text), (form, name, str(text))
                    seen += 1
    assert seen > 150


def field_values(field: Any) -> set[str]:
    """Return choices that are shown as they are, such as names of frequencies."""
    return {str(value) for value in getattr(field, "choices", ())}


def visible(page: str) -> str:
    """Return the texts of a page, and what is read out of attributes."""
    read = re.findall(r'(?:alt|title|aria-label|placeholder)="([^"]*)"', page)
    text = re.sub(r"<(code|pre|style|script|textarea)\b.*?</\1>", "", page, flags=re.S)
    text = re.sub(r'<(\w+)[^>]* lang="en".*?</\1>', "", text, flags=re.S)
    return "\n".join([*re.findall(r">([^<]+)<", text), *read])


def paths_of(host: Host) -> list[tuple[str, str]]:
    number = host.number  # type: ignore[attr-defined]
    owner = [
        *("/", "/account", "/accounts", "/health", "/account/password", "/language"),
        *("/challenges", "/new-challenge", "/challenges/orchard"),
        *(f"/challenges/orchard/{name}" for name in ("images", "submissions", "compare", "teams")),
        *(
            f"/challenges/orchard/{name}"
            for name in ("settings", "rescore", "announcements", "files")
        ),
        *("/challenges/orchard/new-phase", f"/submissions/{number}"),
        *(f"/submissions/{number}/{name}" for name in ("images", "explore")),
        *("/studies", "/new-study", "/studies/closer"),
        *(f"/studies/closer/{name}" for name in ("results", "accuracy", "quality", "edit", "copy")),
        *(f"/studies/closer/{name}" for name in ("erase", "invites", "explore", "state")),
        *("/studies/closer/references", "/studies/closer/progress", "/nowhere"),
    ]
    team = ["/team", "/challenges/orchard", f"/submissions/{number}", "/studies", "/accounts"]
    stranger = ["/", "/sign-in", "/sign-up", "/challenges", "/studies", "/api-guide"]
    whose = {"owner": owner, "team": team, "stranger": stranger}
    return [(who, path) for who, paths in whose.items() for path in paths]


def test_every_page_is_german_and_every_endpoint_english(host: Host, tool: Any) -> None:
    (path,) = tool.LOCALES.glob("de/LC_MESSAGES/django.po")
    texts = {
        message.id: message.string
        for message in tool.read_catalog(path)
        if isinstance(message.id, str) and message.id and message.id != message.string
    }
    people = {"owner": host.owner, "team": host.person("Pickers"), "stranger": host.stranger()}
    for who, address in paths_of(host):
        browser = people[who].browser
        answer = browser.get(address, **GERMAN)
        page = answer.content.decode()
        assert '<html lang="de">' in page, (who, address, answer.status_code)
        assert answer["Content-Language"] == "de"
        shown = visible(page)
        lines = {line.strip() for line in shown.splitlines() if line.strip()}
        english = {line for line in lines if line in texts}
        assert not english - set(texts.values()), (who, address, english)
        shown = re.sub(r"{(image|code|image_id, caption)}", "", shown)
        assert "{" not in shown and "%(" not in shown, (who, address)
        in_english = browser.get(address, HTTP_ACCEPT_LANGUAGE="fr, en").content.decode()
        assert '<html lang="en">' in in_english
        if address != "/language":
            message = [browser.get(f"/api{address}", **given).content for given in (GERMAN, {})]
            assert message[0] == message[1], (who, address)


def test_a_choice_is_remembered_and_nobody_else_gets_a_cookie(host: Host) -> None:
    from django.test import Client

    from cidery_server.web.models import Account

    stranger = Client()
    assert not stranger.get("/", **GERMAN).cookies
    assert 'href="/language?next=%2Fstudies"' in stranger.get("/studies").content.decode()
    chosen = stranger.post("/language?next=/studies", {"language": "de"})
    assert (chosen.status_code, chosen["Location"]) == (302, "/studies")
    cookie = chosen.cookies["language"]
    assert (cookie.value, cookie["samesite"], bool(cookie["httponly"])) == ("de", "Lax", True)
    assert '<html lang="de">' in stranger.get("/").content.decode()
    assert stranger.post("/language?next=//evil.example", {"language": "en"})["Location"] == "/"
    assert stranger.post("/language", {"language": "xx"}).status_code == 400
    # With an account it follows to other devices.
    person = host.person("Travellers")
    person.browser.post("/language", {"language": "de"})
    account = Account.objects.get(name="Travellers")
    assert account.language == "de"
    account.set_password("ein langes Wort")
    account.save()
    form = {"name": "Travellers", "password": "ein langes Wort"}
    assert Client().post("/sign-in", form).cookies["language"].value == "de"


def test_mail_is_in_the_language_of_the_team(host: Host) -> None:
    from django.core import mail
    from django.test.utils import override_settings

    from cidery_server.challenges.models import Challenge
    from cidery_server.challenges.tasks import mail_decision

    challenge = Challenge.objects.get(slug="orchard")
    with override_settings(EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend"):
        for language, text in (("de", "Ihr Team darf jetzt einreichen."), ("", "may submit now")):
            name = f"Mailers {language}"
            team = host.person(name, contact="a@example.org", language=language).account
            made = challenge.teams.create(team=team, state="approved")
            mail.outbox = []
            mail_decision.call_local(made.pk)
            assert text in mail.outbox[0].body


def test_numbers_and_dates_are_written_as_the_language_does(host: Host) -> None:
    owner = host.owner.browser
    page = owner.get("/challenges/orchard", **GERMAN).content.decode()
    assert re.search(r">0,\d+<", page) and not re.search(r">0\.\d+<", page)
    assert re.search(r"\d\d?\. \w+ 20\d\d", page)
    # What a form sends back is what programs read.
    assert 'value="0.5"' in owner.get("/studies/closer/edit", **GERMAN).content.decode()
    for path in (
        "/challenges/orchard/leaderboard.csv",
        *(f"/studies/closer/export/{kind}" for kind in ("results", "answers", "codes", "csv")),
    ):
        one, other = (owner.get(path, **given) for given in (GERMAN, {}))
        assert one.status_code == 200, path
        assert one.content == other.content
    chart = owner.get("/studies/closer/charts/progress.svg", **GERMAN).content.decode()
    assert "Antworten" in chart


def test_reasons_that_are_stored_are_told_in_german(local_app: None) -> None:
    from django.utils.translation import override

    from cidery_server.web.templatetags.words import retold

    stored = "differs from submission 7 on 1 of 10 images of in-domain"
    with override("de"):
        message = retold(stored)
        assert message.startswith("unterscheidet sich von Einreichung 7 auf 1 von 10 Bildern")
        assert message.endswith("in-domain")
        assert retold("by rule: 1 of 3 checks right") == "nach Regel: 1 von 3 Prüfungen richtig"
        assert retold("seemed {asleep}") == "seemed {asleep}"
    assert retold(stored) == stored


def test_scripts_say_nothing_that_is_not_translated(local_app: None) -> None:
    from cidery_server.web.templatetags.explorer import TEXTS

    scripts = [ROOT / "src/cidery/reports/static/explorer" / n for n in ("model.js", "explorer.js")]
    scripts.append(APP / "web/static/web/explore.js")
    output = {
        text
        for script in scripts
        for text in re.findall(r'\bsay\(\s*"((?:[^"\\]|\\.)*)"', script.read_text())
    }
    assert output == set(TEXTS)
    for script in APP.rglob("*.js"):
        message = re.sub(r"//[^\n]*|\bsay\([^)]*\)", "", script.read_text())
        texts = re.findall(r'textContent = (["`][^"`]*["`])', message)
        assert not texts, script
