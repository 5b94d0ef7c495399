"""hexpack's findings against the verdicts of the vendor's real libraries, for bundles of every kind of fault.

All situations are judged by `python -m tests.lab`, which records what it found; a few of each kind are judged
again here.
"""

from __future__ import annotations

import pytest

from packager.rules.table import texts
from tests.lab.releases import Shelf
from tests.lab.situations import SITUATIONS, Situation
from tests.lab.verdicts import PAGE, explained, judge, markdown, recorded, unexplained

AGAIN = (
    "a sound bundle, 2.36 on qcs8550",
    "a sound bundle, 2.48 on qcs8550",
    "a sound bundle, 2.51 on qcs6490",
    "a context for qcs8550 (v73) on qcs6490 (v68), 2.51",
    "a context for qcs6490 (v68) on qcs8550 (v73), 2.51",
    "a context of 2.51 on 2.48",
    "a context of 2.36 on 2.48",
    "the context is cut in half, 2.51 on qcs8550",
    "the context is random bytes, 2.48 on qcs8550",
    "the stub is of 2.51, 2.48 on qcs8550",
    "the skel is of 2.48, 2.51 on qcs8550",
    "the backend is of 2.48, 2.51 on qcs8550",
    "the System is of 2.48, 2.51 on qcs8550",
    "the stub is missing, 2.48 on qcs8550",
    "the skel is missing, 2.51 on qcs8550",
    "the skel is called libQnnHtpv73Skel.so, 2.51 on qcs8550",
    "the skel is that of v75, 2.51 on qcs8550",
    "the backend is zeros, 2.51 on qcs8550",
    "the preparer is there too, 2.51 on qcs8550",
    "the board has no libcdsprpc.so, 2.51 on qcs8550",
    "the kernel says soc_id 415, 2.51",
)


@pytest.fixture(scope="module")
def shelf(store) -> Shelf:
    return Shelf(store)


def situation(name: str) -> Situation:
    (found,) = (one for one in SITUATIONS if one.name == name)
    return found


@pytest.mark.parametrize("name", AGAIN)
def test_the_real_library_and_hexpack_say_what_was_recorded(shelf, name):
    assert judge(situation(name), shelf) == recorded()[name]


def test_every_situation_is_recorded_and_every_disagreement_has_its_explanation():
    assert [one.name for one in SITUATIONS] == list(recorded())
    assert unexplained(recorded()) == []
    assert set(explained()) <= set(recorded())


def test_the_page_tells_what_was_recorded():
    assert PAGE.read_text() == markdown(recorded()), "python -m tests.lab writes it"


def test_there_are_at_least_forty_faults_and_each_kind_is_judged_again_here():
    faults = [one for one in SITUATIONS if one.group != "sound"]

    assert len(faults) >= 40
    assert {one.group for one in SITUATIONS} - {situation(name).group for name in AGAIN} <= {
        "another SoC of the same Hexagon",
        "a newer context on an older runtime",
        "a wrong name or folder",
    }


def test_a_disagreement_without_an_explanation_is_a_fault_and_so_is_an_explanation_of_none():
    name = next(name for name in explained() if recorded()[name].compared == "hexpack is stricter")
    sound = recorded()["a sound bundle, 2.51 on qcs8550"]

    stricter = {sound.name: sound.model_copy(update={"errors": ("HEX101",)})}
    unseen = {sound.name: sound.model_copy(update={"step": "deviceCreate", "code": 1008})}
    agreeing = {name: recorded()[name].model_copy(update={"errors": ()})}

    assert [len(unexplained(one)) for one in (stricter, unseen, agreeing)] == [1, 1, 1]


@pytest.mark.parametrize(
    "group",
    [
        "a later Hexagon",
        "a newer context on an older runtime",
        "a mixed stub",
        "a mixed skel",
        "a missing file",
    ],
)
def test_rules_tell_the_code_that_the_library_gives(group):
    for verdict in recorded().values():
        if verdict.group == group and verdict.code:
            symptoms = [symptom for rule in verdict.errors for symptom in symptoms_of(rule)]
            assert any(str(verdict.code) in symptom for symptom in symptoms), verdict.name


def symptoms_of(rule: str) -> list[str]:
    """What `rule` says of devices, of whichever fault."""
    text = texts()[rule]
    return [text.on_device, *(fault.on_device or "" for fault in text.faults.values())]
