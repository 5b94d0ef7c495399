"""The vendor's real libraries for Linux on Arm, on an ordinary machine: what they say about a bundle.

They run under qemu, with a file system of a board and with a stand-in for FastRPC (`dsp_stand_in.c`), and judge
bundles that hexpack judges too. `python -m tests.lab` compares both for every situation and writes the page
`docs/verdicts.md`; `tests/integration/test_verdicts.py` repeats a part of it.

Debian: qemu-user-static libstdc++6-arm64-cross libatomic1-arm64-cross.
"""
