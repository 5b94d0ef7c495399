#include <string.h>

#include "decode.h"
#include "doctor_steps.h"
#include "report_parts.h"

enum { SCHEMA_VERSION = 1 };

static const char *const VERDICTS[] = {"unknown", "ok", "failed", "not applicable"};

static void json_step(struct json *json, const struct step *step, const char *name)
{
    bool failed = step->verdict == STEP_FAILED;
    json_open_object(json, NULL);
    json_string(json, "step", name);
    json_string(json, "verdict", VERDICTS[step->verdict]);
    json_open_array(json, "found");
    for (size_t i = 0; i < step->found_count; i++)
        json_string(json, NULL, step->found[i]);
    json_close_array(json);
    json_number(json, "found_left_out", step->left_out);
    json_string(json, "wanted", failed && *step->wanted ? step->wanted : NULL);
    json_string(json, "fix", failed && *step->fix ? step->fix : NULL);
    if (failed)
        json_number(json, "exit", (uint64_t)step->status);
    if (failed && step->has_code) {
        struct decoded named = decode_code(decode_mask(step->code));
        json_open_object(json, "code");
        json_number(json, "decimal", named.code);
        json_string(json, "name", named.name);
        json_string(json, "sentence", named.sentence);
        json_close_object(json);
    }
    json_close_object(json);
}

static void report_json(FILE *out, const struct doctor *doctor, enum step_id failed)
{
    char log[LOG_LINES][LOG_LINE];
    size_t log_count = backend_log_lines(log);
    struct json json = {.out = out};
    json_open_object(&json, NULL);
    json_number(&json, "schema_version", SCHEMA_VERSION);
    json_string(&json, "hexrun", HEXRUN_VERSION);
    json_string(&json, "system", doctor->system);
    json_string(&json, "first_failure", failed < STEPS ? STEP_NAMES[failed] : NULL);
    json_number(&json, "exit", failed < STEPS ? (uint64_t)doctor->steps[failed].status : 0);
    json_open_array(&json, "steps");
    for (size_t i = 0; i < STEPS; i++)
        json_step(&json, &doctor->steps[i], STEP_NAMES[i]);
    json_close_array(&json);
    json_open_array(&json, "backend_log");
    for (size_t i = 0; i < log_count; i++)
        json_string(&json, NULL, log[i]);
    json_close_array(&json);
    json_close_object(&json);
}

static void text_step(FILE *out, const struct step *step, const char *name)
{
    bool failed = step->verdict == STEP_FAILED;
    fprintf(out, "%-14s  %s\n", name, failed ? "FAILED" : VERDICTS[step->verdict]);
    for (size_t i = 0; i < step->found_count; i++)
        fprintf(out, "    %s %s\n", i ? "      " : "found ", step->found[i]);
    if (step->left_out)
        fprintf(out, "           and %zu more\n", step->left_out);
    if (failed && step->has_code) {
        struct decoded named = decode_code(decode_mask(step->code));
        fprintf(out, "    error  %u%s%s%s%s\n", named.code, named.name ? " " : "", named.name ? named.name : "",
                named.sentence ? ": " : "", named.sentence ? named.sentence : "");
    }
    if (failed && *step->wanted)
        fprintf(out, "    wanted %s\n", step->wanted);
    if (failed && *step->fix)
        fprintf(out, "    fix    %s\n", step->fix);
}

static void report_text(FILE *out, const struct doctor *doctor, enum step_id failed)
{
    char log[LOG_LINES][LOG_LINE];
    size_t log_count = backend_log_lines(log);
    for (size_t i = 0; i < STEPS; i++)
        text_step(out, &doctor->steps[i], STEP_NAMES[i]);
    report_log(out, "", log, log_count);
    if (failed < STEPS)
        fprintf(out, "first failure: %s (exit code %d)\n", STEP_NAMES[failed], (int)doctor->steps[failed].status);
    else
        fputs("nothing fails\n", out);
}

void doctor_report(FILE *out, const struct doctor *doctor, enum step_id first_failure)
{
    if (doctor->options->json)
        report_json(out, doctor, first_failure);
    else
        report_text(out, doctor, first_failure);
}
