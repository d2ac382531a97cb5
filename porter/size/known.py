"""Public models by name: rules/hardware/models/known.toml, for serving commands that name a model whose config.json is elsewhere."""

from __future__ import annotations

import datetime
import tomllib

import msgspec

from porter.errors import RuleError
from porter.rules import rules_folder
from porter.size.dtypes import dtype_of
from porter.size.shape import Cache, Shape


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


def _shape(model: _Model, name: str) -> Shape:
    return Shape(
        name=name, params=model.params, cache=model.cache, heads=model.heads, dtype=dtype_of(model.format),
        kv_dtype=dtype_of(model.kv_dtype), max_context=model.max_context, stored_bytes=model.weight_bytes, source=model.url,
    )  # fmt: skip
