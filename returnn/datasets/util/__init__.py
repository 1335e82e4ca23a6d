"""Around datasets: vocabularies, and features of audio."""
