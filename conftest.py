"""Fixtures of all tests."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from cidery.encoders import Encoder, get_encoder
from cidery.errors import DataError, MissingExtraError
from cidery.metrics.spice.parser import Parser, load_parser
from cidery.runtime import processes
from cidery.storage import find_sources
from support.example import BUNDLED, SHARED, Example
from support.markers import MARKERS, mark_by_fixtures, skip_without_extras
from support.one_jar import write_java
from support.reaper import Reaper

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The same examples in every run, so that a failure is due to the change at hand; no time limit.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None, max_examples=15)
hypothesis.settings.register_profile("few", derandomize=True, deadline=None, max_examples=5)
hypothesis.settings.register_profile("new", max_examples=1000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("CIDERY_EXAMPLES", "same"))


REAPER = pytest.StashKey[Reaper]()
HAS_DJANGO = PathFinder.find_spec("django") is not None


def pytest_configure(config: pytest.Config) -> None:
    """Register markers, and start the process that ends what this run leaves behind."""
    for marker, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {meaning}")
    if getattr(config.option, "dist", "no") == "load":
        from support.scheduling import create_group_file

        config.option.dist = "loadgroup"
        create_group_file()
    if sys.platform == "linux" and not hasattr(config, "workerinput"):
        config.stash[REAPER] = Reaper.start()


def pytest_sessionfinish() -> None:
    """End worker processes: loky warns if something else does."""
    for _, helpers in [*processes._pools]:
        processes._close_pool(helpers)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End processes that still run."""
    if REAPER in config.stash:
        config.stash[REAPER].stop()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the tests of cidery-server where its packages are not installed."""
    is_server = collection_path == config.rootpath / "server" / "tests"
    return True if is_server and not HAS_DJANGO else None


def pytest_report_header() -> str:
    """Return a line about tests that are left out."""
    return "" if HAS_DJANGO else "server/tests is left out: Django is not installed"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test by its fixtures, so that `-m` can select it."""
    mark_by_fixtures(item)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Write the groups of tests for the scheduler."""
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
        from support.scheduling import write_groups

        write_groups(session.items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose metrics cannot run here."""
    skip_without_extras(item)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Return the scheduler of a run of several processes."""
    from support.scheduling import LongestFirst

    return LongestFirst(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache directory of the tests' own, which the processes of one run share."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CIDERY_CACHE", str(folder / "cache"))
        yield folder / "cache"


@pytest.fixture(scope="session")
def meteor_data() -> Path:
    """The folder of METEOR's files in the installed pycocoevalcap."""
    try:
        return find_sources()
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.fixture
def parser() -> Parser:
    """An installed spaCy pipeline with cidery's rules."""
    try:
        return load_parser()
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def minilm() -> Encoder:
    """The default encoder, from the installed package that holds it."""
    try:
        return get_encoder("minilm")
    except (DataError, MissingExtraError) as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Any]:
    """The function `make_model` of `support.tiny_models`, where it can run."""
    for package in ("torch", "transformers"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    from support import tiny_models

    return tiny_models.make_model


@pytest.fixture(scope="session")
def example() -> Example:
    """The bundled corpus and its two systems."""
    annotations = json.loads((BUNDLED / "references.json").read_text())["annotations"]
    references: dict[int, list[str]] = {}
    for annotation in annotations:
        references.setdefault(annotation["image_id"], []).append(annotation["caption"])
    systems = [
        {row["image_id"]: row["caption"] for row in json.loads((BUNDLED / name).read_text())}
        for name in ("system_a.json", "system_b.json")
    ]
    return Example(references, *systems)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real captions and judgments beside the project."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared with real captions is not here")
    return SHARED


@pytest.fixture(scope="session")
def java(cache: Path) -> Iterator[str]:
    """The Java that runs the reference tools; all processes of a run share METEOR's jar."""
    found = shutil.which("java")
    if found is None:
        pytest.skip("Java, which the reference tools need, is not installed")
    pytest.importorskip("pycocoevalcap", reason="the reference tools are not installed")
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":  # where the reaper ends what is shared
            folder = cache.with_name("java")
            folder.mkdir(parents=True, exist_ok=True)
            write_java(folder, found)
            patch.setenv("PATH", str(folder), prepend=os.pathsep)
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, for as long as the tests run."""
    from support.browsing import find_chromium, opened_browser

    if find_chromium() is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium-headless-shell)")
    pytest.importorskip("playwright", reason="Playwright, which drives Chromium, is not installed")
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def harnesses() -> Path:
    """The folder of evaluation harnesses, which the normal path does not have."""
    folder = Path(__file__).parent / "build" / "harnesses"
    if not (folder / ".installed").exists():
        pytest.skip("the evaluation harnesses are not installed: make harnesses")
    return folder


@pytest.fixture(scope="session")
def stacks() -> Path:
    """The folder of RL trainers, which the normal path does not have."""
    folder = Path(__file__).parent / "build" / "stacks"
    if not (folder / ".installed").exists():
        pytest.skip("the RL trainers are not installed: make stacks")
    return folder
