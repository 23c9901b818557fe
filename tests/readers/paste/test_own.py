"""Reports of our own, read back from every format, whole, cut and altered."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from doctor.facts import Facts
from doctor.readers.paste import own
from doctor.readers.paste.clean import clean
from doctor.render import json_report

from .saying import blocks, told, values

GOLDEN = Path(__file__).parents[2] / "render" / "golden"
WORKSTATION = {
    ending: (GOLDEN / f"gpu_workstation.{ending}").read_text("utf-8") for ending in ("json", "md", "txt")
}
NARROW = (GOLDEN / "gpu_workstation.narrow.txt").read_text("utf-8")
FACTS = json_report.read(WORKSTATION["json"]).facts
ON_ONE_LINE = json.dumps(json.loads(WORKSTATION["json"]))

SAID_BY_ALL = {
    ("driver", "", "550.54.15"),
    ("driver cuda", "", "12.4"),
    ("gpu", "0", "NVIDIA GeForce RTX 4090"),
    ("gpu", "1", "NVIDIA GeForce RTX 4090"),
    ("gpu memory", "1", str(24 << 30)),
    ("gpu capability", "1", "8.9"),
    ("python", "", "3.11.9"),
    ("os", "", "linux"),
    ("libc", "", "glibc 2.36"),
    ("container", "", "docker"),
    ("package", "torch", "2.13.0+cu126"),
    ("package", "bitsandbytes", "0.50.2"),
    ("torch cuda", "", "12.6"),
    ("torch sees gpu", "", "yes"),
    ("bitsandbytes library", "", "libbitsandbytes_cuda126.so"),
}


@pytest.mark.parametrize(
    "text",
    [
        *WORKSTATION.values(),
        NARROW,
        ON_ONE_LINE,
        WORKSTATION["txt"]
        .replace("[ok]", "\u2713 ok")
        .replace("[note]", "i note")
        .replace("[warn]", "! warn"),
        f"Here it is:\n\n```json\n{WORKSTATION['json']}```\nThanks\n",
        "\n".join(f"> {line}" for line in WORKSTATION["md"].split("\n")),
    ],
)
def test_every_format_says_the_same(text: str) -> None:
    said = set(told(own, clean(text)))
    assert said >= SAID_BY_ALL
    assert {value for topic, name, value in said if (topic, name) == ("package", "transformers")} <= {
        "5.24.0"
    }


def test_lines_broken_by_a_narrow_terminal_and_by_markdown() -> None:
    flat = "\n".join(" ".join(line.split()) for line in NARROW.split("\n"))
    assert set(told(own, flat)) >= SAID_BY_ALL


def test_only_subjects_are_versions() -> None:
    assert {name for topic, name, _ in told(own, WORKSTATION["txt"]) if topic == "package"} == {
        *("torch", "bitsandbytes", "transformers", "accelerate", "peft", "trl")
    }


def test_statements_stand_in_the_line_of_their_field() -> None:
    lines = WORKSTATION["json"].split("\n")
    [block] = blocks(own, WORKSTATION["json"])
    [driver] = [one for one in block.statements if one.topic == "driver"]
    assert '"driver": {' in lines[driver.line - 1]


def test_a_cpu_build() -> None:
    text = (GOLDEN / "broken_pair.txt").read_text("utf-8")
    assert values(own, text, "torch cuda") == ["none"]
    assert values(own, text, "driver") == values(own, text, "gpu") == []


@pytest.mark.parametrize("text", [WORKSTATION["json"], f"log\n{ON_ONE_LINE}\nmore"])
def test_whole_facts_come_back_as_they_were(text: str) -> None:
    assert own.whole(text) == FACTS


def test_markdown_gives_all_but_what_it_does_not_tell() -> None:
    facts = own.whole(clean(WORKSTATION["md"]))
    assert facts is not None and facts.packages is not None and FACTS.packages is not None
    versions = {name: package.version for name, package in FACTS.packages.installed.items()}
    assert {name: package.version for name, package in facts.packages.installed.items()} == versions
    assert (facts.driver, facts.gpus, facts.trial, facts.linkage) == (
        FACTS.driver,
        FACTS.gpus,
        FACTS.trial,
        FACTS.linkage,
    )
    assert [gap.about for gap in facts.gaps] == ["cuda_driver"]


def test_no_report_gives_no_facts() -> None:
    assert own.whole(WORKSTATION["txt"]) is None
    assert own.whole('{"schema": 1, "facts": {}}') is None
    assert own.whole(WORKSTATION["json"][:-400]) is None
    assert own.whole(WORKSTATION["json"].replace('"os": "linux"', '"os": 7')) is None


@given(st.integers(0, len(ON_ONE_LINE)), st.booleans())
@example(ON_ONE_LINE.find('"sm_86"', ON_ONE_LINE.find('"arch_list"')), True)  # half of that list
def test_a_report_that_was_cut_says_what_is_left(length: int, is_one_line: bool) -> None:
    text = (ON_ONE_LINE if is_one_line else WORKSTATION["json"])[:length]
    said = told(own, text)
    whole = set(told(own, WORKSTATION["json"]))
    assert set(said) <= whole
    if '"source": "nvml",' in text:
        assert ("driver", "", "550.54.15") in said


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda one: (
            st.lists(one, max_size=3)
            | st.dictionaries(
                st.sampled_from([*Facts.__struct_fields__, "version", "name", "installed", "xids"]),
                one,
                max_size=5,
            )
        ),
        max_leaves=40,
    )
)
def test_an_altered_report_raises_nothing(value: object) -> None:
    text = json.dumps({"schema": 1, "tool_version": "0.1.0", "facts": value})
    blocks(own, text)
    own.whole(text)
    facts = {**msgspec.to_builtins(FACTS), "gpus": value, "packages": value, "driver": value}
    blocks(own, json.dumps({"schema": 1, "tool_version": "0.1.0", "facts": facts}))


def test_other_json_is_not_ours() -> None:
    assert blocks(own, '{"schema": 1, "name": "x"}') == []
    assert blocks(own, '{\n "system": {"os": "linux"}\n}') == []
    assert blocks(own, '{"system": ' + "[" * 100_000) == []


def test_a_text_of_beginnings_is_not_followed_to_its_end_each_time() -> None:
    assert blocks(own, '{"schema": \n' * 20_000) == []
