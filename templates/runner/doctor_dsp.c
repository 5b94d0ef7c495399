/* Stub, skel, what the skel links to, catalogue: read as files, never loaded. */
#include <stdlib.h>
#include <string.h>

#include "doctor_elf.h"
#include "doctor_steps.h"

/* The stub of one architecture and the skel that FastRPC would give to the DSP. */
struct pair {
    uint32_t arch;
    bool has_stub, has_skel;
    char stub_path[PATH_CAPACITY], skel_path[PATH_CAPACITY], skel_name[128];
    struct elf_facts stub, skel;
};

/* ---- which architectures ---- */

static void add_arch(struct doctor *doctor, uint32_t arch)
{
    for (size_t i = 0; i < doctor->arch_count; i++)
        if (doctor->archs[i] == arch)
            return;
    if (doctor->arch_count < ARCHS)
        doctor->archs[doctor->arch_count++] = arch;
}

static void read_soc_id(struct doctor *doctor)
{
    const char *place = doctor_first(doctor, "soc-id");
    char path[PATH_CAPACITY], line[32] = "", problem[FAULT_TEXT];
    if (!place)
        return;
    doctor_rooted(place, path);
    FILE *file = platform_open(path, "rb", problem);
    if (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        doctor->identity.from_linux = parse_number(line, &doctor->identity.linux_soc_id);
    }
    if (file)
        fclose(file);
}

/* Those of this device where --soc or the kernel tells, else all that the package has models for. */
static void choose_archs(struct doctor *doctor)
{
    struct choice choice;
    struct fault fault;
    read_soc_id(doctor);
    if (!doctor->config)
        return;
    if (!choose_variant(doctor->config, doctor->unit->unit, doctor->options->soc, &doctor->identity, &choice, &fault)) {
        add_arch(doctor, choice.variant->hexagon);
        return;
    }
    for (size_t i = 0; i < doctor->config->variant_count; i++)
        add_arch(doctor, doctor->config->variants[i].hexagon);
}

/* ---- stub ---- */

static uint32_t own_machine(void)
{
#if defined(__aarch64__)
    return ELF_AARCH64;
#elif defined(__x86_64__)
    return ELF_X86_64;
#else
    return 0;
#endif
}

static bool read_file(struct step *step, const char *path, struct elf_facts *out)
{
    char problem[FAULT_TEXT];
    if (!elf_read(path, out, problem)) {
        step_note(step, "%s: %s", path, problem);
        return false;
    }
    step_note(step, "%s, %s", path, *out->build ? out->build : "of unknown release");
    return true;
}

/* Beside the backend, because that is where it looks. */
static void check_stub(struct doctor *doctor, struct pair *pair)
{
    struct step *step = &doctor->steps[STEP_STUB];
    char folder[PATH_CAPACITY], name[128];
    struct fault fault;
    search_file_name(doctor_first(doctor, "stub"), pair->arch, name, sizeof name);
    if (config_resolve(doctor->config, doctor->unit->backend, "", folder, sizeof folder, &fault)) {
        step_skip(step, STEP_UNKNOWN, "there is no backend beside which it should be");
        return;
    }
    char *slash = folder;
    for (char *at = folder; *at; at++)
        if (*at == '/' || *at == '\\')
            slash = at;
    *slash = '\0';
    size_t length = (size_t)snprintf(pair->stub_path, sizeof pair->stub_path, "%s/%s", folder, name);
    pair->has_stub = length < sizeof pair->stub_path && read_file(step, pair->stub_path, &pair->stub);
    if (!pair->has_stub)
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "package"), "%s beside the backend", name);
    else if (pair->stub.is_elf && own_machine() && pair->stub.machine != own_machine())
        step_fail(step, RUN_REFUSED, doctor_fix(doctor, "pair"), "%s for this processor (ELF machine %u, found %u)",
                  name, own_machine(), pair->stub.machine);
    else
        step_ok(step);
}

/* ---- skel ---- */

static void compare(struct doctor *doctor, const struct pair *pair)
{
    struct step *step = &doctor->steps[STEP_SKEL];
    const char *fix = doctor_fix(doctor, "pair");
    const struct elf_facts *stub = &pair->stub, *skel = &pair->skel;
    if (!skel->is_elf || !skel->hexagon) {
        step_note(step, "%s is no library for a Hexagon", pair->skel_path);
        step_fail(step, RUN_REFUSED, fix, "a Hexagon v%u library", pair->arch);
    } else if (skel->cut_short) {
        step_note(step, "%s is cut short", pair->skel_path);
        step_fail(step, RUN_REFUSED, doctor_fix(doctor, "package"), "the whole of it");
    } else if (skel->hexagon != pair->arch) {
        step_note(step, "%s is for Hexagon v%u", pair->skel_path, skel->hexagon);
        step_fail(step, RUN_REFUSED, fix, "Hexagon v%u", pair->arch);
    } else if (!pair->has_stub) {
        step_ok(step);
    } else if (*stub->build && *skel->build && strcmp(stub->build, skel->build) != 0) {
        step_fail(step, RUN_REFUSED, fix, "%s, as the stub has it", stub->build);
    } else {
        step_ok(step);
    }
}

static void check_skel(struct doctor *doctor, struct pair *pair)
{
    struct step *step = &doctor->steps[STEP_SKEL];
    search_file_name(doctor_first(doctor, "skel"), pair->arch, pair->skel_name, sizeof pair->skel_name);
    if (!search_find(doctor, pair->skel_name, 0, pair->skel_path)) {
        search_note(doctor, step, 0);
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "package"), "%s in one of these folders",
                  pair->skel_name);
        return;
    }
    pair->has_skel = read_file(step, pair->skel_path, &pair->skel);
    if (pair->has_skel)
        compare(doctor, pair);
    else
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "package"), "%s that can be read", pair->skel_name);
}

/* ---- what the skel links to ---- */

static void check_library(struct doctor *doctor, const char *name)
{
    struct step *step = &doctor->steps[STEP_DSP_LIBRARIES];
    struct elf_facts facts;
    char path[PATH_CAPACITY], problem[FAULT_TEXT];
    if (!search_find(doctor, name, 0, path)) {
        step_note(step, "%s is nowhere on the search path", name);
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "dsp-library"), "%s for the DSP", name);
    } else if (!elf_read(path, &facts, problem)) {
        step_note(step, "%s: %s", path, problem);
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "dsp-library"), "%s that can be read", name);
    } else if (!facts.hexagon) {
        step_note(step, "%s is no library for a Hexagon", path);
        step_fail(step, RUN_REFUSED, doctor_fix(doctor, "dsp-library"), "%s for the DSP", name);
    } else {
        step_note(step, "%s", path);
    }
}

static void check_libraries(struct doctor *doctor, const struct pair *pairs)
{
    struct step *step = &doctor->steps[STEP_DSP_LIBRARIES];
    bool read = false, needs = false;
    step->inferred = true;
    if (!doctor_first(doctor, "dsp-library")) {
        step_skip(step, STEP_NOT_APPLICABLE, "the NPU driver of Windows brings them");
        return;
    }
    for (size_t i = 0; i < doctor->arch_count; i++) {
        const struct elf_facts *skel = &pairs[i].skel;
        read |= skel->hexagon != 0;
        for (size_t k = 0; skel->hexagon && k < skel->needed_count; k++, needs = true)
            check_library(doctor, skel->needed[k]);
    }
    size_t at = 0;
    for (const char *name; !read && (name = doctor_place(doctor, "dsp-library", &at)) != NULL;)
        check_library(doctor, name);
    if (read && !needs)
        step_note(step, "the skel links to no library");
    if (step->verdict == STEP_FAILED)
        search_note(doctor, step, 0);
    step_ok(step);
}

/* ---- catalogue ---- */

static bool has_catalogue(const struct doctor *doctor, uint32_t arch)
{
    size_t at = 0;
    char number[16];
    snprintf(number, sizeof number, "%u", arch);
    for (const char *known; (known = doctor_place(doctor, "catalogue-arch", &at)) != NULL;)
        if (strcmp(known, number) == 0)
            return true;
    return false;
}

static void check_catalogue(struct doctor *doctor, const struct pair *pair)
{
    struct step *step = &doctor->steps[STEP_CATALOGUE];
    const char *signer = doctor_first(doctor, "signer");
    char path[PATH_CAPACITY], name[128];
    struct looked looked;
    search_file_name(doctor_first(doctor, "catalogue"), pair->arch, name, sizeof name);
    memcpy(path, pair->skel_path, sizeof path);
    char *slash = path;
    for (char *at = path; *at; at++)
        if (*at == '/' || *at == '\\')
            slash = at + 1;
    size_t room = sizeof path - (size_t)(slash - path);
    if ((size_t)snprintf(slash, room, "%s", name) >= room)
        return;
    doctor_look(path, false, &looked);
    if (looked.access != ACCESS_GRANTED) {
        step_note(step, "%s is not there", path);
        step_fail(step, RUN_UNAVAILABLE, doctor_fix(doctor, "catalogue"), "%s beside the skel", name);
    } else if (!elf_mentions(path, signer)) {
        step_note(step, "%s does not name %s", path, signer);
        step_fail(step, RUN_REFUSED, doctor_fix(doctor, "catalogue"), "a catalogue signed by %s", signer);
    } else {
        step_note(step, "%s names %s", path, signer);
        step_ok(step);
    }
}

static void check_catalogues(struct doctor *doctor, const struct pair *pairs)
{
    struct step *step = &doctor->steps[STEP_CATALOGUE];
    if (!doctor_first(doctor, "catalogue")) {
        step_skip(step, STEP_NOT_APPLICABLE, "only Windows asks for one");
        return;
    }
    step->inferred = true;
    for (size_t i = 0; i < doctor->arch_count; i++)
        if (!has_catalogue(doctor, pairs[i].arch)) {
            step_note(step, "Hexagon v%u has none", pairs[i].arch);
            step_ok(step);
        } else if (pairs[i].has_skel) {
            check_catalogue(doctor, &pairs[i]);
        }
    if (!step->found_count)
        step_skip(step, STEP_UNKNOWN, "there is no skel beside which it should be");
}

enum status doctor_dsp(struct doctor *doctor)
{
    struct pair *pairs = calloc(ARCHS, sizeof *pairs);
    if (!pairs)
        return RUN_DEFECT;
    choose_archs(doctor);
    doctor->steps[STEP_STUB].inferred = doctor->steps[STEP_SKEL].inferred = true;
    for (size_t i = 0; i < doctor->arch_count; i++) {
        pairs[i].arch = doctor->archs[i];
        check_stub(doctor, &pairs[i]);
        if (pairs[i].has_stub)
            memcpy(doctor->stubs[i], pairs[i].stub_path, sizeof doctor->stubs[i]);
        check_skel(doctor, &pairs[i]);
    }
    if (!doctor->arch_count)
        for (size_t i = STEP_STUB; i <= STEP_SKEL; i++)
            step_skip(&doctor->steps[i], STEP_UNKNOWN, "without runner.conf it is not known which is needed");
    check_libraries(doctor, pairs);
    check_catalogues(doctor, pairs);
    free(pairs);
    return RUN_OK;
}
