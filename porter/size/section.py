"""The report's section on sizes: the models that a repository serves, or that the user names, and the GPUs they need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from porter.config import Config
from porter.errors import ConfigError, InputError
from porter.model_report import GpuFit, ModelSize, Note, Sizing
from porter.size import answers, known, repository
from porter.size.fit import Fit
from porter.size.repository import Found, Look
from porter.size.served import Served
from porter.size.show import Answer

if TYPE_CHECKING:
    from porter.examine import Examined

MOST_MODELS = 8  # in the report; the others are counted


def sizing(root: Path, configs: Iterable[str], served: Sequence[Served], config: Config) -> Sizing | None:
    """Sizes of the models in ``configs`` (paths of config.json files), of serving commands, and of those that the user names.

    None where there is no model. Raises ConfigError for a name, a price file or a throughput of the user's that cannot be used.
    """
    look = repository.of(root, configs, served)
    found = [*(_named(name) for name in config.models), *look.found]
    if not found and not look.unknown:
        return None
    given = answers.Given(prices=config.prices, throughput=config.throughput)
    made = answers.make(answers.unique(found, given), given)
    models = tuple(_model(answer) for answer in made[:MOST_MODELS])
    return Sizing(models, look.unknown, max(0, len(made) - MOST_MODELS))


def of_audit(root: Path, own: Iterable[Examined], config: Config) -> Sizing | None:
    """The sizes for a report: models of the files that were examined, and those of the settings."""
    files = tuple(own)
    configs = [one.path for one in files if repository.is_config(one.path)]
    return sizing(root, configs, [served for one in files for served in one.served], config)


def check(config: Config) -> None:
    """Raises ConfigError for a model, a price file or a throughput that the user names and that cannot be used, before the audit begins."""
    sizing(Path(), (), (), config)
    if config.prices or config.throughput:
        answers.make((), answers.Given(prices=config.prices, throughput=config.throughput))


def _named(name: str) -> Found:
    """A model that the user names: a config.json, a folder with one, or a public name."""
    shape = known.find(name, known.models())
    if shape is not None:
        return Found(shape, "named by the user")
    try:
        look: Look = repository.look(Path(name))
    except InputError as error:
        raise ConfigError(
            f"--model {name}: neither a model that porter knows nor a config.json",
            f"it knows {known.some()}; or give the path of a config.json",
        ) from error
    if len(look.found) != 1:
        raise ConfigError(f"--model {name}: names {len(look.found)} models", "the config.json of one")
    return look.found[0]


def _model(answer: Answer) -> ModelSize:
    shape, load, sizes = answer.shape, answer.load, answer.sizes
    return ModelSize(
        name=shape.name, where=answer.where, params=shape.params, dtype=(load.dtype or shape.format).name,
        kv_dtype=(load.kv_dtype or shape.kv_dtype).name, context=load.context, concurrency=load.concurrency,
        weights_gb=sizes.weights_gb, kv_gb=sizes.kv_gb, total_gb=sizes.total_gb, reserve_share=load.reserve_share,
        asked_tensor=answer.asked_tensor, fits=tuple(_fit(answer, fit) for fit in answer.fits),
        advice=tuple(Note(advice.text, advice.source, advice.side) for advice in answer.advice),
        currency=answer.prices.currency if answer.prices else "",
    )  # fmt: skip


def _fit(answer: Answer, fit: Fit) -> GpuFit:
    cost = answer.costs.get(fit.gpu.gpu)
    return GpuFit(
        vendor=fit.gpu.vendor, gpu=fit.gpu.gpu, memory_gb=float(fit.gpu.memory_gb), verified=fit.gpu.memory_verified, gpus=fit.gpus,
        tensor=fit.tensor, pipeline=fit.pipeline, replicas=fit.replicas, free_gb=fit.free_gb if fit.gpus else 0.0,
        runs=fit.gpu.runs((answer.load.dtype or answer.shape.format).family), gpu_hour=cost.gpu_hour if cost else None,
        month=cost.deployment_month if cost else None, gb_month=cost.gb_month if cost else None,
        million_tokens=cost.million_tokens if cost else None,
    )  # fmt: skip
