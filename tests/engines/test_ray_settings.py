"""What Ray cannot do is said at once; nothing here starts a cluster."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from cidery.engines import RayEngine
from cidery.engines import ray as engines
from cidery.errors import MissingExtraError, SettingError

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Ray, which connects to nothing."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    module = pytest.importorskip("ray")
    assert not module.is_initialized()
    monkeypatch.setattr(module, "init", pytest.fail)
    yield module
    assert not module.is_initialized()


class Nodes:
    """A cluster of nodes with so many CPUs and GPUs, as Ray describes it."""

    def __init__(self, *nodes: tuple[float, float], head: bool = True, group: str = "") -> None:
        self._private = SimpleNamespace(worker=SimpleNamespace(_global_node=self))
        self.head = head
        labels = {"ray.io/node-group": group} if group else {}
        self.listed = [
            {
                "Alive": True,
                "NodeID": str(number),
                "Resources": {"CPU": cpus, "GPU": gpus},
                "Labels": labels,
            }
            for number, (cpus, gpus) in enumerate(nodes)
        ]

    def is_initialized(self) -> bool:
        return True

    def nodes(self) -> list[dict[str, Any]]:
        return self.listed


def use(monkeypatch: pytest.MonkeyPatch, nodes: Nodes, status: object = None) -> None:
    monkeypatch.setattr(engines, "import_ray", lambda: nodes)
    kept = pytest.importorskip("ray.experimental.internal_kv")
    monkeypatch.setattr(kept, "_internal_kv_get", lambda _: json.dumps(status or {}).encode())


def test_an_address_without_a_cluster(ray: Any) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SettingError, match=rf"no Ray cluster at '{address}' \(.*refused\)"):
            RayEngine(address).check()


def test_an_old_cluster_of_this_machine(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr(engines, "_find_cluster", lambda: address)
        with pytest.raises(SettingError, match=rf"no Ray cluster at 'auto' \({address}\)"):
            RayEngine("auto").check()


@pytest.mark.parametrize("address", ["nonsense", "host:port", "host:99999", ":6379"])
def test_what_is_no_address(ray: Any, address: str) -> None:
    with pytest.raises(SettingError, match=rf"'{address}' is not the address .* give auto"):
        RayEngine(address).check()


def test_an_address_of_rays_client(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    find = engines.find_spec
    monkeypatch.setattr(engines, "find_spec", lambda name: None if name == "grpc" else find(name))
    with pytest.raises(MissingExtraError, match=r"pip install 'ray\[client\]'.* --address auto"):
        RayEngine("ray://head:10001").check()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("Version mismatch: 2.9\nand more"), r"\(Version mismatch: 2.9\).*versions"),
        (ConnectionError("Failed"), "a token that .* RAY_AUTH_MODE=token.*RAY_AUTH_TOKEN_PATH"),
    ],
)
def test_a_cluster_that_refuses(
    ray: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def refuse(**_: object) -> None:
        raise error from RuntimeError("Unauthenticated") if "Failed" in str(error) else None

    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setattr(engines, "_keep_off_stdout", lambda: None)
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        engine = RayEngine(f"127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(SettingError, match=message):
            engine.check()


def test_a_cluster_of_this_machine_is_not_started_to_check_it(ray: Any) -> None:
    RayEngine().check()


@pytest.mark.parametrize(
    ("settings", "places"),
    [({}, 5), ({"num_cpus": 2}, 2), ({"num_cpus": 0.3}, 16), ({"num_gpus": 0.25}, 3)],
)
def test_places_are_counted_by_node(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, float], places: int
) -> None:
    use(monkeypatch, Nodes((2, 0), (3, 1)))
    assert RayEngine(**settings).workers == places  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{"num_cpus": 3}, {"num_gpus": 1}])
def test_tasks_without_room(monkeypatch: pytest.MonkeyPatch, settings: dict[str, float]) -> None:
    # Four CPUs in all, but a task is on one node.
    use(monkeypatch, Nodes((2, 0), (2, 0)))
    engine = RayEngine(**settings)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"no room for a task with .*: it has room for 0"):
        list(engine.map(abs, [-1]))


def test_nodes_that_join_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Nodes((0, 0), (4, 0), head=False)
    later = cluster.listed.pop()
    use(monkeypatch, cluster)
    monkeypatch.setattr(engines.time, "sleep", lambda _: cluster.listed.append(later))
    RayEngine()._require_resources(cluster, 4)


@pytest.mark.parametrize(
    ("group", "status"),
    [("workers", None), ("", {"autoscaler_report": {"active_nodes": {"head-group": 1}}})],
)
def test_an_autoscaler_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, group: str, status: object
) -> None:
    cluster = Nodes((0, 0), group=group)
    use(monkeypatch, cluster, status)
    with pytest.warns(UserWarning, match="no room for a task with 1 CPU.* for its autoscaler"):
        RayEngine()._require_resources(cluster)
    fixed = Nodes((0, 0))
    use(monkeypatch, fixed, {"autoscaler_report": {"active_nodes": {"node_0": 1}}})
    with pytest.raises(SettingError, match="request fewer resources, or add nodes"):
        RayEngine()._require_resources(fixed)


def test_messages_of_ray_are_kept_off_stdout(
    ray: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ray._private import worker

    monkeypatch.setattr(worker, "print_to_stdstream", worker.print_to_stdstream)  # put back
    for _ in range(2):
        engines._keep_off_stdout()
    told = {"lines": ["A worker died."], "pid": "raylet", "is_err": False}
    worker.print_to_stdstream(told, ignore_prefix=False)
    out, err = capsys.readouterr()
    assert not out
    assert err.count("A worker died.") == 1
