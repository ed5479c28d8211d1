"""Every example in a docstring of cidery-server runs, and gives the value of its comment."""

from __future__ import annotations

from pathlib import Path

import pytest

import cidery_server
from support.docstring_examples import (
    DocstringExample,
    find_examples,
    list_parameters,
    make_namespace,
    run_example,
)

EXAMPLES = find_examples(cidery_server)


@pytest.mark.usefixtures("local_app")
@pytest.mark.parametrize("example", list_parameters(EXAMPLES, {}, {}))
def test_example(
    example: DocstringExample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_example(example, make_namespace(example, tmp_path))
