"""Porter: says what it takes to run a CUDA code base on AMD GPUs."""

__version__ = "0.1.0"
