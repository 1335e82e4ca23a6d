"""What is wrong with the data of a step, in words: which labels are no classes, which lengths differ.

A framework only says that some index is out of range, or that shapes differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy

from returnn.tensor import Tensor

_MAX_SHOWN = 10


def wrong_labels(template: Tensor, labels: numpy.ndarray, lens: Mapping[int, numpy.ndarray]) -> numpy.ndarray:
    """
    :param template: of labels
    :param labels: in its axes
    :param lens: number of an axis -> lengths [batch]
    :return: bool, like the labels: it is none of the classes, and not behind the end of its sequence
    """
    if not template.sparse or not template.dim:
        return numpy.zeros(labels.shape, bool)
    wrong = (labels < 0) | (labels >= template.dim)
    batch = template.batch_dim_axis
    for axis, sizes in lens.items():
        if batch is None or sizes.ndim != 1:
            continue
        inside = numpy.arange(labels.shape[axis]) < sizes[:, None]
        shape = [n if i in (axis, batch) else 1 for i, n in enumerate(labels.shape)]
        wrong &= (inside if batch < axis else inside.T).reshape(shape)
    return wrong


def wrong_labels_text(
    key: str,
    template: Tensor,
    labels: numpy.ndarray,
    lens: Mapping[int, numpy.ndarray],
    seq_tags: Sequence[str] | None = None,
) -> str | None:
    """
    :param key: of the data
    :param template: of labels
    :param labels: in its axes
    :param lens: number of an axis -> lengths [batch]
    :param seq_tags: of the sequences; else they are counted from 0
    :return: message for the user, with the first wrong one; None: all are classes
    """
    places = numpy.argwhere(wrong_labels(template, labels, lens))
    if not len(places):
        return None
    place = places[0].tolist()
    label, dim, batch = labels[tuple(place)], template.dim or 0, template.batch_dim_axis
    of_seq = "" if batch is None else " of %s" % _seq_text(place.pop(batch), seq_tags)
    at = " in frame %s" % ", ".join(map(str, place)) if place else ""
    return (
        f"Label out of range: data key {key!r}{of_seq} has label {label}{at}, but extern_data[{key!r}] has dim "
        f"{dim}, so labels are 0 to {dim - 1}. Correct the data, or the dim."
    )


def _seq_text(seq: int, seq_tags: Sequence[str] | None) -> str:
    return "sequence %s" % (seq if seq_tags is None else repr(str(seq_tags[seq])))


def different_lens_text(what: str, lens: str, output_lens: str, seq_tags: Sequence[str] | None = None) -> str:
    """
    :param what: which lengths "are not those of" what other ones; by default, of the output
    :param lens: of the sequences: numbers in brackets
    :param output_lens: the same, of these
    :param seq_tags: of the sequences; else they are counted from 0
    :return: message for the user: all lengths, and those that differ
    """
    other = what.partition(" are not those of ")[2] or "the output"
    lines = ["%s%s." % (what[:1].upper(), what[1:])]
    if seq_tags is not None:
        lines.append("Sequences: %s" % ", ".join(map(str, seq_tags)))
    lines += ["Lengths: %s" % lens, "of %s: %s" % (other, output_lens)]
    found, wanted = re.findall(r"\d+", lens), re.findall(r"\d+", output_lens)
    if len(found) == len(wanted) and (seq_tags is None or len(seq_tags) == len(found)):
        differ = [
            "%s (%s, of %s %s)" % (_seq_text(seq, seq_tags), a, other, b)
            for seq, (a, b) in enumerate(zip(found, wanted, strict=True))
            if a != b
        ]
        lines.append(
            "They differ for: %s%s" % (", ".join(differ[:_MAX_SHOWN]), ", ..." if len(differ) > _MAX_SHOWN else "")
        )
    lines.append("Correct the data, or the layers that change the length of %s." % other)
    return "\n".join(lines)
