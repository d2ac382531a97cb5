"""From options and files to answers: which models, under which load, on which GPUs, at which prices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from porter.errors import ConfigError, InputError
from porter.size import hardware, known, prices, repository
from porter.size.advice import Advice, advise
from porter.size.dtypes import DTYPES, DType
from porter.size.fit import RESERVE, Fit, Load, fit, need
from porter.size.repository import Found
from porter.size.shape import Cache, Shape
from porter.size.show import Answer


class Given(msgspec.Struct, frozen=True):
    """What the user said; 0, None and empty where an option was left out."""

    params: int = 0
    layers: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    kv_latent: int = 0
    dtype: DType | None = None
    kv_dtype: DType | None = None
    context: int = 0
    concurrency: int = 1
    default_context: int = 8192
    reserve_share: float | None = None  # None: what the serving command leaves, else RESERVE
    reserve_gb: float = 0.0
    prices: str = ""
    throughput: tuple[tuple[str, float], ...] = ()


def find(path: Path | None, given: Given) -> tuple[tuple[Found, ...], tuple[str, ...]]:
    """The models to size and the names of those nobody knows; raises ConfigError when there is nothing to go by."""
    if path is None:
        if not given.params:
            raise ConfigError("porter size needs a PATH or --params", "porter size config.json, or porter size --params 70B --dtype bf16")
        shape = Shape("the model of the options", given.params, dtype=DTYPES["bf16"], source="command line")
        return (Found(_with_options(shape, given), "from the options"),), ()
    if not path.exists() and (public := known.find(str(path), known.models())) is not None:
        return (Found(_with_options(public, given), "a public name"),), ()
    if not path.exists():
        raise InputError(f"{path}: no such file or folder, and no public model that porter knows", f"it knows {known.some()}")
    look = repository.look(path)
    if not look.found and given.params:
        return find(None, given)[0], look.unknown
    if not look.found:
        named = f"; its commands name {look.unknown[0]}, whose sizes porter does not know" if look.unknown else ""
        raise InputError(f"{path}: no config.json of a model and no server's command that names a known one{named}", "give --params")
    return unique(look.found, given), look.unknown


def unique(found: Sequence[Found], given: Given) -> tuple[Found, ...]:
    """Each model with each context and format once, the first place that names it; with what the options say."""
    once = {(one.shape.name, one.context, one.served.dtype if one.served else ""): one for one in reversed(found)}
    ordered = sorted(once.values(), key=lambda f: (f.shape.name, f.where))
    return tuple(Found(_with_options(one.shape, given), one.where, one.served) for one in ordered)


def _with_options(shape: Shape, given: Given) -> Shape:
    """The model with what the options say in place of what its file says."""
    cache = shape.cache
    sizes = (given.layers, given.kv_heads, given.head_dim, given.kv_latent)
    if any(sizes):
        cache = Cache(
            given.layers or cache.layers, given.kv_heads or cache.kv_heads, given.head_dim or cache.head_dim,
            given.kv_latent or (0 if given.kv_heads else cache.latent), 0 if given.layers else cache.windowed, cache.window,
        )  # fmt: skip
        if not cache.layers or not (cache.latent or (cache.kv_heads and cache.head_dim)):
            raise ConfigError("the KV cache needs --layers, and --kv-heads with --head-dim or --kv-latent", "or leave all of them out")
    if given.params and given.params != shape.params:
        shape = msgspec.structs.replace(shape, params=given.params, stored_bytes=0, quantised=None, parts=type(shape.parts)())
    if given.heads and given.kv_heads and given.heads % given.kv_heads:
        raise ConfigError(f"--heads {given.heads} is no multiple of --kv-heads {given.kv_heads}")
    return msgspec.structs.replace(shape, cache=cache, heads=given.heads or shape.heads)


def make(found: tuple[Found, ...], given: Given) -> tuple[Answer, ...]:
    """One answer a model, the largest first."""
    gpus = hardware.load()
    paid = prices.read(Path(given.prices), gpus) if given.prices else None
    measured = _throughput(given, gpus)
    if measured and paid is None:
        raise ConfigError("--throughput needs --prices", "cost of tokens is price over throughput")
    answers = [_answer(one, given, gpus, paid, measured) for one in found]
    return tuple(sorted(answers, key=lambda answer: (-answer.sizes.total_gb, answer.shape.name, answer.where)))


def _throughput(given: Given, gpus: tuple[hardware.Gpu, ...]) -> dict[str, float]:
    known = {gpu.gpu.upper() for gpu in gpus}
    for name, _ in given.throughput:
        if name and name not in known:
            raise ConfigError(f"--throughput: '{name}' is no GPU that porter knows", f"known: {', '.join(sorted(known))}")
    return dict(given.throughput)


def _answer(found: Found, given: Given, gpus: tuple[hardware.Gpu, ...], paid: prices.Prices | None, measured: dict[str, float]) -> Answer:
    weights, cache = repository.asked(found.served)
    weights = None if weights and weights.family == found.shape.format.family else weights
    default = min(given.default_context, found.shape.max_context or given.default_context)
    share = _first(given.reserve_share, found.served.reserve if found.served else None, RESERVE)
    load = Load(
        given.context or found.context or default, given.concurrency, given.dtype or weights, given.kv_dtype or cache,
        share, given.reserve_gb,
    )  # fmt: skip
    sizes = need(found.shape, load)
    fits = tuple(fit(found.shape, load, sizes, gpu) for gpu in gpus)
    costs = _costs(fits, paid, measured) if paid else {}
    advice = (*_of_command(found, given), *_unpriced(paid, measured, gpus), *advise(found.shape, load, sizes, fits))
    return Answer(found.shape, found.where, load, sizes, fits, advice, costs, paid, found.served.tensor if found.served else 0)


def _costs(fits: tuple[Fit, ...], paid: prices.Prices, measured: dict[str, float]) -> dict[str, prices.Cost]:
    pairs = ((row.gpu.gpu, prices.cost(row, paid, measured.get(row.gpu.gpu.upper(), measured.get("")))) for row in fits)
    return {name: cost for name, cost in pairs if cost is not None}


def _unpriced(paid: prices.Prices | None, measured: dict[str, float], gpus: tuple[hardware.Gpu, ...]) -> tuple[Advice, ...]:
    """A throughput of a GPU that the price file does not have gives no cost, and that is said."""
    missing = [gpu.gpu for gpu in gpus if paid is not None and gpu.gpu.upper() in measured and paid.of(gpu) is None]
    return (Advice(f"no price of {', '.join(missing)} in the price file, so what was measured there gives no cost"),) if missing else ()


def _first(*shares: float | None) -> float:
    """The first share that somebody gave."""
    return next(share for share in shares if share is not None)


def _of_command(found: Found, given: Given) -> tuple[Advice, ...]:
    """What the serving command asks for and the numbers do not show by themselves."""
    said = []
    if found.served and found.served.sequences > given.concurrency:
        most = found.served.sequences
        said.append(f"the command admits {most:,} sequences at a time: --concurrency {most} sizes the cache for all of them at full length")
    if found.served and found.served.reserve is not None and given.reserve_share is None:
        said.append(
            f"the command gives {100 * found.served.memory:g} % of each GPU to weights and cache; what it leaves is the reserve here"
        )
    return tuple(map(Advice, said))
