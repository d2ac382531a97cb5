"""Hipify: what the mechanical translation from CUDA to HIP does to a file, and what it has to leave to people."""

from porter.hipify.choices import gets_runtime_unasked
from porter.hipify.difference import diff
from porter.hipify.engine import Conversion, Left, Options, convert

__all__ = ["Conversion", "Left", "Options", "convert", "diff", "gets_runtime_unasked"]
