"""The files of the hook, read while they grow."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pytest

from doctor.host import LocalHost
from doctor.watching.told import Records

HEAD = '{"kind": "torch", "pid": %d, "torch": "2.13.0", "python": "3.11.7", "counted": true}\n'


def test_files_without_news_are_opened_rarely_and_all_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of workers that have ended there may be thousands."""
    host = LocalHost()
    opened: list[str] = []
    opening = host.open_binary

    def counted(path: str) -> IO[bytes]:
        opened.append(path)
        return opening(path)

    monkeypatch.setattr(host, "open_binary", counted)
    for number in range(3):
        (tmp_path / f"{number}-a.jsonl").write_text(HEAD % number)
    records = Records(host, str(tmp_path), 0.0)
    for _ in range(100):
        records.read()
    assert len(opened) < 3 * 12
    with (tmp_path / "1-a.jsonl").open("a") as file:
        file.write('{"kind": "error", "text": "CUDA out of memory."}\n')
    records.read(last=True)
    assert [failure.pid for failure in records.failures()] == [1]
    assert [process.pid for process in records.told({})] == [0, 1, 2]
