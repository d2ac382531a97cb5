"""Flow: a small model of the functions of a file, built once, that says what a value is to a warp."""
