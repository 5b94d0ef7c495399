"""hexpack: from one manifest to proven, installable packages for Qualcomm NPUs."""

__version__ = "0.1.0"
