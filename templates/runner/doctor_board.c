/* Device node, permission, driver, daemon, processor, shell: what the board has to bring. */
#include <ctype.h>
#include <string.h>

#include "doctor_steps.h"

static const char *const NODES[] = {"secure-node", "node"};
enum { NODE_KINDS = sizeof NODES / sizeof *NODES };

static bool any_place(const struct doctor *doctor, const char *kind)
{
    char path[PATH_CAPACITY];
    struct looked looked;
    size_t at = 0;
    for (const char *place; (place = doctor_place(doctor, kind, &at)) != NULL;) {
        doctor_rooted(place, path);
        doctor_look(path, false, &looked);
        if (looked.access == ACCESS_GRANTED)
            return true;
    }
    return false;
}

/* True, with the verdict set, where the table has no row for this system. */
static bool nothing_to_look_at(const struct doctor *doctor, struct step *step, const char *kind)
{
    if (doctor_first(doctor, kind))
        return false;
    bool windows = strcmp(doctor->system, "windows") == 0;
    step_skip(step, windows ? STEP_NOT_APPLICABLE : STEP_UNKNOWN, "%s",
              windows ? "the NPU driver of Windows stands for it" : "hexrun knows no place to look at on this system");
    return true;
}

/* ---- node ---- */

static void list_wanted_nodes(const struct doctor *doctor, char *out, size_t capacity)
{
    out[0] = '\0';
    for (size_t kind = 0; kind < NODE_KINDS; kind++) {
        size_t at = 0;
        for (const char *place; (place = doctor_place(doctor, NODES[kind], &at)) != NULL;) {
            size_t length = strlen(out);
            snprintf(out + length, capacity - length, "%s%s", length ? " or " : "", place);
        }
    }
}

static void check_node(struct doctor *doctor)
{
    struct step *step = &doctor->steps[STEP_NODE];
    char path[PATH_CAPACITY], wanted[STEP_TEXT];
    struct looked looked;
    bool seen = false, hidden = false;
    if (nothing_to_look_at(doctor, step, "node"))
        return;
    for (size_t kind = 0; kind < NODE_KINDS; kind++) {
        size_t at = 0;
        for (const char *place; (place = doctor_place(doctor, NODES[kind], &at)) != NULL;) {
            doctor_rooted(place, path);
            doctor_look(path, false, &looked);
            if (looked.access != ACCESS_ABSENT)
                step_note(step, "%s %s", path, looked.text);
            seen |= looked.access == ACCESS_GRANTED;
            hidden |= looked.access == ACCESS_HIDDEN;
        }
    }
    step->inferred = true;
    list_wanted_nodes(doctor, wanted, sizeof wanted);
    if (seen) {
        step_ok(step);
    } else if (hidden) {
        step_skip(step, STEP_UNKNOWN, "this process may not see device nodes");
    } else {
        step_note(step, "no device node of a compute DSP");
        step_fail(step, RUN_UNAVAILABLE,
                  doctor_fix(doctor, any_place(doctor, "container") ? "node-container" : "node"), "%s", wanted);
    }
}

/* ---- permission ---- */

struct tried {
    bool present, opened, for_group;
};

static struct tried try_nodes(struct doctor *doctor, const char *kind)
{
    struct step *step = &doctor->steps[STEP_PERMISSION];
    struct tried tried = {0};
    char path[PATH_CAPACITY];
    struct looked looked;
    size_t at = 0;
    for (const char *place; (place = doctor_place(doctor, kind, &at)) != NULL;) {
        doctor_rooted(place, path);
        doctor_look(path, true, &looked);
        if (looked.access == ACCESS_ABSENT)
            continue;
        tried.present = true;
        tried.for_group |= looked.for_group;
        tried.opened |= looked.access == ACCESS_GRANTED;
        step_note(step, "%s %s: %s", path, looked.text,
                  looked.access == ACCESS_GRANTED ? "may be opened" : "may not be opened");
    }
    return tried;
}

static void refuse_permission(struct doctor *doctor, const struct tried *tried, const char *what)
{
    struct step *step = &doctor->steps[STEP_PERMISSION];
    char identity[STEP_TEXT];
    doctor_identity(identity, sizeof identity);
    step_note(step, "this process is %s", identity);
    if (strcmp(doctor->system, "android") == 0)
        step_skip(step, STEP_UNKNOWN, "apps get the device from a service of the vendor, which may open it for them");
    else
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, tried->for_group ? "permission-group" : "permission-rules"),
                  "%s that this process may open", what);
}

static void check_permission(struct doctor *doctor)
{
    struct step *step = &doctor->steps[STEP_PERMISSION];
    if (nothing_to_look_at(doctor, step, "node"))
        return;
    struct tried secure = try_nodes(doctor, "secure-node");
    struct tried other = try_nodes(doctor, "node");
    struct tried both = {.for_group = secure.for_group || other.for_group};
    struct tried memory = try_nodes(doctor, "memory");
    step->inferred = true;
    if (!secure.present && !other.present)
        step_skip(step, STEP_UNKNOWN, "there is no node to open");
    else if (!secure.opened && !other.opened)
        refuse_permission(doctor, &both, "a device node of the compute DSP");
    else if (memory.present && !memory.opened)
        refuse_permission(doctor, &memory, "the device node of buffers for the DSP");
    else
        step_ok(step);
}

/* ---- driver and daemon ---- */

static void check_windows_driver(struct doctor *doctor)
{
    struct step *step = &doctor->steps[STEP_DRIVER];
    char version[64], path[PATH_CAPACITY], runtime[64];
    size_t at = 0;
    for (const char *service; !*doctor->driver_folder && (service = doctor_place(doctor, "service", &at)) != NULL;) {
        if (!doctor_service(service, doctor->driver_folder, version, sizeof version))
            continue;
        step_note(step, "service %s, driver version %s", service, *version ? version : "unknown");
        step_note(step, "driver folder %s", doctor->driver_folder);
    }
    if (!*doctor->driver_folder) {
        step_note(step, "no service of an NPU driver");
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "driver"), "%s", doctor_first(doctor, "service"));
        return;
    }
    const char *file = doctor_first(doctor, "driver-runtime");
    if (file && (size_t)snprintf(path, sizeof path, "%s/%s", doctor->driver_folder, file) < sizeof path)
        step_note(step, "runtime of the driver (HNRD): %s",
                  doctor_file_version(path, runtime, sizeof runtime) ? runtime : "none");
    step_ok(step);
}

static void check_driver(struct doctor *doctor)
{
    struct step *step = &doctor->steps[STEP_DRIVER];
    if (doctor_first(doctor, "service")) {
        check_windows_driver(doctor);
        return;
    }
    if (nothing_to_look_at(doctor, step, "driver"))
        return;
    step->inferred = true;
    char path[PATH_CAPACITY];
    struct looked looked;
    size_t at = 0;
    bool hidden = false;
    for (const char *place; (place = doctor_place(doctor, "driver", &at)) != NULL;) {
        doctor_rooted(place, path);
        doctor_look(path, false, &looked);
        hidden |= looked.access == ACCESS_HIDDEN;
        if (looked.access == ACCESS_GRANTED) {
            step_note(step, "%s", path);
            step_ok(step);
        }
    }
    if (step->verdict == STEP_OK)
        return;
    if (doctor->steps[STEP_NODE].verdict == STEP_OK) {
        step_note(step, "it has made the device node");
        step_ok(step);
    } else if (hidden || strcmp(doctor->system, "android") == 0) {
        step_skip(step, STEP_UNKNOWN, "this process may not see the kernel's drivers");
    } else {
        step_note(step, "no trace of the FastRPC driver");
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "driver"), "%s", doctor_first(doctor, "driver"));
    }
}

struct daemon {
    const struct doctor *doctor;
    const char *folder, *running;
    bool sees_others;
};

static bool take_process(void *with, const char *name)
{
    struct daemon *daemon = with;
    char path[PATH_CAPACITY], line[64] = "", problem[FAULT_TEXT];
    if (!isdigit((unsigned char)*name))
        return true;
    snprintf(path, sizeof path, "%s/%.20s/comm", daemon->folder, name);
    FILE *file = platform_open(path, "rb", problem);
    if (file) {
        if (fgets(line, sizeof line, file))
            line[strcspn(line, "\n")] = '\0';
        fclose(file);
        daemon->sees_others |= strcmp(name, "1") == 0;
    }
    size_t at = 0;
    for (const char *place; (place = doctor_place(daemon->doctor, "daemon", &at)) != NULL;)
        if (strcmp(line, place) == 0)
            daemon->running = place;
    return !daemon->running;
}

static void check_daemon(struct doctor *doctor)
{
    struct step *step = &doctor->steps[STEP_DAEMON];
    char folder[PATH_CAPACITY];
    if (nothing_to_look_at(doctor, step, "daemon"))
        return;
    doctor_rooted("/proc", folder);
    struct daemon daemon = {.doctor = doctor, .folder = folder};
    bool listed = doctor_list(folder, take_process, &daemon);
    step->inferred = true;
    if (daemon.running) {
        step_note(step, "%s runs", daemon.running);
        step_ok(step);
    } else if (!listed || !daemon.sees_others) {
        step_skip(step, STEP_UNKNOWN, "this process may not see others");
    } else if (any_place(doctor, "container")) {
        step_skip(step, STEP_UNKNOWN, "it runs on the host, which a container does not see");
    } else {
        step_note(step, "no process of that name");
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "daemon"), "%s running", doctor_first(doctor, "daemon"));
    }
}

/* ---- processor ---- */

static bool first_line(const char *folder, const char *name, char *out, size_t capacity)
{
    char path[PATH_CAPACITY], problem[FAULT_TEXT];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return false;
    FILE *file = platform_open(path, "rb", problem);
    bool read = file && fgets(out, (int)capacity, file);
    if (read)
        out[strcspn(out, "\r\n")] = '\0';
    if (file)
        fclose(file);
    return read;
}

static bool is_compute(const struct doctor_processor *row, const char *folder)
{
    char line[256];
    for (const char *name = row->names; *name;) {
        char file[32];
        size_t length = strcspn(name, " ");
        snprintf(file, sizeof file, "%.*s", (int)length, name);
        if (first_line(folder, file, line, sizeof line) && strstr(line, row->word))
            return true;
        name += length + (name[length] == ' ');
    }
    return false;
}

/* What was seen of the processors beside the CPU. */
struct processors {
    size_t rows, others, running;
    const struct doctor_processor *row; /* of the first compute DSP that does not run, and its folder and state */
    char folder[PATH_CAPACITY], state[64];
};

static void see_processor(struct step *step, const struct doctor_processor *row, const char *folder,
                          struct processors *seen)
{
    char state[64] = "";
    if (!is_compute(row, folder)) {
        seen->others++;
        return;
    }
    bool told = first_line(folder, row->state, state, sizeof state);
    step_note(step, "%s is %s", folder, told ? state : "in a state that cannot be read");
    if (told && strcmp(state, row->running) == 0) {
        seen->running++;
    } else if (told && !seen->row) {
        seen->row = row;
        snprintf(seen->folder, sizeof seen->folder, "%s", folder);
        memcpy(seen->state, state, sizeof state);
    }
}

static void see_processors(struct doctor *doctor, struct processors *seen)
{
    for (size_t i = 0; i < DOCTOR_PROCESSOR_COUNT; i++) {
        const struct doctor_processor *row = &DOCTOR_PROCESSORS[i];
        if (!strchr(row->systems, doctor->system[0]))
            continue;
        seen->rows++;
        size_t count = search_glob(doctor, row->folder);
        for (size_t k = 0; k < count; k++)
            see_processor(&doctor->steps[STEP_PROCESSOR], row, doctor->matches[k], seen);
    }
}

/* A second compute DSP may be off; one that runs is enough. */
static void check_processor(struct doctor *doctor)
{
    struct step *step = &doctor->steps[STEP_PROCESSOR];
    struct processors seen = {0};
    see_processors(doctor, &seen);
    if (!seen.rows) {
        nothing_to_look_at(doctor, step, "node");
    } else if (seen.running) {
        step_ok(step);
    } else if (seen.row) {
        bool crashed = strcmp(seen.state, "crashed") == 0;
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, crashed ? "processor-crashed" : "processor-offline"),
                  "%.*s/%s to be %s", STEP_TEXT / 2, seen.folder, seen.row->state, seen.row->running);
    } else if (seen.others && !step->found_count) {
        step->inferred = true;
        step_note(step, "%zu processors besides the CPU, none of them a compute DSP", seen.others);
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "processor-absent"), "a compute DSP");
    } else if (!step->found_count) {
        step_skip(step, STEP_UNKNOWN, "the kernel shows no processors besides the CPU");
    }
}

/* ---- shell ---- */

static void look_in_other_boards(struct doctor *doctor, const char *name)
{
    struct step *step = &doctor->steps[STEP_SHELL];
    const char *folders = doctor_first(doctor, "board-folder");
    char path[PATH_CAPACITY];
    struct looked looked;
    if (!folders)
        return;
    size_t count = search_glob(doctor, folders);
    for (size_t i = 0; i < count; i++) {
        const char *domain = doctor_first(doctor, "domain");
        if ((size_t)snprintf(path, sizeof path, "%s/%s/%s", doctor->matches[i], domain, name) >= sizeof path)
            continue;
        doctor_look(path, false, &looked);
        if (looked.access != ACCESS_GRANTED)
            continue;
        step_note(step, "%s is there, but FastRPC does not look there on this board", path);
        if (!doctor->search.machine_known)
            snprintf(step->fix, sizeof step->fix, "%s", doctor_fix(doctor, "shell-machine"));
    }
}

static void check_shell(struct doctor *doctor)
{
    struct step *step = &doctor->steps[STEP_SHELL];
    const char *name = doctor_first(doctor, "shell");
    char path[PATH_CAPACITY];
    if (nothing_to_look_at(doctor, step, "shell"))
        return;
    if (search_find(doctor, name, doctor->search.own, path)) {
        step_note(step, "%s", path);
        step_ok(step);
        return;
    }
    step->inferred = true;
    search_note(doctor, step, doctor->search.own);
    if (*doctor->search.machine)
        step_note(step, "this board is \"%s\", %s FastRPC's configuration", doctor->search.machine,
                  doctor->search.machine_known ? "known to" : "unknown to");
    step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "shell"), "%s", name);
    look_in_other_boards(doctor, name);
}

void doctor_board(struct doctor *doctor)
{
    check_node(doctor);
    check_permission(doctor);
    check_driver(doctor);
    check_daemon(doctor);
    check_processor(doctor);
    check_shell(doctor);
}
