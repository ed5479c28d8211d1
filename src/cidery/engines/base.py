"""What runs the steps of a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from cidery.errors import SettingError
from cidery.runtime.processes import Runner, run_with

T = TypeVar("T")
R = TypeVar("R")

ENGINES = ("local", "ray")
"""The engines by name."""


class Engine(ABC):
    """Runs the same function on many tasks.

    A function is a module's own, its tasks can be pickled, and what it computes depends on its task
    alone: a task may run anywhere, and again where a machine was lost.
    """

    @abstractmethod
    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield the result of each task, in any order; an error of a task is raised here."""

    def check(self) -> None:  # noqa: B027  # processes of this machine need no check
        """Raise an error if the engine cannot be reached."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many tasks run at a time."""

    @abstractmethod
    def open_pool(self, function: Callable[..., Any], size: int = 0) -> Pool:
        """Give workers a copy each of something that can be called, which they keep.

        Args:
            function: what is called; it must be possible to pickle it.
            size: how many workers; 0 means as many as the engine has.
        """


class Pool(ABC):
    """Workers that each hold a copy of the same function, with all that it has loaded."""

    size: int
    """How many workers there are."""

    @abstractmethod
    def map(self, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return `function(*task)` of each task, in order."""

    @abstractmethod
    def close(self) -> None:
        """End the workers."""


EngineLike: TypeAlias = str | Engine
"""The name of an engine, or an engine."""


def get_engine(engine: EngineLike = "local", **settings: Any) -> Engine:
    """Return the engine of that name, or the one given.

    Args:
        engine: `"local"`, `"ray"` or an Engine.
        settings: of the engine: `processes` of the local one; `address` and others of Ray's.

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
    raise SettingError(f"there is no engine {engine!r}; there are {', '.join(ENGINES)}")


@contextmanager
def use_engine(engine: EngineLike, **settings: Any) -> Iterator[None]:
    """Have an engine do the slow work of metrics inside the block, for any function of cidery.

    These are scene graphs (SPICE), claims, the layers of language models and segmenters of
    languages; what is quick stays in this process. Scores do not depend on it.

    Args:
        engine: as `get_engine` takes it.
        settings: the same.

    ```py
    with cidery.engines.use_engine("ray", address="auto"):
        cidery.compare({"ours": ours, "theirs": theirs}, references, ["spice", "consensus"])
    ```
    """
    from cidery.engines.local import LocalEngine

    chosen = get_engine(engine, **settings)
    if isinstance(chosen, LocalEngine):
        yield  # what metrics do by themselves
        return
    with run_with(Runner(chosen.map, chosen.workers)):
        yield
