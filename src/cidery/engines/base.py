"""What runs the steps of a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from cidery.errors import SettingError

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

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many tasks run at a time."""


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
