"""One Reward serves threads, forked and spawned workers, and a hundred thousand calls."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import cidery
from support.example import Example
from support.token_ids import Batch, as_ids, score_batches, vocabulary_of

MIX = {"cider-d": 1.0, "cider-r": 0.5, "bleu-4": 0.5, "rouge-l": 0.25}


@pytest.fixture(scope="module")
def work(example: Example) -> tuple[cidery.Reward, list[Batch], list[np.ndarray]]:
    """A reward, batches of captions as ids and as strings, and what they earn."""
    candidates, references = example.many(700)
    tokens = cidery.tokenize(candidates.values())
    vocabulary = vocabulary_of(tokens)
    reward = cidery.Reward(
        references,
        MIX,
        frequencies=cidery.DocumentFrequencies.from_references(example.references),
        vocabulary=vocabulary,
        pad=0,
        bos=1,
        eos=2,
    )
    ids, strings = list(candidates), list(candidates.values())
    batches: list[Batch] = []
    for begin in range(0, 600, 60):
        part = slice(begin, begin + 60)
        batches.append((ids[part], as_ids(tokens[part], vocabulary)))
        batches.append((ids[part], strings[part]))
    batches.append((ids, strings))  # large enough to be shared between threads
    return reward, batches, [reward(*batch) for batch in batches]


def assert_alike(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_share_it(work: tuple[cidery.Reward, list[Batch], list[np.ndarray]]) -> None:
    reward, batches, expected = work
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(score_batches, reward, batches) for _ in range(40)]
        for future in futures:
            assert_alike(future.result(), expected)


def test_a_pickled_copy_gives_the_same_bits(
    work: tuple[cidery.Reward, list[Batch], list[np.ndarray]],
) -> None:
    reward, batches, expected = work
    copy = pickle.loads(pickle.dumps(reward))
    assert_alike(score_batches(copy, batches), expected)
    assert copy.signatures == reward.signatures
    assert copy.weights == reward.weights


def test_frequencies_of_a_file_travel_too(tmp_path: Path, example: Example) -> None:
    cidery.DocumentFrequencies.from_references(example.references).save(tmp_path / "own.df")
    reward = cidery.Reward(example.references, frequencies=tmp_path / "own.df")
    copy = pickle.loads(pickle.dumps(reward))
    (tmp_path / "own.df").unlink()
    ids, captions = list(example.system_a), list(example.system_a.values())
    np.testing.assert_array_equal(copy(ids, captions), reward(ids, captions))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_worker_processes_use_it(
    work: tuple[cidery.Reward, list[Batch], list[np.ndarray]], method: str
) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method} processes")
    reward, batches, expected = work
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        for future in [pool.submit(score_batches, reward, batches) for _ in range(2)]:
            assert_alike(future.result(), expected)


def test_a_forked_worker_inherits_it(
    work: tuple[cidery.Reward, list[Batch], list[np.ndarray]],
) -> None:
    """As a data loader's workers do: nothing is pickled, the parent's memory is read."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork processes")
    reward, batches, expected = work
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=lambda: send.send(score_batches(reward, batches)))
    process.start()
    assert receive.poll(60)
    assert_alike(receive.recv(), expected)
    process.join()
    assert process.exitcode == 0


def resident_kilobytes() -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("this system does not tell a process's memory in /proc")
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmRSS" in line)


def test_memory_does_not_grow(
    work: tuple[cidery.Reward, list[Batch], list[np.ndarray]],
) -> None:
    reward, ((ids, rows), (_, strings), *_), _ = work

    def call(rounds: int) -> None:
        for number in range(rounds):
            reward(ids[:4], rows[:4])
            reward(ids[:2], [f"{strings[0]} word{number}", strings[1]])  # always a new word

    call(500)
    before = resident_kilobytes()
    call(3000)
    assert resident_kilobytes() - before < 500  # 100 bytes a call would show
