"""From files that somebody else put together to cases: what each file is, for which systems and SoCs.

Nothing here judges. What the DSP loads, models and documents belong to every set of host libraries. A case
that is made here is `inferred`: its plan says what the files are for as far as they say it themselves, and
wishes nothing.
"""

from packager.inference.cases import Asks, infer
from packager.inference.roles import Item

__all__ = ["Asks", "Item", "infer"]
