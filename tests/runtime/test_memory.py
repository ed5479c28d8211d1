"""available_memory() reads the limits of control groups, of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from cidery.files import chunks
from cidery.runtime import available_memory
from cidery.runtime.memory import UNKNOWN

MACHINE = 64_000_000 * 1024


def make_tree(root: Path, files: dict[str, str]) -> Path:
    machine = {"proc/meminfo": "MemTotal: 99999999 kB\nMemAvailable: 64000000 kB\n"}
    for name, content in (machine | files).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, MACHINE),
        (
            {
                "proc/self/cgroup": "0::/job\n",
                "sys/fs/cgroup/job/memory.max": "1000\n",
                "sys/fs/cgroup/job/memory.current": "300\n",
            },
            700,
        ),
        (  # the page cache can be freed
            {
                "proc/self/cgroup": "0::/job\n",
                "sys/fs/cgroup/job/memory.max": "1000\n",
                "sys/fs/cgroup/job/memory.current": "900\n",
                "sys/fs/cgroup/job/memory.stat": "anon 100\ninactive_file 500\n",
            },
            600,
        ),
        (  # a parent limits too
            {
                "proc/self/cgroup": "0::/slurm/job\n",
                "sys/fs/cgroup/slurm/job/memory.max": "max\n",
                "sys/fs/cgroup/slurm/job/memory.current": "5\n",
                "sys/fs/cgroup/slurm/memory.max": "2000\n",
                "sys/fs/cgroup/slurm/memory.current": "500\n",
            },
            1500,
        ),
        (
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/x\n2:memory:/job\n",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "4000\n",
                "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1000\n",
                "sys/fs/cgroup/memory/job/memory.stat": "total_inactive_file 200\n",
            },
            3200,
        ),
        (  # inside a container: the path is that of the host
            {
                "proc/self/cgroup": "2:memory:/docker/0123\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "4000\n",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": "1000\n",
            },
            3000,
        ),
        (  # without a limit, version 1 has a very large number
            {
                "proc/self/cgroup": "2:memory:/job\n",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n",
                "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1000\n",
            },
            MACHINE,
        ),
        (
            {
                "proc/self/cgroup": "0::/\n",
                "sys/fs/cgroup/memory.max": "1000\n",
                "sys/fs/cgroup/memory.current": "1200\n",
            },
            0,
        ),
    ],
    ids=["none", "v2", "cache", "parent", "v1", "container", "unlimited", "exceeded"],
)
def test_limits_of_control_groups(files: dict[str, str], expected: int, tmp_path: Path) -> None:
    assert available_memory(make_tree(tmp_path, files)) == expected


def test_this_machine() -> None:
    assert 0 < available_memory() < UNKNOWN


def test_a_file_that_exceeds_the_limit_is_streamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = {
        "proc/self/cgroup": "0::/job\n",
        "sys/fs/cgroup/job/memory.max": "600000000\n",
        "sys/fs/cgroup/job/memory.current": "100000000\n",
    }
    limited, free = make_tree(tmp_path / "limited", group), make_tree(tmp_path / "free", {})
    file = tmp_path / "captions.jsonl"
    with file.open("wb") as sparse:
        sparse.truncate(60_000_000)
    monkeypatch.setattr(chunks, "available_memory", lambda: available_memory(limited))
    assert chunks.must_stream(str(file), str(file))
    monkeypatch.setattr(chunks, "available_memory", lambda: available_memory(free))
    assert not chunks.must_stream(str(file), str(file))
