"""The tools that compare versions of installed packages sort ours as people mean them."""

from __future__ import annotations

import subprocess

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager.naming import version_word

STAGES = ("alpha", "beta", "rc", "")
PAIRS = 150


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tuple, tuple]:
    """Two versions with equally many numbers, as keys that Python sorts as people do."""
    count = draw(st.integers(1, 4))
    number = st.one_of(st.integers(0, 3), st.integers(0, 10**6))

    def version() -> tuple:
        stage = draw(st.sampled_from(STAGES))
        epoch = draw(st.sampled_from((0, 0, 1, 12)))
        numbers = tuple(draw(number) for _ in range(count))
        return epoch, numbers, STAGES.index(stage), draw(number) if stage else 0

    return version(), version()


def word(key: tuple, style: str) -> str:
    epoch, numbers, stage, number = key
    pre = f"-{STAGES[stage]}{number}" if STAGES[stage] else ""
    return version_word(".".join(map(str, numbers)) + pre, style, epoch or None)


def order(one: object, other: object) -> int:
    return (one > other) - (one < other)


@settings(max_examples=1, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(pairs(), min_size=PAIRS, max_size=PAIRS))
def test_dpkg_sorts_versions_as_people_mean_them(tool, both):
    dpkg = tool("dpkg")
    script = "".join(
        f"for o in lt eq gt; do dpkg --compare-versions {word(a, 'debian')} $o {word(b, 'debian')} && echo $o; done\n"
        for a, b in both
    )
    dpkg("--version")

    said = subprocess.run(["sh", "-c", script + "true"], capture_output=True, text=True, check=True).stdout

    assert said.split() == [("lt", "eq", "gt")[order(a, b) + 1] for a, b in both]


@settings(max_examples=1, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(pairs(), min_size=PAIRS, max_size=PAIRS))
def test_rpm_sorts_versions_as_people_mean_them(tool, both):
    expressions = [f"%{{lua: print(rpm.vercmp('{word(a, 'rpm')}', '{word(b, 'rpm')}'))}}" for a, b in both]

    said = tool("rpm")(*(part for each in expressions for part in ("--eval", each)))

    assert list(map(int, said.split())) == [order(a, b) for a, b in both]
