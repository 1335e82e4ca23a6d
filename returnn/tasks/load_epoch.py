"""Which epoch a task works on."""

from __future__ import annotations

from returnn.config import Config


def use_epoch_as_load_epoch(config: Config) -> int | None:
    """The key ``epoch`` (option ``-e``) stands for ``load_epoch`` in tasks that do not train.

    :param config: gets ``load_epoch``, if only ``epoch`` is set
    :return: the epoch, None if neither is set
    """
    epoch = config.int("load_epoch", None)
    if epoch is None or epoch <= 0:
        epoch = config.int("epoch", None)
        if epoch is not None:
            config.set("load_epoch", epoch)
    return epoch if epoch is not None and epoch > 0 else None
