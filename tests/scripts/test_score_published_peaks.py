"""The score of published peaks: what is held against what, and that the data say what they must."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
from typing import Any

import msgspec
import pytest
import score_published_peaks as scoring
from memory.billing import SHAPE, Billing

from doctor.checkup import gather
from doctor.estimating import Estimators
from doctor.facts import Gap
from doctor.host import LocalHost
from doctor.memory.estimate import Device, Estimate
from doctor.memory.plan import Plan
from doctor.probes import Looks
from doctor.readers import model_config
from doctor.target import Target

DATA: Mapping[str, Any] = msgspec.toml.decode(
    (scoring.DOCS / "data" / "published_peaks.toml").read_text(encoding="utf-8")
)
FAMILIES = DATA["family"]
# What each released model has by its card or paper, in billions: sizes of the data written from elsewhere.
CARDS = {"llama-2-7b": 6.738, "mistral-7b": 7.242, "qwen2.5-7b-instruct": 7.616, "yi-34b": 34.389}


def estimate_of(plan: Plan) -> Estimate:
    answer = next(iter(Billing()(SHAPE, [plan], Device())))
    assert isinstance(answer, Estimate)
    return answer


@pytest.mark.parametrize("family", FAMILIES, ids=[family["key"] for family in FAMILIES])
def test_a_family_tells_its_source_and_each_point_a_whole_plan(family: Mapping[str, Any]) -> None:
    assert family["source"].startswith("https://") and family["measured"] and family["gpu"]
    fields = set(Plan.__struct_fields__)
    for point in family["point"]:
        assert scoring.MEASURES.keys() & point.keys(), point
        assert point["model"] in DATA["models"]
        plan = scoring.plan_of(family, point)
        told = {**family["plan"], **point}.keys()
        assert told - scoring.FREE <= fields
        assert {"batch_size", "sequence_length", "loop", "dtype"} <= told or plan.adapter


@pytest.mark.parametrize(("name", "billions"), CARDS.items())
def test_the_shapes_have_the_parameters_of_their_cards(name: str, billions: float) -> None:
    shape = model_config.read(json.dumps(DATA["models"][name]), name)
    assert shape.parameters / 1e9 == pytest.approx(billions, rel=0.001)


def test_each_measure_is_held_against_its_own_peak() -> None:
    answer = msgspec.structs.replace(
        estimate_of(Plan()), peak_allocated_bytes=3 << 30, peak_reserved_bytes=4 << 30, context_bytes=1 << 30
    )
    point = {"model": "x", "allocated_gib": 2.0, "reserved_gib": 5.0, "process_gib": 5.0, "process_gb": 5.0}
    scored = scoring.Scored({"name": "family"}, [point], [answer])
    assert scored.errors("allocated_gib") == [0.5]
    assert scored.errors("reserved_gib") == [pytest.approx(-0.2)]
    assert scored.errors("process_gib") == [0.0]
    assert scored.errors("process_gb") == [pytest.approx(5 * 1.073741824 / 5 - 1)]


def test_what_could_not_be_traced_is_no_number_of_the_table() -> None:
    gap = Gap(about="trace", kind="failed", reason="no such thing")
    point = {"model": "x", "reserved_gib": 1.0, "trainable_parameters": 1}
    assert not list(scoring.Scored({"name": "family"}, [point], [gap]).rows())


def test_the_table_takes_the_place_of_the_old_one() -> None:
    page = f"before\n{scoring.BEGIN}\nold\n{scoring.END}\nafter\n"
    told = scoring.written(page, [("a", "1", "reserved", "2.0%", "+3.0%", "")])
    assert told.startswith("before\n") and told.endswith("after\n") and "old" not in told and "+3.0%" in told


def test_the_page_has_the_marks() -> None:
    page = (scoring.DOCS / "memory.md").read_text(encoding="utf-8")
    assert scoring.BEGIN in page and scoring.END in page


@pytest.mark.environments
def test_the_trace_agrees_with_what_was_measured_on_a_gpu(base_python: str) -> None:
    """Real runs of a loop that is known line by line; the bounds are what the program promises."""
    (family,) = [one for one in DATA["family"] if one["key"] == "t4"]
    host, target = LocalHost(), Target(base_python, "a test")
    packages = gather(Looks(host, target), fields=("packages",)).packages
    assert packages is not None
    versions = {name: package.version for name, package in packages.installed.items()}
    scored = scoring.score(DATA, family, Estimators(host, target, versions))
    host.close()
    allocated, reserved = [], []
    for point, answer in zip(scored.points, scored.answers, strict=True):
        assert isinstance(answer, Estimate), answer
        allocated.append(abs(answer.peak_allocated_bytes / (point["allocated_gib"] * scoring.GIB) - 1))
        reserved.append(abs(answer.peak_reserved_bytes / (point["reserved_gib"] * scoring.GIB) - 1))
    assert len(allocated) == 22
    assert median(allocated) <= 0.01 and max(allocated) <= 0.05
    assert median(reserved) <= 0.04 and max(reserved) <= 0.15
