"""Public models by name: rules/hardware/models/known.toml, for serving commands that name a model whose config.json is elsewhere."""

from __future__ import annotations

import datetime
import re
import tomllib

import msgspec

from porter.errors import RuleError
from porter.rules import rules_folder
from porter.size.dtypes import dtype_of
from porter.size.shape import Cache, Shape

# How uploads of quantised versions end; NVIDIA's -FP4 are NVFP4.
_QUANTISED = re.compile(r"[-_.](NVFP4|MXFP4|FP4|FP8|AWQ|GPTQ|INT8|INT4|W8A8|W4A16)(?:[-_](dynamic|block|KV|INT4|INT8))?\Z", re.IGNORECASE)
_FORMATS = {"fp4": "nvfp4"}


class _Model(msgspec.Struct, forbid_unknown_fields=True):
    fixture: str
    names: tuple[str, ...]
    params: int
    published: str
    format: str
    weight_bytes: int
    kv_dtype: str
    heads: int
    max_context: int
    cache: Cache
    url: str
    checked: datetime.date


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    model: tuple[_Model, ...]


def models() -> dict[str, Shape]:
    """Shapes by name in lower case; raises RuleError when the table is wrong."""
    path = rules_folder() / "hardware" / "models" / "known.toml"
    try:
        table = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Table)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, OSError) as error:
        raise RuleError(f"{path}: {error}") from error
    return {name.lower(): _shape(model, name) for model in table.model for name in model.names}


def some() -> str:
    """How many names are known, and a few of them to show their form."""
    names = sorted({shape.name for shape in models().values()})
    return f"{len(names)} names such as {', '.join(names[:: max(1, len(names) // 4)][:4])}"


def find(name: str, known: dict[str, Shape]) -> Shape | None:
    """A public model by its name with or without its owner's, or a quantised upload by the format that its name ends with; else None."""
    exact = known.get(name.lower()) or next((shape for other, shape in known.items() if other.rsplit("/", 1)[-1] == name.lower()), None)
    ending = _QUANTISED.search(name)
    if exact is not None or ending is None or "/" not in name:
        return exact
    base = name[: ending.start()].rsplit("/", 1)[-1].lower()
    whole = next((shape for other, shape in known.items() if other.rsplit("/", 1)[-1] == base), None)
    if whole is None or whole.format.family not in ("bf16", "fp32"):
        return None
    bits = (ending[2] or "").lower()  # GPTQ alone is of four bits; its INT8 is as large as any other
    form = dtype_of("int8" if bits == "int8" else _FORMATS.get(ending[1].lower(), ending[1]))
    note = f"by its name {whole.name} in {form.name}: counted for every weight, what the upload keeps in {whole.dtype.name} comes on top"
    return msgspec.structs.replace(whole, name=name, dtype=form, stored_bytes=0, notes=(*whole.notes, note))


def _shape(model: _Model, name: str) -> Shape:
    return Shape(
        name=name, params=model.params, cache=model.cache, heads=model.heads, dtype=dtype_of(model.format),
        kv_dtype=dtype_of(model.kv_dtype), max_context=model.max_context, stored_bytes=model.weight_bytes, source=model.url,
    )  # fmt: skip
