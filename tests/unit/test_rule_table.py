"""Every rule has its words, its page and its tests; every table row of the rules is of use."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from packager import catalog, resources
from packager.rules.core import UNUSED_ALLOW, Case, Stage, all_rules, judge
from packager.rules.page import answers, faults, markdown, page
from packager.rules.table import field_reports, host_libraries, number, seen_at, signers, texts, word
from tests.make.bundle import target_plan

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RULES = sorted(texts())


def test_every_registered_rule_has_a_row_and_every_row_a_rule():
    assert set(texts()) == {*all_rules(), UNUSED_ALLOW}


def test_no_id_is_given_twice_and_the_table_is_in_order():
    tables = {
        path.name: [row["id"] for row in tomllib.loads(path.read_text(encoding="utf-8"))["rule"]]
        for path in resources.folder("targets").joinpath("rules").iterdir()
        if path.name.endswith(".toml")
    }

    assert sorted(rule_id for ids in tables.values() for rule_id in ids) == RULES
    assert all(ids == sorted(ids) for ids in tables.values())


@pytest.mark.parametrize("rule_id", sorted(set(RULES) - {UNUSED_ALLOW}))
def test_the_words_of_a_rule_are_in_the_table_of_its_module(rule_id):
    module = all_rules()[rule_id].judge.__module__.rpartition(".")[2]

    rows = tomllib.loads(resources.text("targets", "rules", f"{module}.toml"))["rule"]

    assert rule_id in {row["id"] for row in rows}


@pytest.mark.parametrize("rule_id", RULES)
def test_a_rule_has_a_test_where_it_fires_and_one_where_it_is_silent(rule_id):
    source = "\n".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_rules_*.py"))

    for verb in ("fires", "is_silent"):
        assert re.search(rf"^def test_{rule_id}_{verb}_\w+\(", source, re.MULTILINE), (
            f"no test_{rule_id}_{verb}_…"
        )


def test_every_rule_test_is_about_a_rule_that_exists():
    source = "\n".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_rules_*.py"))

    assert set(re.findall(r"\bHEX\d{3}\b", source)) <= set(RULES)


@pytest.mark.parametrize("rule_id", RULES)
def test_an_explanation_has_two_to_six_sentences(rule_id):
    sentences = re.findall(r"[.?](?:\s|$)", texts()[rule_id].explanation.replace("e.g. ", ""))

    assert 2 <= len(sentences) <= 6


@pytest.mark.parametrize("rule_id", RULES)
def test_a_title_reads_on_from_a_file_name(rule_id):
    title = texts()[rule_id].title

    assert title[0].islower()
    assert title[-1] not in ".:"


@pytest.mark.parametrize("rule_id", RULES)
def test_a_page_says_title_severity_and_source(rule_id):
    text = texts()[rule_id]

    shown = page(rule_id)

    assert shown.startswith(f"### {rule_id}: {text.title}\n\n*")
    assert re.search(r"^\*(error|warning), judged from the \w+", shown, re.MULTILINE)
    assert text.source in shown


def test_docs_rules_md_is_current():
    written = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")

    assert written == markdown(), "write packager.rules.page.markdown() to docs/rules.md"


def test_docs_faults_md_is_current():
    written = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")

    assert written == faults(), "write packager.rules.page.faults() to docs/faults.md"


@pytest.mark.parametrize("row", catalog.table("faults")["fault"], ids=lambda row: row["id"])
def test_every_fault_from_the_field_has_a_rule(row):
    assert answers(row["id"])
    assert row["source"]


def test_rules_answer_faults_that_the_table_has():
    known = {row["id"] for row in catalog.table("faults")["fault"]}
    named = {fault for text in texts().values() for fault in text.catalogue}

    assert named == known


def test_a_rules_own_numbers_are_in_its_row():
    assert number("HEX308", "oldest_arch") == 68
    assert word("HEX303", "soc_model_since") == "2.48.0"
    with pytest.raises(KeyError):
        number("HEX308", "newest_arch")


def test_host_libraries_are_of_known_systems_and_ignore_case():
    rows = host_libraries()

    assert {system for row in rows for system in row.systems} <= set(catalog.systems())
    assert any(row.holds("API-MS-WIN-CRT-heap-l1-1-0.DLL") for row in rows)
    assert not any(row.holds("libfoo.so") for row in rows)


def test_signers_are_of_known_systems():
    assert {row.system for row in signers()} <= set(catalog.systems())


def test_judging_an_empty_case_takes_every_rule_through_without_an_error():
    findings = judge(Case(plan=target_plan()), Stage.FILES)

    assert {finding.rule for finding in findings} == {"HEX106", "HEX311"}


def test_error_codes_point_to_rules_that_exist():
    pointed = {
        rule for rows in catalog.table("errors").values() for row in rows for rule in row.get("rules", ())
    }

    assert pointed
    assert pointed <= set(RULES)


def test_every_field_report_that_a_table_names_has_a_place_where_it_was_seen():
    tables = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "targets").rglob("*.toml"))

    assert set(re.findall(r"P[1-8]-\d{2}", tables)) == set(field_reports())
    assert all(places for places in field_reports().values())


def test_reports_are_found_one_by_one_and_in_ranges():
    assert seen_at("field report P1-02") == ("qualcomm/fastrpc#379",)
    assert seen_at("P4-01 to P4-03, measured") == tuple(
        place for report in ("P4-01", "P4-02", "P4-03") for place in field_reports()[report]
    )
    assert seen_at("measured") == ()
