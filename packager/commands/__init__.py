"""The commands, as one invoke collection: `tasks.py` and the console script `hexpack` both use it.

A command turns arguments into a call and a result into an exit code; it holds no logic of its own.
Everything heavy is imported inside the task that needs it, so that `invoke --list` stays fast.
"""

from __future__ import annotations

from invoke.collection import Collection

from packager.commands import building, development, keeping, knowledge, publishing


def collection() -> Collection:
    """All commands at the top level."""
    namespace = Collection()
    for task in (*building.TASKS, *keeping.TASKS, *publishing.TASKS, *knowledge.TASKS, *development.TASKS):
        namespace.add_task(task)
    return namespace
