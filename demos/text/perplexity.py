#!/usr/bin/env python3
"""Shows the perplexity per character of each epoch, so that models with different labels can be compared.

A score in the log is per label. The sum over all labels of the file, divided by its characters, line ends included, and
exp of that: so uncertain is the model about each character, whatever its labels are.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))  # it need not be installed
from returnn.learning_rate_file import read_learning_rate_file
from returnn.util.errors import UserError


def perplexities(errors: dict[str, float], counts: dict[str, dict], labels: str) -> dict[str, float]:
    """
    :param errors: of an epoch
    :param counts: of make_data.py: name of the file -> "characters", and "labels": of each kind
    :param labels: "chars" or "bpe"
    :return: name of the file -> perplexity per character
    """
    res = {}
    for name in ("dev", "eval"):
        scores = [value for key, value in errors.items() if key in (f"{name}_score", f"{name}_score_output")]
        for score in scores:
            res[name] = math.exp(score * counts[name]["labels"][labels] / counts[name]["characters"])
    return res


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", choices=["chars", "bpe"], help="of the model")
    parser.add_argument("folder", nargs="?", help="of the model; default: text-chars or text-bpe")
    parser.add_argument("--data", default="text", help="folder of make_data.py; default: %(default)s")
    args = parser.parse_args()
    folder = args.folder or f"text-{args.labels}"
    try:
        with open(os.path.join(args.data, "counts.json"), encoding="utf8") as file:
            counts = json.load(file)
        epochs = read_learning_rate_file(os.path.join(folder, "learning_rates"))
    except FileNotFoundError as exc:
        sys.exit(f"perplexity.py: {exc.filename} does not exist; first run make_data.py, then the training")
    except UserError as exc:
        sys.exit(f"perplexity.py: {exc} First train the model.")
    print("epoch    dev   eval")
    for epoch, data in sorted(epochs.items()):
        values = perplexities(data.error, counts, args.labels)
        if values:
            print(f"{epoch:5} {values['dev']:6.3f} {values['eval']:6.3f}")


if __name__ == "__main__":
    main()
