"""References to container images that show by their registry or name that they are built on CUDA, wherever a plain string holds one."""

from __future__ import annotations

import re

VENDOR_IMAGE = re.compile(
    r"(?:nvcr\.io/[\w./-]{1,200}|ghcr\.io/nvidia/[\w./-]{1,100}|(?:docker\.io/)?(?:nvidia/cuda|pytorch/pytorch|vllm/vllm-openai|lmsysorg/sglang"
    r"|rapidsai/\w+))(?::[\w.{}-]{1,128})"
)
TEST_PATH = re.compile(r"(?:^|/)(?:tests?|testing)/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py\Z")  # names images only to compare them
