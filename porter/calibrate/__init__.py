"""Calibration: the effort model held against programs whose hand-changed lines are known, and fitted on them."""
