"""The harvest against an index on this machine: what it asks for, keeps, says and survives."""

from __future__ import annotations

import http.server
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import harvest
import pytest
from hypothesis import given
from hypothesis import strategies as st
from releases import index, sources, table

from doctor.matrix.releases import Release, Wheels, decode, spelt_out
from doctor.matrix.rows import reviewed


class Index(http.server.ThreadingHTTPServer):
    """A simple index in memory: files of projects, and a log of what was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.projects: dict[str, list[dict[str, object]]] = {}
        self.bodies: dict[str, bytes] = {}
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, project: str, name: str, body: bytes, day: str = "2024-05-01", **extra: object) -> None:
        """Publish a file."""
        self.bodies[f"/files/{name}"] = body
        url = f"{self.address}/files/{name}"
        file = {"filename": name, "url": url, "size": len(body), "upload-time": f"{day}T00:00:00Z", **extra}
        self.projects.setdefault(project, []).append(file)

    def add_metadata(self, name: str, text: str) -> None:
        """Keep metadata beside a wheel."""
        self.bodies[f"/files/{name}.metadata"] = text.encode()


class Handler(http.server.BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        span = self.headers.get("Range", "")
        self.server.asked.append(f"{self.path} {span}".strip())
        if self.path.startswith("/simple/"):
            project = self.path.strip("/").rpartition("/")[2]
            files = self.server.projects.get(project)
            body = None if files is None else json.dumps({"files": files}).encode()
        else:
            body = self.server.bodies.get(self.path)
        if body is None:
            self.send_error(404)
            return
        if span:
            first, last = span.removeprefix("bytes=").split("-")
            body = body[int(first) : int(last) + 1]
        self.send_response(206 if span else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    server = Index()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setattr(index, "INDEX", f"{server.address}/simple")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def wheel(name: str, version: str, requires: tuple[str, ...] = (), **files: str) -> bytes:
    """A wheel, in bytes."""
    declared = "".join(f"Requires-Dist: {text}\n" for text in requires)
    info = f"{name}-{version}.dist-info"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in {"native.so": "\0" * 9000, f"{name}/__init__.py": "x = 1\n", **files}.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/METADATA", f"Name: {name}\nVersion: {version}\n{declared}\n")
        archive.writestr(f"{info}/RECORD", "")
    return out.getvalue()


def source_archive(root: str, **files: str) -> bytes:
    """A source archive, in bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{root}/{path}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


def run(package: str, folder: Path, again: bool = False) -> list[str]:
    return list(harvest.harvest(package, folder / f"{package}.json", again))


def read(package: str, folder: Path) -> dict[str, Release]:
    return harvest.known_releases(folder / f"{package}.json")


def test_metadata_beside_the_wheel_is_enough_and_is_read_once(served: Index, tmp_path: Path) -> None:
    name = "peft-0.9.0-py3-none-any.whl"
    served.add("peft", name, b"not a wheel: never opened", **{"requires-python": ">=3.8"})
    served.add_metadata(name, 'Requires-Dist: torch (>=1.13)\nRequires-Dist: pytest; extra == "test"\n\n')
    assert run("peft", tmp_path) == ["peft: new: 0.9.0"]
    assert read("peft", tmp_path) == {
        "0.9.0": Release("0.9.0", "2024-05-01", ">=3.8", ("torch>=1.13",), (Wheels(),))
    }
    served.asked.clear()
    assert run("peft", tmp_path) == []
    assert served.asked == ["/simple/peft/"]
    assert run("peft", tmp_path, again=True) == []
    assert f"/files/{name}.metadata" in served.asked


def test_a_large_wheel_is_read_by_ranges(
    served: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(index, "BLOCK_BYTES", 512)
    body = wheel("torch", "2.6.0", ("filelock",), **{"torch/lib/libtorch.so": "\0" * 200_000})
    served.add("torch", "torch-2.6.0-cp311-cp311-manylinux_2_28_x86_64.whl", body)
    assert run("torch", tmp_path) == ["torch: new: 2.6.0"]
    assert read("torch", tmp_path)["2.6.0"].requires == ("filelock",)
    spans = [asked.partition("bytes=")[2].split("-") for asked in served.asked if "bytes=" in asked]
    assert 0 < sum(int(last) - int(first) + 1 for first, last in spans) < len(body) / 10


def test_a_source_archive_tells_by_setuptools_list(served: Index, tmp_path: Path) -> None:
    body = source_archive(
        "flash_attn-2.0.0",
        **{
            "PKG-INFO": "Name: flash-attn\nVersion: 2.0.0\n\n",
            "flash_attn.egg-info/requires.txt": "torch\n\n[fast:python_version < '3.9']\neinops>=0.6\n",
        },
    )
    served.add("flash-attn", "flash_attn-2.0.0.tar.gz", body)
    run("flash-attn", tmp_path)
    found = read("flash-attn", tmp_path)["2.0.0"]
    assert found.requires == ("einops>=0.6; python_version < '3.9' and extra == 'fast'", "torch")
    assert (found.wheels, found.sdist) == ((), True)


def test_what_cannot_be_read_is_named_and_tried_again(served: Index, tmp_path: Path) -> None:
    served.add("trl", "trl-0.8.0-py3-none-any.whl", wheel("trl", "0.8.0"))
    served.add("trl", "trl-0.9.0-py3-none-any.whl", b"half a whe")
    first, second = run("trl", tmp_path)
    assert first.startswith("trl 0.9.0 is left out: ")
    assert second == "trl: new: 0.8.0"
    served.bodies["/files/trl-0.9.0-py3-none-any.whl"] = wheel("trl", "0.9.0")
    assert run("trl", tmp_path) == ["trl: new: 0.9.0"]


@pytest.mark.parametrize(
    "requires", [("numpy>=1.9.*, nonsense ==",), ("torch", "numpy (=1.0)")], ids=["words", "operator"]
)
def test_a_release_with_a_requirement_that_is_none_is_left_out(
    served: Index, tmp_path: Path, requires: tuple[str, ...]
) -> None:
    served.add("trl", "trl-0.8.0-py3-none-any.whl", wheel("trl", "0.8.0", requires))
    (said,) = run("trl", tmp_path)
    assert "which is no requirement" in said


def test_a_yank_a_new_wheel_and_a_deletion_are_seen_on_known_releases(served: Index, tmp_path: Path) -> None:
    for version in ("1.0", "1.1", "1.2"):
        served.add("dill", f"dill-{version}-py3-none-any.whl", wheel("dill", version))
    run("dill", tmp_path)
    served.projects["dill"][0]["yanked"] = "broken"
    del served.projects["dill"][2]
    served.add("dill", "dill-1.1.tar.gz", b"")
    assert run("dill", tmp_path) == [
        "dill: gone: 1.2",
        "dill: sdist changed: 1.1",
        "dill: yanked changed: 1.0",
    ]


def test_a_project_that_the_index_lacks_ends_nothing_but_itself(
    served: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served.add("rich", "rich-9.0-py3-none-any.whl", wheel("rich", "9.0"))
    served.add("peft", "peft-99.0-py3-none-any.whl", wheel("peft", "99.0"))
    options = ["--releases", str(tmp_path), "--index", f"{served.address}/simple"]
    assert harvest.main(["leftpad", "rich", "peft", *options]) == 1
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("leftpad was not read: ")
    limit = reviewed()["packages"]["peft"]
    assert rest == [
        "rich: new: 9.0",
        "peft: new: 99.0",
        f"peft 99.0 is newer than the review, which ends at {limit}",
    ]


def test_pre_releases_and_the_past_are_left_out_unless_there_is_nothing_else() -> None:
    def versions(*names: str) -> list[str]:
        files = [index.File(name, "", 0, "", "2023-01-01", False, None) for name in names]
        old = index.File("x-0.1.tar.gz", "", 0, "", "2019-01-01", False, None)
        return [str(version) for version in table.by_release([*files, old])]

    assert versions("x-1.0rc1.tar.gz", "x-1.0.tar.gz", "x-1.0.post1.tar.gz", "x-0.9.exe") == [
        "1.0",
        "1.0.post1",
    ]
    assert versions("x-2.0b1.tar.gz", "x-2.0b2.tar.gz") == ["2.0b1", "2.0b2"]


@pytest.mark.parametrize(
    ("names", "wheels"),
    [
        (["x-1-py2.py3-none-any.whl"], [Wheels()]),
        (
            ["x-1-cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"],
            [("linux", "x86_64", "2.17", "3.9+")],
        ),
        (
            [
                "x-1-cp310-cp310-manylinux2014_x86_64.whl",
                "x-1-cp310-cp310-manylinux_2_28_x86_64.whl",
                "x-1-cp39-cp39-manylinux2014_x86_64.whl",
                "x-1-cp313-cp313t-manylinux2014_x86_64.whl",
            ],
            [("linux", "x86_64", "2.17", "3.9 3.10 3.13t")],
        ),
        (
            ["x-1-cp311-none-macosx_11_0_arm64.whl", "x-1-cp311-cp311-win_arm64.whl"],
            [("darwin", "aarch64", "11.0", "3.11"), ("win32", "aarch64", "", "3.11")],
        ),
        (["x-1-py3-none-linux_x86_64.whl"], [("linux", "x86_64", "", "3+")]),
        (
            [
                "x-1-cp310-cp310-musllinux_1_2_x86_64.whl",
                "x-1-cp310-cp310-manylinux1_i686.whl",
                "x-1-pp310-pypy310_pp73-manylinux2014_x86_64.whl",
                "x-1-py2-none-any.whl",
                "x-1-cp310-cp310-win32.whl",
            ],
            [],
        ),
    ],
    ids=["pure", "stable-abi", "floors", "mac-and-arm", "plain-linux", "never-torch"],
)
def test_wheels_by_their_names(names: list[str], wheels: list[Wheels | tuple[str, ...]]) -> None:
    wanted = [group if isinstance(group, Wheels) else Wheels(*group) for group in wheels]
    assert list(table.wheels_of(names)) == wanted


def test_requirements_are_spelt_in_one_way_and_those_of_developers_dropped() -> None:
    declared = [
        "Huggingface_Hub (>=0.20,<2)",
        'torch ; extra == "train"',
        'pytest; extra == "dev-test"',
        'xformers @ https://example.org/x.whl ; extra == "cu118-torch211"',
        "huggingface-hub<2,>=0.20",
    ]
    assert table.requirements(declared) == ("huggingface-hub<2,>=0.20", "torch; extra == 'train'")


WORDS = st.text("abcdefgh-.=<>0123 '", min_size=1, max_size=12)
GROUPS = st.builds(Wheels, st.just("linux"), st.sampled_from(["x86_64", "aarch64"]), st.just("2.17"), WORDS)
RELEASES = st.builds(
    Release,
    version=WORDS,
    uploaded=WORDS,
    requires_python=st.sampled_from(["", ">=3.8", ">=3.10"]),
    requires=st.frozensets(WORDS, max_size=3).map(lambda texts: tuple(sorted(texts))),
    wheels=st.lists(GROUPS | st.just(Wheels()), max_size=2).map(tuple),
    sdist=st.booleans(),
    yanked=st.booleans(),
)


@given(st.lists(RELEASES, max_size=6))
def test_a_table_reads_as_what_was_written(releases: list[Release]) -> None:
    text = table.table_text(releases)
    assert list(spelt_out(decode(text.encode()))) == releases
    assert len(text.splitlines()) == max(len(releases), 1) + 2


def test_python_files_are_kept_once(served: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sources.FLOORS, "peft", "0.3")
    for version in ("0.2.0", "0.4.0", "0.5.0"):
        served.add("peft", f"peft-{version}-py3-none-any.whl", wheel("peft", version))
    served.add("peft", "peft-0.6.0-py3-none-any.whl", wheel("peft", "0.6.0"), yanked=True)
    assert list(sources.keep("peft", tmp_path)) == ["peft-0.4.0.zip kept", "peft-0.5.0.zip kept"]
    with zipfile.ZipFile(tmp_path / "peft-0.5.0.zip") as kept:
        info = "peft-0.5.0.dist-info"
        assert sorted(kept.namelist()) == [f"{info}/METADATA", f"{info}/RECORD", "peft/__init__.py"]
    assert list(sources.keep("peft", tmp_path)) == []
    assert list(sources.keep("rich", tmp_path)) == []


def test_of_a_large_package_the_last_patch_of_each_minor_is_kept(served: Index, tmp_path: Path) -> None:
    for version in ("2.0.0", "2.0.2", "2.1.0"):
        served.add("numpy", f"numpy-{version}-cp311-cp311-manylinux2014_x86_64.whl", wheel("numpy", version))
    assert list(sources.keep("numpy", tmp_path)) == ["numpy-2.0.2.zip kept", "numpy-2.1.0.zip kept"]
