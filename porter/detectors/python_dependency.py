"""Python dependencies whose version tag, extra, origin or neighbours decide, where the name alone does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from porter.config import Config
from porter.model import Fact, Hit, Live, Related
from porter.parse import MODULE_OF_KIND, Parsed

KINDS = tuple(kind for kind in MODULE_OF_KIND if kind not in ("cuda", "cxx", "ptx"))
MANIFESTS = frozenset(("requirements", "pyproject", "setup-cfg", "pipfile", "python-lock", "conda"))
NEED = ("requirement", "conda_package")
MAX_RELATED = 40

AMD_INDEX = re.compile(r"/rocm|repo\.amd\.com|pypi\.amd\.com|repo\.radeon\.com|rocm\.[a-z]+\.amd\.com|\$\{?\w*ROCM", re.IGNORECASE)
NOT_CUDA_INDEX = re.compile(AMD_INDEX.pattern + r"|/whl/(?:[a-z]+/)?(?:cpu|xpu)\b", re.IGNORECASE)
CPU_TAG = re.compile(r"(?:\+|%2b)(?:cpu|xpu)", re.IGNORECASE)
NOT_CUDA_TAG = re.compile(r"(?:\+|%2b|/)(?:rocm|cpu|xpu)", re.IGNORECASE)
CUDA_TAG = re.compile(r"(?:\+|%2b)(?:cu\d{2,4}|cuda\d+)|/whl/(?:[a-z]+/)?cu\d{2,4}(?:/|\Z)", re.IGNORECASE)
RUNTIME_WHEEL = re.compile(
    r"nvidia-(?:cublas|cuda-(?:runtime|nvrtc|cupti|nvcc|crt|cccl|opencl|profiler-api|sanitizer-api|cuobjdump|nvdisasm|cuxxfilt|nvprof)"
    r"|cudnn|cufft|cufile|curand|cusolver|cusparse|cusparselt|nccl|nvjitlink|nvjpeg|nvtx|nvshmem|nvvm|nvptxcompiler|nvfatbin)(?:-cu\d+)?\Z"
)
SAME_NAME_BUILDS = {"torch": "torch", "torchvision": "torchvision", "torchaudio": "torchaudio", "vllm": "vllm", "tensorflow": "tensorflow"}
CONDA_NAMES = {"pytorch": "torch", "pytorch-gpu": "torch", "torchvision": "torchvision", "torchaudio": "torchaudio"}
AMD_NAMES = (
    ("rocm-placeholder-wheel", re.compile(r"rocm(?:-sdk-(?:core|libraries|devel))?\Z|amd-torch-device-.+\Z")),
    (
        "amd-stub-wheel",
        re.compile(r"amd-(?:hipdf|hipcim|gsplat|dgl|hipmm|hipvs|nerfacc|cupy|lightgbm|monai|libhipmm|libraft|flashinfer)\Z"),
    ),
    ("pytorch-triton-rocm-pin", re.compile(r"(?:pytorch-)?triton-rocm\Z")),
)
EXTRAS = (
    ("jax-cuda-extra", re.compile(r"jax\Z"), re.compile(r"cuda\d*(?:[-_]local)?\Z")),
    ("tensorflow-cuda-extra", re.compile(r"tensorflow\Z|tf-nightly\Z"), re.compile(r"and[-_]cuda\Z")),
    ("spacy-cuda-extra", re.compile(r"spacy\Z|thinc\Z"), re.compile(r"cuda\d*x?[-_a-z]*\d*\Z")),
    ("openmm-cuda-extra", re.compile(r"openmm\Z"), re.compile(r"cuda\d*\Z")),
    ("deepmd-gpu-extra", re.compile(r"deepmd-kit\Z"), re.compile(r"gpu\Z|cu\d+\Z")),
)
OTHER_PROJECTS = frozenset(("cutlass", "deep-ep", "deep-gemm", "flash-mla"))  # on PyPI; the real ones come from their repositories
DEEPSEEK_URL = re.compile(r"github\.com[/:]deepseek-ai/", re.IGNORECASE)
APEX_URL = re.compile(r"github\.com[/:]nvidia/apex", re.IGNORECASE)


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """Hits of the dependency rules in one manifest, container file, script or notebook."""
    needs = [fact for fact in parsed.facts if fact.kind in NEED and fact.live is not Live.NO]
    if needs:
        indexes = [fact for fact in parsed.facts if fact.kind == "index_url"]
        yield from _same_name_builds(parsed.file.kind, needs, indexes)
        yield from _amd_names(parsed.file.kind, needs, indexes)
        yield from _tagged(needs)
        yield from _extras(needs)
        yield from _runtime_wheels(parsed.file.path, needs)


def _same_name_builds(kind: str, needs: list[Fact], indexes: list[Fact]) -> Iterator[Hit]:
    """Packages with one name for both builds, unless the file takes them from another index than the CUDA one."""
    elsewhere = _index_test(kind, indexes, NOT_CUDA_INDEX)
    for_cpu = kind in MANIFESTS and any(fact.name == "torch" and CPU_TAG.search(_said(fact)) for fact in needs)
    cpu_lines = {fact.span.line for fact in needs if fact.name == "cpuonly"}
    for fact in needs:
        if cpu_lines and (kind in MANIFESTS or fact.span.line in cpu_lines):
            continue  # conda's switch for the build without CUDA
        names = CONDA_NAMES if fact.kind == "conda_package" else SAME_NAME_BUILDS
        name = names.get(fact.name)
        served = for_cpu or elsewhere(fact) or NOT_CUDA_TAG.search(_said(fact)) or _for_amd(fact)
        if name and not served and "and-cuda" not in fact.detail.get("extras", ""):
            yield Hit(name, fact.span, _depends(fact), name, live=fact.live, fact_kind=fact.kind)


def _amd_names(kind: str, needs: list[Fact], indexes: list[Fact]) -> Iterator[Hit]:
    """Names that are real on AMD's index only, where the file does not show that index."""
    from_amd = _index_test(kind, indexes, AMD_INDEX)
    for fact in needs:
        rule = next((rule for rule, names in AMD_NAMES if names.match(fact.name)), "")
        served = from_amd(fact) or AMD_INDEX.search(fact.detail.get("url", "")) or _for_amd(fact) or _transitive(fact)
        if rule and fact.kind == "requirement" and not served:
            yield Hit(rule, fact.span, _depends(fact), fact.name, rule, live=fact.live, fact_kind=fact.kind)


def _index_test(kind: str, indexes: list[Fact], wanted: re.Pattern[str]) -> Callable[[Fact], bool]:
    """Whether a need is served by a wanted index: in a manifest any index counts, elsewhere the nearest one."""
    if kind in MANIFESTS:
        anywhere = any(wanted.search(fact.name) for fact in indexes)
        return lambda need: anywhere

    def nearest(need: Fact) -> bool:
        near = min(indexes, key=lambda fact: abs(fact.span.line - need.span.line), default=None)
        return near is not None and abs(near.span.line - need.span.line) <= 8 and bool(wanted.search(near.name))

    return nearest


def _tagged(needs: list[Fact]) -> Iterator[Hit]:
    """Pins of a CUDA build by local version or wheel URL, and NVIDIA's own Apex repository."""
    from_elsewhere = {fact.name for fact in needs if fact.detail.get("url")}
    for fact in needs:
        said = _said(fact)
        if fact.kind == "requirement" and fact.name in OTHER_PROJECTS - from_elsewhere and "://" not in said:
            yield Hit("name-collision-wheel", fact.span, _depends(fact), fact.name, live=fact.live, fact_kind=fact.kind)
        if CUDA_TAG.search(said) and fact.name not in SAME_NAME_BUILDS:  # those have a rule that asks for the other index anyway
            yield Hit("cuda-local-version", fact.span, _depends(fact), fact.name, "cuda-local-version", live=fact.live, fact_kind=fact.kind)
        if fact.name in OTHER_PROJECTS and DEEPSEEK_URL.search(said):
            yield Hit(fact.name, fact.span, _depends(fact), fact.name, fact.name, live=fact.live, fact_kind=fact.kind)
        if fact.name == "apex" and fact.kind == "requirement" and not said.strip():  # whoever means PyPI's apex pins it
            yield Hit("name-collision-wheel", fact.span, _depends(fact), fact.name, live=fact.live, fact_kind=fact.kind)
        if fact.name == "apex" and APEX_URL.search(said):
            yield Hit("apex-repository", fact.span, "installs apex from NVIDIA's repository", "apex", live=fact.live)


def _extras(needs: list[Fact]) -> Iterator[Hit]:
    """Extras that pull a CUDA build: jax[cuda12], tensorflow[and-cuda] and their like."""
    for fact in needs:
        extras = fact.detail.get("extras", "").lower().split(",")
        for rule, package, extra in EXTRAS:
            found = next((name for name in extras if extra.match(name)), "") if package.match(fact.name) else ""
            if found:
                yield Hit(rule, fact.span, f"depends on {fact.name}[{found}]", fact.name, live=fact.live, fact_kind=fact.kind)


def _runtime_wheels(path: str, needs: list[Fact]) -> Iterator[Hit]:
    """NVIDIA's runtime wheels: those a lock file pulled in are one insight a file, those asked for directly one finding."""
    wheels = [fact for fact in needs if fact.kind == "requirement" and RUNTIME_WHEEL.match(fact.name)]
    for rule, chosen in (
        ("nvidia-runtime-wheel", [fact for fact in wheels if not _transitive(fact)]),
        ("nvidia-runtime-wheel-locked", [fact for fact in wheels if _transitive(fact)]),
    ):
        names = list(dict.fromkeys(fact.name for fact in chosen))
        if names:
            others = f" and {len(names) - 1} other NVIDIA runtime wheels" if len(names) > 1 else ""
            related = tuple(Related(path, fact.span.line, fact.name) for fact in chosen[1:MAX_RELATED])
            yield Hit(rule, chosen[0].span, f"pins {names[0]}{others}", "nvidia-*", rule, chosen[0].live, related=related)


def _for_amd(fact: Fact) -> bool:
    """Whether an extra picks the GPU, as in torch[device-gfx942]: only AMD's wheels have such extras."""
    return any(extra.startswith("device-") for extra in fact.detail.get("extras", "").split(","))


def _transitive(fact: Fact) -> bool:
    return bool(fact.detail.get("pinned_by")) or fact.detail.get("locked") == "yes"


def _said(fact: Fact) -> str:
    return fact.detail.get("specifier", "") + " " + fact.detail.get("url", "")


def _depends(fact: Fact) -> str:
    specifier = fact.detail.get("specifier", "")
    return f"depends on {fact.name}" + (f" ({specifier})" if specifier and "$" not in specifier else "")
