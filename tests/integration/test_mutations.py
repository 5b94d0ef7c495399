"""Every small fault in a finished package is found by the rule that is meant for it, and by no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.mutations import MUTATIONS, Mutation
from tests.mutation.trees import TREES, Spares, Tree, copied, originals_of, rules_of, spares_of


@pytest.fixture(scope="module")
def originals(built, tmp_path_factory) -> dict[str, Path]:
    """The example's packages, unpacked."""
    return originals_of(built[0], tmp_path_factory.mktemp("trees"))


@pytest.fixture(scope="module")
def spares(built, runtime_linux, runtime_windows, runtime_simulator, runtime_248, tmp_path_factory) -> Spares:
    runtimes = (runtime_linux, runtime_windows, runtime_simulator, runtime_248)
    return spares_of(built[0], tmp_path_factory.mktemp("spares"), runtimes)


@pytest.mark.parametrize("tree", TREES)
def test_an_unspoilt_package_has_no_findings(originals, tree):
    assert rules_of(originals[tree], tree) == set()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.tree}: {m.name}")
def test_a_fault_is_found_by_its_rule_and_no_other(originals, spares, tmp_path, mutation: Mutation):
    tree = Tree(copied(originals[mutation.tree], tmp_path / "tree"), spares)

    mutation.spoil(tree)

    assert rules_of(tree.root, mutation.tree) == mutation.rules


def test_there_are_at_least_sixty_faults_of_at_least_thirty_rules():
    assert len(MUTATIONS) >= 60
    assert len({rule for mutation in MUTATIONS for rule in mutation.rules}) >= 30
