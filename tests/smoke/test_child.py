"""The trial's child, run for real: on a healthy stack, on a damaged one, and with each proof made false."""

from __future__ import annotations

import ast
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from doctor.collectors import behind_gate, joined
from doctor.smoke.child import PARTS

CHILD = Path(inspect.getfile(sys.modules["doctor.smoke.child"])).parent
MARK = "<mark>"
PROOFS = {
    "import-torch": set(),
    "see-gpu": set(),
    "import-bitsandbytes": set(),
    "import-transformers": set(),
    "import-accelerate": set(),
    "import-peft": set(),
    "import-trl": set(),
    "load-4bit": {
        "weights-are-4bit",
        "weights-are-frozen",
        "nf4-error-band",
        "nf4-matches-table",
        "product-matches-dequantised",
        "product-gradient-matches-dequantised",
        "native-library-ran",
    },
    "lora-step": {"adapter-gradients-finite", "adapter-gradients-nonzero", "adapter-moves"},
    "qlora-step": {
        "adapters-on-4bit-layers",
        "only-adapters-train",
        "adapter-gradients-finite",
        "adapter-gradients-nonzero",
        "gradient-matches-float64",
        "optimizer-state-is-8bit",
        "loss-falls",
        "base-weights-unchanged",
        "gradient-survives-evaluation",
        "merge-is-identity",
    },
    "save-load": {"adapter-survives"},
    "trainer-step": {"trainer-loss-finite", "adapter-moves"},
    "sft-step": {"sft-loss-finite", "adapter-moves"},
}
STAGES = tuple(PROOFS)  # flash-attn, which few have, is tried with a made-up one
# On some CPUs bitsandbytes lays 4-bit weights out anew in eval mode, which these two proofs are there to see.
AFTER_EVALUATION = {"gradient-survives-evaluation", "merge-is-identity"}
CPU_FLAGS = Path("/proc/cpuinfo").read_text(encoding="utf-8") if sys.platform == "linux" else ""
REPACKS = "avx512_bf16" in CPU_FLAGS
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "WANDB_MODE": "disabled",
    "PYTHONUTF8": "1",
    "CUDA_VISIBLE_DEVICES": "",
}


class Ran(NamedTuple):
    """One run of the child: its events, its exit code, what it printed besides on standard error."""

    events: tuple[dict[str, Any], ...]
    code: int
    errors: str
    left: tuple[str, ...]  # what it left in its home folder

    @property
    def ends(self) -> tuple[dict[str, Any], ...]:
        return tuple(event for event in self.events if event["event"] == "end")


def run_child(
    python: str,
    stages: Sequence[str],
    folder: Path,
    *,
    prefix: str = "",
    overlay: Path | None = None,
    config: Mapping[str, Any] | None = None,
) -> Ran:
    """Run the child as the doctor does, ``prefix`` behind the frame, ``overlay`` before site-packages."""
    frame = joined((), "doctor.smoke.child")
    text = behind_gate(frame + "\n" + prefix + "\n" + joined(PARTS, "doctor.smoke.child")[len(frame) :])
    work, home = folder / "work", folder / "home"
    for made in (work, home):
        made.mkdir(exist_ok=True)
    env = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    env.update(OFFLINE, HOME=str(home), HF_HOME=str(work / "hf"), PYTHONPATH=str(overlay or ""))
    given = {"mark": MARK, "stages": list(stages), "folder": str(work), **(config or {})}
    done = subprocess.run(
        [python, "-", json.dumps(given)],
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=env,
        cwd=folder,
        timeout=300,
        check=False,
    )
    marked = (line for line in done.stdout.splitlines() if line.startswith(MARK))
    events = tuple(json.loads(line[len(MARK) : -len(MARK)]) for line in marked)
    return Ran(events, done.returncode, done.stderr, tuple(sorted(os.listdir(home))))


def broken_proofs(end: Mapping[str, Any]) -> set[str]:
    return {proof["name"] for proof in end["proofs"] if not proof["holds"]}


# The text of the program


@pytest.mark.parametrize("part", PARTS)
def test_a_part_parses_as_python_3_8(part: str) -> None:
    ast.parse((CHILD / f"{part}.py").read_text(encoding="utf-8"), feature_version=(3, 8))


def test_every_file_is_a_part() -> None:
    assert {path.stem for path in CHILD.glob("*.py")} == {*PARTS, "__init__"}


def test_no_name_is_defined_twice() -> None:
    tree = ast.parse(joined(PARTS, "doctor.smoke.child"))
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    defined += [target.id for target in targets if isinstance(target, ast.Name)]
    assert [name for name, count in Counter(defined).items() if count > 1] == []


# A healthy stack


@pytest.fixture(scope="module")
def healthy(base_python: str, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_child(base_python, STAGES, tmp_path_factory.mktemp("healthy"))


def end_of(ran: Ran, stage: str) -> dict[str, Any]:
    return next(event for event in ran.ends if event["stage"] == stage)


def test_the_stages_start_and_end_in_turn(healthy: Ran) -> None:
    told = [(event["stage"], event["event"]) for event in healthy.events]
    assert told == [(stage, event) for stage in STAGES for event in ("start", "end")]
    assert healthy.code == 0


@pytest.mark.parametrize("stage", STAGES)
def test_a_healthy_stack_passes(healthy: Ran, stage: str) -> None:
    end = end_of(healthy, stage)
    assert (end["outcome"], end["failure"], end["blocked_by"]) == ("ok", None, "")
    assert {proof["name"] for proof in end["proofs"]} == PROOFS[stage]
    wanted = AFTER_EVALUATION if REPACKS and stage == "qlora-step" else set()
    assert broken_proofs(end) == wanted, end["proofs"]
    assert end["seconds"] >= 0


def test_what_an_evaluation_did_is_told_where_it_did_something(healthy: Ran) -> None:
    seen = [proof["seen"] for proof in end_of(healthy, "qlora-step")["proofs"]]
    told = [words for words in seen if "; the evaluation repacked 14 of 14 layers for avx512_bf16" in words]
    assert len(told) == (2 if REPACKS else 0)


def test_the_peak_is_that_of_a_process_with_torch(healthy: Ran) -> None:
    peaks = [end["peak_bytes"] for end in healthy.ends]
    assert peaks == sorted(peaks)
    assert sys.platform == "win32" or 100 * 2**20 < peaks[0] < 16 * 2**30


def test_the_libraries_say_what_they_are(healthy: Ran) -> None:
    torch = end_of(healthy, "import-torch")["details"]
    assert torch["version"].startswith("2.")
    assert Path(torch["file"]).name == "__init__.py"
    assert end_of(healthy, "see-gpu")["details"] == {
        "cuda_available": False,
        "device_count": 0,
        "cuda_error": end_of(healthy, "see-gpu")["details"]["cuda_error"],
        "devices": [],
        "capabilities": [],
        "bf16": None,
    }
    bitsandbytes = end_of(healthy, "import-bitsandbytes")["details"]
    assert bitsandbytes["library"].startswith("libbitsandbytes_cpu")
    assert bitsandbytes["handle"] == "BNBNativeLibrary"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell what is mapped")
def test_the_native_libraries_are_told_by_path(healthy: Ran) -> None:
    torch, ours = (
        end_of(healthy, f"import-{name}")["details"]["objects"] for name in ("torch", "bitsandbytes")
    )
    names = [Path(path).name for path in torch]
    assert {"libtorch_cpu.so", "libtorch_python.so", "libc10.so"} <= set(names)
    assert all(Path(path).is_file() for path in torch) and torch == sorted(set(torch))
    assert not any(name.startswith(("libc.", "libm.", "libdl.", "ld-linux")) for name in names)
    assert {Path(path).name for path in set(ours) - set(torch)} >= {"libbitsandbytes_cpu.so"}


def test_the_device_and_the_optimizer_are_named(healthy: Ran) -> None:
    assert end_of(healthy, "load-4bit")["details"]["device"] == "cpu"
    assert end_of(healthy, "qlora-step")["details"]["optimizer"] == "bitsandbytes.optim.AdamW8bit"
    assert end_of(healthy, "sft-step")["details"]["quantised"] is True


def test_nothing_is_written_outside_the_folder(healthy: Ran) -> None:
    assert healthy.left == ()


def test_a_later_stage_stands_alone_in_a_fresh_process(base_python: str, tmp_path: Path) -> None:
    ran = run_child(base_python, ["save-load", "sft-step"], tmp_path, config={"quantised": False})
    assert [end["outcome"] for end in ran.ends] == ["ok", "ok"]
    assert [broken_proofs(end) for end in ran.ends] == [set(), set()]
    assert end_of(ran, "sft-step")["details"]["quantised"] is False


# Each proof made false. The functions run inside the child: each gives a patch that holds for one stage.


def nothing_wrong() -> Any:
    return patch("sys.ps1", "", create=True)


def quantise_to_fp4() -> Any:
    from bitsandbytes import functional

    true = functional.quantize_4bit
    return patch.object(functional, "quantize_4bit", lambda *a, **k: true(*a, **{**k, "quant_type": "fp4"}))


def stretch_what_is_quantised_once() -> Any:
    from bitsandbytes import functional

    true = functional.dequantize_4bit

    def stretched(packed: Any, state: Any, *others: Any, **options: Any) -> Any:
        return true(packed, state, *others, **options) * (1 if state.nested else 1.001)

    return patch.object(functional, "dequantize_4bit", stretched)


def leave_projections_in_float() -> Any:
    import transformers

    class Skipping(transformers.BitsAndBytesConfig):  # type: ignore[misc, name-defined]
        def __init__(self, **options: Any) -> None:
            super().__init__(llm_int8_skip_modules=["q_proj", "lm_head"], **options)

    return patch.object(transformers, "BitsAndBytesConfig", Skipping)


def scale_the_product() -> Any:
    from bitsandbytes.nn import Linear4bit

    true = Linear4bit.forward
    return patch.object(Linear4bit, "forward", lambda layer, entry: true(layer, entry) * 1.001)


def pass_no_gradient() -> Any:
    from bitsandbytes.nn import Linear4bit

    true = Linear4bit.forward
    return patch.object(Linear4bit, "forward", lambda layer, entry: true(layer, entry).detach())


def alter_gradients(factor: float) -> Any:
    import peft

    true = peft.get_peft_model

    def adapted(*arguments: Any) -> Any:
        model = true(*arguments)
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.register_hook(lambda gradient: gradient * factor)
        return model

    return patch.object(peft, "get_peft_model", adapted)


def zero_gradients() -> Any:
    return alter_gradients(0.0)


def make_gradients_no_number() -> Any:
    return alter_gradients(float("nan"))


def scale_gradients() -> Any:
    return alter_gradients(1.5)


def leave_the_adapter_out() -> Any:
    from peft.tuners.lora.bnb import Linear4bit

    return patch.object(Linear4bit, "forward", lambda layer, entry, *a, **k: layer.base_layer(entry))


def step_nowhere() -> Any:
    from bitsandbytes.optim import AdamW8bit

    return patch.object(AdamW8bit, "step", lambda optimizer: None)


def keep_state_in_32_bits() -> Any:
    import bitsandbytes.optim

    wide = type("AdamW8bit", (bitsandbytes.optim.AdamW32bit,), {})
    return patch.object(bitsandbytes.optim, "AdamW8bit", wide)


def alter_base_weights() -> Any:
    import peft
    from bitsandbytes.nn import Linear4bit

    true = peft.get_peft_model

    def alter(model: Any, *_: Any) -> None:
        next(layer for layer in model.modules() if isinstance(layer, Linear4bit)).weight.data.add_(1)

    def adapted(*arguments: Any) -> Any:
        model = true(*arguments)
        model.register_forward_hook(alter)
        return model

    return patch.object(peft, "get_peft_model", adapted)


def forget_that_the_model_is_quantised() -> Any:
    import peft

    true = peft.get_peft_model

    def adapted(model: Any, config: Any) -> Any:
        model.is_loaded_in_4bit = False
        return true(model, config)

    return patch.object(peft, "get_peft_model", adapted)


def train_a_base_weight() -> Any:
    import peft

    true = peft.get_peft_model

    def adapted(*arguments: Any) -> Any:
        model = true(*arguments)
        next(weight for name, weight in model.named_parameters() if "norm" in name).requires_grad_()
        return model

    return patch.object(peft, "get_peft_model", adapted)


def lose_the_adapter() -> Any:
    import peft

    true = peft.PeftModel.from_pretrained

    def loaded(*arguments: Any) -> Any:
        model = true(*arguments)
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.data.zero_()
        return model

    return patch.object(peft.PeftModel, "from_pretrained", loaded)


def alter_weights_in_evaluation() -> Any:
    from bitsandbytes.nn import Linear4bit

    true = Linear4bit.forward

    def altering(layer: Any, entry: Any) -> Any:
        if not layer.training:
            layer.weight.data.add_(1)
        return true(layer, entry)

    return patch.object(Linear4bit, "forward", altering)


def keep_the_layout() -> Any:
    from bitsandbytes.nn import modules

    return patch.object(modules, "has_avx512bf16", lambda: False, create=True)


def be_a_peft_that_merges_on_a_gpu_alone() -> Any:
    import peft

    return patch.object(peft, "__version__", "0.11.1")


def step_nowhere_in_torch() -> Any:
    import torch

    return patch.object(torch.optim.AdamW, "step", lambda optimizer: None)


def make_the_loss_no_number() -> Any:
    from transformers import Trainer

    true = Trainer.training_step
    return patch.object(Trainer, "training_step", lambda *a, **k: true(*a, **k) * float("nan"))


SABOTAGES: tuple[tuple[str, Callable[[], Any], set[str]], ...] = (
    ("load-4bit", quantise_to_fp4, {"nf4-error-band", "nf4-matches-table"}),
    ("load-4bit", stretch_what_is_quantised_once, {"nf4-matches-table"}),
    ("load-4bit", leave_projections_in_float, {"weights-are-4bit", "weights-are-frozen"}),
    (
        "load-4bit",
        scale_the_product,
        {"product-matches-dequantised", "product-gradient-matches-dequantised"},
    ),
    ("load-4bit", pass_no_gradient, {"product-gradient-matches-dequantised"}),
    ("lora-step", step_nowhere_in_torch, {"adapter-moves"}),
    (
        "qlora-step",
        zero_gradients,
        {
            "adapter-gradients-nonzero",
            "gradient-matches-float64",
            "loss-falls",
            "gradient-survives-evaluation",
        },
    ),
    (
        "qlora-step",
        make_gradients_no_number,
        {
            "adapter-gradients-finite",
            "adapter-gradients-nonzero",
            "gradient-matches-float64",
            "loss-falls",
            "gradient-survives-evaluation",
        },
    ),
    ("qlora-step", scale_gradients, {"gradient-matches-float64"}),
    (
        "qlora-step",
        leave_the_adapter_out,
        PROOFS["qlora-step"]
        - {"adapters-on-4bit-layers", "only-adapters-train", "base-weights-unchanged", "merge-is-identity"},
    ),
    ("qlora-step", step_nowhere, {"optimizer-state-is-8bit", "loss-falls"}),
    ("qlora-step", keep_state_in_32_bits, {"optimizer-state-is-8bit"}),
    ("qlora-step", alter_base_weights, {"base-weights-unchanged", *AFTER_EVALUATION}),
    ("qlora-step", alter_weights_in_evaluation, AFTER_EVALUATION),
    ("qlora-step", keep_the_layout, set()),
    ("qlora-step", be_a_peft_that_merges_on_a_gpu_alone, set()),
    ("qlora-step", forget_that_the_model_is_quantised, {"adapters-on-4bit-layers"}),
    ("qlora-step", train_a_base_weight, {"only-adapters-train"}),
    ("save-load", lose_the_adapter, {"adapter-survives"}),
    ("trainer-step", make_the_loss_no_number, {"trainer-loss-finite"}),
    ("sft-step", make_the_loss_no_number, {"sft-loss-finite"}),
)
# What must have run in the same process, anew each time, for nothing of the last sabotage to be left.
BEFORE = {"qlora-step": ("load-4bit",), "save-load": ("load-4bit", "qlora-step")}
SWITCH = """
from typing import Any
from unittest.mock import patch
emit_event, sabotages = emit, iter(CONFIG["sabotages"])
def emit(payload):
    global running
    if payload["event"] == "start":
        running = globals()[next(sabotages)]()
        running.__enter__()
    else:
        running.__exit__(None, None, None)
    emit_event(payload)
"""


@pytest.fixture(scope="module")
def sabotaged(base_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The end of each sabotaged stage, all from one process, by the stage and the sabotage."""
    steps: list[tuple[str, Callable[..., Any]]] = []
    for stage, sabotage, _ in SABOTAGES:
        steps += [(earlier, nothing_wrong) for earlier in BEFORE.get(stage, ())] + [(stage, sabotage)]
    functions = {nothing_wrong, alter_gradients, *(sabotage for _, sabotage, _ in SABOTAGES)}
    prefix = SWITCH + "\n".join(inspect.getsource(function) for function in functions)
    ran = run_child(
        base_python,
        [stage for stage, _ in steps],
        tmp_path_factory.mktemp("sabotaged"),
        prefix=prefix,
        config={"sabotages": [sabotage.__name__ for _, sabotage in steps]},
    )
    assert len(ran.ends) == len(steps), ran.errors[-3000:]
    yield {f"{stage} {step.__name__}": end for (stage, step), end in zip(steps, ran.ends, strict=True)}


@pytest.mark.parametrize(
    ("stage", "sabotage", "broken"), SABOTAGES, ids=[f"{stage}-{how.__name__}" for stage, how, _ in SABOTAGES]
)
def test_a_proof_can_fail(
    sabotaged: dict[str, Any], stage: str, sabotage: Callable[[], Any], broken: set[str]
) -> None:
    end = sabotaged[f"{stage} {sabotage.__name__}"]
    repacked = REPACKS and stage == "qlora-step" and sabotage is not keep_the_layout
    assert end["outcome"] == "ok", end["failure"]
    told = {proof["name"] for proof in end["proofs"]}  # a merge is tried on peft's own 4-bit layers alone
    assert broken_proofs(end) == broken | (AFTER_EVALUATION & told if repacked else set()), end["proofs"]


# A damaged stack: copies of one package stand before the healthy one.


def overlay_of(python: str, package: str, folder: Path, without: str) -> Path:
    """A copy of an installed package, less the files of a pattern, to be put before site-packages."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    overlay = folder / "overlay"
    ignored = shutil.ignore_patterns(without, "__pycache__", "tests")
    shutil.copytree(Path(site, package), overlay / package, ignore=ignored)
    return overlay


def test_a_merge_is_not_tried_where_peft_wants_a_gpu_for_it(sabotaged: dict[str, Any]) -> None:
    end = sabotaged["qlora-step be_a_peft_that_merges_on_a_gpu_alone"]
    assert "merge-is-identity" not in {proof["name"] for proof in end["proofs"]}


def test_a_missing_native_library_is_told(base_python: str, tmp_path: Path) -> None:
    overlay = overlay_of(base_python, "bitsandbytes", tmp_path, "libbitsandbytes_*")
    stages = ["import-bitsandbytes", "load-4bit", "qlora-step"]
    ran = run_child(base_python, stages, tmp_path, overlay=overlay)
    details = end_of(ran, "import-bitsandbytes")["details"]
    assert details["library"] is None
    assert details["handle"] == "ErrorHandlerMockBNBNativeLibrary"
    assert broken_proofs(end_of(ran, "load-4bit")) == {"native-library-ran"}
    assert broken_proofs(end_of(ran, "qlora-step")) == set()  # nothing is laid out anew without it


@pytest.mark.skipif(sys.platform != "linux", reason="a cut library ends in a signal on Linux")
def test_a_cut_native_library_leaves_its_stack(base_python: str, tmp_path: Path) -> None:
    overlay = overlay_of(base_python, "bitsandbytes", tmp_path, "libbitsandbytes_cuda*")
    library = next((overlay / "bitsandbytes").glob("libbitsandbytes_cpu*"))
    library.write_bytes(library.read_bytes()[:4096])
    ran = run_child(base_python, ["import-torch", "import-bitsandbytes"], tmp_path, overlay=overlay)
    assert ran.code == -7  # SIGBUS
    assert ran.events[-1] == {"event": "start", "stage": "import-bitsandbytes"}
    assert "Fatal Python error: Bus error" in ran.errors
    assert os.path.join("bitsandbytes", "cextension.py") in ran.errors


def test_a_failed_import_ends_the_program_with_its_first_cause(base_python: str, tmp_path: Path) -> None:
    overlay = overlay_of(base_python, "numpy", tmp_path, "_multiarray_umath*")
    ran = run_child(
        base_python, ["import-torch", "see-gpu", "import-transformers"], tmp_path, overlay=overlay
    )
    assert [event["stage"] for event in ran.events] == ["import-torch", "import-torch"]
    failure = ran.ends[0]["failure"]
    assert failure["chain"][0] == ["ModuleNotFoundError", "No module named 'numpy._core._multiarray_umath'"]
    assert failure["chain"][-1][0] == "ImportError"
    assert failure["modules"] == ["torch", "numpy"]
    assert "numpy" in failure["frames"][-1]


# Failures of every kind, on packages made up here: no stack is needed.


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., Ran]:
    """Run a stage on made-up packages, given as their files' texts."""

    def run(*stages: str, **files: str) -> Ran:
        overlay = tmp_path / "overlay"
        for name, text in files.items():
            path = overlay / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return run_child(sys.executable, stages, tmp_path, overlay=overlay)

    return run


def test_flash_attention_is_imported_as_transformers_does(fake: Callable[..., Ran]) -> None:
    ran = fake("import-flash-attn", flash_attn="__version__ = '2.8.3'\n")
    assert (ran.ends[0]["outcome"], ran.ends[0]["details"]["version"]) == ("ok", "2.8.3")
    torn = fake("import-flash-attn", flash_attn="raise ImportError('undefined symbol: _ZN3c10')\n")
    assert torn.ends[0]["failure"]["modules"] == ["flash_attn"]


def test_an_import_that_exits_is_a_failure(fake: Callable[..., Ran]) -> None:
    ran = fake("import-trl", trl="import sys\nsys.exit(7)\n")
    failure = ran.ends[0]["failure"]
    assert (ran.ends[0]["outcome"], ran.code) == ("raised", 0)
    assert (failure["chain"], failure["modules"]) == ([["SystemExit", "7"]], ["trl"])
    assert failure["frames"][-1].endswith("trl.py:2 in <module>")


def test_a_file_that_does_not_parse_is_named(fake: Callable[..., Ran]) -> None:
    ran = fake("import-trl", trl="import broken\n", broken="x = 1\ny = (\n")
    failure = ran.ends[0]["failure"]
    assert failure["chain"][0][0] == "SyntaxError"
    assert failure["modules"] == ["trl", "broken"]
    assert failure["frames"][-1].endswith("broken.py:2 in <module>")


CHAINS = {
    "cause": ("try:\n    1 / 0\nexcept Exception as e:\n    raise ImportError('b') from e\n", 2),
    "context": ("try:\n    1 / 0\nexcept Exception:\n    raise ImportError('b')\n", 2),
    "suppressed": ("try:\n    1 / 0\nexcept Exception:\n    raise ImportError('b') from None\n", 1),
}


@pytest.mark.parametrize("kind", CHAINS)
def test_the_chain_is_that_of_python(fake: Callable[..., Ran], kind: str) -> None:
    text, length = CHAINS[kind]
    chain = fake("import-trl", trl=text).ends[0]["failure"]["chain"]
    assert chain == [["ZeroDivisionError", "division by zero"], ["ImportError", "b"]][-length:]


def test_modules_come_in_the_order_of_the_stack_each_once(fake: Callable[..., Ran]) -> None:
    first = "def call():\n    import second\n    second.call()\ndef fail():\n    raise KeyError('k')\n"
    second = "import json, first\ndef call():\n    json.loads('[]', object_hook=1, cls=Hook)\n"
    second += "def Hook(**options):\n    first.fail()\n"
    ran = fake("import-trl", trl="import first\nfirst.call()\n", first=first, second=second)
    assert ran.ends[0]["failure"]["modules"] == ["trl", "second", "first"]  # json is Python's own


def test_a_message_that_cannot_be_said_does_no_harm(fake: Callable[..., Ran]) -> None:
    text = "class Mute(Exception):\n    def __str__(self):\n        raise ValueError\nraise Mute\n"
    failure = fake("import-trl", trl=text).ends[0]["failure"]
    assert failure["chain"] == [["Mute", "(its message could not be had: ValueError)"]]


def test_long_messages_and_long_chains_are_cut(fake: Callable[..., Ran]) -> None:
    text = "def deep(n):\n    return deep(n - 1) if n else {}['k']\ndef fail(n):\n    try:\n"
    text += "        fail(n - 1) if n else deep(20)\n"
    text += "    except Exception as e:\n        raise ImportError('x' * 5000) from e\nfail(40)\n"
    failure = fake("import-trl", trl=text).ends[0]["failure"]
    assert (len(failure["chain"]), len(failure["frames"])) == (16, 8)
    assert failure["chain"][0][0] == "KeyError"
    assert failure["chain"][-1] == ["ImportError", "x" * 2000]


def test_the_rest_of_an_uninstalled_torch_is_no_torch(fake: Callable[..., Ran]) -> None:
    ran = fake("import-torch", "see-gpu", torch__lib__readme="")
    assert [end["stage"] for end in ran.ends] == ["import-torch"]
    assert ran.ends[0]["failure"]["chain"] == [["AttributeError", "module 'torch' has no attribute 'Tensor'"]]
    assert ran.ends[0]["details"]["file"] == ""


def test_stages_behind_a_failed_one_are_blocked(fake: Callable[..., Ran]) -> None:
    ran = fake("load-4bit", "qlora-step", "save-load", "lora-step", torch="raise ImportError('none here')\n")
    told = [(end["outcome"], end["blocked_by"]) for end in ran.ends]
    assert told == [("raised", ""), ("blocked", "load-4bit"), ("blocked", "qlora-step"), ("raised", "")]


def test_closed_streams_do_no_harm(fake: Callable[..., Ran]) -> None:
    ran = fake(
        "import-trl", trl="import sys\nsys.stdout.close()\nsys.stderr = None\nfrom os import nothing\n"
    )
    assert ran.ends[0]["failure"]["chain"][0][0] == "ImportError"


# The kernel of each GPU, on devices made up here


def kernel_proof(tried: Sequence[float | Exception]) -> tuple[dict[str, Any], Exception | None]:
    """What is said of GPUs on which the kernel gives these differences, or these errors."""
    names: dict[str, Any] = {}
    for part in ("record", "gpu"):
        exec((CHILD / f"{part}.py").read_text(encoding="utf-8"), names)

    def difference(_torch: Any, device: str) -> float:
        found = tried[int(device[len("cuda:") :])]
        if isinstance(found, Exception):
            raise found
        return found

    names["kernel_difference"] = difference
    record = names["Record"]()
    record.details["device_count"] = len(tried)
    try:
        names["prove_kernels"](record, None)
    except RuntimeError as error:
        return record.proofs[0], error
    return record.proofs[0], None


def test_true_kernels_hold() -> None:
    proof, error = kernel_proof([1e-7, 3e-4])
    assert (proof["holds"], error) == (True, None)


@pytest.mark.parametrize("difference", [0.5, float("nan"), float("inf")])
def test_a_wrong_kernel_does_not_hold(difference: float) -> None:
    proof, error = kernel_proof([1e-7, difference])
    assert (proof["holds"], error) == (False, None)
    assert f"cuda:1 differs by {difference}" in proof["seen"]


def test_a_kernel_that_cannot_run_fails_the_stage_in_its_own_words() -> None:
    proof, error = kernel_proof([RuntimeError("CUDA error: no kernel image\nmore"), 1e-7])
    assert (proof["holds"], str(error)) == (False, "CUDA error: no kernel image\nmore")
    assert proof["seen"] == "cuda:0 CUDA error: no kernel image; cuda:1 differs by 1e-07"
