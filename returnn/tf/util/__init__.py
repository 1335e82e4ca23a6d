"""Helper functions on TensorFlow tensors, for the framework and for the code in users' configs."""
