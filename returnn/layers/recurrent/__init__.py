"""Recurrent layers: units over a whole sequence, and access to their states."""
