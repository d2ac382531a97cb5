"""Sizes in the report: models that the repository serves, models that the user names, and no section where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from porter import pipeline
from porter.cli import main
from porter.config import Config
from porter.render import html
from porter.size import answers, known
from porter.size import repository as models

ROOT = Path(__file__).resolve().parent.parent
SERVE = "#!/bin/sh\nvllm serve meta-llama/Llama-3.1-70B-Instruct --max-model-len 32768 --tensor-parallel-size 4\n"


def sizing(folder: Path, *words: str) -> dict[str, object] | None:
    out = folder.parent / "report.json"
    result = CliRunner().invoke(main, ["scan", str(folder), "--jobs", "0", "--no-cache", "-q", "--output", str(out), *words])
    assert result.exit_code == 0, result.output
    found: dict[str, object] | None = json.loads(out.read_text()).get("sizing")
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "main.py").write_text("import torch\n")
    return folder


def test_a_served_model_is_sized_with_the_context_that_its_command_allows(repository: Path) -> None:
    (repository / "serve.sh").write_text(SERVE)
    found = sizing(repository)
    assert found is not None
    (model,) = found["models"]  # type: ignore[misc]
    assert (model["context"], model["asked_tensor"], model["where"]) == (32768, 4, "serve.sh:2")
    assert model["weights_gb"] == pytest.approx(141, rel=0.01)
    assert {fit["gpu"]: fit["gpus"] for fit in model["fits"]}["MI355X"] == 1


def test_a_model_of_the_users_has_the_users_prices(repository: Path) -> None:
    found = sizing(repository, "--model", "deepseek-ai/DeepSeek-V3", "--prices", str(ROOT / "docs" / "prices.example.toml"))
    assert found is not None
    (model,) = found["models"]  # type: ignore[misc]
    costs = {fit["gpu"]: fit["gpu_hour"] for fit in model["fits"] if fit["gpu_hour"]}
    assert costs["MI355X"] == pytest.approx(19900 / 8 / 730)
    assert model["currency"] == "USD"


def test_a_model_in_vendored_code_is_none_of_the_repositorys(repository: Path) -> None:
    (repository / "third_party").mkdir()
    (repository / "third_party" / "serve.sh").write_text(SERVE)
    assert sizing(repository) is None


@pytest.mark.parametrize(
    ("words", "said"), [(["--model", "no/such"], "--model no/such"), (["--prices", "gone.toml"], "--prices gone.toml")]
)
def test_what_cannot_be_sized_is_refused_before_the_audit(repository: Path, words: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["scan", str(repository), *words])
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert said in result.output


@pytest.mark.parametrize(
    ("name", "dtype", "weights"),
    [
        ("nvidia/Llama-3.1-8B-Instruct-NVFP4", "nvfp4", 4.52),
        ("nvidia/Llama-3.1-405B-Instruct-FP4", "nvfp4", 228.3),
        ("RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8-dynamic", "fp8", 70.6),
        ("somebody/Llama-3.1-8B-Instruct-GPTQ-Int8", "int8", 8.03),
        ("Qwen/Qwen2.5-72B-Instruct-AWQ", "awq", 37.8),
        ("amd/Llama-3.3-70B-Instruct-MXFP4", "mxfp4", 37.5),
    ],
)
def test_a_quantised_upload_is_sized_by_the_model_and_the_format_of_its_name(name: str, dtype: str, weights: float) -> None:
    shape = known.find(name, known.models())
    assert shape is not None and shape.format.name == dtype and shape.weight_bytes / 1e9 == pytest.approx(weights, rel=0.01)
    assert any("by its name" in note for note in shape.notes)
    assert (
        known.find("somebody/Else-8B-FP8", known.models()) is None and known.find("deepseek-ai/DeepSeek-V3-NVFP4", known.models()) is None
    )


def test_porter_size_takes_a_public_name_and_says_what_it_does_not_know() -> None:
    for name in ("meta-llama/Llama-3.1-70B-Instruct", "Llama-3.1-70B"):
        done = CliRunner().invoke(main, ["size", name, "--format", "json"])
        assert done.exit_code == 0 and json.loads(done.output)["weights_gb"] == pytest.approx(141.1, rel=0.01)
    refused = CliRunner().invoke(main, ["size", "nobody/nothing"])
    assert refused.exit_code == 2 and "no public model that porter knows" in refused.output and "meta-llama" in refused.output


def test_a_throughput_without_a_price_is_named() -> None:
    prices = str(Path(__file__).parent.parent / "docs/prices.example.toml")
    options = ["size", "Qwen/Qwen3-32B", "--prices", prices, "--throughput", "MI300X=900", "--throughput", "MI355X=900"]
    done = CliRunner().invoke(main, options)
    assert done.exit_code == 0 and "no price of MI300X in the price file" in done.output
    assert done.output.count("free GB is before the reserve") == 1


def test_the_report_does_not_call_a_sum_without_the_reserve_one_with_it(tmp_path: Path) -> None:
    """141.1 + 2.7 GB was called 144 GB "with 10 % for activations", and is not."""
    (tmp_path / "a.py").write_text("print(1)\n")
    text = html.render(pipeline.audit(tmp_path, Config(jobs=0, models=("meta-llama/Llama-3.1-70B-Instruct",))))
    assert "Sum; 10 % of each GPU stays free besides" in text and ">144 GB<" in text


def test_a_folder_of_the_repository_goes_before_a_public_name(tmp_path: Path) -> None:
    """The name of the folder ends like a quantised upload; its own config.json knows better."""
    own = {"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}
    folder = tmp_path / "models/Qwen3-8B-FP8"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(own | {"num_key_value_heads": 4, "intermediate_size": 128, "model_type": "llama"}))
    (tmp_path / "run.sh").write_text("vllm serve models/Qwen3-8B-FP8\n")
    found = models.look(tmp_path).found
    assert [one.where for one in found][-1] == "run.sh:1" and found[-1].shape.params < 1e6


def test_the_report_has_the_cost_of_an_hour_and_of_tokens_and_leaves_what_the_command_leaves(repository: Path, tmp_path: Path) -> None:
    """Costs of a GPU-hour and of tokens stood in porter size alone, and the share of memory in a command was passed over."""
    (repository / "serve.sh").write_text(SERVE.replace("--max-model-len", "--gpu-memory-utilization 0.97 --max-model-len"))
    page = tmp_path / "report.html"
    prices = ("--prices", str(ROOT / "docs" / "prices.example.toml"), "--throughput", "MI355X=2400", "--output", str(page))
    found = sizing(repository, *prices)
    assert found is not None
    (model,) = found["models"]  # type: ignore[misc]
    assert model["reserve_share"] == pytest.approx(0.03) and any("97 % of each GPU" in note["text"] for note in model["advice"])
    costs = {fit["gpu"]: fit["million_tokens"] for fit in model["fits"]}
    assert costs["MI355X"] == pytest.approx(19900 / 8 / 730 / (2400 * 3600) * 1e6) and costs["H200"] is None
    text = page.read_text()
    assert (
        "USD a GPU-hour" in text
        and "USD a million tokens" in text
        and "3 % of each GPU stays free" in text.replace("\xa0", " ").replace("3%", "3 %")
    )
    assert "USD" not in (text if sizing(repository, "--output", str(page)) is None else page.read_text())


@pytest.mark.parametrize(
    ("value", "share"), [("0.9", 0.1), (".85", 0.15), ("1.0", 0.0), ("1", 0.0), ("90", 0.1), ("$SHARE", 0.1), ("0", 0.1)]
)
def test_only_a_share_that_a_server_takes_sets_the_reserve(tmp_path: Path, value: str, share: float) -> None:
    (tmp_path / "run.sh").write_text(
        f"python -m sglang.launch_server --model-path Qwen/Qwen2.5-72B-Instruct --mem-fraction-static {value}\n"
    )
    found, _ = answers.find(tmp_path, answers.Given())
    (made,) = answers.make(found, answers.Given())
    assert made.load.reserve_share == pytest.approx(share)
    (given,) = answers.make(found, answers.Given(reserve_share=0.2))
    assert given.load.reserve_share == 0.2 and not any("gives" in note.text for note in given.advice)
