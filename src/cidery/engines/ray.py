"""A Ray cluster: the one place that knows Ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

from cidery.engines.base import Engine, Pool
from cidery.errors import CideryError, MissingExtraError, ProcessError, SettingError

T = TypeVar("T")
R = TypeVar("R")

RETRIES = 5
"""How often a task is begun again whose process or machine was lost."""


def require_ray() -> None:
    """Say which extra brings Ray, where it is missing; nothing is imported, which takes seconds."""
    if find_spec("ray") is None:
        raise MissingExtraError.to("run work on a cluster", package="ray", extra="ray")


def import_ray() -> Any:
    """Import Ray, or say which extra brings it."""
    require_ray()
    import ray

    return ray


@dataclass(frozen=True)
class RayEngine(Engine):
    """Tasks on a Ray cluster. Inputs and the work folder must be on storage that all nodes see."""

    address: str | None = None
    """As `ray.init` takes it: `"auto"` is the cluster that this machine is part of. None: the one
    that the environment variable RAY_ADDRESS names, or else a cluster of this machine alone, which
    ends with the program. Where the program has called `ray.init`, its cluster is used."""
    num_cpus: float = 1
    """Of each task."""
    num_gpus: float = 0
    """Of each task."""

    def __post_init__(self) -> None:
        if self.num_cpus < 0 or self.num_gpus < 0:
            raise SettingError("a task cannot have fewer than no CPUs or GPUs")

    def _connect(self) -> Any:
        ray = import_ray()
        if not ray.is_initialized():
            # Without an address Ray would join whatever cluster it finds on this machine.
            address = self.address or os.environ.get("RAY_ADDRESS") or "local"
            try:
                ray.init(address=address, log_to_driver=False, include_dashboard=False)
            except ConnectionError as error:
                raise SettingError(
                    f"no Ray cluster at {address!r} ({error}); start one with `ray start "
                    "--head`, or leave --address out to use this machine alone"
                ) from None
        return ray

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        resources = self._connect().cluster_resources()
        limits = [
            resources.get(name, 0) / each
            for name, each in (("CPU", self.num_cpus), ("GPU", self.num_gpus))
            if each
        ]
        return max(1, int(min(limits, default=1)))

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield results as they come; no more tasks are given out than keep the cluster busy."""
        ray = self._connect()
        remote = ray.remote(
            num_cpus=self.num_cpus,
            num_gpus=self.num_gpus,
            max_retries=RETRIES,
            max_calls=0,  # processes stay, with GPUs too: what they have loaded is used again
            scheduling_strategy="SPREAD",
        )(_call)
        # Sent once, and not with every task.
        shared = ray.put(function)
        waiting = iter(tasks)
        running: list[Any] = []
        try:
            while True:
                for task in waiting:
                    running.append(remote.remote(shared, task))
                    if len(running) >= 2 * self.workers:
                        break
                if not running:
                    return
                done, running = ray.wait(running, num_returns=1)
                yield _take(ray, done[0])
        finally:
            for reference in running:
                ray.cancel(reference, force=False)

    def open_pool(self, function: Callable[..., Any], size: int = 0) -> Pool:
        """Return actors, each with a copy of the function; one that dies is started again."""
        ray = self._connect()
        actor = ray.remote(
            num_cpus=self.num_cpus,
            num_gpus=self.num_gpus,
            max_restarts=RETRIES,
            max_task_retries=RETRIES,
            scheduling_strategy="SPREAD",
        )(_Holder)
        actors = [actor.remote() for _ in range(size or self.workers)]
        return RayPool(ray, actors, ray.put(function))


class RayPool(Pool):
    """Actors of a cluster."""

    def __init__(self, ray: Any, actors: list[Any], function: Any) -> None:
        """Take the actors, and where the cluster keeps the function."""
        self._ray, self._actors, self._function = ray, actors, function
        self.size = len(actors)

    def map(self, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results in order; an actor has at most two tasks, so that none waits."""
        results: dict[int, Any] = {}
        running: dict[Any, tuple[int, Any]] = {}
        free = [actor for _ in range(2) for actor in reversed(self._actors)]
        waiting = iter(enumerate(tasks))
        while True:
            while free and (task := next(waiting, None)) is not None:
                actor = free.pop()
                running[actor.call.remote([self._function], *task[1])] = task[0], actor
            if not running:
                return [results[number] for number in range(len(tasks))]
            done, _ = self._ray.wait(list(running), num_returns=1)
            number, actor = running.pop(done[0])
            results[number] = _take(self._ray, done[0])
            free.append(actor)

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []


class _Holder:
    """What an actor is: a function, fetched once; again where the actor was started again."""

    def __init__(self) -> None:
        self.function: Callable[..., Any] | None = None

    def call(self, kept: list[Any], *task: Any) -> Any:
        if self.function is None:
            self.function = import_ray().get(kept[0])
        assert self.function is not None
        return self.function(*task)


def _call(function: Callable[[T], R], task: T) -> R:
    return function(task)


def _take(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, CideryError | OSError):
            raise cause from None
        raise
    except ray.exceptions.RayError as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ProcessError(
            f"a task was lost {RETRIES + 1} times on the cluster ({first}); what is done is "
            "kept: mend the cluster and give the same command again"
        ) from error
