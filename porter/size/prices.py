"""What the user pays: monthly prices of servers of eight from a TOML or CSV file; cost of a GPU-hour, of memory and of tokens."""

from __future__ import annotations

import csv
import io
import math
import tomllib
from pathlib import Path

import msgspec

from porter.errors import ConfigError
from porter.regular import read_regular
from porter.size.fit import Fit
from porter.size.hardware import PER_SERVER, Gpu

HOURS = 730.0  # 8,760 hours a year in twelve months
MAX_BYTES = 1024 * 1024
HINT = "see docs/prices.example.toml"


class Prices(msgspec.Struct, frozen=True):
    """Monthly prices per server of eight GPUs, by the GPU's name in upper case."""

    monthly: dict[str, float]
    currency: str = "USD"
    hours: float = HOURS

    def of(self, gpu: Gpu) -> float | None:
        """A month of a server of this GPU; None when the file has no such price."""
        return self.monthly.get(gpu.gpu.upper())


class Cost(msgspec.Struct, frozen=True):
    """Costs in the currency of the price file. ``million_tokens`` is None without a throughput from the user."""

    gpu_hour: float
    gb_month: float
    deployment_month: float
    million_tokens: float | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    monthly_per_server: dict[str, float]
    currency: str = "USD"
    hours_per_month: float = HOURS


def read(path: Path, gpus: tuple[Gpu, ...]) -> Prices:
    """The prices of a file; raises ConfigError with what is wrong in it, also for a GPU that porter does not know."""
    data = read_regular(path, MAX_BYTES)
    if data is None:
        raise ConfigError(f"--prices {path}: no such file, or it cannot be read", HINT)
    try:
        text = data.decode("utf-8-sig")
        table = _csv(text) if path.suffix.lower() == ".csv" else msgspec.convert(tomllib.loads(text), _File)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError, csv.Error) as error:
        raise ConfigError(f"--prices {path}: {error}", HINT) from error
    known = {gpu.gpu.upper() for gpu in gpus}
    monthly = {name.strip().upper(): price for name, price in table.monthly_per_server.items()}
    for name, price in monthly.items():
        if name not in known:
            raise ConfigError(f"--prices {path}: '{name}' is no GPU that porter knows", f"known: {', '.join(sorted(known))}")
        if not (math.isfinite(price) and price > 0):
            raise ConfigError(f"--prices {path}: the price of {name} is not above zero")
    if not (math.isfinite(table.hours_per_month) and 0 < table.hours_per_month <= 744):
        raise ConfigError(f"--prices {path}: hours_per_month must be above 0 and at most 744")
    return Prices(monthly, table.currency, table.hours_per_month)


def _csv(text: str) -> _File:
    """Two columns, gpu and monthly price of a server of eight; a head line is allowed."""
    prices = {}
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#") or (number == 1 and cells[0].lower() in ("gpu", "model", "name")):
            continue
        if len(cells) < 2:
            raise ValueError(f"line {number}: needs two columns, gpu and monthly price")
        try:
            prices[cells[0]] = float(cells[1])
        except ValueError:
            raise ValueError(f"line {number}: '{cells[1][:30]}' is no price") from None
    return _File(prices)


def cost(fit: Fit, prices: Prices, throughput: float | None) -> Cost | None:
    """What this fit costs; None without a price or where the model does not fit. ``throughput`` is in tokens a second of one replica."""
    monthly = prices.of(fit.gpu)
    if monthly is None or not fit.gpus:
        return None
    hour = monthly / PER_SERVER / prices.hours
    tokens = hour * fit.gpus / (throughput * 3600) * 1e6 if throughput else None
    return Cost(hour, monthly / (PER_SERVER * fit.gpu.memory_gb), monthly / PER_SERVER * fit.gpus, tokens)


def throughput_of(text: str) -> tuple[str, float]:
    """GPU (empty: every one) and tokens a second of one replica, from the words of --throughput; raises ConfigError."""
    gpu, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"--throughput: '{text}' is no number of tokens a second", "examples: 2400, MI355X=2400")
    return gpu.strip().upper(), value
