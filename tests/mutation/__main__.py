"""`invoke mutate`: spoils real packages in small ways, and shows that each fault is found by its rule.

    python -m tests.mutation

Builds the example's packages, unpacks them, makes one fault at a time, audits the tree, and compares the
rules that speak with the one that is meant to. Ends with 1 when any fault is missed or called by a wrong name.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from packager.report import add, show, table
from packager.store import Store
from tests.integration.program import EXAMPLE, run
from tests.integration.runtimes import everything, release_248
from tests.mutation.mutations import MUTATIONS
from tests.mutation.trees import Tree, copied, originals_of, rules_of, spares_of


def main() -> int:
    """The exit code."""
    store = Store()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        done = run("package", "--manifest", str(EXAMPLE / "app.toml"), "--out", str(work / "dist"))
        if done.returncode:
            sys.exit(done.stderr)
        systems = ("oe-linux-gcc11.2", "windows-arm64", "x86_64-linux-clang")
        runtimes = [*(everything(store, abi) for abi in systems), release_248(store)]
        originals = originals_of(work / "dist", work / "trees")
        spares = spares_of(work / "dist", work / "spares", runtimes)
        rows = table("package", "fault", "meant", "found")
        missed = 0
        for number, mutation in enumerate(MUTATIONS):
            tree = Tree(copied(originals[mutation.tree], work / f"spoilt-{number}"), spares)
            mutation.spoil(tree)
            found = rules_of(tree.root, mutation.tree)
            missed += found != mutation.rules
            add(
                rows,
                mutation.tree,
                mutation.name,
                ", ".join(sorted(mutation.rules)),
                ", ".join(sorted(found)),
            )
        show(rows)
    sys.stdout.write(f"\n{len(MUTATIONS)} faults, {len(MUTATIONS) - missed} found as they are meant to be\n")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
