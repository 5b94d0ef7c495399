#include "doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_steps.h"

const char *const STEP_NAMES[STEPS] = {
    "package",       "node", "permission", "driver",    "daemon",    "processor", "shell",
    "dsp-libraries", "stub", "skel",       "catalogue", "transport", "backend",   "device",
    "soc",           "context",
};

void step_note(struct step *step, const char *format, ...)
{
    if (step->found_count == STEP_LINES) {
        step->left_out++;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(step->found[step->found_count], STEP_TEXT, format, arguments);
    va_end(arguments);
    make_visible(step->found[step->found_count++]);
}

void step_ok(struct step *step)
{
    if (step->verdict != STEP_FAILED)
        step->verdict = STEP_OK;
}

/* The first failure within a step is the one that is told. */
void step_fail(struct step *step, enum status status, const char *fix, const char *wanted, ...)
{
    if (step->verdict == STEP_FAILED)
        return;
    step->verdict = STEP_FAILED;
    step->status = status;
    snprintf(step->fix, sizeof step->fix, "%s", fix);
    va_list arguments;
    va_start(arguments, wanted);
    vsnprintf(step->wanted, sizeof step->wanted, wanted, arguments);
    va_end(arguments);
}

void step_skip(struct step *step, enum verdict verdict, const char *why, ...)
{
    char text[STEP_TEXT];
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    step->verdict = verdict;
    step_note(step, "%s", text);
}

void step_fault(struct step *step, const struct fault *fault)
{
    step_note(step, "%s", fault->what);
    for (size_t i = 0; i < fault->evidence_count; i++)
        step_note(step, "%s", fault->evidence[i]);
    step->left_out += fault->evidence_left_out;
    step->has_code = fault->has_code;
    step->code = fault->code;
    step_fail(step, fault->status, fault->fix, "%s", "");
}

/* The third string of the next row with this key for this system, from offset *at of the table on. */
static const char *look_up(const char *table, size_t *at, const char *key, const char *system)
{
    while (table[*at]) {
        const char *row = table + *at;
        const char *systems = row + strlen(row) + 1;
        const char *value = systems + strlen(systems) + 1;
        *at = (size_t)(value + strlen(value) + 1 - table);
        if (strcmp(row, key) == 0 && strchr(systems, system[0]))
            return value;
    }
    return NULL;
}

const char *doctor_fix(const struct doctor *doctor, const char *id)
{
    size_t at = 0;
    const char *text = look_up(DOCTOR_ADVICE, &at, id, doctor->system);
    return text ? text : "";
}

const char *doctor_place(const struct doctor *doctor, const char *kind, size_t *at)
{
    return look_up(DOCTOR_PLACES, at, kind, doctor->system);
}

const char *doctor_first(const struct doctor *doctor, const char *kind)
{
    size_t at = 0;
    return doctor_place(doctor, kind, &at);
}

void doctor_rooted(const char *path, char out[PATH_CAPACITY])
{
    const char *root = getenv("HEXRUN_DOCTOR_ROOT");
    snprintf(out, PATH_CAPACITY, "%s%s", root ? root : "", path);
}

/* ---- the package ---- */

static void check_file(struct doctor *doctor, const char *named, const char *role)
{
    struct step *step = &doctor->steps[STEP_PACKAGE];
    char path[PATH_CAPACITY];
    struct fault fault = {0};
    enum status status = config_resolve(doctor->config, named, role, path, sizeof path, &fault);
    if (!status) {
        step_note(step, "%s %s", role, path);
        return;
    }
    for (size_t i = 0; i < fault.evidence_count; i++)
        step_note(step, "%s", fault.evidence[i]);
    step_fail(step, status, doctor_fix(doctor, "package"), "the %s as a file", role);
}

static void check_package(struct doctor *doctor)
{
    struct step *step = &doctor->steps[STEP_PACKAGE];
    struct fault fault = {0};
    enum status status = config_load(doctor->options->config, &doctor->config, &fault);
    if (status) {
        step_fault(step, &fault);
        /* Android keeps libraries inside the archive unless the app asks for files. */
        if (doctor->options->config && strstr(doctor->options->config, ".apk!"))
            snprintf(step->fix, sizeof step->fix, "%s", doctor_fix(doctor, "package"));
        return;
    }
    step_note(step, "%s", doctor->config->path);
    doctor->unit = config_unit(doctor->config, UNIT_NPU);
    if (!doctor->unit) {
        doctor->unit = &doctor->config->units[0];
        step_note(step, "it lists no npu; what is tried is the %s", UNIT_WORDS[doctor->unit->unit]);
    }
    check_file(doctor, doctor->unit->backend, "QNN backend library");
    check_file(doctor, doctor->config->system, "QNN System library");
    if (*doctor->config->dsp)
        check_file(doctor, doctor->config->dsp, "folder of DSP libraries");
    for (size_t i = 0; i < doctor->config->variant_count; i++)
        for (size_t asset = 0; asset < ASSETS; asset++)
            if (*doctor->config->variants[i].assets[asset])
                check_file(doctor, doctor->config->variants[i].assets[asset], ASSET_NAMES[asset]);
    step_ok(step);
}

/* ---- the chain ---- */

/* A context that opened is proof that what stands before it is in order, whatever the files looked like. */
static void correct_inferences(struct doctor *doctor)
{
    if (doctor->steps[STEP_CONTEXT].verdict != STEP_OK)
        return;
    for (size_t i = 0; i < STEP_CONTEXT; i++) {
        struct step *step = &doctor->steps[i];
        if (step->verdict == STEP_FAILED && step->inferred) {
            step->verdict = STEP_UNKNOWN;
            step_note(step, "no failure: the context opens all the same");
        }
    }
}

static enum step_id first_failure(const struct doctor *doctor)
{
    size_t step = 0;
    while (step < STEPS && doctor->steps[step].verdict != STEP_FAILED)
        step++;
    return (enum step_id)step;
}

static void no_device(struct doctor *doctor)
{
    for (size_t i = STEP_NODE; i <= STEP_TRANSPORT; i++)
        step_skip(&doctor->steps[i], STEP_NOT_APPLICABLE, "this package is for the simulator, which needs no device");
}

static enum status examine(struct doctor *doctor)
{
    check_package(doctor);
    if (doctor->config && doctor->config->simulator) {
        no_device(doctor);
    } else {
        search_open(doctor);
        doctor_board(doctor);
        enum status status = doctor_dsp(doctor);
        if (status)
            return status;
        doctor_transport(doctor);
    }
    doctor_backend(doctor);
    correct_inferences(doctor);
    return RUN_OK;
}

/* ---- the end that is not ours ---- */

static struct {
    struct doctor *doctor;
    FILE *out;
} ending;

/* A library of the vendor's that crashes or hangs is a finding, and what was found before is to be told. */
static void tell_what_is_known(void)
{
    struct doctor *doctor = ending.doctor;
    bool asked = platform_interrupted();
    if (!doctor)
        return;
    if (doctor->trying < STEPS) {
        struct step *step = &doctor->steps[doctor->trying];
        step_note(step, asked ? "no answer before the interruption" : "the vendor's library ended the process");
        step_fail(step, RUN_BACKEND, doctor_fix(doctor, "no-answer"), "an answer");
    }
    enum step_id failed = first_failure(doctor);
    doctor_report(ending.out, doctor, failed);
    fclose(ending.out);
    _Exit(asked ? RUN_INTERRUPTED : failed < STEPS ? (int)doctor->steps[failed].status : RUN_DEFECT);
}

enum status doctor_run(FILE *out, const struct options *options)
{
    struct doctor *doctor = calloc(1, sizeof *doctor);
    if (!doctor) {
        say("out of memory");
        return RUN_DEFECT;
    }
    doctor->options = options;
    doctor->trying = STEPS;
    ending.doctor = doctor;
    ending.out = out;
    platform_watch_interrupts(tell_what_is_known, 1);
    atexit(platform_last_act);
    doctor->system = doctor_system();
    enum status status = examine(doctor);
    ending.doctor = NULL;
    if (status) {
        say("out of memory");
    } else {
        enum step_id failed = first_failure(doctor);
        status = failed < STEPS ? doctor->steps[failed].status : RUN_OK;
        doctor_report(out, doctor, failed);
    }
    fflush(out); /* what is said stays said, whatever the vendor's libraries do while they close */
    session_stop(&doctor->session);
    model_close(&doctor->model);
    free(doctor->config);
    free(doctor);
    return status;
}
