"""A Ray cluster: the one place that knows Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from cidery.engines.base import Engine
from cidery.errors import CideryError, MissingExtraError, ProcessError, SettingError

T = TypeVar("T")
R = TypeVar("R")

RETRIES = 5
"""How often a task is begun again whose process or machine was lost."""


def import_ray() -> Any:
    """Import Ray, or say which extra brings it."""
    try:
        import ray
    except ImportError:
        raise MissingExtraError.to("run work on a cluster", package="ray", extra="ray") from None
    return ray


@dataclass(frozen=True)
class RayEngine(Engine):
    """Tasks on a Ray cluster. Inputs and the work folder must be on storage that all nodes see."""

    address: str | None = None
    """As `ray.init` takes it: `"auto"` is the cluster that this machine is part of; None: that one,
    or else a cluster of this machine alone, which ends with the program."""
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
            try:
                ray.init(address=self.address, log_to_driver=False, include_dashboard=False)
            except ConnectionError as error:
                raise SettingError(
                    f"no Ray cluster at {self.address!r} ({error}); start one with `ray start "
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
            scheduling_strategy="SPREAD",
        )(function)
        waiting = iter(tasks)
        running: list[Any] = []
        try:
            while True:
                for task in waiting:
                    running.append(remote.remote(task))
                    if len(running) >= 2 * self.workers:
                        break
                if not running:
                    return
                done, running = ray.wait(running, num_returns=1)
                yield self._take(ray, done[0])
        finally:
            for reference in running:
                ray.cancel(reference, force=False)

    def _take(self, ray: Any, reference: Any) -> Any:
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
