"""Small commands around datasets and corpora. Each module has a ``main``; ``tools/`` has a script for each."""
