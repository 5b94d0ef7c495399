/* Transport library, backend, device, SoC, context: from here on things are tried, each of them once. */
#include <stdlib.h>
#include <string.h>

#include "compose.h"
#include "doctor_steps.h"

/* ---- transport ---- */

static bool try_load(struct step *step, const char *path)
{
    char problem[FAULT_TEXT] = "";
    if (platform_load(path, problem)) {
        step_note(step, "%s loads", path);
        return true;
    }
    step_note(step, "%s", problem);
    return false;
}

/* Stubs ask for the library by its name alone; with another root, that root's copy stands for it. */
static bool load_by_name(struct doctor *doctor, const char *name)
{
    struct step *step = &doctor->steps[STEP_TRANSPORT];
    char path[PATH_CAPACITY], folder[PATH_CAPACITY];
    struct looked looked;
    if (!getenv("HEXRUN_DOCTOR_ROOT"))
        return try_load(step, name);
    size_t at = 0;
    for (const char *place; (place = doctor_place(doctor, "transport-folder", &at)) != NULL;) {
        doctor_rooted(place, folder);
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
            continue;
        doctor_look(path, false, &looked);
        if (looked.access == ACCESS_GRANTED)
            return try_load(step, path);
    }
    step_note(step, "%s is in none of the system's folders", name);
    return false;
}

/* Where the library lies although the loader does not take it. True when only a versioned name is there. */
static bool look_for_transport(struct doctor *doctor, const char *name)
{
    struct step *step = &doctor->steps[STEP_TRANSPORT];
    bool exact = false, versioned = false;
    char pattern[PATH_CAPACITY];
    size_t at = 0;
    for (const char *place; (place = doctor_place(doctor, "transport-folder", &at)) != NULL;) {
        if ((size_t)snprintf(pattern, sizeof pattern, "%s/%s*", place, name) >= sizeof pattern)
            continue;
        size_t count = search_glob(doctor, pattern);
        for (size_t i = 0; i < count; i++) {
            const char *file = strrchr(doctor->matches[i], '/');
            step_note(step, "found %s", doctor->matches[i]);
            *(file && strcmp(file + 1, name) == 0 ? &exact : &versioned) = true;
        }
    }
    return versioned && !exact;
}

static void note_public_list(struct doctor *doctor, const char *name)
{
    const char *list = doctor_first(doctor, "public-libraries");
    char path[PATH_CAPACITY], line[256], problem[FAULT_TEXT];
    bool listed = false;
    if (!list)
        return;
    doctor_rooted(list, path);
    FILE *file = platform_open(path, "rb", problem);
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, " \t\r\n")] = '\0';
        listed |= strcmp(line, name) == 0;
    }
    if (file)
        fclose(file);
    const char *verb = listed ? "lists" : file ? "does not list" : "cannot be read and may list";
    step_note(&doctor->steps[STEP_TRANSPORT], "%s %s %s", path, verb, name);
}

static bool load_from_driver(struct doctor *doctor, const char *name)
{
    struct step *step = &doctor->steps[STEP_TRANSPORT];
    char path[PATH_CAPACITY];
    if (!*doctor->driver_folder) {
        step_note(step, "there is no driver folder to load %s from", name);
        return false;
    }
    return (size_t)snprintf(path, sizeof path, "%s/%s", doctor->driver_folder, name) < sizeof path &&
           try_load(step, path);
}

void doctor_transport(struct doctor *doctor)
{
    struct step *step = &doctor->steps[STEP_TRANSPORT];
    const char *name = doctor_first(doctor, "transport");
    doctor->trying = STEP_TRANSPORT;
    bool driver = doctor_first(doctor, "service") != NULL;
    bool loaded = driver ? load_from_driver(doctor, name) : load_by_name(doctor, name);
    step->inferred = true;
    if (loaded) {
        step_ok(step);
        return;
    }
    bool versioned = look_for_transport(doctor, name);
    note_public_list(doctor, name);
    const char *fix = versioned ? doctor_fix(doctor, "transport-name") : "";
    step_fail(step, RUN_UNAVAILABLE, *fix ? fix : doctor_fix(doctor, "transport"), "%s that loads", name);
}

/* ---- backend ---- */

static bool check_backend(struct doctor *doctor)
{
    doctor->trying = STEP_BACKEND;
    struct step *step = &doctor->steps[STEP_BACKEND];
    struct fault fault = {0};
    if (!doctor->config) {
        step_skip(step, STEP_UNKNOWN, "not tried: without runner.conf it has no name");
        return false;
    }
    enum status status = libraries_load(doctor->config, doctor->unit, &doctor->libraries, &fault);
    if (!status)
        status = session_start(&doctor->libraries, &doctor->session, &fault);
    if (status) {
        step_fault(step, &fault);
        return false;
    }
    const struct qnn_interface *backend = doctor->libraries.backend;
    step_note(step, "QAIRT %s, core API %u.%u.%u", doctor->libraries.build, backend->api.core.major,
              backend->api.core.minor, backend->api.core.patch);
    step_ok(step);
    return true;
}

/* ---- SoC ---- */

static void identify(struct doctor *doctor)
{
    struct identity told;
    session_identify(&doctor->session, &told);
    doctor->identity.from_backend = told.from_backend;
    doctor->identity.soc_model = told.soc_model;
    doctor->identity.hexagon = told.hexagon;
    doctor->identity.vtcm_mb = told.vtcm_mb;
}

static bool check_soc(struct doctor *doctor, bool backend)
{
    struct step *step = &doctor->steps[STEP_SOC];
    const struct identity *identity = &doctor->identity;
    struct fault fault = {0};
    if (!doctor->config) {
        step_skip(step, STEP_UNKNOWN, "not compared: without runner.conf there are no models");
        return false;
    }
    if (backend && !doctor->config->simulator)
        identify(doctor);
    if (!backend && !identity->from_linux && !doctor->config->simulator && !doctor->options->soc) {
        step_skip(step, STEP_UNKNOWN, "neither the backend nor the kernel tells");
        return false;
    }
    if (choose_variant(doctor->config, doctor->unit->unit, doctor->options->soc, identity, &doctor->choice, &fault)) {
        step_fault(step, &fault);
        return false;
    }
    if (identity->from_backend) {
        char vtcm[32];
        snprintf(vtcm, sizeof vtcm, "%u MB", identity->vtcm_mb);
        step_note(step, "soc_model %u, Hexagon v%u, VTCM %s", identity->soc_model, identity->hexagon,
                  identity->vtcm_mb ? vtcm : "unknown");
    }
    if (identity->from_linux)
        step_note(step, "the kernel's soc_id is %u", identity->linux_soc_id);
    const struct variant *variant = doctor->choice.variant;
    step_note(step, "model for %s: %s", variant->soc, doctor->choice.reason);
    if (identity->vtcm_mb && variant->vtcm_mb > identity->vtcm_mb)
        step_note(step, "it was compiled for %u MB of VTCM and may be refused", variant->vtcm_mb);
    step_ok(step);
    return true;
}

/* ---- device and context ---- */

/* A stub that does not load is one of the reasons why a device does not open, and the backend keeps it to
 * itself. Not before: a backend does not like to find its stub loaded already. */
static void load_stubs(struct doctor *doctor)
{
    struct step *step = &doctor->steps[STEP_STUB];
    bool transport = doctor->steps[STEP_TRANSPORT].verdict == STEP_OK;
    for (size_t i = 0; transport && i < doctor->arch_count && step->verdict == STEP_OK; i++)
        if (*doctor->stubs[i] && !try_load(step, doctor->stubs[i]))
            step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "stub-load"), "a stub that loads");
}

static bool check_device(struct doctor *doctor, bool backend)
{
    struct step *step = &doctor->steps[STEP_DEVICE];
    bool simulator = doctor->config && doctor->config->simulator;
    bool halted = doctor->steps[STEP_PROCESSOR].verdict == STEP_FAILED && !doctor->steps[STEP_PROCESSOR].inferred;
    struct fault fault = {0};
    if (!backend) {
        step_skip(step, STEP_UNKNOWN, "not tried: the backend does not work");
        return false;
    }
    if (halted) { /* a request to a processor that does not run may never return */
        step_skip(step, STEP_UNKNOWN, "not tried: the compute DSP does not run");
        return false;
    }
    doctor->trying = STEP_DEVICE;
    uint32_t simulated = simulator ? simulated_soc(doctor->config, &doctor->choice) : 0;
    if (session_create_device(&doctor->session, simulated, &fault)) {
        step_fault(step, &fault);
        load_stubs(doctor);
        return false;
    }
    step_note(step, simulator ? "the simulator plays soc_model %u" : "opened", simulated);
    step_ok(step);
    return true;
}

/* Opens the context once, whatever comes of it. */
static void check_context(struct doctor *doctor, bool device, bool chosen)
{
    struct step *step = &doctor->steps[STEP_CONTEXT];
    struct fault fault = {0};
    qnn_handle opened;
    if (!device || !chosen) {
        step_skip(step, STEP_UNKNOWN, "not tried: %s",
                  device ? "no model of the package is for this device" : "there is no device");
        return;
    }
    doctor->trying = STEP_CONTEXT;
    enum asset asset = doctor->choice.asset;
    enum status status = asset_open(&doctor->session, &doctor->choice, &doctor->model, &fault);
    const struct graph *graph = doctor->model.graphs;
    if (!status && doctor->options->graph)
        status = model_choose_graph(&doctor->model, doctor->options->graph, &graph, &fault);
    if (!status)
        status = session_open_context(&doctor->session, &doctor->model, &fault);
    if (!status)
        status = session_open_graph(&doctor->session, &doctor->model, graph, &opened, &fault);
    if (status) {
        step_fault(step, &fault);
        return;
    }
    const char *file = doctor->choice.variant->assets[asset];
    const char *build = doctor->model.build ? doctor->model.build : "of unknown build";
    if (asset == ASSET_CONTEXT)
        step_note(step, "%s, compiled by QAIRT %s", file, build);
    else
        step_note(step, "%s, composed here", file);
    step_note(step, "graph %s of %u", graph->name, doctor->model.graph_count);
    step_ok(step);
}

void doctor_backend(struct doctor *doctor)
{
    bool backend = check_backend(doctor);
    bool chosen = check_soc(doctor, backend);
    bool device = check_device(doctor, backend);
    check_context(doctor, device, chosen);
}
