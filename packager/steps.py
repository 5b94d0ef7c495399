"""Work that is done once: remembered in the store under a key of its inputs, options and tools.

What is remembered are digests; when a blob is gone from the store, the step is done again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from packager.codeprint import codeprint
from packager.files import Blob
from packager.model import Frozen
from packager.sources import Fetched, Tell
from packager.sources.local import check_unchanged
from packager.store import Store, key_of

Result = TypeVar("Result", bound=Frozen)


class Steps:
    """The steps of compilers. `tools` are the versions that every result depends on."""

    def __init__(self, store: Store, tell: Tell, tools: Mapping[str, str]) -> None:
        self.store, self.tell, self.tools = store, tell, dict(tools)

    def step(
        self, kind: str, model: type[Result], key: dict[str, Any], do: Callable[[Path], Result]
    ) -> Result:
        """Recall a step whose blobs are all here, or do it in a scratch folder."""
        name = key_of({"inputs": key, "tools": self.tools, "hexpack": codeprint("compilers")})
        known = self._known(kind, model, name)
        if known is not None:
            return known
        with self.store.lock(name):  # of two targets or two runs that want the same, one does it
            known = self._known(kind, model, name)
            if known is not None:
                return known
            with self.store.work() as work:
                result = do(work)
            self.store.record(kind, name, result.model_dump(mode="json"))
        return result

    def _known(self, kind: str, model: type[Result], name: str) -> Result | None:
        known = self.store.recall_as(model, kind, name)
        whole = known is not None and all(self.store.proved(blob) for blob in _blobs(known))
        return known if whole else None


def still_the_same(*inputs: Fetched) -> None:
    """The worker read these by name; nobody may have written to them since they were hashed."""
    for one in inputs:
        check_unchanged(one)


def _blobs(step: Frozen) -> tuple[Blob, ...]:
    return tuple(value for _, value in step if isinstance(value, Blob))
