"""Small helpers of the ground floor; each module one topic."""
