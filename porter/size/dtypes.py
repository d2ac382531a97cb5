"""Number formats of weights and caches: bits a value takes in memory, scales counted."""

from __future__ import annotations

import msgspec

from porter.errors import ConfigError


class DType(msgspec.Struct, frozen=True):
    """A storage format. ``bits`` are bits a value takes with its share of the scales; ``family`` is what hardware must know of."""

    name: str
    bits: float
    family: str
    how: str

    @property
    def bytes(self) -> float:
        """Bytes a value takes."""
        return self.bits / 8


def grouped(name: str, bits: int, group: int, scale_bits: int, family: str) -> DType:
    """A format that shares ``scale_bits`` (scale and zero point) among ``group`` values."""
    return DType(name, bits + scale_bits / group, family, f"{bits} bits and {scale_bits} bits of scale for {group} values")


def fp8_blocks(rows: int, columns: int) -> DType:
    """FP8 with one 32-bit scale for a block of a weight matrix."""
    return DType("fp8", 8 + 32 / (rows * columns), "fp8", f"8 bits and one 32-bit scale for a block of {rows} x {columns}")


DTYPES = {
    dtype.name: dtype
    for dtype in (
        DType("fp32", 32, "fp32", "4 bytes"),
        DType("bf16", 16, "bf16", "2 bytes"),
        DType("fp16", 16, "bf16", "2 bytes"),
        DType("fp8", 8, "fp8", "1 byte; scales of whole tensors or channels are not counted"),
        DType("int8", 8, "int8", "1 byte; scales of whole tensors or channels are not counted"),
        grouped("int4", 4, 128, 16, "int4"),
        grouped("gptq", 4, 128, 20, "int4"),  # FP16 scale and a zero point of 4 bits
        grouped("awq", 4, 128, 20, "int4"),
        grouped("nf4", 4, 64, 32, "int4"),  # bitsandbytes: an FP32 absolute maximum for 64 values, without double quantisation
        grouped("mxfp4", 4, 32, 8, "mxfp4"),
        grouped("mxfp6", 6, 32, 8, "mxfp6"),
        grouped("mxfp8", 8, 32, 8, "fp8"),
        grouped("nvfp4", 4, 16, 8, "nvfp4"),
    )
}
ALIASES = {
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32", "float8": "fp8", "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8", "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "fp8_e4m3fn": "fp8", "float8_e4m3fnuz": "fp8", "w4a16": "int4",
    "w8a8": "int8",
}  # fmt: skip


def dtype_of(text: str, option: str = "--dtype") -> DType:
    """The format of that name; raises ConfigError for a name that is not known."""
    name = text.strip().lower().removeprefix("torch.")
    name = ALIASES.get(name, name)
    if name not in DTYPES:
        raise ConfigError(f"{option}: '{text}' is no number format that porter knows", f"known: {', '.join(DTYPES)}")
    return DTYPES[name]
