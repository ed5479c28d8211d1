"""Which tests stay in one process of a run, and which start first."""

from __future__ import annotations

import json
import os
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from support.needs import extras_of, names_in

SECONDS = {
    "sanitized_core address,undefined": 30,
    "sanitized_core thread": 20,
    "test_unmodified_scripts_find_the_same_numbers[evaluate_files.py]": 25,
    "test_two_processes_find_what_one_finds": 25,
    "pages with models": 45,
    "test_live_on_val2014": 18,
    "test_examples[studies.md]": 17,
    "test_live_on_many_segments": 12,
    "test_live_on_captions_of_coco": 8,
    "test_live_through_lmms_eval": 10,
    "test_task_files_score_once_with_intervals_and_signatures": 10,
    "test_meteor_on_random_corpora": 15,
    "test_examples[server.md]": 12,
    "test_real_captions_through_every_scorer": 10,
    "test_a_dozen_judges_at_once": 20,
    "test_faults": 60,
    "test_equal_to_lmms_eval": 12,
    "test_services_end_with_an_interrupted_run": 20,
    "test_processes_live_and_die_together": 20,
    "test_nothing_is_lost_or_doubled": 15,
    "test_reproduction": 15,
    "test_site": 15,
    "test_with_people_on_pascal_50s": 9,
    "test_real_ratings_counted_by_a_study": 10,
    "test_submissions_survive_the_queue": 10,
    "test_many_captions_are_shared": 10,
}
"""What takes longest, in seconds: what starts last must not be long.

A test without its parameters stands for each of its cases; see `pytest --durations=30`.
"""
USUAL_SECONDS = 0.5


GROUPS = {
    "world": "attacked installation",
    "browsed": "installation in a browser",
    "installation": "installation",
    "strict": "strict installation",
    "sanitized_core": "sanitized_core",
    "local_app": "Django",
    "parser": "scene graphs",
    "make_model": "torch",
    "torch": "torch",
    "torchmetrics": "torch",
}
"""What takes seconds to start: fixtures -> the tests that share one; the first that fits counts."""


def name_group(item: pytest.Item) -> str:
    """Return the name of the group that a test runs in, in one process; nothing if in none."""
    used = names_in(item)
    fixture = next((name for name in GROUPS if name in used), None)
    if fixture is not None:
        call = getattr(item, "callspec", None)
        kind = call.params.get(fixture) if call else None
        return f"{GROUPS[fixture]} {kind}" if kind else GROUPS[fixture]
    if "spice" in extras_of(item):
        return GROUPS["parser"]
    if item.path.name == "test_docs.py" and item.get_closest_marker("model"):
        return "pages with models"
    known = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    is_shared = any(definitions[-1].scope == "module" for definitions in known.values())
    return item.path.stem if is_shared else ""


GROUPS_FILE = "CIDERY_TEST_GROUPS"
"""The environment variable that names the file with the groups of this run."""


def expect_groups() -> None:
    """Choose the file, before the processes of a run are started."""
    descriptor, os.environ[GROUPS_FILE] = tempfile.mkstemp(suffix=".json")
    os.close(descriptor)


def tell_groups(items: Iterable[pytest.Item]) -> None:
    """Write which tests have a group, for the process that spreads them over others."""
    if GROUPS_FILE in os.environ:
        named = {item.nodeid: name_group(item) for item in items}
        Path(os.environ[GROUPS_FILE]).write_text(json.dumps(named), encoding="utf-8")


class Sharing(LoadScopeScheduling):
    """Sends a group of tests to one process, and all others to whichever is free.

    What takes longest goes first.
    """

    workqueue: OrderedDict[str, dict[str, bool]]
    _is_ordered = False
    _groups: Mapping[str, str] | None = None

    def _split_scope(self, nodeid: str) -> str:
        if self._groups is None:
            file = Path(os.environ[GROUPS_FILE])
            self._groups = json.loads(file.read_text(encoding="utf-8"))
            file.unlink()
        return self._groups.get(nodeid) or nodeid

    def _assign_work_unit(self, node: WorkerController) -> None:
        if not self._is_ordered:
            longest_first = sorted(self.workqueue.items(), key=lambda unit: -guess_seconds(*unit))
            self.workqueue = OrderedDict(longest_first)
            self._is_ordered = True
        super()._assign_work_unit(node)


def guess_seconds(group: str, tests: Mapping[str, bool]) -> float:
    """Return about how long a group takes."""
    if group in SECONDS:
        return SECONDS[group]
    total = 0.0
    for test in tests:
        name = test.rpartition("::")[2]
        total += SECONDS.get(name, SECONDS.get(name.partition("[")[0], USUAL_SECONDS))
    return total
