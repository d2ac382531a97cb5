"""Where NVIDIA hardware stays the better choice: each of the five conditions, and none where nothing speaks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import scanned

from porter import pipeline
from porter.config import Config
from porter.model import Report
from porter.render import html, json, markdown

REPOS = Path(__file__).parent.parent / "fixtures/repos"
SERVICE = "services:\n  s:\n    image: vllm/vllm-openai:v0.11.0\n    command: [--model, nvidia/A-NVFP4]\n"


def sided(report: Report) -> dict[str, str]:
    """Side by the first word of each note."""
    return {note.text.split(":")[0].split(" ")[0]: note.side for note in report.nvidia if note.side}


@pytest.mark.parametrize(
    ("files", "models", "word", "side"),
    [
        ({"serve_DOT_py": "import tensorrt_llm\ntensorrt_llm.LLM(model='x')\n"}, (), "Components", "nvidia"),
        ({"compose_DOT_yaml": SERVICE}, (), "NVFP4", "nvidia"),
        ({"requirements_DOT_txt": "deepspeed==0.17.0\n"}, (), "Interconnect", "measure"),
        ({"requirements_DOT_txt": "torch\n", "job_DOT_sh": "export NCCL_DEBUG=INFO\ntorchrun train.py\n"}, (), "Interconnect", "measure"),
        ({"a_DOT_py": "print(1)\n"}, ("meta-llama/Llama-3.1-8B-Instruct",), "Small", "nvidia"),
        ({"serve_DOT_sh": "vllm serve big/model --tensor-parallel-size 16\n"}, (), "Domain", "nvidia"),
    ],
)  # fmt: skip
def test_each_condition_is_said_where_it_holds(
    tmp_path: Path, files: dict[str, str], models: tuple[str, ...], word: str, side: str
) -> None:
    assert sided(scanned(tmp_path, models, **files)) == {word: side}


def test_a_library_with_a_build_for_rocm_is_no_reason_to_stay(tmp_path: Path) -> None:
    """From sixteen hours on it was named as one, though its other build takes the place of this one."""
    uses = "import pyflamegpu\nmodel = pyflamegpu.ModelDescription('x')\n" + "model.step(1)\n" * 200
    report = scanned(tmp_path, **{f"sim{i}_DOT_py": uses for i in range(30)})
    assert sum(one.effort_hours.likely for one in report.findings if one.rule == "flamegpu") >= 16
    assert "Components" not in sided(report)


def test_a_report_says_what_was_not_found_and_every_format_carries_it(tmp_path: Path) -> None:
    report = pipeline.audit(REPOS / "pure-torch", Config(jobs=0))
    assert [note.side for note in report.nvidia] == [""] and "small models are not judged" in report.nvidia[0].text
    for text in (html.render(report), json.render(report), markdown.render(report)):
        assert "Nothing of this kind was found here" in text
    assert scanned(tmp_path, a_DOT_py="print(1)\n").nvidia == ()


def test_the_markdown_report_is_the_whole_assessment() -> None:
    """It ended at findings and hours: no way, no GPU and no runbook."""
    text = markdown.render(pipeline.audit(REPOS / "hpc-cmake", Config(jobs=0)))
    assert "## Strategies" in text and "**Recommended:" in text and "## Runbook" in text and "- [ ] **Record the baseline" in text
    assert "  ```sh\n  git rev-parse HEAD" in text and text.count("```") % 2 == 0


def test_a_program_served_by_closed_images_does_not_run_as_it_is(tmp_path: Path) -> None:
    """Only libraries that the code imports were looked at: a compose file of NIM images was told to run as it is."""
    images = "services:\n" + "".join(f"  s{i}:\n    image: nvcr.io/nim/meta/llama-3.1-{i}b-instruct:1.8\n" for i in (8, 70))
    ci = "on: push\njobs:\n  t:\n    runs-on: arc-runners-org-nvidia-ai-bp-2-gpu\n    steps:\n      - run: pytest\n"
    report = scanned(tmp_path, compose_DOT_yaml=images, app_DOT_py="print(1)\n", _DOT_github__workflows__t_DOT_yml=ci)
    best = report.strategies[0]
    assert best.id == "library" and best.name.startswith("Another library or server") and "NIM" in best.reason
    assert sided(report)["Components"] == "nvidia"
    lines = {line.label: line for line in report.estimate.lines}
    assert "same decision" in lines["CI with an AMD GPU runner"].arithmetic  # the runner was paid twice
    steps = {step.id: step for step in report.runbook}
    assert "build" not in steps and steps["ci"].rules == ("ci-nvidia-runner",)


@pytest.mark.parametrize(
    ("name", "text", "way"),
    [
        ("requirements_DOT_txt", "ai-dynamo==0.4.0\n", "library"),  # parts of it run on ROCm, and what stands on it is designed again
        ("Dockerfile", "FROM nvcr.io/nvidia/tritonserver:25.01-py3\n", "run-as-is"),  # a version for ROCm, of 17 hours
    ],
)
def test_the_way_does_not_contradict_what_stays(tmp_path: Path, name: str, text: str, way: str) -> None:
    """That nothing it stands on asks for another design, or takes 16 h or more to replace, stood above a component of 24 hours."""
    report = scanned(tmp_path, **{name: text})
    assert sided(report) == {"Components": "nvidia"} and report.strategies[0].id == way
    assert not any("nothing it stands on" in one.why for one in report.strategies)


def test_a_project_that_builds_for_amd_is_not_translated_again() -> None:
    steps = {step.id: step for step in pipeline.audit(REPOS / "half-ported", Config(jobs=0)).runbook}
    assert "translate" not in steps and all("hipify" not in command for step in steps.values() for command in step.commands)


def test_what_asks_for_another_design_is_replaced_first_however_few_lines_call_it(tmp_path: Path) -> None:
    """Twelve hours were under the limit of sixteen, so a back end of TensorRT-LLM was told to run as it is."""
    report = scanned(tmp_path, requirements_DOT_txt="tensorrt-llm==1.0.0\n", app_DOT_py="print(1)\n")
    assert report.strategies[0].id == "library" and "vLLM or SGLang" in report.strategies[0].reason
    cuml = scanned(tmp_path / "cuml", a_DOT_py="import cuml\ncuml.KMeans()\n")
    assert any("no equivalent, nearest" in note.text for note in cuml.nvidia)
