"""Ray engine: tasks on a Ray cluster. No other module imports Ray."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

from cidery.engines.base import Engine, Pool
from cidery.engines.content import describe_code
from cidery.errors import CideryError, MissingExtraError, ProcessError, SettingError

T = TypeVar("T")
R = TypeVar("R")

RETRIES = 5
"""Number of times that a task is repeated after its process or machine failed."""
ANSWER_SECONDS = 5.0
"""Timeout for the head node of a cluster; Ray itself would try for minutes."""
JOINING_SECONDS = 10.0
"""Timeout for nodes to join a cluster that has too few resources for a task."""


def require_ray() -> None:
    """Raise a MissingExtraError if Ray is not installed; importing it would take seconds."""
    if find_spec("ray") is None:
        raise MissingExtraError.to("run work on a cluster", package="ray", extra="ray")


def import_ray() -> Any:
    """Import Ray, or raise a MissingExtraError."""
    require_ray()
    import ray

    return ray


@dataclass(frozen=True)
class RayEngine(Engine):
    """Tasks on a Ray cluster. Inputs and the work folder must be on storage that all nodes see."""

    address: str | None = None
    """Address as in `ray.init`: `"auto"` is the cluster that this machine is part of. None: the one
    that the environment variable RAY_ADDRESS names, or else a cluster of this machine alone, which
    ends with the program. Where the program has called `ray.init`, its cluster is used."""
    num_cpus: float = 1
    """Number of CPUs of each task."""
    num_gpus: float = 0
    """Number of GPUs of each task."""

    def __post_init__(self) -> None:
        if self.num_cpus < 0 or self.num_gpus < 0:
            raise SettingError("num_cpus and num_gpus must be >= 0")

    def _connect(self) -> Any:
        ray = import_ray()
        if not ray.is_initialized():
            address = self._find_address()
            _check_address(address)
            _keep_off_stdout()
            try:
                ray.init(address=address, log_to_driver=False, include_dashboard=False)
            except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
                raise _explain(address, error) from None
        return ray

    def _find_address(self) -> str:
        # Without an address Ray would join whatever cluster it finds on this machine.
        return self.address or os.environ.get("RAY_ADDRESS") or "local"

    def check(self) -> None:
        """Connect and disconnect, to find a wrong address before there is work."""
        require_ray()
        if self._find_address() == "local":
            return
        ray = import_ray()
        if ray.is_initialized():
            return
        try:
            self._connect()
        finally:
            ray.shutdown()

    @property
    def workers(self) -> int:
        """Number of tasks that run at a time."""
        return max(1, self._count_slots(self._connect()))

    def _count_slots(self, ray: Any) -> int:
        """Return the number of tasks that fit on the nodes; 1 for tasks without requirements."""
        if not self.num_cpus and not self.num_gpus:
            return 1
        return sum(
            # Ray counts in ten thousandths.
            int(min(round(_get(node, name) / each, 4) for name, each in self._needs()))
            for node in ray.nodes()
            if node["Alive"]
        )

    def _needs(self) -> list[tuple[str, float]]:
        needs = (("CPU", self.num_cpus), ("GPU", self.num_gpus))
        return [(name, each) for name, each in needs if each]

    def _require_resources(self, ray: Any, size: int = 1) -> None:
        """Raise a SettingError if tasks, or `size` workers, would wait forever for resources.

        Nodes may still join a cluster of several machines, and an autoscaler may add some: then
        wait, with a warning.
        """
        if not self._needs():
            return
        deadline = time.monotonic() + (0 if _is_local(ray) else JOINING_SECONDS)
        while self._count_slots(ray) < size:
            if time.monotonic() >= deadline:
                problem = self._describe_room(ray, size)
                if not _has_autoscaler(ray):
                    raise SettingError(f"{problem}; request fewer resources, or add nodes")
                warnings.warn(f"{problem}; waiting for its autoscaler", stacklevel=3)
                return
            time.sleep(0.2)

    def _describe_room(self, ray: Any, size: int) -> str:
        each = " and ".join(f"{each:g} {name}" for name, each in self._needs())
        nodes = [node for node in ray.nodes() if node["Alive"]]
        asked = f"{size} workers with {each} each" if size > 1 else f"a task with {each}"
        has = ", ".join(
            " and ".join(f"{_get(node, name):g} {name}" for name, _ in self._needs())
            for node in nodes[:8]
        )
        more = f" and {len(nodes) - 8} more nodes" if len(nodes) > 8 else ""
        return (
            f"the Ray cluster has no room for {asked}: it has room for "
            f"{self._count_slots(ray)} (its nodes have {has}{more})"
        )

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield results as they arrive; submit only as many tasks as keep the cluster busy."""
        ray = self._connect()
        self._require_resources(ray)
        remote = ray.remote(
            num_cpus=self.num_cpus,
            num_gpus=self.num_gpus,
            max_retries=RETRIES,
            max_calls=0,  # processes stay, with GPUs too: what they have loaded is used again
            scheduling_strategy="SPREAD",
        )(_call)
        # Sent once, and not with every task.
        shared = ray.put(_Work(describe_code(), function))
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
        """Return actors with a copy of the function; an actor that fails is restarted."""
        ray = self._connect()
        size = size or self.workers
        self._require_resources(ray, size)
        actor = ray.remote(
            num_cpus=self.num_cpus,
            num_gpus=self.num_gpus,
            max_restarts=RETRIES,
            max_task_retries=RETRIES,
            scheduling_strategy="SPREAD",
        )(_Holder)
        actors = [actor.remote() for _ in range(size)]
        return RayPool(ray, actors, ray.put(_Work(describe_code(), function)))


class RayPool(Pool):
    """Actors of a Ray cluster."""

    def __init__(self, ray: Any, actors: list[Any], function: Any) -> None:
        """Store the actors and the reference of the function."""
        self._ray, self._actors, self._function = ray, actors, function
        self.size = len(actors)

    def map(self, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results in order; an actor has at most two tasks at a time."""
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
        """Stop the actors."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []


def _get(node: Any, name: str) -> float:
    return float(node["Resources"].get(name, 0))


def _is_local(ray: Any) -> bool:
    """Return True if this process started the cluster, which no other node joins."""
    started = getattr(ray._private.worker, "_global_node", None)
    return bool(getattr(started, "head", False))


def _has_autoscaler(ray: Any) -> bool:
    """Return True if Ray reports an autoscaler.

    An autoscaler names the group that a node belongs to; without one, Ray makes up names of ids.
    """
    if any("ray.io/node-group" in node.get("Labels", {}) for node in ray.nodes()):
        return True
    from ray.experimental.internal_kv import _internal_kv_get

    report = json.loads(_internal_kv_get("__autoscaling_status") or "{}")
    known = {f"node_{node['NodeID']}" for node in ray.nodes()}
    groups = (report.get("autoscaler_report") or {}).get("active_nodes") or {}
    return not known.issuperset(groups)


def _check_address(address: str) -> None:
    """Raise a SettingError for an address without a cluster."""
    if address == "local":
        return
    scheme, _, rest = address.rpartition("://")
    if scheme and find_spec("grpc") is None:
        raise MissingExtraError(
            f"Ray's client is needed to reach {address!r}; install it with: pip install "
            "'ray[client]', or give the command on a machine of the cluster with --address auto",
            name="grpc",
        )
    place = _find_cluster() if address == "auto" else rest.partition("/")[0]
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise SettingError(
            f"{address!r} is not the address of a Ray cluster; give auto (the one that this "
            "machine belongs to), or HOST:PORT as `ray start --head` prints it"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
    except OSError as error:
        named = repr(address) if place == address else f"{address!r} ({place})"
        raise _no_cluster(named, error.strerror or str(error)) from None


def _find_cluster() -> str:
    """Return the host and port of this machine's cluster."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        return canonicalize_bootstrap_address("auto") or ""
    except ConnectionError as error:
        raise _no_cluster("'auto'", str(error)) from None


def _no_cluster(address: str, reason: str) -> SettingError:
    return SettingError(
        f"no Ray cluster at {address} ({reason}); start one with `ray start --head`, or leave "
        "--address out to use this machine alone"
    )


def _explain(address: str, error: Exception) -> SettingError:
    """Return the error for a cluster that answers but cannot be used."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    if address == "local":
        return SettingError(f"Ray cannot be started on this machine ({reason})")
    if "authenticat" in f"{error} {error.__cause__}".lower():
        return SettingError(
            f"the Ray cluster at {address!r} asks for a token that this process does not have; "
            "give both the same: RAY_AUTH_MODE=token, and the token in ~/.ray/auth_token or in the "
            "file that RAY_AUTH_TOKEN_PATH names"
        )
    return SettingError(
        f"the Ray cluster at {address!r} cannot be used ({reason}); this machine must be a node of "
        "it, with the same versions of Ray and Python"
    )


def _keep_off_stdout() -> None:
    """Print Ray's messages on stderr: stdout may be JSON."""
    from ray._private import worker

    tell = getattr(worker, "print_to_stdstream", None)  # Ray's own, which another version may lack
    if tell is None or getattr(tell, "__module__", "") == __name__:
        return

    def tell_on_stderr(data: dict[str, Any], *others: Any, **settings: Any) -> None:
        tell({**data, "is_err": True}, *others, **settings)

    worker.print_to_stdstream = tell_on_stderr


@dataclass(frozen=True)
class _Work:
    """A function, and the code that it runs in where it comes from."""

    code: Mapping[str, str]
    function: Callable[..., Any]

    def run(self, *task: Any) -> Any:
        """Call the function, if this node has the same code."""
        check_code(self.code)
        return self.function(*task)


def check_code(expected: Mapping[str, str]) -> None:
    """Raise a ProcessError if this node has other versions: one run would mix their scores."""
    found = describe_code()
    for name in expected.keys() & found.keys():
        if expected[name] != found[name]:
            raise ProcessError(
                f"{name} differs between {socket.gethostname()} and the machine that started the "
                "run; install the same versions on all nodes"
            )


class _Holder:
    """Actor with a function, which is fetched once per start."""

    def __init__(self) -> None:
        self.work: _Work | None = None

    def call(self, kept: list[Any], *task: Any) -> Any:
        if self.work is None:
            self.work = import_ray().get(kept[0])
        assert self.work is not None
        return self.work.run(*task)


def _call(work: _Work, task: Any) -> Any:
    return work.run(task)


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
            f"a task failed {RETRIES + 1} times on the cluster ({first}); repair the cluster and "
            "rerun the same command to resume"
        ) from error
