"""Moving files below a media root: what may move, and what nobody can trick it into."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sidecar.store import media_files
from sidecar.store.media import media_size
from sidecar.store.media_files import MediaFiles, MediaUnavailable, UnfitReference, parts_of

TRASHED = "run-1/7-a.jpg"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A namespace directory with an empty media folder, and a file outside of it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.jpg").write_bytes(b"not ours")
    directory = tmp_path / "namespace"
    directory.mkdir()
    media_files.prepare(directory)
    return directory


@pytest.fixture
def media(directory: Path) -> Path:
    """The media folder."""
    return directory / "media"


@pytest.fixture
def files(directory: Path, media: Path) -> Iterator[MediaFiles]:
    """The opened media folder."""
    with closing(MediaFiles(directory)) as opened:
        yield opened


@pytest.mark.gate("MEDIA-10")
def test_a_file_moves_to_the_trash_and_back_with_every_byte(files: MediaFiles, media: Path) -> None:
    (media / "photos").mkdir()
    (media / "photos" / "a.jpg").write_bytes(b"\0picture")
    assert files.take("photos/a.jpg", TRASHED) == "trashed"
    assert not (media / "photos" / "a.jpg").exists()
    assert (media / ".trash" / TRASHED).read_bytes() == b"\0picture"
    assert files.size_in_trash(TRASHED) == 8
    (media / "photos").rmdir()
    assert files.give_back("photos/a.jpg", TRASHED) == "returned"
    assert (media / "photos" / "a.jpg").read_bytes() == b"\0picture"
    assert files.size_in_trash(TRASHED) is None


@pytest.mark.gate("MEDIA-10")
def test_each_move_may_be_asked_for_again(files: MediaFiles, media: Path) -> None:
    (media / "a.jpg").write_bytes(b"old")
    assert [files.take("a.jpg", TRASHED) for _ in range(2)] == ["trashed", "trashed"]
    (media / "a.jpg").write_bytes(b"made since")
    assert files.take("a.jpg", TRASHED) == "trashed"
    assert (media / "a.jpg").read_bytes() == b"made since"
    (media / "a.jpg").unlink()
    assert [files.give_back("a.jpg", TRASHED) for _ in range(2)] == ["returned", "returned"]
    (media / "a.jpg").unlink()
    assert files.give_back("a.jpg", TRASHED) == "lost"


@pytest.mark.gate("MEDIA-10")
def test_nothing_is_replaced_on_the_way_back(files: MediaFiles, media: Path) -> None:
    (media / "a.jpg").write_bytes(b"old")
    files.take("a.jpg", TRASHED)
    for occupy in (
        lambda place: place.write_bytes(b"new"),
        lambda place: place.symlink_to("nowhere"),
        lambda place: place.mkdir(),
    ):
        occupy(media / "a.jpg")
        assert files.give_back("a.jpg", TRASHED) == "trashed"
        assert (media / ".trash" / TRASHED).read_bytes() == b"old"
        os.rename(media / "a.jpg", media / "aside")
        (media / "aside").rmdir() if (media / "aside").is_dir() else (media / "aside").unlink()
    assert files.give_back("a.jpg", TRASHED) == "returned"


@pytest.mark.gate("MEDIA-10")
def test_what_is_not_there_is_missing(files: MediaFiles, media: Path) -> None:
    for ref in ("a.jpg", "no/folder/a.jpg", "x" * 300, "y" * 300 + "/a.jpg"):
        assert files.take(ref, TRASHED) == "missing"
    assert list((media / ".trash").iterdir()) == []


@pytest.mark.gate("MEDIA-11")
@pytest.mark.parametrize(
    "ref",
    [
        "../outside/a.jpg",
        "photos/../../outside/a.jpg",
        "/etc/passwd",
        "",
        ".",
        "..",
        "photos//a.jpg",
        "photos/",
        "./a.jpg",
        ".trash",
        ".trash/run-1/7-a.jpg",
        "a\0.jpg",
    ],
)
def test_a_reference_that_leads_elsewhere_is_refused(
    files: MediaFiles, media: Path, ref: str
) -> None:
    (media / ".trash" / "run-1").mkdir()
    (media / ".trash" / "run-1" / "7-b.jpg").write_bytes(b"of another")
    with pytest.raises(UnfitReference):
        parts_of(ref)
    assert files.take(ref, "run-1/8-x") == "refused"
    assert files.give_back(ref, "run-1/7-b.jpg") == "trashed"
    assert files.size(ref) is None
    assert media_size(media, ref) == 0
    assert (media / ".trash" / "run-1" / "7-b.jpg").read_bytes() == b"of another"
    assert (media.parent.parent / "outside" / "a.jpg").read_bytes() == b"not ours"


def link_to_a_file(media: Path, outside: Path) -> str:
    (media / "a.jpg").symlink_to(outside / "a.jpg")
    return "a.jpg"


def link_to_a_folder(media: Path, outside: Path) -> str:
    (media / "photos").symlink_to(outside)
    return "photos/a.jpg"


def link_to_a_folder_inside(media: Path, outside: Path) -> str:
    (media / "real").mkdir()
    (media / "real" / "a.jpg").write_bytes(b"of another reference")
    (media / "photos").symlink_to("real")
    return "photos/a.jpg"


def link_deep_down(media: Path, outside: Path) -> str:
    (media / "one" / "two").mkdir(parents=True)
    (media / "one" / "two" / "three").symlink_to(outside)
    return "one/two/three/a.jpg"


def hard_link(media: Path, outside: Path) -> str:
    os.link(outside / "a.jpg", media / "a.jpg")
    return "a.jpg"


def folder(media: Path, outside: Path) -> str:
    (media / "a.jpg").mkdir()
    return "a.jpg"


def file_as_folder(media: Path, outside: Path) -> str:
    (media / "photos").write_bytes(b"a file")
    return "photos/a.jpg"


def named_pipe(media: Path, outside: Path) -> str:
    os.mkfifo(media / "a.jpg")
    return "a.jpg"


def unix_socket(media: Path, outside: Path) -> str:
    # By a short path: the socket's own is bounded.
    inside = os.open(media, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"/proc/self/fd/{inside}/a.jpg")
    os.close(inside)
    return "a.jpg"


@pytest.mark.gate("MEDIA-11")
@pytest.mark.parametrize(
    "plant",
    [
        link_to_a_file,
        link_to_a_folder,
        link_to_a_folder_inside,
        link_deep_down,
        hard_link,
        folder,
        file_as_folder,
        named_pipe,
        unix_socket,
    ],
)
def test_only_a_plain_file_with_one_name_moves(
    files: MediaFiles, media: Path, plant: Callable[[Path, Path], str]
) -> None:
    outside = media.parent.parent / "outside"
    ref = plant(media, outside)
    before = sorted(path.name for path in media.rglob("*"))
    assert files.take(ref, TRASHED) == "refused"
    assert sorted(path.name for path in media.rglob("*")) == before
    assert media_size(media, ref) == 0, "what cannot be freed does not count"
    assert (outside / "a.jpg").read_bytes() == b"not ours"


@pytest.mark.gate("MEDIA-11")
def test_a_file_does_not_come_back_through_a_link(files: MediaFiles, media: Path) -> None:
    (media / "photos").mkdir()
    (media / "photos" / "b.jpg").write_bytes(b"old")
    files.take("photos/b.jpg", TRASHED)
    (media / "photos").rmdir()
    (media / "photos").symlink_to(media.parent.parent / "outside")
    assert files.give_back("photos/b.jpg", TRASHED) == "trashed"
    assert sorted(os.listdir(media.parent.parent / "outside")) == ["a.jpg"]


@pytest.mark.gate("MEDIA-11")
@pytest.mark.parametrize("swapped_for", ["link", "hard link"])
def test_what_is_put_in_a_files_place_while_it_moves_is_put_back(
    files: MediaFiles, media: Path, monkeypatch: pytest.MonkeyPatch, swapped_for: str
) -> None:
    outside = media.parent.parent / "outside" / "a.jpg"
    (media / "a.jpg").write_bytes(b"plain")
    rename = media_files.rename

    def swapped_before(*arguments: int | str) -> None:
        monkeypatch.setattr(media_files, "rename", rename)
        (media / "a.jpg").unlink()
        if swapped_for == "link":
            (media / "a.jpg").symlink_to(outside)
        else:
            os.link(outside, media / "a.jpg")
        rename(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(media_files, "rename", swapped_before)
    assert files.take("a.jpg", TRASHED) == "refused"
    assert (media / "a.jpg").read_bytes() == b"not ours"
    assert list((media / ".trash" / "run-1").iterdir()) == []


@pytest.mark.gate("MEDIA-12")
def test_a_media_folder_that_is_gone_or_a_link_is_not_entered(directory: Path, media: Path) -> None:
    outside = directory.parent / "outside"
    (outside / ".trash").mkdir()
    media.rename(directory / "aside")
    with pytest.raises(MediaUnavailable, match="media folder"):
        MediaFiles(directory)
    media.symlink_to(outside)
    with pytest.raises(MediaUnavailable, match="media folder"):
        MediaFiles(directory)
    assert media_size(media, "a.jpg") == 0
    media_files.prepare(directory)
    assert sorted(os.listdir(outside)) == [".trash", "a.jpg"]


@pytest.mark.gate("MEDIA-12")
def test_a_trash_that_is_gone_or_a_link_is_not_entered(directory: Path, media: Path) -> None:
    (media / ".trash").rmdir()
    with pytest.raises(MediaUnavailable, match="trash"):
        MediaFiles(directory)
    (media / ".trash").symlink_to(directory.parent / "outside")
    with pytest.raises(MediaUnavailable, match="trash"):
        MediaFiles(directory)


@pytest.mark.gate("MEDIA-12")
def test_a_link_in_the_place_of_a_runs_trash_is_not_entered(files: MediaFiles, media: Path) -> None:
    outside = media.parent.parent / "outside"
    (media / ".trash" / "run-1").symlink_to(outside)
    (media / "b.jpg").write_bytes(b"stays")
    with pytest.raises(NotADirectoryError):
        files.take("b.jpg", TRASHED)
    assert (media / "b.jpg").read_bytes() == b"stays"
    assert sorted(os.listdir(outside)) == ["a.jpg"]


@pytest.mark.gate("MEDIA-12")
def test_a_trash_in_another_file_system_is_refused(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fstat = os.fstat
    devices = iter([1, 2])

    class Elsewhere:
        def __init__(self) -> None:
            self.st_dev = next(devices)

    monkeypatch.setattr(os, "fstat", lambda _descriptor: Elsewhere())
    with pytest.raises(MediaUnavailable, match="another file system"):
        MediaFiles(directory)
    monkeypatch.setattr(os, "fstat", fstat)
