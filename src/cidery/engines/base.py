"""Engines: run the steps of a plan, or the slow work of metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from cidery.errors import SettingError
from cidery.runtime import Runner, run_with

T = TypeVar("T")
R = TypeVar("R")

ENGINES = ("local", "ray")
"""Names of the engines."""


class Engine(ABC):
    """Runs a function on many tasks.

    Functions are defined at module level, and tasks are picklable. A result depends on its task
    only: a task may run on any machine, and again if a machine fails.
    """

    @abstractmethod
    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield the result of each task, in any order; raise the error of a task."""

    def check(self) -> None:  # noqa: B027  # processes of this machine need no check
        """Raise an error if the engine cannot be reached."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """Number of tasks that run at a time."""

    @abstractmethod
    def open_pool(self, function: Callable[..., Any], size: int = 0) -> Pool:
        """Start workers that each have a copy of a function.

        Args:
            function: picklable callable.
            size: number of workers. Default: all that the engine has.
        """


class Pool(ABC):
    """Workers that each have a copy of a function and its loaded data."""

    size: int
    """Number of workers."""

    @abstractmethod
    def map(self, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return `function(*task)` of each task, in order."""

    @abstractmethod
    def close(self) -> None:
        """End the workers."""


EngineLike: TypeAlias = str | Engine
"""Name of an engine, or an Engine."""


def get_engine(engine: EngineLike = "local", **settings: Any) -> Engine:
    """Return an engine by name; an Engine is returned unchanged.

    Args:
        engine: `"local"`, `"ray"` or an Engine.
        settings: settings of the engine: `processes` for local; `address` and others for Ray.

    ```python
    get_engine("local", processes=1).workers   # 1
    ```
    """
    if isinstance(engine, Engine):
        return engine
    if engine == "local":
        from cidery.engines.local import LocalEngine

        return LocalEngine(**settings)
    if engine == "ray":
        from cidery.engines.ray import RayEngine

        return RayEngine(**settings)
    raise SettingError(f"unknown engine {engine!r}; known: {', '.join(ENGINES)}")


@contextmanager
def use_engine(engine: EngineLike, **settings: Any) -> Iterator[None]:
    """Run the slow work of metrics on an engine, inside the block, for any function of cidery.

    Slow work: scene graphs (SPICE), claims, layers of language models, segmenters. Scores do not
    depend on the engine.

    Args:
        engine: as for `get_engine`.
        settings: as for `get_engine`.

    ```py
    with cidery.engines.use_engine("ray", address="auto"):
        cidery.compare({"a": system_a, "b": system_b}, references, ["spice", "consensus"])
    ```
    """
    from cidery.engines.local import LocalEngine

    chosen = get_engine(engine, **settings)
    if isinstance(chosen, LocalEngine):
        yield  # metrics start processes themselves
        return
    with run_with(Runner(chosen.map, chosen.workers)):
        yield
