"""What packages are signed with, as the manifest says it. Secrets are named there, never written."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from packager.manifest_words import Word
from packager.model import Frozen


class Secret(Frozen):
    """A secret, by the environment variable that holds it."""

    env: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = Field(
        description="Name of the environment variable that holds it", examples=["KEYSTORE_PASSWORD"]
    )


class Signing(Frozen):
    """A key with its certificate."""

    keystore: Word = Field(
        description="PKCS #12 file (.p12, .pfx, or a keystore of keytool's) with one private key and its "
        "certificates",
        examples=["release.p12"],
    )
    password: Secret = Field(description="The keystore's password", examples=[{"env": "KEYSTORE_PASSWORD"}])
