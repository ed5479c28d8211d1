"""Files are written completely or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cidery.storage import write_atomically


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for content in (b"one", b"", b"three" * 100_000):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_new_files_have_the_permissions_of_others(tmp_path: Path) -> None:
    program = (
        "import os, sys; os.umask(0o027)\n"
        "from cidery.storage import write_atomically\n"
        "write_atomically(sys.argv[1], b'')\n"
        "assert os.umask(0) == 0o027, 'the umask is left alone'\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a")], check=True)
    assert mode(tmp_path / "a") == 0o640


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(0o604)
    write_atomically(path, b"x")
    assert mode(path) == 0o604


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE) as reader:
        write_atomically(tmp_path / "pipe", b"x")
        assert reader.communicate()[0] == b"x"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize(
    ("target", "number", "problem"),
    [
        ("none/a", errno.ENOENT, "cannot be written: there is no folder "),
        ("folder", errno.EISDIR, "cannot be written: Is a directory"),
        ("file/a", errno.ENOTDIR, "cannot be written: Not a directory"),
    ],
)
def test_failures_name_the_file_that_was_asked_for(
    tmp_path: Path, target: str, number: int, problem: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=problem) as caught:
        write_atomically(tmp_path / target, b"x")
    assert caught.value.errno == number
    assert caught.value.filename == str(tmp_path / target)


def test_a_failure_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"before")
    program = (
        "import resource, sys\n"
        "from cidery.storage import write_atomically\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "write_atomically(sys.argv[1], b'x' * 100_000)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True)
    assert b"cannot be written: File too large" in done.stderr
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="cannot be written: Permission denied"):
            write_atomically(tmp_path / "a", b"x")
    finally:
        tmp_path.chmod(0o700)
