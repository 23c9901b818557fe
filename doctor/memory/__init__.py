"""Model + plan + device to bytes, and the advice that follows. Pure: no process, no clock, no torch.

``shapes`` knows what a model is made of, ``statics`` counts it, ``formula`` estimates the rest without torch,
``stream`` and ``allocator`` turn a trace into peaks; all of them yield an ``Estimate``.
"""
