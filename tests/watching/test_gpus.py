"""Whose memory a GPU holds."""

from __future__ import annotations

from doctor.watching.gpus import Gpus

ROW = {"index": 0, "name": "GPU", "total": 100, "used": 30, "free": 70, "uuid_hash": "0"}


def test_a_process_that_the_driver_names_before_it_is_known_as_ours_is_no_other() -> None:
    gpus = Gpus()
    row = {**ROW, "processes": [(7, "python3", 20), (8, "jupyter", 10)]}
    gpus.take([row], 0.0)
    gpus.ours |= {7}
    gpus.take([row], 1.0)
    (gpu,) = gpus.told(frozenset())
    assert [(one.pid, one.memory_bytes) for one in gpu.holders] == [(8, 10)]
