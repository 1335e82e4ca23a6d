"""Messages with sequences between two processes: a socket for small things, shared memory for arrays."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from . import array_ring
from .array_ring import ArrayRing
from .seq import DatasetSeq

Message = tuple[str, int, Any]
"""kind, number of the epoch that it belongs to, value"""

_wait_for_space_secs = 0.001


class ChannelClosed(Exception):
    """The other process is gone."""


class SeqChannel:
    """One end of it. There is one thread that sends and one that receives."""

    def __init__(self, connection: Connection, ring_out: ArrayRing, ring_in: ArrayRing):
        """
        :param connection: of a pair
        :param ring_out: for arrays to the other end
        :param ring_in: for arrays from there
        """
        self.connection = connection
        self._ring_out = ring_out
        self._ring_in = ring_in

    def send(self, kind: str, epoch_no: int, value: Any = None) -> None:
        """Sends a message without sequences."""
        self._send((kind, epoch_no, value, False))

    def send_seq(self, kind: str, epoch_no: int, seq: DatasetSeq, wait: Callable[[], None] | None = None) -> None:
        """
        Sends a message with a sequence.

        :param wait: called again and again while there is no space for arrays; may raise an exception. None: arrays go
            through the socket then
        """
        arrays = [x for x in seq.features.values() if array_ring.suits(x)]
        needed = array_ring.bytes_needed(arrays)
        if wait is not None and needed <= self._ring_out.size:
            while self._ring_out.num_free() < needed:
                wait()
                time.sleep(_wait_for_space_secs)
        self._send((kind, epoch_no, self._encoded(seq), True))

    def _send(self, message: tuple[Any, ...]) -> None:
        content = pickle.dumps(message, protocol=5)
        try:
            self.connection.send_bytes(content)
        except OSError as exc:
            raise ChannelClosed(str(exc)) from exc

    def _encoded(self, seq: DatasetSeq) -> tuple[Any, ...]:
        values = {
            key: (self._ring_out.try_put(value) if array_ring.suits(value) else None) or value
            for key, value in seq.features.items()
        }
        return seq.seq_idx, seq.seq_tag, seq.complete_frac, values

    def receive(self) -> Message:
        """
        :return: the next message; waits for it. With arrays as they were
        :raises ChannelClosed: the other end is gone
        """
        try:
            content = self.connection.recv_bytes()
        except (EOFError, OSError) as exc:
            raise ChannelClosed(str(exc)) from exc
        kind, epoch_no, value, is_seq = pickle.loads(content)
        return kind, epoch_no, self._decoded(*value) if is_seq else value

    def _decoded(self, seq_idx: int, seq_tag: str, complete_frac: float | None, values: dict[str, Any]) -> DatasetSeq:
        features = {key: self._ring_in.take(v) if isinstance(v, tuple) else v for key, v in values.items()}
        return DatasetSeq(seq_idx, features, seq_tag=seq_tag, complete_frac=complete_frac)
