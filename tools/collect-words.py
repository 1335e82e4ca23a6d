#!/usr/bin/env python3
"""Collects the words of a corpus, or those missing in a lexicon. See --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from returnn.tools.collect_words import main  # from this checkout

if __name__ == "__main__":
    main()
