"""A tree that stands as it stood gives its report without a file being read; any change, and any doubt, makes a new scan."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import msgspec
import pytest

from porter import cache_keys, pipeline, unchanged
from porter.config import Config
from porter.model import Report
from porter.unchanged import Watch

KERNEL = "__global__ void f(int* p) { p[threadIdx.x] = __shfl_sync(0xffffffff, p[0], 1); }\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that was written long ago as far as the clock of the tests says, on a file system that is trusted."""
    folder = tmp_path / "project"
    (folder / "src" / "inner").mkdir(parents=True)
    (folder / "env").mkdir()
    (folder / "a.cu").write_text(KERNEL)
    (folder / "src" / "b.cu").write_text(KERNEL)
    (folder / "src" / "inner" / ".gitignore").write_text("*.log\n")
    (folder / "requirements.txt").write_text("cupy-cuda12x==13.0\n")
    (folder / "notes.txt").write_text("notes\n")
    (folder / "link.cu").symlink_to("a.cu")
    (tmp_path / "outside").mkdir()
    (folder / "out").symlink_to(tmp_path / "outside")
    monkeypatch.setattr(unchanged, "is_trusted", lambda _: True)
    monkeypatch.setattr(unchanged, "QUIET_SECONDS", -3600.0)
    return folder


def config_of(tree: Path, **more: object) -> Config:
    """One cache for all tests, which then holds the rules; a tree's place is in its key."""
    return msgspec.structs.replace(Config(jobs=0, cache_dir=str(tree.parent.parent / "cache-of-unchanged")), **more)


def scan(tree: Path, config: Config) -> Report:
    watch = Watch(tree, config, "porter scan project")
    assert watch.report() is None
    return pipeline.audit(tree, config, command="porter scan project", watch=watch)


def known(tree: Path, config: Config) -> Report | None:
    return Watch(tree, config, "porter scan project").report()


def test_the_report_is_the_same_and_no_file_is_read(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tree)
    first = scan(tree, config)
    assert first.findings
    really, opened = os.open, list[str]()

    def noted(path: str, flags: int, **more: int) -> int:
        opened.append(str(path))
        return really(path, flags, **more)

    monkeypatch.setattr("os.open", noted)
    again = known(tree, config)
    assert opened and not any(path.startswith(str(tree)) for path in opened)
    assert again == first and msgspec.json.encode(again) == msgspec.json.encode(first)


def _content_with_its_time_set_back(tree: Path) -> None:
    path = tree / "a.cu"
    before = path.stat()
    path.write_text(KERNEL.replace("1)", "2)"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)


def _replaced_with_its_time_set_back(tree: Path) -> None:
    path, new = tree / "a.cu", tree / "src" / "new"
    new.write_text(KERNEL.replace("1)", "2)"))
    os.utime(new, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    new.rename(path)


def _written_through_another_name(tree: Path) -> None:
    (tree.parent / "x").hardlink_to(tree / "a.cu")
    (tree.parent / "x").write_text(KERNEL[:-2] + " \n")


def _link_elsewhere(tree: Path) -> None:
    (tree / "link.cu").unlink()
    (tree / "link.cu").symlink_to("src/b.cu")


def _a_folder_instead(tree: Path) -> None:
    (tree / "a.cu").unlink()
    (tree / "a.cu").mkdir()


def _commit(tree: Path) -> None:
    (tree / ".git").mkdir()
    (tree / ".git" / "HEAD").write_text("a" * 40)


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": _content_with_its_time_set_back,
    "replaced": _replaced_with_its_time_set_back,
    "another hard link": _written_through_another_name,
    "new file": lambda tree: (tree / "src" / "c.cu").write_text(KERNEL),
    "new folder": lambda tree: (tree / "src" / "more").mkdir(),
    "gone": lambda tree: (tree / "src" / "b.cu").unlink(),
    "ignored": lambda tree: (tree / "src" / ".gitignore").write_text("b.cu\n"),
    "ignored otherwise": lambda tree: (tree / "src" / "inner" / ".gitignore").write_text("*.cu \n"),
    "licence": lambda tree: (tree / "src" / "LICENSE").write_text("MIT\n"),
    "rights": lambda tree: (tree / "a.cu").chmod(0o400),
    "link elsewhere": _link_elsewhere,
    "what a link means": lambda tree: (tree.parent / "outside").rmdir(),
    "a folder is a build's": lambda tree: (tree / "env" / "pyvenv.cfg").write_text(""),
    "moved in": lambda tree: (tree / "notes.txt").rename(tree / "notes.py"),
    "a pipe": lambda tree: os.mkfifo(tree / "pipe.cu"),
    "another kind": _a_folder_instead,
    "commit": _commit,
}


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_is_seen(tree: Path, what: str) -> None:
    config = config_of(tree)
    scan(tree, config)
    assert known(tree, config) is not None
    CHANGES[what](tree)
    assert known(tree, config) is None


def test_what_no_scan_looks_at_changes_nothing(tree: Path) -> None:
    config = config_of(tree)
    scan(tree, config)
    (tree / "porter-report.html").write_text("a report")
    (tree / "notes.txt").write_text("other notes\n")
    assert known(tree, config) is not None


def test_other_settings_commands_or_users_are_not_known(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tree)
    scan(tree, config)
    assert known(tree, msgspec.structs.replace(config, exclude=("b.cu",))) is None
    assert known(tree, msgspec.structs.replace(config, changed_since="HEAD")) is None
    assert known(tree, msgspec.structs.replace(config, cache_dir="")) is None
    assert Watch(tree, config, "porter scan other").report() is None
    assert known(tree, msgspec.structs.replace(config, jobs=3)) is not None
    monkeypatch.setattr("os.geteuid", lambda: 4711)
    assert known(tree, config) is None


@pytest.mark.parametrize("library", ["tree-sitter", "PyYAML", "pathspec"])
def test_another_release_of_a_library_that_reads_files_or_ignores_them_is_not_known(
    tree: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    config = config_of(tree)
    scan(tree, config)
    really = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "99" if name == library else really(name))
    monkeypatch.setattr(cache_keys, "of_program", cache_keys.of_program.__wrapped__)
    assert known(tree, config) is None


def test_another_boot_or_the_same_place_on_another_disk_is_not_known(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tree)
    scan(tree, config)
    (tmp_path / "boot").write_text("another")
    with monkeypatch.context() as patched:
        patched.setattr(unchanged, "BOOT", tmp_path / "boot")
        assert known(tree, config) is None
    monkeypatch.setattr(unchanged, "_device", lambda _: tree.stat().st_dev + 1)
    assert known(tree, config) is None


def test_young_trees_are_not_remembered(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "QUIET_SECONDS", 60.0)
    config = config_of(tree)
    scan(tree, config)
    assert known(tree, config) is None
    scan(tree, config)
    assert known(tree, config) is None


def _old(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock of the tests say that the tree is two minutes old."""
    now = time.time
    monkeypatch.setattr("porter.unchanged.time.time", lambda: now() + 120.0)
    monkeypatch.setattr(unchanged, "QUIET_SECONDS", 60.0)


def test_a_clock_that_jumps_during_the_scan_remembers_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _old(tree, monkeypatch)
    config = config_of(tree)
    watch = Watch(tree, config, "porter scan project")
    late = time.time() - 3600.0
    with monkeypatch.context() as patched:
        patched.setattr("porter.unchanged.time.time", lambda: late)
        pipeline.audit(tree, config, command="porter scan project", watch=watch)
    assert known(tree, config) is None
    scan(tree, config)
    assert known(tree, config) is not None


@pytest.mark.parametrize("change", [_content_with_its_time_set_back, lambda tree: (tree / "src" / "b.cu").unlink()])
def test_what_changes_during_the_scan_is_not_remembered(
    tree: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    config = config_of(tree, cache_dir=str(tree.parent / "cache"))  # no other test's report of such a tree is known there
    made = pipeline._made

    def then_change(*args: object) -> Report:
        report = made(*args)  # type: ignore[arg-type]
        change(tree)
        return report

    monkeypatch.setattr(pipeline, "_made", then_change)
    watch = Watch(tree, config, "porter scan project")
    monkeypatch.setattr(unchanged, "QUIET_SECONDS", 0.0)
    watch.began = time.time()
    pipeline.audit(tree, config, command="porter scan project", watch=watch)
    assert known(tree, config) is None


def test_stamps_of_whole_seconds_are_not_trusted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "SECOND", 1)
    config = config_of(tree)
    scan(tree, config)
    assert known(tree, config) is None


def test_a_damaged_memory_counts_for_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tree)
    scan(tree, config)
    monkeypatch.setattr("porter.cache.Store.get", lambda _, keys: dict.fromkeys(keys, b"\x92\x81\xa0\x81\xa4a.cu\x90\xc4\x00"))
    assert known(tree, config) is None


MOUNTED = """1 0 8:1 / / rw - ext4 /dev/sda1 rw
2 1 8:2 / /data rw shared:1 - xfs /dev/sdb rw
3 1 0:50 / /net\\040disk rw - nfs4 server:/ rw
4 1 0:51 / /tmp rw - tmpfs tmpfs rw
5 2 0:52 / /data/code/far rw - fuse.sshfs far rw
6 1 0:53 / /srv rw - ext4 /dev/sdc rw
7 6 0:54 / /srv rw - tmpfs tmpfs rw
8 1 0:55 / /var/layers rw - overlay overlay rw,lowerdir=/net,upperdir=/tmp/u,workdir=/tmp/w
"""


@pytest.mark.parametrize(
    ("place", "good"),
    [
        ("/home/a", True), ("/data/x", True), ("/database", True), ("/net disk/x", False), ("/tmp/x", False), ("/data/code", False),
        ("/data/codes", True), ("/data/code/far/x", False), ("/srv/x", False), ("/srv", False),
        ("/", False), ("/var/layers/x", False),
    ],
)  # fmt: skip
def test_the_file_system_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, good: bool) -> None:
    (tmp_path / "mounts").write_text(MOUNTED)
    monkeypatch.setattr(unchanged, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(unchanged, "BOOT", tmp_path / "mounts")
    monkeypatch.setattr("sys.platform", "linux")
    assert unchanged.is_trusted(Path(place)) is good
    monkeypatch.setattr("sys.platform", "darwin")
    assert not unchanged.is_trusted(Path(place))
