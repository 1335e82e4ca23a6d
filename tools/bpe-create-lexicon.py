#!/usr/bin/env python3
"""Writes a lexicon whose phonemes are the units of a BPE vocabulary. See --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from returnn.datasets.lm.bpe_lexicon import main  # from this checkout

if __name__ == "__main__":
    main()
