"""Names, modules and attributes of many releases, asked for by people, libraries and models."""

from __future__ import annotations

import pytest

from doctor.paste import Frame
from tests.triage.lookups.pastes import BARE_FRAME, case_of, ids, library_frame, suspicions, user_frame

STALE = "python/stale-or-other-environment"
MISSING = "ImportError: cannot import name "
PEFT_ASKS = library_frame(
    "peft/peft_model.py", "from transformers import Cache, HybridCache, PreTrainedModel"
)


@pytest.mark.parametrize(
    ("message", "versions", "id"),
    [
        ("'AdamW' from 'transformers'", {"transformers": "4.51.3"}, "transformers/removed-symbol"),
        (
            "'AdamW' from 'transformers.optimization'",
            {"transformers": "5.0.0"},
            "transformers/removed-symbol",
        ),
        ("'BaseImageProcessorFast' from 'transformers'", {"transformers": "4.40.0"}, "transformers/too-old"),
        (
            "'Qwen2_5_VLForConditionalGeneration' from 'transformers'",
            {"transformers": "4.48.3"},
            "transformers/too-old",
        ),
        ("'LlamaTokenizer' from 'transformers'", {"transformers": "4.26.1"}, "transformers/too-old"),
        ("'DataCollatorForCompletionOnlyLM' from 'trl'", {"trl": "0.20.0"}, "trl/removed-symbol"),
        ("'AutoModelForCausalLMWithValueHead' from 'trl'", {"trl": "0.29.0"}, "trl/removed-symbol"),
        ("'GRPOTrainer' from 'trl'", {"trl": "0.12.0"}, "trl/too-old"),
        (
            "'cached_download' from 'huggingface_hub'",
            {"huggingface-hub": "0.26.0"},
            "huggingface-hub/removed-symbol",
        ),
        ("'prepare_model_for_int8_training' from 'peft'", {"peft": "0.10.0"}, "script/removed-symbol"),
        ("'AdaLoraModel' from 'peft.nowhere'", {"peft": "0.10.0"}, None),
    ],
)
def test_what_people_import_is_held_against_the_release(
    message: str, versions: dict[str, str], id: str | None
) -> None:
    name = message.split("'")[1]
    case = case_of(MISSING + message, versions, (user_frame(f"from somewhere import {name}"),))
    assert ids(case) == ([id] if id else [])
    assert all(one.finding.confidence == "confirmed" for one in suspicions(case))


@pytest.mark.parametrize(
    "message",
    [
        "ImportError: cannot import name 'HybridCache' from 'transformers' (/opt/transformers/__init__.py)",
        "ImportError: cannot import name 'HybridCache' from 'transformers' (/opt/ve",
        "cannot import name 'HybridCache' from 'transformers'",
        'cannot import name "HybridCache" from "transformers"',
        "cannot import name `HybridCache` from `transformers`",
        "Cannot import name 'HybridCache' from 'transformers'",
        "can't import name: HybridCache from transformers",
        "cannot import name HybridCache from transformers",
        "cannot import name 'HybridCache' from 'transformers",
        "ImportError: cannot import name 'HybridCache'\nfrom 'transformers'",
        "ImportError: cannot import name 'HybridCache'",
        "导入报错：ImportError: cannot import name 'HybridCache' from 'transformers'，怎么解决？",
        "The HybridCache class cannot be found in transformers.",
        "`HybridCache` not found in transformers",
        "RuntimeError: Failed to import transformers.trainer because of the following error (look up to see "
        "its traceback):\ncannot import name 'HybridCache' from 'transformers'",
    ],
)
def test_a_name_is_read_in_every_way_in_which_it_is_quoted(message: str) -> None:
    assert ids(case_of(message, {"transformers": "5.2.0"})) == ["peft/too-old-for-transformers"]
    assert ids(case_of(message, {"transformers": "4.41.2"})) == ["peft/needs-newer-transformers"]


def test_without_versions_both_directions_are_possible_and_one_question_decides() -> None:
    case = case_of(MISSING + "'HybridCache' from 'transformers'", frames=(PEFT_ASKS,))
    found = suspicions(case)
    assert ids(case) == ["peft/too-old-for-transformers", "peft/needs-newer-transformers"]
    assert {one.finding.confidence for one in found} == {"possible"}
    question = found[0].question
    assert question and question.decides == tuple(ids(case))
    assert question.commands == (("python", "-m", "pip", "show", "transformers", "peft"),)


def test_a_pre_release_stands_on_the_side_of_the_error() -> None:
    case = case_of(
        MISSING + "'HybridCache' from 'transformers'", {"transformers": "5.0.0.dev0"}, (PEFT_ASKS,)
    )
    assert ids(case) == ["peft/too-old-for-transformers"]


def test_the_user_asks_where_his_line_is_shown_and_a_library_where_its_frame_is() -> None:
    message, versions = MISSING + "'HybridCache' from 'transformers'", {"transformers": "5.2.0"}
    own = user_frame("from transformers import HybridCache")
    assert ids(case_of(message, versions, (own,))) == ["transformers/removed-symbol"]
    assert ids(case_of(message, versions, (own, PEFT_ASKS))) == ["peft/too-old-for-transformers"]
    assert ids(case_of(message, versions, (BARE_FRAME,))) == ["peft/too-old-for-transformers"]


def test_lazy_loaders_and_the_import_system_ask_for_nothing() -> None:
    frames = (
        PEFT_ASKS,
        library_frame("transformers/utils/import_utils.py", "raise RuntimeError(", "_get_module"),
        Frame(file="<frozen importlib._bootstrap>", line=1027, function="_find_and_load"),
    )
    message = MISSING + "'HybridCache' from 'transformers'"
    assert ids(case_of(message, {"transformers": "5.2.0"}, frames)) == ["peft/too-old-for-transformers"]
    assert ids(case_of(message, {"transformers": "5.2.0"}, frames[1:])) == ["peft/too-old-for-transformers"]


def test_code_that_came_with_a_model_needs_another_transformers() -> None:
    frame = Frame(
        file="/home/u/.cache/huggingface/modules/transformers_modules/org/model/modeling_x.py",
        line=30,
        function="<module>",
        code="from transformers.utils.import_utils import is_torch_fx_available",
    )
    message = MISSING + "'is_torch_fx_available' from 'transformers.utils.import_utils'"
    assert ids(case_of(message, {"transformers": "5.1.0"}, (frame,))) == [
        "transformers/remote-code-needs-older"
    ]
    assert ids(case_of(message)) == ["transformers/removed-symbol"]


def test_a_stated_release_that_has_the_name_did_not_run() -> None:
    message = MISSING + "'TRLExperimentalWarning' from 'trl.import_utils'"
    case = case_of(message, {"trl": "1.0.0"}, (BARE_FRAME,))
    assert ids(case) == [STALE]
    assert suspicions(case)[0].finding.confidence == "confirmed"
    by_hand = case_of(message, {"trl": "1.0.0"}, (BARE_FRAME,), form="prose")
    assert suspicions(by_hand)[0].finding.confidence == "likely"


def test_a_library_that_misses_its_own_name_is_a_mixture() -> None:
    frame = library_frame("transformers/models/mistral/modeling_mistral.py")
    message = MISSING + "'is_flash_attn_greater_or_equal_2_10' from 'transformers.utils'"
    assert ids(case_of(message, frames=(frame,))) == [STALE]
    why = "because of the following error (look up to see its traceback):"
    wrapped = f"Failed to import transformers.models.mistral.modeling_mistral {why}\n{message}"
    assert ids(case_of(wrapped)) == [STALE]


@pytest.mark.parametrize(
    ("message", "versions", "frames", "id"),
    [
        (
            "No module named 'transformers.modeling_layers'",
            {"transformers": "4.51.3", "peft": "0.18.0"},
            (),
            "peft/needs-newer-transformers",
        ),
        (
            "No module named 'transformers.models.qwen3'",
            {"transformers": "4.50.0"},
            (library_frame("unsloth/models/qwen3.py"),),
            "transformers/too-old",
        ),
        ("No module named 'transformers.deepspeed'", {}, (), "transformers/removed-symbol"),
        ("No module named 'trl.core'", {}, (), "trl/removed-symbol"),
        (
            "No module named 'huggingface_hub.errors'",
            {"huggingface-hub": "0.20.0"},
            (),
            "huggingface-hub/too-old",
        ),
        ("No module named 'accelerate'", {}, (), "accelerate/missing"),
        ("No module named 'peft'", {"peft": "0.14.0"}, (), STALE),
        ("No module named 'unsloth_zoo.loss_utils'", {}, (), "unsloth/zoo-mismatch"),
        (
            "No module named 'torch._six'",
            {},
            (library_frame("deepspeed/runtime/utils.py"),),
            "deepspeed/too-old-for-torch",
        ),
        ("No module named 'cv2'", {}, (), None),
        ("No module named 'triton.ops'", {}, (), None),
    ],
)
def test_missing_modules(
    message: str, versions: dict[str, str], frames: tuple[Frame, ...], id: str | None
) -> None:
    assert ids(case_of(f"ModuleNotFoundError: {message}", versions, frames)) == ([id] if id else [])


@pytest.mark.parametrize(
    ("message", "versions", "frames", "id"),
    [
        ("module 'torch' has no attribute 'compiler'", {"torch": "2.0.1"}, (), "transformers/torch-too-old"),
        ("module 'torch' has no attribute 'int1'", {"torch": "2.5.1+cu121"}, (), "torchao/incompatible"),
        (
            "module 'torch.library' has no attribute 'custom_op'",
            {"torch": "2.3.1"},
            (),
            "transformers/torch-too-old",
        ),
        ("module 'torch.library' has no attribute 'custom_op'", {"torch": "2.6.0"}, (), STALE),
        ("module 'torch' has no attribute 'cuda'", {}, (), None),
        (
            "module 'transformers' has no attribute 'HybridCache'",
            {"transformers": "5.1.0"},
            (user_frame("transformers.HybridCache"),),
            "transformers/removed-symbol",
        ),
        (
            "'TrainingArguments' object has no attribute 'model_init_kwargs'",
            {},
            (),
            "script/plain-training-arguments",
        ),
        (
            "'DynamicCache' object has no attribute 'seen_tokens'",
            {},
            (),
            "transformers/remote-code-needs-older",
        ),
        (
            "'InternLM2ForCausalLM' object has no attribute 'generate'",
            {},
            (),
            "transformers/remote-code-needs-older",
        ),
        (
            "'Trainer' object has no attribute 'tokenizer'",
            {"transformers": "5.1.0"},
            (),
            "transformers/removed-symbol",
        ),
        ("'LlamaTokenizer' object has no attribute 'apply_chat_template'", {}, (), "transformers/too-old"),
        ("'LoraModel' object has no attribute 'merge_and_unload'", {}, (), None),
        ("'NoneType' object has no attribute 'shape'", {}, (), None),
        ("'Foo' object has no attribute 'bar'", {}, (), None),
    ],
)
def test_missing_attributes(
    message: str, versions: dict[str, str], frames: tuple[Frame, ...], id: str | None
) -> None:
    assert ids(case_of(f"AttributeError: {message}", versions, frames)) == ([id] if id else [])


@pytest.mark.parametrize(
    ("message", "versions", "id"),
    [
        ("'DTensor' from 'torch.distributed.tensor'", {"torch": "2.4.1+cu121"}, "transformers/torch-too-old"),
        ("'log' from 'torch.distributed.elastic.agent.server.api'", {}, "deepspeed/too-old-for-torch"),
        (
            "'log'",
            {"deepspeed": "0.14.0", "torch": "2.4.0a0+07cecf4168.nv24.05"},
            "deepspeed/too-old-for-torch",
        ),
        ("'log'", {}, None),
        ("'patch_compiled_autograd' from 'unsloth_zoo.patching_utils'", {}, "unsloth/zoo-mismatch"),
        (
            "'_expand_mask' from 'transformers.models.bloom.modeling_bloom'",
            {},
            "transformers/remote-code-needs-older",
        ),
        ("'packaging' from 'pkg_resources'", {}, None),
    ],
)
def test_names_that_the_api_tables_do_not_hold(
    message: str, versions: dict[str, str], id: str | None
) -> None:
    assert ids(case_of(MISSING + message, versions)) == ([id] if id else [])


def test_a_file_of_the_users_hides_the_package() -> None:
    circular = (
        "'AutoModel' from partially initialized module 'transformers' (most likely due to a circular import)"
    )
    assert ids(case_of(f"{MISSING}{circular} (/home/u/transformers.py)")) == ["python/module-shadowed"]
    assert ids(case_of(f"{MISSING}'LoraConfig' from 'peft' (unknown location)")) == ["python/module-shadowed"]
    itself = "partially initialized module 'torch' has no attribute 'Tensor' (most likely due to a circular"
    itself = f"{itself} import)"
    assert ids(case_of(itself)) == ["python/module-shadowed"]
    assert ids(case_of("ModuleNotFoundError: No module named 'peft.tuners'; 'peft' is not a package")) == [
        "python/module-shadowed"
    ]
    assert ids(case_of("ModuleNotFoundError: No module named 'triton.language'")) == [
        "python/module-shadowed"
    ]
    inside = "/opt/venv/lib/python3.11/site-packages/transformers/__init__.py"
    assert ids(case_of(f"{MISSING}{circular} ({inside})")) == []


def test_a_name_that_every_release_has_is_missed_of_another_thing() -> None:
    missing = f"{MISSING}'load_dataset' from 'datasets'"
    assert ids(case_of(f"{missing} (/home/u/proj/datasets/__init__.py)")) == ["python/module-shadowed"]
    assert ids(case_of(missing)) == []
    assert ids(case_of("AttributeError: module 'datasets' has no attribute 'load_dataset'")) == []
    assert ids(case_of(f"{MISSING}'LlamaTokenizer' from 'transformers'")) == ["transformers/too-old"]


def test_a_build_of_pips_does_not_see_what_is_installed() -> None:
    missing = "ModuleNotFoundError: No module named 'torch'"
    assert ids(case_of(missing)) == ["torch/missing"]
    assert ids(case_of(missing, around="Getting requirements to build wheel did not run successfully.")) == []


def test_an_import_line_alone_is_held_against_the_stated_release() -> None:
    line = "from transformers.modeling_layers import GradientCheckpointingLayer"
    assert ids(case_of(line, {"transformers": "4.51.3", "peft": "0.18.0"})) == [
        "peft/needs-newer-transformers"
    ]
    assert ids(case_of(line, {"transformers": "4.57.1"})) == []
    assert ids(case_of(line)) == []


def test_a_name_that_no_release_has_is_the_codes_fault() -> None:
    case = case_of(
        f"{MISSING}'LoraConfigg' from 'peft'",
        {"peft": "0.14.0"},
        (user_frame("from peft import LoraConfigg"),),
    )
    assert ids(case) == ["script/unknown-symbol"]
    assert "LoraConfig" in suspicions(case)[0].finding.fixes[0].title


def test_other_packages_of_a_paste_date_it() -> None:
    message = MISSING + "'HybridCache' from 'transformers'"
    own = (user_frame("from transformers import HybridCache"),)
    late = {"torch": "2.10.0", "datasets": "4.8.4", "accelerate": "1.13.0"}
    assert ids(case_of(message, late, own)) == ["transformers/removed-symbol"]
    early = {"torch": "2.1.0", "datasets": "2.14.6", "accelerate": "0.24.1"}
    assert ids(case_of(message, early, own)) == ["transformers/too-old"]


def test_a_python_that_no_later_release_takes_tells_the_direction() -> None:
    case = case_of(
        MISSING + "'HybridCache' from 'transformers'",
        frames=(user_frame("from transformers import HybridCache"),),
        python="3.8.18",
    )
    assert ids(case) == ["transformers/too-old"]


def test_a_finding_shows_the_line_both_versions_and_the_command() -> None:
    case = case_of(
        MISSING + "'HybridCache' from 'transformers'",
        {"transformers": "5.2.0", "peft": "0.17.1"},
        (PEFT_ASKS,),
    )
    finding = suspicions(case)[0].finding
    assert finding.title == (
        "peft 0.17.1 asks for transformers.HybridCache, which transformers 5.2.0 no longer has: "
        "transformers 5.0.0 removed it"
    )
    assert [(one.subject, one.seen, one.where) for one in finding.evidence] == [
        ("error text", "ImportError: cannot import name 'HybridCache' from 'transformers'", "line 3"),
        ("transformers", "5.2.0", "line 20"),
        ("peft", "0.17.1", "line 21"),
    ]
    assert finding.fixes[0].commands == (("python", "-m", "pip", "install", "peft>=0.18.0"),)
