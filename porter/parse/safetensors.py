"""Headers of safetensors files: which number formats the tensors have, read from the JSON at the start; the weights are not touched.

The layout (8 bytes of length, little-endian, then JSON) is that of the safetensors format description.
"""

from __future__ import annotations

from porter.parse.json_leaves import leaves

MAX_HEADER = 4 * 1024 * 1024  # bytes that are read of a header; the format allows 100 MB
NARROW = ("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F4", "F6_E2M3", "F6_E3M2")
_NVFP4_SCALES = (".weight_scale_2", ".weight_global_scale")  # ModelOpt's and compressed-tensors' second scale of 4-bit blocks


def formats(data: bytes) -> list[str]:
    """Narrow data types in the file, "nvfp4" where its scales show that layout, and `quant=…` from its metadata; empty for no header."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 10 or not 2 <= length <= 100_000_000 or data[8:9] != b"{":
        return []
    found: dict[str, None] = {}
    packed: set[str] = set()
    scaled: set[str] = set()
    for leaf in leaves(data[8 : 8 + min(length, MAX_HEADER)].decode("utf-8", "replace"))[0]:
        tensor, _, key = leaf.path.rpartition(".")
        if tensor == "__metadata__" and "quant" in key.lower():
            found[f"{key}={leaf.value}"[:200]] = None
        elif key == "dtype":
            if leaf.value in NARROW:
                found[leaf.value] = None
            if leaf.value == "U8":
                packed.add(tensor.removesuffix("_packed").removesuffix(".weight"))
            scaled.update(tensor.removesuffix(end) for end in _NVFP4_SCALES if tensor.endswith(end))
    if packed & scaled:
        found["nvfp4"] = None
    return list(found)
