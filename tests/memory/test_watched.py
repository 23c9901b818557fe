from __future__ import annotations

import pytest

from doctor.findings import Finding
from doctor.memory.usage import Run
from doctor.memory.watched import diagnosed

from .watching import GIB, MIB, TOTAL, device, gpu, holder, looks, process, run


def found(told: Run) -> dict[str, Finding]:
    return {finding.id: finding for finding in diagnosed(told)}


# torch's allocator


def test_a_cache_that_grows_is_harmless() -> None:
    reserved = [12 * GIB + at * 40 * MIB for at in range(101)]
    finding = found(run(process(device(reserved=reserved))))["memory/cache-growth"]
    assert finding.severity == "note"
    # From the end of the warm-up, step 21 at 10.5 s, to the end at 100 s: 40 MiB a second from the 11th on.
    assert finding.title == "torch's cache has grown by 3.48 GiB, which is harmless"


def test_a_cache_grows_with_what_is_allocated() -> None:
    both = device(
        lambda step: 10 * GIB + step * 20 * MIB, reserved=[12 * GIB + at * 40 * MIB for at in range(101)]
    )
    assert list(found(run(process(both)))) == ["memory/leak"]


@pytest.mark.parametrize(("version", "setting"), [
    ("1.13.1", "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128"),
    ("2.4.0+cu121", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
    ("2.9.1", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
    ("2.13.0", "PYTORCH_ALLOC_CONF=expandable_segments:True"),
    ("a fork's own", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
])  # fmt: skip
def test_memory_in_pieces_has_the_setting_of_its_version(version: str, setting: str) -> None:
    pieces = device(reserved=(20 * GIB,) * 101, unusable_bytes=6 * GIB, retries=3)
    finding = found(run(process(pieces, torch=version)))["memory/fragmentation"]
    assert finding.fixes[0].title == f"Start with {setting}"


def test_pieces_are_told_where_they_matter() -> None:
    """Much is free and nothing was ever given back: then pieces cost nothing."""
    pieces = device(reserved=(20 * GIB,) * 101, unusable_bytes=6 * GIB)
    assert "memory/fragmentation" not in found(run(process(pieces)))
    full = gpu(used=23 * GIB)
    assert "memory/fragmentation" in found(run(process(pieces), gpus=(full,)))


def test_who_has_expandable_segments_is_not_told_to_take_them() -> None:
    pieces = process(device(unusable_bytes=6 * GIB, retries=1), expandable_segments=True)
    fixes = found(run(pieces))["memory/fragmentation"].fixes
    assert ["expandable" in fix.title for fix in fixes] == [False]


# Evaluation

TRAIN, EVALUATE, BARE = (True, True, True), (False, True, True), (False, False, True)


def test_an_evaluation_that_records() -> None:
    told = looks((10, *TRAIN), (20, *TRAIN), *[(30, *EVALUATE)] * 5, (40, *TRAIN))
    finding = found(run(process(device(), looks=told)))["memory/evaluation-with-gradients"]
    assert finding.severity == "warning"
    assert [one.seen for one in finding.evidence] == ["4"]  # the first look is not yet between steps


@pytest.mark.parametrize("told", [
    looks((10, *TRAIN), *[(20, *BARE)] * 9),  # under no_grad
    looks((10, *TRAIN), *[(20, *EVALUATE)] * 3),  # too short
    looks((10, *TRAIN), *[(20, False, True, False)] * 9),  # between batches, where nothing is computed
    looks(*[(step, *EVALUATE) for step in range(9)]),  # steps go on
    looks((10, *TRAIN), *[(20, None, True, True)] * 9),  # the mode is not known
    looks((10, *TRAIN), *[(20, True, True, True)] * 9),  # a long step
    looks((10, *TRAIN), *[(20, *EVALUATE), (20, *BARE)] * 5),  # enabled for a moment inside no_grad
])  # fmt: skip
def test_what_is_no_evaluation_that_records(told: tuple[object, ...]) -> None:
    assert "memory/evaluation-with-gradients" not in found(run(process(device(), looks=told)))


def test_a_run_that_trains_in_eval_mode_is_not_taken_for_an_evaluation() -> None:
    told = looks(*[(10, *EVALUATE)] * 9)
    assert "memory/evaluation-with-gradients" not in found(
        run(process(device(), looks=told, steps_in_eval_mode=True))
    )


# Others


def test_another_process_that_grew() -> None:
    told = gpu(used=20 * GIB, others=(GIB, 5 * GIB), holders=(holder(5 * GIB), holder(0, pid=1, name="Xorg")))
    finding = found(run(process(device()), gpus=(told,)))["memory/other-process"]
    assert finding.title == "Other processes took 4.00 GiB more of GPU 0 meanwhile"
    assert [(one.subject, one.seen) for one in finding.evidence] == [("jupyter (pid 4711)", "5.00 GiB")]


def test_another_process_that_was_there_matters_where_little_is_left() -> None:
    there = gpu(used=20 * GIB, others=(5 * GIB, 5 * GIB), holders=(holder(5 * GIB),))
    assert "memory/other-process" not in found(run(process(device()), gpus=(there,)))
    full = gpu(used=23 * GIB, others=(5 * GIB, 5 * GIB), holders=(holder(5 * GIB),))
    assert "memory/other-process" in found(run(process(device()), gpus=(full,)))


def test_a_desktop_is_no_fault() -> None:
    told = gpu(used=23 * GIB, others=(300 * MIB, 320 * MIB))
    assert "memory/other-process" not in found(run(process(device()), gpus=(told,)))


def test_a_limit_that_is_passed() -> None:
    told = found(run(process(device()), limit_bytes=10 * GIB))["memory/over-limit"]
    assert told.title == "GPU 0: the peak of 13.0 GiB is above the limit".replace("13.0", "13.00")
    assert "memory/over-limit" not in found(run(process(device()), limit_bytes=14 * GIB))
    assert "memory/over-limit" in found(run(process(), limit_bytes=GIB))


def test_windows_may_spill() -> None:
    full = gpu(least_free_bytes=TOTAL // 50)
    assert "memory/may-spill" in found(run(process(device()), gpus=(full,), spills=True))
    assert "memory/may-spill" not in found(run(process(device()), gpus=(full,)))


def test_the_graver_comes_first() -> None:
    told = run(
        process(device(reserved=[12 * GIB + at * 40 * MIB for at in range(101)])),
        limit_bytes=GIB,
        gpus=(gpu(used=20 * GIB, others=(GIB, 5 * GIB)),),
    )
    assert list(found(told)) == ["memory/over-limit", "memory/other-process", "memory/cache-growth"]
