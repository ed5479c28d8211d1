"""Update the German texts of cidery-server (django.po) and compile them to django.mo.

    python tools/translate.py

Texts are found in templates and in Python as Django's makemessages finds them, without gettext's
programs. New ones are added without a translation: write it and run this again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parent.parent
APP = ROOT / "server" / "src" / "cidery_server"
LOCALES = APP / "locale"
NO_DATE = datetime(2026, 1, 1, tzinfo=timezone.utc)
KEYWORDS = {
    **dict.fromkeys(("_", "noop", "gettext", "gettext_lazy", "gettext_noop"), None),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    "ngettext": (1, 2),
}


def find_texts() -> Catalog:
    """Return all texts of the app that can be translated."""
    found = Catalog(fuzzy=False)
    for path, content in _read_sources():
        for _, message, _, context in extract("python", BytesIO(content), keywords=KEYWORDS):
            if message:
                place = (path.relative_to(ROOT).as_posix(), 0)
                found.add(message, locations=[place], context=context)
    return found


def _read_sources() -> Iterator[tuple[Path, bytes]]:
    from django.utils.translation.template import templatize

    for path in sorted(APP.rglob("*.py")):
        yield path, path.read_bytes()
    for path in sorted(APP.rglob("*.html")):
        yield path, templatize(path.read_text()).encode()


def read_catalog(path: Path) -> Catalog:
    """Return the translations of a file."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parts[-3])


def compile_catalog(catalog: Catalog) -> bytes:
    """Return what Django reads."""
    catalog.creation_date = catalog.revision_date = NO_DATE  # the same bytes on every day
    packed = BytesIO()
    write_mo(packed, catalog)
    return packed.getvalue()


def main() -> None:
    found = find_texts()
    missing = 0
    for path in sorted(LOCALES.glob("*/LC_MESSAGES/django.po")):
        catalog = read_catalog(path)
        catalog.update(found, no_fuzzy_matching=True)
        catalog.obsolete.clear()
        missing += sum(not message.string for message in catalog if message.id)
        header = path.read_bytes().partition(b"\n\n")[0]
        body = BytesIO()
        write_po(body, catalog, width=120, sort_output=True, include_lineno=False, omit_header=True)
        path.write_bytes(header + b"\n\n" + body.getvalue())
        path.with_suffix(".mo").write_bytes(compile_catalog(catalog))
    if missing:
        sys.exit(f"{missing} texts have no translation yet")


if __name__ == "__main__":
    main()
