"""Old places of the layer classes, for users' configs and scripts."""
