from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.findings import Finding
from doctor.memory.growth import LEAST_STEPS
from doctor.memory.usage import Level
from doctor.memory.watched import diagnosed

from .watching import GIB, MIB, device, gpu, levels, process, run


def ids(*found: Finding) -> list[str]:
    return [finding.id for finding in found]


def evidence(finding: Finding, subject: str) -> str:
    return next(one.seen for one in finding.evidence if one.subject == subject)


def test_a_leak_has_its_slope_and_its_end() -> None:
    [leak] = diagnosed(run(process(device(lambda step: 10 * GIB + step * 5 * MIB))))
    assert (leak.id, leak.severity, leak.confidence) == ("memory/leak", "warning", "confirmed")
    assert leak.title == "Every step leaves 5.00 MiB behind"
    # At the end 13 of 24 GiB are used, and of 12 GiB that torch reserved 10 GiB + 199 * 5 MiB are in tensors:
    # 11 GiB + 1053 MiB = 12317 MiB are left, 2463 steps of 5 MiB, at half a second 20 minutes and a half.
    assert evidence(leak, "until the limit") == "some 2,463 steps (2,463 to 2,463), about 21 min"


def test_what_is_left_of_a_stated_limit_counts() -> None:
    leaking = process(device(lambda step: 10 * GIB + step * 5 * MIB))
    [leak] = diagnosed(run(leaking, limit_bytes=13 * GIB, gpus=()))
    # 13 GiB - 12 GiB reserved + (12 GiB - 10 GiB - 995 MiB) in the cache = 2077 MiB: 415 steps.
    assert evidence(leak, "until the limit").startswith("some 415 steps")


def test_a_leak_that_is_nearly_at_the_limit_is_an_error() -> None:
    near = gpu(used=23 * GIB)
    leaking = device(lambda step: 20 * GIB + step * 5 * MIB, reserved=(22 * GIB,) * 101)
    assert diagnosed(run(process(leaking), gpus=(near,)))[0].severity == "error"


def test_few_steps_are_no_leak() -> None:
    told = levels(lambda step: 10 * GIB + step * 50 * MIB, steps=LEAST_STEPS, every=1)
    assert ids(*diagnosed(run(process(device(levels=told))))) == ["memory/undetermined"]


def test_few_moments_are_not_called_steady() -> None:
    """Sixty steps of a leak of 50 MiB, of which a short run at long intervals saw six."""
    told = levels(lambda step: 10 * GIB + step * 50 * MIB, steps=60, every=10)
    [finding] = diagnosed(run(process(device(levels=told))))
    assert finding.id == "memory/undetermined"
    assert finding.why.startswith("50 steps were seen at 6 moments; behind the warm-up 20 steps at 8 moments")


def test_the_memory_of_a_process_is_steady_within_what_can_be_told() -> None:
    [steady] = diagnosed(run(process(resident=levels(lambda step: GIB))))
    assert (steady.id, steady.confidence) == ("memory/steady", "likely")
    assert "growth below 48.00 MiB is not told" in steady.why
    [short] = diagnosed(run(process(resident=levels(lambda step: GIB, steps=40, every=1))))
    assert short.id == "memory/undetermined"  # 50 steps are needed to tell growth there


def test_warm_up_is_no_leak() -> None:
    """Optimizer states come with the first step, autotuning in some more; then it is flat."""
    grown = device(lambda step: 10 * GIB + min(step, 20) * 100 * MIB)
    assert ids(*diagnosed(run(process(grown)))) == ["memory/steady"]


def test_what_levels_off_is_no_leak() -> None:
    level = device(lambda step: 10 * GIB + 4 * GIB * (1 - 0.97**step))
    assert ids(*diagnosed(run(process(level)))) == ["memory/steady"]


def test_a_list_that_is_emptied_each_epoch_is_no_leak() -> None:
    epochs = device(lambda step: 10 * GIB + step % 50 * 5 * MIB)
    assert ids(*diagnosed(run(process(epochs)))) == ["memory/steady"]


def test_a_leak_of_a_few_bytes_is_not_worth_a_word() -> None:
    assert ids(*diagnosed(run(process(device(lambda step: 10 * GIB + step * 512))))) == ["memory/steady"]


def test_the_memory_of_the_process_counts_where_no_gpu_is_used() -> None:
    leaking = process(resident=levels(lambda step: GIB + step * MIB))
    [leak] = diagnosed(run(leaking))
    assert (leak.id, leak.confidence) == ("memory/leak", "likely")
    assert leak.title == "Every step leaves 1.00 MiB behind in the memory of the process"
    # 62 GiB of 64 are free: 63488 steps of half a second.
    assert evidence(leak, "until the limit") == "some 63,488 steps (63,488 to 63,488), about 8.8 h"


def test_beside_a_gpu_the_memory_of_the_process_is_not_asked() -> None:
    caching = process(device(), resident=levels(lambda step: GIB + step * MIB))
    assert ids(*diagnosed(run(caching))) == ["memory/steady"]


@pytest.mark.parametrize("seed", range(8))
def test_lengths_that_vary_are_no_leak(seed: int) -> None:
    """After a step a batch may still be held, of whatever length it was."""
    lengths = random.Random(seed)
    held = device(lambda step: 10 * GIB + lengths.randrange(1, 2048) * MIB // 4)
    assert "memory/leak" not in ids(*diagnosed(run(process(held))))


@given(
    st.integers(100, 900).map(lambda size: size * 10 * MIB),
    st.integers(0, 200),
    st.integers(20, 400),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_noise_alone_is_never_a_leak(level: int, noise_mib: int, steps: int, chance: random.Random) -> None:
    told = levels(lambda step: level + chance.random() * noise_mib * MIB, steps=steps)
    assert "memory/leak" not in ids(*diagnosed(run(process(device(levels=told)))))


@given(
    st.integers(1, 64),  # MiB a step
    st.integers(60, 1500),
    st.floats(0, 4),  # noise in steps of growth
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_a_leak_beyond_its_noise_is_found(
    a_step: int, steps: int, noise: float, chance: random.Random
) -> None:
    told = levels(lambda step: 4 * GIB + (step + chance.random() * noise) * a_step * MIB, steps=steps)
    low, high = leak_mib(told)
    # The examples choose the noise as badly as they can: it can tilt a median of slopes by so much.
    tilt = noise * a_step / (0.2 * steps)
    assert low - 0.01 - tilt <= a_step <= high + 0.01 + tilt


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    held = 0
    for seed in range(300):
        chance = random.Random(seed)
        noise = [4 * chance.random() for _ in range(401)]
        low, high = leak_mib(
            levels(lambda step, noise=noise: 4 * GIB + (step + noise[step]) * MIB, steps=400)
        )
        held += low <= 1.0 <= high
    assert held >= 0.98 * 300  # it says 99 %


def leak_mib(told: tuple[Level, ...]) -> tuple[float, float]:
    """The bounds of the one leak that is found."""
    [leak] = [one for one in diagnosed(run(process(device(levels=told)))) if one.id == "memory/leak"]
    low, high = (float(word) for word in bounds_mib(evidence(leak, "growth a step")))
    return low, high


def bounds_mib(text: str) -> tuple[str, str]:
    """ "5.00 MiB (99 %: 4.90 MiB to 5.10 MiB)"; below a MiB it would be KiB."""
    low, _, high = text.partition(": ")[2].rstrip(")").partition(" to ")
    in_mib = [str(float(one.split()[0]) / (1024 if one.endswith("KiB") else 1)) for one in (low, high)]
    return in_mib[0], in_mib[1]


def test_without_steps_growth_is_told_and_not_judged() -> None:
    grown = tuple((float(at), GIB + at * 10 * MIB) for at in range(0, 101, 2))
    [growth] = diagnosed(run(resident=grown, hook="impossible"))
    assert (growth.id, growth.severity) == ("memory/growth", "note")
    assert growth.title.startswith("resident memory: memory grows by 600 MiB a minute")


def test_without_steps_and_growth_nothing_is_known() -> None:
    flat = tuple((float(at), GIB) for at in range(0, 101, 2))
    [finding] = diagnosed(run(resident=flat, hook="impossible"))
    assert (finding.id, finding.why) == ("memory/undetermined", "No optimizer step was seen.")
