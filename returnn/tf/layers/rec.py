"""Recurrent layers (old place; now :mod:`returnn.layers.recurrent`). Old name: ``TFNetworkRecLayer``."""

from returnn.layers.recurrent.rec import GetLastHiddenStateLayer, RecLayer

__all__ = ["GetLastHiddenStateLayer", "RecLayer"]
