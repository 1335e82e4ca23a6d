"""Computes the network inside of a recurrent layer: what comes before the loop, the loop, what comes behind it.

:mod:`.loop` is the whole, and says in which order its parts do what. They are:

- :mod:`.context`: what all of them share: the unit, the axis, sizes
- :mod:`.all_frames`: layers that are computed for all frames at once
- handed on from frame to frame (:mod:`.carried`): :mod:`.frames_before`, :mod:`.states`, :mod:`.hypotheses`,
  :mod:`.ending`, :mod:`.last_frames`
- :mod:`.inputs`, :mod:`.outputs`: what goes into a frame, and what comes out of it
- :mod:`.frame_lengths`: dims whose lengths differ from frame to frame
- :mod:`.for_outside`: what becomes of an output for layers outside

Each holds those above that it needs, and asks them by their public methods; none holds the loop.
"""

from .loop import Loop

__all__ = ["Loop"]
