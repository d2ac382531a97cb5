"""porter size: known answers, public models, arithmetic of layouts, prices, and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from porter import cli
from porter.errors import ConfigError, InputError
from porter.size import config_json, hardware, known, prices
from porter.size.dtypes import dtype_of
from porter.size.fit import Load, fit, need
from porter.size.shape import Cache, Shape

ROOT = Path(__file__).parent.parent
MODELS = ROOT / "fixtures" / "models"
GPUS = {gpu.gpu: gpu for gpu in hardware.load()}
LLAMA_70B = ("--params", "70e9", "--layers", "80", "--kv-heads", "8", "--head-dim", "128", "--dtype", "bf16", "--kv-dtype", "bf16")

# Parameters as counted in the published checkpoints (safetensors headers, or the sum that the makers state), not by porter's formula.
PUBLISHED = {
    "llama-2-7b": 6_738_415_616, "llama-2-70b": 68_976_648_192, "llama-3.1-8b": 8_030_261_248, "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800, "llama-3.2-1b": 1_235_814_400, "mistral-7b-v0.1": 7_241_732_096, "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_630_071_296, "qwen2.5-7b": 7_615_616_512, "qwen2.5-72b": 72_706_203_648, "qwen3-8b": 8_190_735_360,
    "qwen3-32b": 32_762_123_264, "qwen3-30b-a3b": 30_532_122_624, "qwen3-235b-a22b": 235_093_634_560, "deepseek-v3": 671_026_419_200,
    "deepseek-v3-bf16": 671_026_419_200, "gemma-2-9b": 9_241_705_984, "gemma-2-27b": 27_227_128_320, "gemma-3-27b": 27_009_346_304,
    "phi-3-mini-4k": 3_821_079_552, "phi-4": 14_659_507_200, "gpt-oss-20b": 20_914_757_184, "gpt-oss-120b": 116_829_156_672,
    "command-r-v01": 35_000_000_000,  # rounded by its makers
}  # fmt: skip
# Bytes a token, by hand: 2 x layers x KV heads x head size x 2, and for DeepSeek layers x (512 + 64) x 2.
KV_BYTES = {
    "llama-2-7b": 2 * 32 * 32 * 128 * 2, "llama-3.1-70b": 2 * 80 * 8 * 128 * 2, "llama-3.1-405b": 2 * 126 * 8 * 128 * 2,
    "qwen3-235b-a22b": 2 * 94 * 4 * 128 * 2, "deepseek-v3": 61 * 576 * 2, "gemma-2-9b": 2 * 42 * 8 * 256 * 2,
    "phi-4": 2 * 40 * 10 * 128 * 2,
    "gpt-oss-120b": 2 * 36 * 8 * 64 * 2, "falcon-40b": 2 * 60 * 8 * 64 * 2, "command-r-v01": 2 * 40 * 64 * 128 * 2,
}  # fmt: skip


def run(*words: str) -> Result:
    return CliRunner().invoke(cli.main, ["size", *words])


def sized(*words: str) -> dict[str, Any]:
    result = run(*words, "--format", "json")
    assert result.exit_code == 0, result.output
    table: dict[str, Any] = json.loads(result.stdout)
    return table


def row(table: dict[str, Any], gpu: str) -> dict[str, Any]:
    return next(fit for fit in table["fit"] if fit["gpu"] == gpu)


def test_70b_in_bf16_fits_one_mi355x_with_128k_tokens() -> None:
    table = sized(*LLAMA_70B, "--context", "131072", "--concurrency", "1")
    assert list(table)[:5] == ["weights_gb", "kv_mb_per_token", "kv_gb", "total_gb", "fit"]
    assert list(table["fit"][0])[:4] == ["gpu", "gpus_needed", "replicas_per_server", "free_gb"]
    assert table["weights_gb"] == 140
    assert table["kv_mb_per_token"] == pytest.approx(0.32768)
    assert table["kv_gb"] == pytest.approx(42.95, abs=0.01)
    assert table["total_gb"] == pytest.approx(182.95, abs=0.01)
    one = row(table, "MI355X")
    assert (one["gpus_needed"], one["replicas_per_server"]) == (1, 8)
    assert one["free_gb"] == pytest.approx(288 - 182.95, abs=0.01)
    assert row(table, "H100")["gpus_needed"] == 4  # 2 x 80 is not enough


@pytest.mark.parametrize(
    ("dtype", "weights", "gpus", "free"),
    [("bf16", 810, 4, 4 * 288 - 810), ("fp8", 405, 2, 2 * 288 - 405), ("mxfp4", 215.16, 1, 72.84), ("nvfp4", 227.81, 1, 60.19)],
)
def test_405b_by_format(dtype: str, weights: float, gpus: int, free: float) -> None:
    table = sized("--params", "405e9", "--dtype", dtype)
    assert table["weights_gb"] == pytest.approx(weights, abs=0.01)
    assert row(table, "MI355X")["gpus_needed"] == gpus
    assert row(table, "MI355X")["free_gb"] == pytest.approx(free, abs=0.01)


@pytest.mark.parametrize(("name", "gpus"), [("deepseek-v3", 4), ("deepseek-v3-bf16", 8)])
def test_deepseek_v3_fits_one_server_of_eight_mi355x(name: str, gpus: int) -> None:
    table = sized(str(MODELS / name / "config.json"))
    assert row(table, "MI355X")["gpus_needed"] == gpus
    assert row(table, "MI355X")["memory_gb"] * table["gpus_per_server"] == 2304
    assert table["kv_mb_per_token"] == pytest.approx(0.070272)


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_parameters_of_public_models(name: str) -> None:
    shape = config_json.read(MODELS / name / "config.json")
    assert shape.params == pytest.approx(PUBLISHED[name], rel=0.01 if name == "command-r-v01" else 0)
    if shape.quantised is None:
        assert shape.weight_bytes == 2 * shape.params


@pytest.mark.parametrize("name", sorted(KV_BYTES))
def test_cache_of_public_models(name: str) -> None:
    shape = config_json.read(MODELS / name / "config.json")
    assert shape.cache.values * shape.kv_dtype.bytes == KV_BYTES[name]


@pytest.mark.parametrize(("name", "gib"), [("gpt-oss-20b", 12.8), ("gpt-oss-120b", 60.8)])
def test_mxfp4_checkpoints_weigh_what_their_model_card_says(name: str, gib: float) -> None:
    assert config_json.read(MODELS / name / "config.json").weight_bytes / 2**30 == pytest.approx(gib, rel=0.01)


def test_twenty_public_models_and_the_table_of_names_agree_with_their_configs() -> None:
    assert len(list(MODELS.glob("*/config.json"))) >= 20
    by_name = known.models()
    for name, fixture in (("deepseek-ai/deepseek-r1", "deepseek-v3"), ("meta-llama/llama-3.3-70b-instruct", "llama-3.1-70b")):
        assert by_name[name].params == PUBLISHED[fixture]
    for table in known.tomllib.loads((ROOT / "rules/hardware/models/known.toml").read_text())["model"]:
        shape, listed = config_json.read(MODELS / table["fixture"] / "config.json"), by_name[table["names"][0].lower()]
        assert (listed.params, listed.cache, listed.heads, listed.max_context) == (
            shape.params,
            shape.cache,
            shape.heads,
            shape.max_context,
        )
        assert listed.weight_bytes == round(shape.weight_bytes)
        assert (listed.dtype.family, listed.kv_dtype) == (shape.format.family, shape.kv_dtype)


@pytest.mark.parametrize(
    ("name", "bits"),
    [("bf16", 16), ("fp8", 8), ("int8", 8), ("mxfp4", 4.25), ("mxfp6", 6.25), ("nvfp4", 4.5), ("int4", 4.125), ("gptq", 4.15625)],
)
def test_bits_with_their_scales(name: str, bits: float) -> None:
    assert dtype_of(name).bits == bits


def test_heads_limit_tensor_parallelism() -> None:
    qwen = sized(str(MODELS / "qwen2.5-7b"), "--params", "700B", "--dtype", "bf16")  # 28 heads: 8 does not divide, 4 does
    eight = row(qwen, "MI355X")
    assert (eight["gpus_needed"], eight["tensor_parallel"], eight["pipeline_parallel"]) == (8, 4, 2)
    assert any("28 query heads" in advice["text"] for advice in qwen["advice"])


def test_repeated_kv_heads_take_memory_for_every_copy() -> None:
    shape = Shape("wide", 300 * 10**9, cache=Cache(layers=80, kv_heads=2, head_dim=128), heads=64)
    load = Load(context=131_072, concurrency=8)
    sizes = need(shape, load)
    four = fit(shape, load, sizes, GPUS["MI355X"])
    assert (four.gpus, four.tensor, four.copies) == (4, 4, 2)
    assert four.free_gb == pytest.approx(4 * 288 - 600 - 2 * sizes.kv_gb)


def test_a_latent_cache_is_on_every_rank() -> None:
    table = sized(str(MODELS / "deepseek-v3"), "--context", "128K", "--concurrency", "16")
    eight = row(table, "MI355X")
    assert (eight["gpus_needed"], eight["kv_copies"]) == (8, 8)
    assert eight["free_gb"] == pytest.approx(2304 - table["weights_gb"] - 8 * table["kv_gb"], abs=0.1)


def test_one_mi250x_is_two_devices() -> None:
    one = row(sized(*LLAMA_70B, "--dtype", "fp8", "--context", "8K"), "MI250X")
    assert (one["gpus_needed"], one["tensor_parallel"], one["replicas_per_server"]) == (1, 2, 8)


def test_more_work_never_needs_fewer_gpus() -> None:
    shape = config_json.read(MODELS / "llama-3.1-70b" / "config.json")
    for gpu in GPUS.values():
        before = 0
        for concurrency in (1, 4, 16, 64, 256):
            load = Load(context=32_768, concurrency=concurrency)
            gpus = fit(shape, load, need(shape, load), gpu).gpus
            assert gpus >= before > -1
            before = gpus


def test_windows_are_told_and_the_full_cache_is_counted() -> None:
    table = sized(str(MODELS / "gpt-oss-120b"), "--context", "128K")
    assert table["kv_gb"] == pytest.approx(36 * 1024 * 2 * 131_072 / 1e9, rel=0.001)
    assert table["kv_gb_windowed"] == pytest.approx(table["kv_gb"] / 2, rel=0.01)


def test_reserve_decides_what_fits() -> None:
    assert row(sized("--params", "140B", "--dtype", "bf16"), "MI355X")["gpus_needed"] == 2  # 280 GB of 288 leave no tenth
    assert row(sized("--params", "140B", "--dtype", "bf16", "--reserve", "2%"), "MI355X")["gpus_needed"] == 1
    assert row(sized("--params", "140B", "--dtype", "bf16", "--reserve", "8GB"), "MI355X")["gpus_needed"] == 1
    assert row(sized("--params", "140B", "--dtype", "bf16", "--reserve", "9GB"), "MI355X")["gpus_needed"] == 2


def test_prices_give_costs_of_hours_memory_and_tokens(tmp_path: Path) -> None:
    table = sized(*LLAMA_70B, "--prices", str(ROOT / "docs/prices.example.toml"), "--throughput", "MI355X=2500")
    cost = row(table, "MI355X")["cost"]
    assert cost["gpu_hour"] == pytest.approx(19_900 / 8 / 730, abs=1e-4)
    assert cost["gb_month"] == pytest.approx(19_900 / 2304, abs=1e-4)
    assert cost["million_tokens"] == pytest.approx(19_900 / 8 / 730 / (2500 * 3600) * 1e6, abs=1e-4)
    assert row(table, "B200")["cost"]["million_tokens"] is None
    assert "cost" not in row(table, "MI300X")
    four = sized("--params", "405B", "--dtype", "bf16", "--prices", str(ROOT / "docs/prices.example.toml"), "--throughput", "1000")
    assert row(four, "MI355X")["cost"]["million_tokens"] == pytest.approx(4 * 19_900 / 8 / 730 / (1000 * 3600) * 1e6, abs=1e-4)
    sheet = tmp_path / "prices.csv"
    sheet.write_text("gpu,month\nmi355x,19900\n\n# ours\nB200,34900\n")
    assert prices.read(sheet, tuple(GPUS.values())).monthly == {"MI355X": 19_900, "B200": 34_900}


def test_says_where_nvidia_stays_the_better_choice() -> None:
    def sides(*words: str) -> list[str]:
        return [advice["text"][:5] for advice in sized(*words)["advice"] if advice["side"] == "nvidia"]

    assert sides("--params", "8B", "--dtype", "bf16") == ["small"]
    assert sides("--params", "405B", "--dtype", "nvfp4") == ["NVFP4"]
    assert sides("--params", "2T", "--dtype", "bf16") == ["one s"]
    assert sides("--params", "405B", "--dtype", "bf16") == []


def test_rows_nobody_checked_are_printed_as_such() -> None:
    page = run("--params", "70B").stdout
    assert "AMD MI455X [unverified]" in page
    assert "NVIDIA H100 [unverified]" in page
    assert "MI355X [unverified]" not in page
    for gpu in GPUS.values():
        assert gpu.source[0].url.startswith("https://")
        assert gpu.source[0].checked == "2026-12-01"


def test_models_that_a_repository_serves(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(
        "MODEL=meta-llama/Llama-3.1-70B-Instruct\n"
        "vllm serve $MODEL --tensor-parallel-size 4 --max-model-len 32768 --kv-cache-dtype fp8 --max-num-seqs=64\n"
        "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --context-length 8192\n"
        "vllm serve example/unknown-model\n"
        "echo vllm serve openai/gpt-oss-20b\n"
    )
    (tmp_path / "compose.yaml").write_text(
        'services:\n  a:\n    image: vllm/vllm-openai:v0.9\n    command: ["--model", "Qwen/Qwen3-32B", "--max-model-len", "16384"]\n'
    )
    table = sized(str(tmp_path))
    names = [model["model"] for model in table["models"]]
    assert names == ["deepseek-ai/DeepSeek-V3", "meta-llama/Llama-3.1-70B-Instruct", "Qwen/Qwen3-32B"]
    assert table["not_sized"] == ["run.sh:4: example/unknown-model"]
    llama = table["models"][1]
    assert (llama["where"], llama["context"], llama["kv_dtype"]) == ("run.sh:2", 32768, "fp8")
    assert llama["kv_gb"] == pytest.approx(2 * 80 * 8 * 128 * 32768 / 1e9, abs=0.001)
    assert any("64 sequences" in advice["text"] for advice in llama["advice"])
    assert "the command asks for tensor parallel 4" in run(str(tmp_path)).stdout


def test_engines_that_python_makes(tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text(
        "import vllm\nimport sglang as sgl\nfrom vllm import LLM\n"
        'llm = LLM(model="Qwen/Qwen3-32B", tensor_parallel_size=2, max_model_len=4096, quantization="fp8")\n'
        'other = vllm.LLM("meta-llama/Llama-3.1-8B")\n'
        'engine = sgl.Engine(model_path="openai/gpt-oss-120b", tp_size=8)\n'
        'note = "LLM(model=deepseek-ai/DeepSeek-V3)"\n'
    )
    table = sized(str(tmp_path))
    assert [(model["model"], model["where"]) for model in table["models"]] == [
        ("openai/gpt-oss-120b", "serve.py:6"), ("Qwen/Qwen3-32B", "serve.py:4"), ("meta-llama/Llama-3.1-8B", "serve.py:5"),
    ]  # fmt: skip
    qwen = table["models"][1]
    assert (qwen["context"], qwen["dtype"], round(qwen["weights_gb"], 1)) == (4096, "fp8", 32.8)


def test_options_size_a_repository_whose_model_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("vllm serve example/own-model\n")
    assert run(str(tmp_path)).exit_code == 2
    table = sized(str(tmp_path), "--params", "13B", "--dtype", "bf16")
    assert (table["weights_gb"], table["not_sized"]) == (26, ["run.sh:1: example/own-model"])


def test_the_default_context_is_never_more_than_the_model_s() -> None:
    assert sized(str(MODELS / "llama-2-7b"))["context"] == 4096
    assert sized(str(MODELS / "llama-3.1-8b"))["context"] == 8192


def test_the_index_of_a_checkpoint_says_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((MODELS / "qwen3-8b" / "config.json").read_bytes())
    (tmp_path / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 16381470720}}')
    assert sized(str(tmp_path))["weights_gb"] == pytest.approx(16.381, abs=0.001)
    assert sized(str(tmp_path), "--dtype", "fp8")["weights_gb"] == pytest.approx(8.191, abs=0.001)


@pytest.mark.parametrize(
    ("settings", "name", "bits"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "gptq", 4 + 20 / 32),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "awq", 4.15625),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}}, "fp8", 8),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4", 4.5),
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4"}}}, "mxfp4", 4.25),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4", 4.5),
    ],
)
def test_quantised_checkpoints(tmp_path: Path, settings: dict[str, Any], name: str, bits: float) -> None:
    table = json.loads((MODELS / "llama-3.1-70b" / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(table | {"quantization_config": settings}))
    shape = config_json.read(tmp_path / "config.json")
    assert shape.quantised is not None
    assert (shape.format.name, shape.format.bits) == (name, bits)
    kept = 2 * 128_256 * 8192 + 161 * 8192  # embedding, output layer, norms
    assert shape.weight_bytes == (shape.params - kept) * bits / 8 + kept * 2


@pytest.mark.parametrize(
    "words",
    [
        (), ("--params", "x"), ("--params", "-3"), ("--params", "1e99"), ("--params", "70B", "--dtype", "fp5"),
        ("--params", "70B", "--context", "0"),
        ("--params", "70B", "--layers", "80"), ("--params", "70B", "--concurrency", "many"), ("--params", "70B", "--reserve", "100%"),
        ("--params", "70B", "--reserve", "some"), ("--params", "70B", "--prices", "nowhere.toml"), ("--params", "70B", "--throughput", "5"),
        ("nowhere",), ("pyproject.toml",), ("--params", "70B", "--prices", "docs/prices.example.toml", "--throughput", "TPU=4"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = run(*words)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("porter: ")
    assert result.stdout == ""


@pytest.mark.parametrize(
    "text",
    [
        "{}", "[]", "nonsense", "[" * 100_000, '{"num_hidden_layers": -1, "hidden_size": 8, "num_attention_heads": 2, "vocab_size": 9}',
        '{"num_hidden_layers": 1e9}', '{"hidden_size": true}', '{"model_type": "bert"}', '{"model_type": "t5", "is_encoder_decoder": true}',
        '{"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "vocab_size": 9, "quantization_config": {"bits": 4}}',
        '{"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "vocab_size": 9, "torch_dtype": "posit8"}',
    ],
)  # fmt: skip
def test_a_bad_config_is_an_input_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(InputError):
        config_json.read(path)


@pytest.mark.parametrize(
    "text", ["[monthly_per_server]\nMI355X = -1", "[monthly_per_server]\nTPU = 5", "x", "[monthly_per_server]\nMI355X = nan"]
)
def test_bad_prices_are_a_config_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        prices.read(path, tuple(GPUS.values()))


def test_a_checkpoint_may_ask_for_an_fp8_cache(tmp_path: Path) -> None:
    table = json.loads((MODELS / "llama-3.1-70b" / "config.json").read_text())
    scheme = {"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    (tmp_path / "config.json").write_text(json.dumps(table | {"quantization_config": scheme}))
    assert sized(str(tmp_path))["kv_mb_per_token"] == pytest.approx(0.16384)
    assert sized(str(tmp_path), "--kv-dtype", "bf16")["kv_mb_per_token"] == pytest.approx(0.32768)


def test_vendored_models_are_nobody_s(tmp_path: Path) -> None:
    folder = tmp_path / "third_party" / "engine"
    folder.mkdir(parents=True)
    (folder / "run.sh").write_text("vllm serve Qwen/Qwen3-32B\n")
    assert run(str(tmp_path)).exit_code == 2


def test_names_from_files_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    table = json.loads((MODELS / "llama-3.1-8b" / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(table | {"_name_or_path": "a\x1b[2Jb", "model_type": "\x1b]0;x"}))
    assert "\x1b" not in run(str(tmp_path)).stdout


def test_a_family_nobody_tested_is_told(tmp_path: Path) -> None:
    table = json.loads((MODELS / "llama-3.1-8b" / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(table | {"model_type": "newcomer"}))
    assert any("newcomer" in note for note in config_json.read(tmp_path / "config.json").notes)
