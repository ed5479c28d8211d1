"""Errors in files that describe challenges."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cidery.corpus import bundled
from cidery.errors import CideryError


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"references": {}}, '"references" must name files'),
        ({"metrics": ["clairvoyance"]}, "metrics: "),
        ({"metrics": []}, "metrics: "),
        ({"slug": "../x"}, "slug: "),
        (
            {"closes": "2020-01-01T00:00Z", "opens": "2021-01-01T00:00Z"},
            "The closing time must be after",
        ),
        ({"color": "red"}, "unknown color; known: slug"),
        ({"references": {"a": "references.json", "b": "system_c.json"}}, "system_c.json"),
        ({"references": {"a": "references.json", "b": "one.json"}}, "describe the same images"),
    ],
)
def test_challenge_files_that_cannot_be(
    local_app: None, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    from cidery_server.challenges.creation import create_from_file

    shutil.copy(bundled.path("references.json"), tmp_path)
    (tmp_path / "one.json").write_text('{"1": ["a dog"]}')
    path = tmp_path / "challenge.json"
    good = {"slug": "orchard", "title": "Orchard", "metrics": ["rouge-l"]}
    path.write_text(json.dumps(good | {"references": {"c5": "references.json"}} | change))
    with pytest.raises((CideryError, FileNotFoundError), match=message):
        create_from_file(path)
