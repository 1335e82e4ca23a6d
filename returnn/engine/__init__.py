"""What all engines share: epochs, model files, and batches."""
