"""Which tests stay in one process of a run, and which start first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SECONDS = {
    "test_native on address,undefined": 32,
    "test_native on thread": 20,
    "test_unmodified_scripts_find_the_same_numbers[evaluate_files.py]": 25,
    "test_two_processes_find_what_one_finds": 25,
    "test_examples[command-line.md]": 19,
    "test_examples[spice.md]": 18,
    "test_live_on_val2014": 18,
    "test_examples[studies.md]": 17,
    "test_live_on_many_segments": 12,
    "test_live_on_captions_of_coco": 8,
    "test_live_through_lmms_eval": 14,
    "test_task_files_score_once_with_intervals_and_signatures": 10,
    "test_meteor_on_random_corpora": 15,
    "test_examples[server.md]": 12,
    "test_real_captions_through_every_scorer": 10,
    "test_a_dozen_judges_at_once": 20,
    "test_services_end_with_an_interrupted_run": 20,
    "test_processes_live_and_die_together": 20,
    "test_nothing_is_lost_or_doubled": 15,
    "test_reproduction": 15,
    "test_site": 15,
    "test_with_people_on_pascal_50s": 14,
    "test_real_ratings_counted_by_a_study": 10,
    "test_submissions_survive_the_queue": 10,
    "test_many_captions_are_shared": 10,
}
"""What takes longest, in seconds: what starts last must not be long.

A test without its parameters stands for each of its cases; see `pytest --durations=30`.
"""
USUAL_SECONDS = 0.5


class Sharing(LoadScopeScheduling):
    """Sends tests that share a running app, or a fixture of their file, to one process.

    All others go one by one to whichever process is free; what takes longest goes first.
    """

    workqueue: OrderedDict[str, dict[str, bool]]
    _is_ordered = False

    def _split_scope(self, nodeid: str) -> str:
        file, _, name = nodeid.partition("::")
        return name_group(self.config.rootpath / file, name) or nodeid

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


def name_group(file: Path, test: str) -> str:
    """Return what a test shares with others, or nothing."""
    parameter = test.partition("[")[2].partition("-")[0].rstrip("]")
    if file.stem.startswith("test_security") or file.stem == "test_accessibility":
        return "the attacked installation"
    if file.stem.endswith("_browser"):
        return "the installation in a browser"
    text = read_once(file)
    if "installation: Installation" in text and parameter:
        return f"the installation on {parameter}"
    if file.stem == "test_native" and parameter:
        return f"test_native on {parameter}"
    return file.stem if 'scope="module"' in text else ""


@cache
def read_once(file: Path) -> str:
    """Return a file's text."""
    return file.read_text(encoding="utf-8")
