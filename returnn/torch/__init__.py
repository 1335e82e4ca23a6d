"""The PyTorch side: the only package that imports torch."""
