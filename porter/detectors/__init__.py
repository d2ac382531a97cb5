"""Detectors: one module each, found by the name that a rule gives; `detect(parsed, index, config)` yields hits."""
