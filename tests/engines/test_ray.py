"""The same bits on a cluster, whatever is killed: one cluster of three nodes for all of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cidery
from cidery.engines import (
    Engine,
    Pool,
    RayEngine,
    count_frequencies,
    get_engine,
    streaming,
    use_engine,
)
from cidery.errors import FormatError, InputError, MismatchError, SettingError
from cidery.frequencies import DocumentFrequencies
from cidery.rewards import RewardPool
from cidery.runtime import count_workers, share_work
from support import clusters
from support.example import Example
from support.streams import (
    check_same,
    damage_row_group,
    score_here,
    score_in_memory,
    small_disk,
    write_streams,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning"),
    # Ray's own, of files and sockets that it leaves to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
METRICS = ["cider-d", "bleu-4"]


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as environment:
        # Workers scan_partitions for the tests' own functions where these tests do.
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        environment.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray = pytest.importorskip("ray")
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        ray.init(address=cluster.address, log_to_driver=False)
        yield cluster
        ray.shutdown()
        cluster.shutdown()


class Replaced(Engine):
    """Runs another function in the place of `score_partition`."""

    def __init__(self, engine: Engine, function: Any) -> None:
        self.engine, self.function = engine, function

    @property
    def workers(self) -> int:
        return self.engine.workers

    def map(self, function: Any, tasks: Any) -> Iterator[Any]:
        chosen = self.function if function is streaming.score_partition else function
        return self.engine.map(chosen, tasks)

    def open_pool(self, function: Any, size: int = 0) -> Pool:
        return self.engine.open_pool(function, size)


def test_faults(ray_cluster: Any, example: Example, tmp_path: Path) -> None:
    """Nothing is scored twice, nothing is missing, and every caption has the bits of memory."""
    candidates, references = example.many(80)
    sides = write_streams(tmp_path, candidates, references)
    table = score_in_memory(candidates, references, METRICS)
    engine = get_engine("ray", address=ray_cluster.address)
    assert engine.workers == 3

    plain = tmp_path / "plain"
    check_same(score_here(plain, sides, METRICS, engine=engine, partitions=8), table)
    counted = count_frequencies(sides[1], engine=engine, work=tmp_path / "df", partitions=4)
    assert counted.fingerprint == DocumentFrequencies.from_references(references).fingerprint

    refuse_what_has_no_room(engine, references)
    share_slow_work(engine)
    share_rewards(engine, candidates, references)

    killed = tmp_path / "killed-worker"
    dying = Replaced(engine, clusters.score_and_die_once)
    check_same(score_here(killed, sides, METRICS, engine=dying, partitions=8), table)
    assert (killed / "killed").exists()

    lose_a_node(ray_cluster, tmp_path / "lost-node", sides, table)
    kill_the_driver(ray_cluster, tmp_path / "killed-driver", sides, table)

    fill_the_disk(engine, tmp_path / "full", sides, table)
    candidates[17] = "no score for this"
    bad = write_streams(tmp_path / "bad", candidates, references, files=1)
    with pytest.raises(InputError, match=r"0\.parquet, row 18 \(image '17'\).*a bug"):
        score_here(tmp_path / "bad", bad, [clusters.refuse_one], engine=engine, partitions=4)
    damage_row_group(Path(bad[1], "1.parquet"), 2)
    with pytest.raises(FormatError, match=r"1\.parquet.* rows? .*cannot be read"):
        score_here(tmp_path / "damaged", bad, METRICS, engine=engine, partitions=4)


def fill_the_disk(engine: Engine, folder: Path, sides: tuple[str, str], table: Any) -> None:
    """A disk that fills up ends the run with the system's error; with room, it goes on."""
    work = folder / "disk" / "work"
    folder.mkdir()
    with small_disk(work.parent) as make_room:
        with pytest.raises(OSError, match=r"[Nn]o space left"):
            score_here(folder, sides, METRICS, engine=engine, work=work, partitions=8)
        make_room()
        result = score_here(folder, sides, METRICS, engine=engine, work=work, partitions=8)
        check_same(result, table)


def share_slow_work(engine: Engine) -> None:
    """What metrics share with helper processes goes to the cluster, and comes back in order."""
    chunks = [[number] for number in range(7)]
    with use_engine(engine):
        assert count_workers(1) == 4
        found = list(share_work(chunks, clusters.fail_here, clusters.name_process, 1))
    assert [numbers for numbers, _ in found] == chunks
    assert os.getpid() not in {process for _, process in found}
    assert count_workers(1) == 1


def refuse_what_has_no_room(engine: Engine, references: dict[int, list[str]]) -> None:
    """What no node can hold is an error, and not a wait without an end."""
    reward = cidery.Reward(references, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cidery.engines.ray.JOINING_SECONDS", 0)
        with pytest.raises(SettingError, match=r"5 workers with 1 CPU each: it has room for 3"):
            RewardPool(reward, engine, workers=5)
        with pytest.raises(SettingError, match=r"a task with 2 CPU: .* have 1 CPU, 1 CPU, 1 CPU"):
            list(RayEngine(num_cpus=2).map(abs, [-1]))
        with pytest.raises(SettingError, match=r"a task with 1 CPU and 0\.25 GPU"):
            list(RayEngine(num_gpus=0.25).map(abs, [-1]))


def share_rewards(
    engine: Engine, candidates: dict[int, str], references: dict[int, list[str]]
) -> None:
    """Actors give a reward's own bits, in the order of the batch, and its errors."""
    reward = cidery.Reward(references, {"cider-d": 1.0, "bleu-4": 0.5}, threads=1)
    ids, captions = 2 * list(candidates), 2 * list(candidates.values())
    with RewardPool(reward, engine, workers=2) as pool:
        assert pool(ids, captions).tobytes() == reward(ids, captions).tobytes()
        with pytest.raises(MismatchError, match=r"image 'nowhere' .* has no references"):
            pool(["nowhere"], ["a dog"])
        with pytest.raises(MismatchError, match="1 image ids for 2 captions"):
            pool(["nowhere"], ["a dog", "a cat"])
        with pytest.raises(MismatchError, match=r"image 'nowhere' \(caption 150\)"):
            pool([*ids[:150], "nowhere", *ids[151:]], captions)  # of the batch, not of its half
    with pytest.raises(SettingError, match="this RewardPool is closed"):
        pool(ids, captions)


def lose_a_node(cluster: Any, folder: Path, sides: tuple[str, str], table: Any) -> None:
    """Remove a node while all three are scoring."""
    folder.mkdir()
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    engine = RayEngine(cluster.address)

    def remove() -> None:
        while len(clusters.list_waiting(folder)) < engine.workers:
            time.sleep(0.05)
        cluster.remove_node(node, allow_graceful=False)
        (folder / "open").touch()

    thread = threading.Thread(target=remove)
    thread.start()
    slow = Replaced(engine, clusters.score_slowly)
    check_same(score_here(folder, sides, METRICS, engine=slow, partitions=8), table)
    thread.join()


def kill_the_driver(cluster: Any, folder: Path, sides: tuple[str, str], table: Any) -> None:
    """Kill the program that gave the tasks out, and give the same command again."""
    folder.mkdir()
    script = (
        "import sys\n"
        "from cidery.engines import get_engine, score_stream, streaming\n"
        "from support import clusters\n"
        "from engines.test_ray import Replaced\n"
        "engine = Replaced(get_engine('ray', address=sys.argv[5]), clusters.score_slowly)\n"
        "score_stream(*sys.argv[1:3], ['cider-d', 'bleu-4'], captions=sys.argv[3], "
        "work=sys.argv[4], engine=engine, partitions=8)\n"
    )
    folders = [str(folder / name) for name in ("scores", "work")]
    command = [sys.executable, "-W", "ignore", "-c", script, *sides, *folders, cluster.address]
    driver = subprocess.Popen(command)
    while not clusters.list_waiting(folder):
        assert driver.poll() is None
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    (folder / "open").touch()
    engine = RayEngine(cluster.address)
    check_same(score_here(folder, sides, METRICS, engine=engine, partitions=8), table)
