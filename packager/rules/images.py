"""What a container image must have below the package: the C and C++ libraries that its files link to."""

from __future__ import annotations

from collections.abc import Iterable

from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import elves, of_the_board, packed_for
from packager.versions import newest, numbers


@rule("HEX507", severity=Severity.ERROR)
def the_base_has_what_the_package_links_to(case: Case) -> Iterable[Said]:
    """A library that neither the package nor the base has is missing when the container starts."""
    base, reference = case.base, case.plan.formats.oci.base
    if base is None or reference is None:
        return
    host = [(file, facts) for file, facts in elves(case) if facts.machine == case.plan.abi.machine]
    where, packed = reference.partition("@")[0], packed_for(case, "host")
    asked = {name: file.path for file, facts in reversed(host) for name in facts.needed}
    for name, path in sorted(asked.items()):
        brought = name.lower() in packed or of_the_board(name, case.plan.system)
        if not brought and name not in base.libraries:
            yield Said(
                file=where,
                found=f"no {name} in its layers",
                wanted=f"{name}, which {path} links to",
                fix="choose a base of a glibc distribution that has it, or add it in a layer of your own",
            )
    for what, offered, needed in (
        ("GLIBC", base.glibc, newest(facts.glibc_needed for _, facts in host)),
        ("GLIBCXX", base.glibcxx, newest(facts.glibcxx_needed for _, facts in host)),
    ):
        if offered and needed and numbers(offered) < numbers(needed):
            yield Said(
                file=where,
                found=f"{what}_{offered} at most",
                wanted=f"{what}_{needed}, which the package's libraries ask for",
                fix="choose a newer base",
                fault="older",
            )
