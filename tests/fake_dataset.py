"""A dataset for tests of what is around datasets."""

from __future__ import annotations

from returnn.datasets import Dataset


class FakeDataset(Dataset):
    """Three sequences that nobody reads."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.num_inputs = 9
        self.num_outputs = {"classes": (2, 1), "data": (9, 2)}

    @property
    def num_seqs(self) -> int:
        return 3

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        return 3
