"""Order of the tests in a run of several processes: the longest first."""

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
"""Approximate duration of the longest groups and tests, in seconds.

A test without its parameters stands for each of its cases; see `pytest --durations=30`.
"""
DEFAULT_SECONDS = 0.5


GROUP_FILE = "CIDERY_TEST_GROUPS"
"""Environment variable with the path of a file: test -> group.

pytest-xdist appends the group to the id of a test, which pytest 9.2 does not allow.
"""


def create_group_file() -> None:
    """Create the file, before the processes of a run start."""
    descriptor, os.environ[GROUP_FILE] = tempfile.mkstemp(suffix=".json")
    os.close(descriptor)


def write_groups(items: Iterable[pytest.Item]) -> None:
    """Write the groups of tests, by their marker `xdist_group`."""
    if GROUP_FILE in os.environ:
        marks = {item.nodeid: item.get_closest_marker("xdist_group") for item in items}
        groups = {test: mark.args[0] for test, mark in marks.items() if mark is not None}
        Path(os.environ[GROUP_FILE]).write_text(json.dumps(groups), encoding="utf-8")


class LongestFirst(LoadScopeScheduling):
    """Scheduler that runs each group of tests in one process, the longest group first."""

    workqueue: OrderedDict[str, dict[str, bool]]
    _is_sorted = False
    _groups: Mapping[str, str] | None = None

    def _split_scope(self, nodeid: str) -> str:
        if self._groups is None:
            file = Path(os.environ[GROUP_FILE])
            self._groups = json.loads(file.read_text(encoding="utf-8") or "{}")
            file.unlink()
        return self._groups.get(nodeid, nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if not self._is_sorted:
            units = sorted(self.workqueue.items(), key=lambda unit: -estimate_seconds(*unit))
            self.workqueue = OrderedDict(units)
            self._is_sorted = True
        super()._assign_work_unit(node)


def estimate_seconds(group: str, tests: Mapping[str, bool]) -> float:
    """Return the approximate duration of a group of tests."""
    if group in SECONDS:
        return SECONDS[group]
    total = 0.0
    for test in tests:
        name = test.rpartition("::")[2]
        total += SECONDS.get(name, SECONDS.get(name.partition("[")[0], DEFAULT_SECONDS))
    return total
