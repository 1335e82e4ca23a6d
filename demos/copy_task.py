"""Random letters, to be copied: the data of the demos of decoders."""

from returnn.datasets.generating import GeneratingDataset
from returnn.datasets.seq import DatasetSeq


class CopyLettersDataset(GeneratingDataset):
    """ "data", "classes": [T] int32 over ``.abcdefghij``. Both are the same letters, 1 to 12 of them.

    The dot (0) does not occur: a decoder says it when it is done.
    """

    letters = ".abcdefghij"
    _getnewargs_exclude_attrs = {"input_dim", "output_dim"}

    def __init__(self, **kwargs):
        num_letters = len(self.letters)
        super().__init__(input_dim=None, output_dim={"data": (num_letters, 1), "classes": (num_letters, 1)}, **kwargs)
        self.labels = {"data": list(self.letters), "classes": list(self.letters)}

    def generate_seq(self, seq_idx):
        """
        :param seq_idx: corpus seq idx
        """
        length = self.random.randint(1, 13)
        letters = self.random.randint(1, len(self.letters), size=length).astype("int32")
        return DatasetSeq(seq_idx, {"data": letters, "classes": letters})
