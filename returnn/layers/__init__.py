"""The layer dict: each layer states its options and computes its output with :mod:`returnn.frontend`."""
