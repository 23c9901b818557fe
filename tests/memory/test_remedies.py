from __future__ import annotations

from doctor.findings import Finding
from doctor.memory.answer import Saving
from doctor.memory.levers import LEVERS
from doctor.memory.plan import Plan
from doctor.memory.remedies import answered, with_messages_alone
from doctor.memory.usage import Failure, Run
from doctor.memory.watched import diagnosed

from .watching import GIB, MIB, device, failed, gpu, holder, process, run

# 24 GiB, of which 19 in tensors and 3 in pieces of 22 reserved.
FULL = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 1.00 "
    "GiB is free. Including non-PyTorch memory, this process has 22.50 GiB memory in use. Of the allocated "
    "memory 19.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated."
)
LEVER = LEVERS[1].title


def answer(told: Run) -> Finding:
    [finding] = answered(told, diagnosed(told))
    return finding


def titles(told: Run) -> list[str]:
    return [fix.title for fix in answer(told).fixes]


def test_what_was_asked_for_and_what_was_there() -> None:
    finding = answer(run(process(device()), exit_code=1, failures=(failed(FULL),)))
    assert finding.severity == "error"
    assert finding.title == "Out of memory on GPU 0: 2.00 GiB asked for, 1.00 GiB free"
    assert {one.subject: one.seen for one in finding.evidence} == {
        "asked for": "2.00 GiB",
        "free on the device": "1.00 GiB",
        "in tensors": "19.00 GiB",
        "reserved by torch and in no tensor": "3.00 GiB",
        "of the device in all": "24.00 GiB",
    }


def test_leftovers_come_first_then_pieces_then_the_leak_then_the_levers() -> None:
    others = gpu(used=23 * GIB, others=(4 * GIB, 4 * GIB), holders=(holder(4 * GIB),))
    leaking = process(device(lambda step: 10 * GIB + step * 5 * MIB))
    fixes = titles(run(leaking, exit_code=1, failures=(failed(FULL),), gpus=(others,)))
    assert fixes[0].startswith(
        "End other processes on the GPU, which hold 4.00 GiB: jupyter (pid 4711); that alone"
    )
    assert fixes[1].startswith(
        "Start with PYTORCH_ALLOC_CONF=expandable_segments:True: 3.00 GiB lay between tensors"
    )
    assert fixes[2].startswith("Every step leaves 5.00 MiB behind: Keep numbers")
    assert fixes[3].startswith(LEVER)
    assert len(fixes) == 3 + len(LEVERS) - 1


def test_levers_have_their_savings_where_the_plan_is_known() -> None:
    small, large = (
        Saving(
            name=name, title=name, cost="free", plan=Plan(), saves_bytes=size, peak_bytes=1, verdict="fits",
            tier="formula", noticeable=size > GIB,
        )
        for name, size in (("rank", MIB), ("batch", 3 * GIB))
    )  # fmt: skip
    told = run(process(device()), exit_code=1, failures=(failed("CUDA out of memory."),))
    [finding] = answered(told, (), (small, large))
    assert [fix.title for fix in finding.fixes] == ["batch: saves about 3.00 GiB of this plan; free"]


def test_pieces_that_are_too_small_together_are_no_answer() -> None:
    small = FULL.replace("Tried to allocate 2.00", "Tried to allocate 5.00")
    assert titles(run(process(device()), exit_code=1, failures=(failed(small),)))[0].startswith(LEVER)


def test_expandable_segments_are_not_advised_twice() -> None:
    told = process(device(), expandable_segments=True)
    assert titles(run(told, exit_code=1, failures=(failed(FULL),)))[0].startswith(LEVER)


def test_others_that_would_not_have_been_enough() -> None:
    others = gpu(used=23 * GIB, others=(GIB // 2, GIB // 2), holders=(holder(GIB // 2),))
    told = run(process(device()), exit_code=1, failures=(failed(FULL),), gpus=(others,))
    assert titles(told)[0].endswith("it would not have been enough by itself.")


def test_one_tensor_that_is_larger_than_the_gpu() -> None:
    huge = FULL.replace("Tried to allocate 2.00", "Tried to allocate 90.00")
    assert "larger than the whole GPU" in answer(run(exit_code=1, failures=(failed(huge),))).why


def test_words_and_numbers_of_one_failure_are_told_once() -> None:
    numbers = Failure(
        source="allocator", pid=7, device=0, asked_bytes=2 * GIB, total_bytes=24 * GIB, free_bytes=GIB,
        allocated_bytes=19 * GIB, reserved_bytes=22 * GIB,
    )  # fmt: skip
    told = run(process(device()), exit_code=1, failures=(numbers, failed("CUDA error: out of memory")))
    assert (
        answer(told).evidence
        == answer(run(process(device()), exit_code=1, failures=(failed(FULL),))).evidence
    )


def test_a_failure_that_was_caught() -> None:
    finding = answer(run(process(device()), failures=(Failure(source="allocator", pid=7, asked_bytes=GIB),)))
    assert (finding.severity, finding.title) == (
        "warning",
        "Out of memory on GPU 0: 1.00 GiB asked for, and was caught",
    )


def test_the_kernels_killer() -> None:
    finding = answer(run(exit_code=137, signal="SIGKILL", failures=(Failure(source="kernel"),)))
    assert finding.title == "The system ran out of memory"
    assert finding.fixes[0].title.startswith("Fewer workers of the data loader")


def test_of_what_was_said_the_message_alone_is_kept() -> None:
    other = Failure(source="standard error", text="ValueError: my password is hunter2")
    told = with_messages_alone(run(failures=(failed(f"Traceback in /home/ann/x.py\n{FULL}"), other)))
    assert [failure.text for failure in told.failures] == [FULL]
