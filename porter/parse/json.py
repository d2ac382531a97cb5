"""JSON: models' configuration (quantisation, data types), containers' (Docker daemon, dev containers), and wheels for CUDA by name."""

from __future__ import annotations

import re

from porter.model import Live, SourceFile
from porter.parse import Parsed
from porter.parse.command_line import read_flags
from porter.parse.json_leaves import MAX_LEAVES, Leaf, leaves
from porter.parse.requirement_line import add_requirement
from porter.parse.sheet import Sheet
from porter.parse.shell_words import commands, names

_MODEL_FILES = names(
    "config.json hf_quant_config.json quantize_config.json quantization_config.json quant_config.json generation_config.json "
    "adapter_config.json model_index.json params.json recipe.json"
)
_MODEL_MARKS = tuple(f'"{key}"'.encode() for key in ("quantization_config", "quant_method", "quant_algo", "model_type", "architectures"))
_CONTAINER_FILES = frozenset(("daemon.json", "devcontainer.json", ".devcontainer.json"))
_WHEEL_MARKS = (b"-cu1", b"-cuda1", b"+cu1", b"/cu1")
_WHEEL = re.compile(  # cupy-cuda12x, nvidia-cublas-cu12==12.4.5.8; sys_platform == 'linux', torch==2.7.0+cu126
    r"[A-Za-z][\w.-]{0,60}-(?:cu|cuda)1\d(?:x)?(?:\[[\w,-]{1,40}\])?\s*(?:[=<>!~]=?=?\s*[\w.*+,<>=!~ ]{1,60})?(?:;[^;]{1,200})?\Z"
    r"|[A-Za-z][\w.-]{0,60}\s*==\s*[\w.]{1,30}\+cu1\d{1,2}\s*(?:;[^;]{1,200})?\Z"
)
_WHEEL_INDEX = re.compile(r"(?:--(?:extra-)?index-url[ =])?(https?://[\w./-]{1,100}/whl/(?:\w+/)?cu1\d{1,2}/?)\Z")
MAX_WHEELS = 500
_KEYS = names("quant dtype kv_cache architectures model_type format type backend attn bits plugin engine scheme")


def parse(file: SourceFile) -> Parsed:
    """Facts of a JSON file that configures a model or a container engine."""
    sheet = Sheet(file, "json")
    name = file.path.rsplit("/", 1)[-1]
    if name in _CONTAINER_FILES:
        _container(sheet)
    elif name in _MODEL_FILES or any(mark in file.data[:200_000] for mark in _MODEL_MARKS):
        for leaf in _leaves(sheet):
            if any(key in leaf.path.lower() for key in _KEYS) and len(leaf.value) <= 120:
                sheet.add("model_key", f"{leaf.path}={leaf.value}", leaf.start, leaf.end, context="host", value=leaf.value)
    elif any(mark in file.data for mark in _WHEEL_MARKS):
        _wheels(sheet)
    return sheet.parsed


def _wheels(sheet: Sheet) -> None:
    """Strings that are the name of a wheel built for CUDA: a list for pip in the settings of a job, an app, an image."""
    told = 0
    for leaf in _leaves(sheet):
        index, wheel = _WHEEL_INDEX.match(leaf.value), _WHEEL.match(leaf.value)
        if index:
            sheet.add("index_url", index[1], leaf.start, leaf.end)
        elif wheel:
            add_requirement(sheet, leaf.value, leaf.start, leaf.end)
        told += 1 if index or wheel else 0
        if told >= MAX_WHEELS:
            sheet.problem(leaf.end, f"{MAX_WHEELS:,} wheels for CUDA; the rest was not read")
            return


def _leaves(sheet: Sheet) -> list[Leaf]:
    found, problem = leaves(sheet.text)
    if problem >= 0:
        sheet.problem(problem, "not valid JSON; what follows was not read")
    elif len(found) >= MAX_LEAVES:
        sheet.problem(found[-1].start, f"more than {MAX_LEAVES:,} values; the rest was not read")
    return found


def _container(sheet: Sheet) -> None:
    for leaf in _leaves(sheet):
        sheet.add("manifest_key", f"{leaf.path}={leaf.value}", leaf.start, leaf.end, context="host", value=leaf.value)
        if leaf.path in ("image", "build.image"):
            sheet.add("image", leaf.value, leaf.start, leaf.end, context="host")
        elif leaf.path == "runArgs":
            inner = commands(sheet.text, leaf.start + 1, leaf.end - 1)
            read_flags(sheet, "docker run", [word for command in inner for word in command.words], Live.YES)
        elif leaf.path.startswith(("containerEnv.", "remoteEnv.")):
            variable = leaf.path.partition(".")[2]
            sheet.add("env_var", variable, leaf.start, leaf.end, context="host", value=leaf.value, access="set")
