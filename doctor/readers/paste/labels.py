"""The labels of environment reports: what each is about, and where they stand in a line.

Reports are pasted collapsed, translated, quoted and reordered, so that a label is found wherever it stands in
front of a colon, and its value ends where the next label begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from doctor.readers.paste.names import VERSION, canonical

LONGEST_LINE = 30_000  # characters that are read: a whole report that was collapsed into one line is shorter
WINDOW = 160  # characters in front of a colon that a label may take
WORDS = 9

# What a label is about -> its spellings. Of "" nothing is taken: it only ends the value before it.
_SPELLINGS: dict[str, str] = {
    "torch": """
        pytorch version | torch version | pytorch | torch | pytorch.version | torch.__version__ |
        torch install version
        """,
    "python": "python version|python|py version|python interpreter|python3 version",
    "platform": "platform|python platform|system platform|平台|sys.platform|python平台",
    "os": """
        os | operating system | os version | operating system version | operating systems | system |
        os platform and distribution | os/platform | platform/os | os name | linux distribution |
        distribution | distro | 操作系统 | 系统 | 系统环境 | 运行系统 | 操作系统及版本 | 系统平台
        """,
    "kernel": "kernel|kernel version|linux kernel|内核",
    "arch": "architecture|arch|cpu architecture|machine|架构|系统架构",
    "libc": "libc version|libc|glibc|glibc version",
    "torch cuda": """
        cuda used to build pytorch | torch cuda version | torch cuda | pytorch cuda version |
        pytorch cuda | torch.version.cuda | cuda version of torch | cuda version used by pytorch |
        构建pytorch使用的cuda | 用于构建pytorch的cuda | 编译pytorch的cuda | pytorch编译cuda |
        pytorch的cuda
        """,
    "torch hip": """
        rocm used to build pytorch | hip used to build pytorch | torch hip version | torch.version.hip |
        pytorch rocm version
        """,
    "sees gpu": """
        is cuda available | cuda available | cuda is available | cuda availability | cuda support |
        torch.cuda.is_available | gpu available | pytorch accelerator | pytorch.cuda | is xpu available |
        cuda是否可用 | cuda可用 | gpu可用
        """,
    "architectures": "torch.cuda.get_arch_list|torch arch list|arch list",
    "toolkit": """
        cuda runtime version | cuda runtime | nvcc version | nvcc | nvcc -v | nvcc --version |
        cuda toolkit | cuda toolkit version | cuda compiler | system cuda | system cuda version |
        cuda运行时 | cuda工具包
        """,
    "cuda": "cuda version|cuda|cuda/cudnn version|cuda / cudnn version|cuda/cudnn|cuda or rocm version",
    "driver": """
        nvidia driver version | nvidia driver | driver version | driver | gpu driver version |
        gpu driver | nvidia drivers | cuda driver version | cuda driver | nvidia-driver | 显卡驱动 |
        驱动 | nvidia驱动 | nvidia驱动程序 | 驱动程序 | gpu驱动 | 显卡驱动程序
        """,
    "driver cuda": "nvidia-smi cuda version|driver cuda version|max cuda version",
    "cudnn": "cudnn version|cudnn",
    "gpu": """
        gpu models and configuration | gpu type | gpu | gpus | gpu model | gpu models | gpu name |
        gpu names | gpu card | gpu cards | gpu device | gpu devices | gpu model and memory |
        graphics card | graphics cards | video card | gpu.name | cuda devices | gpu hardware | 显卡 |
        显卡型号 | 显卡类型 | gpu型号 | gpu类型 | gpu卡型号 | 显卡信息 | gpu信息 | cuda device name |
        torch.cuda.get_device_name | gpu型号和配置 | gpu型号与配置 | gpu模型和配置 | gpu硬件 | 显卡名称
        """,
    "hardware": """
        accelerator | cuda device | hardware | device | hardware information | hardware info | 硬件 |
        硬件环境 | 设备 | 机器
        """,
    "accelerator": """
        npu type | xpu type | hpu type | mlu type | musa type | sdaa type | supa type | mps type |
        neuron type
        """,
    "gpu count": "gpu number|number of gpus|gpu count|num gpus|gpu数量|显卡数量|显卡数|gpu数",
    "gpu memory": "gpu memory|gpu vram|vram|显存|显存大小|gpu显存|单卡显存|gpu内存",
    "capability": """
        gpu.compute_capability | compute capability | gpu compute capability | cuda capability |
        计算能力 | 算力
        """,
    "used gpu": "using gpu in script?|using gpu in script",
    "executable": """
        accelerate bash location | python executable | sys.executable | which python | python path |
        python路径
        """,
    "colab": """
        running on google colab? | running in google colab ? | running in google colab? |
        running on google colab ?
        """,
    "": """
        is debug build | gcc version | gcc | clang version | cmake version | cuda_module_loading set to |
        hip runtime version | miopen runtime version | is xnnpack available | caching allocator config |
        cpu | versions of relevant libraries | versions of relevant python libraries |
        relevant libraries | xpu used to build pytorch | intel gpu driver version |
        intel gpu models onboard | igc version | dpcpp runtime version | mkl version |
        pytorch cxx11 abi | ipex version | ipex commit | build type | rocm version | neuron sdk version |
        vllm build flags | cuda archs | gpu topology | system info | pytorch info |
        environment variables | accelerate config | accelerate configs | default config |
        accelerate default config | accelerate config passed | flax version |
        using distributed or parallel set-up in script? |
        using distributed or parallel set-up in script | using xpu in script? | using npu in script? |
        using hpu in script? | pytorch xpu available | pytorch npu available | pytorch mlu available |
        pytorch musa available | system ram | ram | 内存 | git commit | default data directory |
        cann version | npu driver | running in ipython ? | running in notebook ? |
        running in google colab enterprise ? | nvcc_archs | os build | xpu available |
        torchserve branch | java version | gpu cpu affinity | numa affinity | cuda_home | node version |
        intel opencl icd version | level zero version | rocm sdk used to build pytorch | 是否调试构建
        """,
    "detected": "intel gpu models detected",
}
LABELS = {
    spelling.strip(): meaning
    for meaning, spellings in _SPELLINGS.items()
    for spelling in spellings.split("|")
}
_ONE_GPU = re.compile(r"gpu[ #_]?(\d{1,2}(?:,\d{1,2}){0,15})(?: name)?$")
_ONE_CAPABILITY = re.compile(r"gpu ?\d{1,2}(?:,\d{1,2}){0,15} compute capability$")
_VERSION_OF = re.compile(r"[ -]?(?:version|ver|版本号?|的版本)\.?$")
_IN_BRACKETS = re.compile(r"[(（\[][^()（）\[\]]{0,120}[)）\]]")
_WORD = re.compile(r"\S+")
_COLON = re.compile(r"[:：]")
_CJK_GAP = re.compile(r"(?<=[\u4e00-\u9fff]) | (?=[\u4e00-\u9fff])")
_LIST_MARKS = " \t-*+•·`|>#_\"'"
_OF_TORCH = "torch.version.cuda"


class Label(NamedTuple):
    """A label of a line with its value."""

    key: str  # as it is known: lower case, without brackets: "pytorch version"
    meaning: str  # of those above, or "package"
    name: str  # of the package, or the indexes of the GPUs
    brackets: str  # behind the key: "(gpu?)", "(accelerator?)"
    value: str
    start: int  # of the key in the line
    leads: bool  # nothing but list marks stands before it


def labels_in(line: str) -> list[Label]:
    """Every known label of a line, in order."""
    line = line[:LONGEST_LINE]
    found: list[Label] = []
    ends: list[int] = []
    last = 0
    for colon in _COLON.finditer(line):
        label = _label_before(line, last, colon.start())
        if label:
            found.append(label)
            ends.append(colon.end())
            last = colon.end()
    starts = [label.start for label in found[1:]] + [len(line)] * bool(found)
    places = zip(found, ends, starts, strict=True)
    return beside_driver([label._replace(value=bare(line[end:start])) for label, end, start in places])


def beside_driver(found: list[Label]) -> list[Label]:
    """In one line with the driver's version, as in the head of nvidia-smi, "CUDA Version" is the driver's."""
    return [
        label._replace(meaning="driver cuda")
        if label.key == "cuda version" and place and found[place - 1].key == "driver version"
        else label
        for place, label in enumerate(found)
    ]


def _label_before(line: str, last: int, colon: int) -> Label | None:
    """The longest known label that ends at a colon."""
    begin = max(last, colon - WINDOW)
    raw = line[begin:colon]
    blank = _without_brackets(raw)
    words = [(word.start(), key) for word in _WORD.finditer(blank) if (key := _plain(word[0]))]
    for first in range(max(0, len(words) - WORDS), len(words)):
        key = _CJK_GAP.sub("", " ".join(word for _, word in words[first:]))
        known = meaning_of(key)
        if known:
            start = begin + words[first][0]
            brackets = " ".join(_IN_BRACKETS.findall(raw[words[first][0] :])).lower()
            meaning = whose_cuda(raw) if known[0] == "cuda" else known[0]
            leads = not line[:start].strip(_LIST_MARKS)
            return Label(key, meaning, known[1], brackets, "", start, leads)
    return None


def whose_cuda(text: str) -> str:
    """What "CUDA version" is about, by what stands in front of it or in its brackets."""
    if _OF_TORCH in text:
        return "torch cuda"
    return "driver cuda" if "nvidia-smi" in text.lower() else "cuda"


def _without_brackets(text: str) -> str:
    """A text of the same length without what stands in brackets, three deep."""
    for _ in range(3 if "(" in text or "[" in text or "（" in text else 0):
        text = _IN_BRACKETS.sub(lambda found: " " * len(found[0]), text)
    return text


def _plain(word: str) -> str:
    """A word of a label without Markdown: "`Accelerate`" is "accelerate"."""
    return word.strip("`*\"'|>•·#~[]{},;").lstrip("-+").rstrip("_").lower()


@lru_cache(maxsize=4096)  # the words of a log come again and again
def meaning_of(key: str) -> tuple[str, str] | None:
    """What a label is about, and the package or the GPUs that it names; None where it is not known."""
    of_what = _VERSION_OF.sub("", key)
    if key in LABELS or of_what in LABELS:
        return LABELS.get(key, LABELS.get(of_what, "")), ""
    gpus = _ONE_GPU.match(key)
    if gpus:
        return "gpu", gpus[1]
    if _ONE_CAPABILITY.match(key):
        return "capability", ""
    package = canonical(of_what) if len(key) < WINDOW else ""
    if package == "torch":
        return "torch", ""
    return ("package", package) if package else None


def bare(value: str) -> str:
    """A value without the marks of lists and of Markdown around it."""
    return value.strip().rstrip("\\").removesuffix("<br>").strip(" \t`*|;•·").removesuffix(" -").strip()


def rows_in(line: str) -> Iterator[tuple[str, str]]:
    """Packages that a line tags: ("pip3", "torch==2.1.0"), ("conda", "mkl 2024"), ("xFormers", "0.0.2")."""
    head = _XFORMERS.fullmatch(line[:WINDOW].strip())
    if head:
        yield "xFormers", head[1]
    marks = list(_TAG.finditer(line[:LONGEST_LINE]))
    for place, mark in enumerate(marks):
        end = marks[place + 1].start() if place + 1 < len(marks) else min(len(line), LONGEST_LINE)
        yield mark[1], line[mark.end() : end].strip(" \t`")


_XFORMERS = re.compile(rf"xFormers ({VERSION})")  # the first line of xformers.info
_TAG = re.compile(r"\\?\[(pip3?|conda)\\?\][ \t]{1,20}")
