"""Import of challenges from EvalAI: the folder with `challenge_config.yaml`.

The fields are those of EvalAI's documentation (evalai.readthedocs.io, "Challenge configuration").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from cidery.errors import CideryError, FormatError, MissingExtraError
from cidery.files import read_references
from cidery_server.challenges.definition import Definition

CONFIG = ("challenge_config.yaml", "challenge_config.yml")
MAX_NAME_LENGTH = 30
MAX_DESCRIPTION_LENGTH = 20_000
PUBLIC = 3
"""Value of a leaderboard's `visibility`; 1: hosts, 2: hosts and participants, 3: all."""
METRICS = {
    "cider": "cider-d",
    "ciderd": "cider-d",
    "ciderr": "cider-r",
    "bleu": "bleu-4",
    **{f"bleu{n}": f"bleu-{n}" for n in range(1, 5)},
    "rouge": "rouge-l",
    "rougel": "rouge-l",
    "meteor": "meteor",
    "spice": "spice",
    "spider": "spider",
    "bertscore": "bertscore",
}
"""Metrics by the letters and digits of a label. What other tools call CIDEr is CIDEr-D."""
_USED = {
    *("title", "short_description", "description", "evaluation_details", "terms_and_conditions"),
    *("submission_guidelines", "start_date", "end_date", "published", "leaderboard"),
    *("challenge_phases", "dataset_splits", "challenge_phase_splits"),
}
_USED_OF_PHASE = {
    *("id", "name", "codename", "description", "leaderboard_public", "is_public", "start_date"),
    *("end_date", "test_annotation_file", "max_submissions_per_day", "max_submissions"),
}
_USED_OF_SPLIT = {"challenge_phase_id", "leaderboard_id", "dataset_split_id", "visibility"}
_WHY = {
    "evaluation_script": "it is not run; cidery scores with its own metrics",
    "remote_evaluation": "cidery scores on its own server",
    "is_docker_based": "teams send captions, not programs",
    "is_static_dataset_code_upload": "teams send captions, not programs",
    "image": "challenges have no logo",
    "leaderboard_description": "leaderboards have no text; put it into the description",
    "max_submissions_per_month": "there are limits per day and in all",
    "submission_meta_attributes": "a submission has a title alone",
    "default_submission_meta_attributes": "a submission has a title alone",
    "is_submission_public": "what a leaderboard shows is public, unless its team keeps it private",
    "is_restricted_to_select_one_submission": "every team has its best or its chosen one ranked",
    "is_partial_submission_evaluation_enabled": "a submission has a caption for every image",
    "leaderboard_decimal_precision": "the digits that are significant are shown",
    "is_leaderboard_order_descending": "the largest score is the best",
    "allowed_submission_file_types": "JSON, .gz and .zip are taken",
    "allowed_email_domains": "you approve teams one by one",
    "blocked_email_domains": "you approve teams one by one",
}
_TEXTS = {
    "evaluation_details": "Evaluation",
    "terms_and_conditions": "Terms and conditions",
    "submission_guidelines": "How to submit",
}


@dataclass
class Imported:
    """A challenge read from elsewhere, and notes on settings that are not supported."""

    definitions: list[Definition] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_evalai(folder: Path, slug: str = "", metrics: Sequence[str] = ()) -> Imported:
    """Read EvalAI's folder of a challenge.

    Args:
        folder: with `challenge_config.yaml`, or that file itself.
        slug: the challenge's address; by default made of its title.
        metrics: instead of those that the leaderboard's labels name.

    Raises:
        FormatError: the folder is none, or no phase and no metric can be used.
    """
    path = _find_config(folder)
    return _Reader(path, slug, metrics).read()


def _find_config(folder: Path) -> Path:
    if folder.is_file():
        return folder
    for name in CONFIG:
        if (folder / name).is_file():
            return folder / name
    raise FormatError(f"{folder}: {CONFIG[0]} not found; an EvalAI folder is expected")


def _parse(path: Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        raise MissingExtraError.to(
            "read a challenge of EvalAI", package="PyYAML", extra="server"
        ) from None
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or not isinstance(content.get("challenge_phases"), list):
        raise FormatError(f'{path}: expected a list "challenge_phases"')
    return content


class _Reader:
    """Reader of one folder, which notes unsupported settings."""

    def __init__(self, path: Path, slug: str, metrics: Sequence[str]) -> None:
        self.path, self.folder = path, path.parent
        self.config = _parse(path)
        self.title = str(self.config.get("title", "")).strip() or path.parent.name
        self.slug = slug or _make_slug(self.title, 40)
        self.metrics = list(metrics)
        self.notes: list[str] = []

    def note(self, where: str, text: str) -> None:
        self.notes.append(f"{where}: {text}")

    def read(self) -> Imported:
        self._note_unused(self.config, _USED, "")
        if not self.metrics:
            self.metrics = self._find_metrics()
        found = [one for one in map(self._read_phase, self._phases()) if one is not None]
        if not found:
            raise FormatError(
                f"{self.path}: no phase has references that cidery can read; "
                + "; ".join(self.notes[-3:])
            )
        # The first one is the main challenge; where that is hidden, all phases are.
        found.sort(key=lambda one: one.fields["visibility"] == "hidden")
        if len(found) == 1:
            fields = {name: value for name, value in found[0].fields.items() if name != "phase"}
            found = [Definition(fields, found[0].reference_sets, None)]
        self.note("teams", "teams need your approval; EvalAI accepts everyone")
        return Imported(found, self.notes)

    def _phases(self) -> Iterator[Mapping[str, Any]]:
        for number, phase in enumerate(self.config["challenge_phases"], start=1):
            if isinstance(phase, dict):
                yield phase
            else:
                self.note(f"challenge_phases {number}", "it is not a table and is ignored")

    def _note_unused(self, content: Mapping[str, Any], used: set[str], where: str) -> None:
        for name in content:
            if name not in used:
                self.note(f"{where}{name}", _WHY.get(name, "it is not used"))

    def _find_metrics(self) -> list[str]:
        found: list[str] = []
        first = ""
        for board in self._tables("leaderboard"):
            schema = board.get("schema")
            schema = schema if isinstance(schema, dict) else {}
            order = str(schema.get("default_order_by", ""))
            for label in map(str, schema.get("labels") or ()):
                metric = METRICS.get(re.sub(r"[^a-z0-9]", "", label.lower()))
                if metric is None:
                    self.note(f"leaderboard label {label!r}", "it is not a metric of cidery")
                    continue
                self.note(f"leaderboard label {label!r}", f"it becomes {metric}")
                first = metric if label == order else first
                found.append(metric)
            if order and not first:
                self.note(f"default_order_by {order!r}", "the first metric ranks instead")
        if not found:
            raise FormatError(
                f"{self.path}: the leaderboard has no metric of cidery; name some with --metrics"
            )
        return list(dict.fromkeys([*([first] if first else []), *found]))

    def _tables(self, name: str) -> list[dict[str, Any]]:
        content = self.config.get(name)
        return (
            [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        )

    def _read_phase(self, phase: Mapping[str, Any]) -> Definition | None:
        name = _make_slug(str(phase.get("codename") or phase.get("name") or ""), MAX_NAME_LENGTH)
        where = f"phase {name!r}"
        self._note_unused(phase, _USED_OF_PHASE, f"{where}, ")
        given = phase.get("test_annotation_file")
        if not given:
            self.note(where, "it has no test_annotation_file and is ignored")
            return None
        try:
            references = read_references(self._inside(str(given)))
        except (CideryError, OSError) as error:
            self.note(where, f"its references cannot be read, and it is ignored: {error}")
            return None
        splits = self._splits_of(phase, where)
        fields: dict[str, Any] = {
            "slug": self.slug,
            "title": self.title,
            "phase": name,
            "description": self._describe(phase),
            "metrics": self.metrics,
            "visibility": self._find_visibility(phase, where),
            "leaderboard_open": bool(phase.get("leaderboard_public", True)),
            **self._find_dates(phase, where),
        }
        for ours, theirs in (("per_day", "max_submissions_per_day"), ("in_all", "max_submissions")):
            if isinstance(phase.get(theirs), int) and phase[theirs] > 0:
                fields[ours] = phase[theirs]
        shown = [split.get("visibility", PUBLIC) for split in splits]
        if shown and PUBLIC not in shown:
            fields["leaderboard_open"] = False
        if shown and set(shown) == {1}:
            fields["scores_hidden"] = True
            self.note(where, "only hosts see its scores; in cidery, teams see them after it closes")
        return Definition(fields, {self._name_set(splits): references}, None)

    def _splits_of(self, phase: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
        found = [
            split
            for split in self._tables("challenge_phase_splits")
            if split.get("challenge_phase_id") == phase.get("id")
        ]
        for split in found:
            self._note_unused(split, _USED_OF_SPLIT, f"{where}, split, ")
        if len(found) > 1:
            self.note(
                where,
                f"it has {len(found)} splits, here one set of references; slices can score parts "
                "of the images apart",
            )
        return found

    def _name_set(self, splits: Sequence[Mapping[str, Any]]) -> str:
        number = splits[0].get("dataset_split_id") if splits else None
        for one in self._tables("dataset_splits"):
            if one.get("id") == number:
                return _make_slug(str(one.get("codename") or one.get("name")), MAX_NAME_LENGTH)
        return "references"

    def _find_visibility(self, phase: Mapping[str, Any], where: str) -> str:
        if not self.config.get("published", True) or not phase.get("is_public", True):
            self.note(where, "it is not public, and hidden in cidery until you change that")
            return "hidden"
        return "public"

    def _find_dates(self, phase: Mapping[str, Any], where: str) -> dict[str, str]:
        dates = {}
        for ours, theirs in (("opens", "start_date"), ("closes", "end_date")):
            given = phase.get(theirs, self.config.get(theirs))
            if given is None:
                continue
            found = _read_date(given)
            if found is None:
                self.note(f"{where}, {theirs}", f"it is not a date: {given!r}")
                continue
            dates[ours] = found
        return dates

    def _describe(self, phase: Mapping[str, Any]) -> str:
        parts = [str(self.config.get("short_description") or "").strip()]
        for name, title in (("description", ""), *_TEXTS.items()):
            text = self._read_text(self.config.get(name), name)
            parts.append(f"# {title}\n\n{text}" if text and title else text)
        parts.append(self._read_text(phase.get("description"), "description of a phase"))
        text = "\n\n".join(part for part in parts if part)
        if len(text) > MAX_DESCRIPTION_LENGTH:
            self.note("description", f"it is truncated after {MAX_DESCRIPTION_LENGTH:,} characters")
        return text[:MAX_DESCRIPTION_LENGTH]

    def _read_text(self, given: Any, where: str) -> str:
        """Return a text, or the content of the file that it names, as Markdown."""
        if not given:
            return ""
        text = str(given)
        if not text.endswith((".html", ".htm", ".md", ".txt")):
            return text.strip()
        try:
            content = self._inside(text).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError, CideryError) as error:
            self._note_once(where, f"{text} cannot be read: {error}")
            return ""
        if not text.endswith((".html", ".htm")):
            return content.strip()
        self._note_once(where, f"{text} is HTML and becomes Markdown; please check it")
        return to_markdown(content)

    def _note_once(self, where: str, text: str) -> None:
        if f"{where}: {text}" not in self.notes:
            self.note(where, text)

    def _inside(self, name: str) -> Path:
        """Return a file of the folder; raise an error for files outside of it."""
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise FormatError(f"{name} is outside {self.folder}")
        return path


def _make_slug(text: str, longest: int) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:longest].strip("-") or "challenge"


def _read_date(given: Any) -> str | None:
    """Return a date as a challenge's file has it; EvalAI's are in UTC."""
    try:
        found = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).isoformat()


class _Markdown(HTMLParser):
    """Converter of HTML to Markdown: paragraphs, headings, lists and links; the rest as text.

    Hand-written: markdownify joins the items of lists without end tags, which hosts often write,
    unless a third parser (html5lib) is installed beside it.
    """

    _MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`"}  # noqa: RUF012
    _BLOCKS = frozenset(
        ["p", "div", "ul", "ol", "table", "tr", "section", "article", "blockquote", "pre"]
    )
    _SILENT = frozenset(("script", "style", "head"))

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.links: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._SILENT:
            self.silent += 1
        elif re.fullmatch(r"h[1-6]", tag):
            self.parts.append(f"\n\n{'#' * int(tag[1])} ")
        elif tag in self._BLOCKS:
            self.parts.append("\n\n")
        elif tag == "li":
            self.parts.append("\n- ")
        elif tag == "br":
            self.parts.append("\n")
        elif tag == "a":
            self.links.append(dict(attrs).get("href") or "")
            self.parts.append("[")
        elif tag in self._MARKS:
            self.parts.append(self._MARKS[tag])

    def handle_endtag(self, tag: str) -> None:
        if tag in self._SILENT:
            self.silent = max(0, self.silent - 1)
        elif tag in self._BLOCKS or re.fullmatch(r"h[1-6]", tag):
            self.parts.append("\n\n")
        elif tag == "a" and self.links:
            self.parts.append(f"]({self.links.pop()})")
        elif tag in self._MARKS:
            self.parts.append(self._MARKS[tag])

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.parts.append(re.sub(r"\s+", " ", data))


def to_markdown(html: str) -> str:
    """Return HTML as Markdown; unsupported elements become text.

    ```python
    to_markdown("<p>Be <b>fair</b>.</p>")  # "Be **fair**."
    ```
    """
    parser = _Markdown()
    parser.feed(html)
    parser.close()
    lines = [line.strip() for line in "".join(parser.parts).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
