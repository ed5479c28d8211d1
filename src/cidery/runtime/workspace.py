"""Results shared within one run: each is computed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import index
from typing import Any, Concatenate, ParamSpec, SupportsIndex, TypeVar

from cidery.errors import SettingError

P = ParamSpec("P")
T = TypeVar("T")


class Workspace:
    """Results that metrics share during one run, such as n-gram indexes or encoded captions.

    A run has one workspace, which every step gets. `once` calls a function with its arguments, so
    that a result is keyed by everything it depends on. Arguments are compared as dictionary keys:
    settings by value, captions and references by identity. A workspace is used by one thread;
    `shared`, results that several runs use, is only read.

    ```python
    def count_words(work: Workspace, captions: tuple[str, ...]) -> int:
        return sum(len(caption.split()) for caption in captions)

    work = Workspace(threads=2)
    work.once(count_words, ("a dog", "two cats"))   # 4
    ```
    """

    def __init__(self, threads: int = 0, shared: Workspace | None = None) -> None:
        """Create a workspace, empty or with the results of another.

        Args:
            threads: Maximum number of threads of a step; 0 means one per core.
            shared: Workspace whose results are used; nothing is added to it.
        """
        self.threads = threads
        self._results: dict[Hashable, Any] = {}
        self._known: tuple[dict[Hashable, Any], ...] = (self._results,)
        if shared is not None:
            self._known += shared._known

    def once(
        self,
        function: Callable[Concatenate[Workspace, P], T],
        /,
        *arguments: P.args,
        **settings: P.kwargs,
    ) -> T:
        """Return `function(self, *arguments, **settings)`, computed at the first call.

        The function must be a pure function of its arguments; it may call `once` itself.
        """
        key = (function, arguments, *settings.items()) if settings else (function, arguments)
        for results in self._known:
            if key in results:
                found: T = results[key]
                return found
        made: T = function(self, *arguments, **settings)
        self._results[key] = made
        return made


def check_threads(threads: int) -> int:
    """Return the number of threads; raise a SettingError unless it is an integer >= 0."""
    if isinstance(threads, bool) or not isinstance(threads, SupportsIndex) or threads < 0:
        raise SettingError(f"threads must be an integer >= 0 (0: one per core), not {threads!r}")
    return index(threads)
