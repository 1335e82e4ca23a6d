#!/usr/bin/env python3
"""Writes lines of handwritten digits as HDF files: train.hdf, dev.hdf, eval.hdf.

The images are those of scikit-learn: 1797 digits of 8 x 8 pixels, written by 13 people. A line is 3 to 7 images side by
side. A frame is a column of pixels: 8 features, from 0 to 1. The labels are the digits of the line.
Each image is in one of the three files only. The same arguments give the same files.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))  # it need not be installed
from returnn.datasets.hdf import SimpleHDFWriter

LABELS = [str(digit) for digit in range(10)]
NUM_IMAGES = {"train": 1297, "dev": 250, "eval": 250}
NUM_LINES = {"train": 4000, "dev": 250, "eval": 500}
LINE_LENGTHS = range(3, 8)


def load_images() -> tuple[numpy.ndarray, numpy.ndarray]:
    """
    :return: images [N, row, column] float32 in 0..1, and digits [N] int32
    """
    try:
        from sklearn.datasets import load_digits  # noqa: PLC0415 - an optional package
    except ImportError:
        sys.exit("make_hdf.py needs scikit-learn, for its images. Install it: pip install -e '.[demo]'")
    digits = load_digits()
    return (digits.images / 16).astype("float32"), digits.target.astype("int32")


def split_images(num_images: int) -> dict[str, numpy.ndarray]:
    """
    :param num_images: of all
    :return: name of the file -> indices of its images
    """
    order = numpy.random.RandomState(1).permutation(num_images)
    ends = numpy.cumsum(list(NUM_IMAGES.values()))
    return dict(zip(NUM_IMAGES, numpy.split(order, ends), strict=False))


def make_lines(images: Sequence[int], num_lines: int, *, seed: int) -> Iterator[list[int]]:
    """
    All images are used about equally often.

    :param images: indices to choose from
    :param num_lines: how many
    :param seed: of the random choice
    :return: lines, each a list of some of these indices
    """
    random = numpy.random.RandomState(seed)
    rest: list[int] = []
    for _ in range(num_lines):
        length = int(random.choice(LINE_LENGTHS))
        while len(rest) < length:
            rest += random.permutation(images).tolist()
        yield rest[:length]
        rest = rest[length:]


def write_file(filename: str, lines: Iterator[list[int]], images: numpy.ndarray, digits: numpy.ndarray) -> None:
    """
    :param filename: replaced if it exists; its name without ".hdf" is part of the tags
    :param lines: indices of images
    :param images: [N, row, column]
    :param digits: [N]
    """
    name = os.path.basename(filename).removesuffix(".hdf")
    if os.path.exists(filename):
        os.remove(filename)
    with SimpleHDFWriter(
        filename,
        dim=images.shape[1],
        extra_type={"classes": (len(LABELS), 1, "int32")},
        extra_labels={"classes": LABELS},
    ) as writer:
        for i, line in enumerate(lines):
            columns = numpy.concatenate([images[k].T for k in line])
            writer.insert_batch(
                columns[None], seq_len=[len(columns)], seq_tag=[f"{name}-{i}"], extra={"classes": digits[line][None]}
            )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="digits", help="for the files; default: %(default)s")
    folder = parser.parse_args().folder
    images, digits = load_images()
    os.makedirs(folder, exist_ok=True)
    for seed, (name, of_file) in enumerate(split_images(len(images)).items()):
        filename = os.path.join(folder, name + ".hdf")
        write_file(filename, make_lines(of_file, NUM_LINES[name], seed=seed), images, digits)
        print(f"{filename}: {NUM_LINES[name]} lines of {len(of_file)} images")


if __name__ == "__main__":
    main()
