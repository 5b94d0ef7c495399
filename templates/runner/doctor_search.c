/* FastRPC's search for a file on behalf of the DSP. */
#include <stdlib.h>
#include <string.h>

#include "doctor_steps.h"

static bool exists(const char *path)
{
    struct looked looked;
    doctor_look(path, false, &looked);
    return looked.access == ACCESS_GRANTED;
}

/* ---- patterns ---- */

static bool fits(const char *pattern, const char *name)
{
    if (*pattern == '*')
        return fits(pattern + 1, name) || (*name && fits(pattern, name + 1));
    return *pattern == *name && (!*name || fits(pattern + 1, name + 1));
}

struct glob {
    char (*out)[PATH_CAPACITY];
    size_t count;
    const char *before, *rest; /* folder that is listed, and what follows the name in it */
    char name[256];            /* pattern of that name */
};

static void expand(struct glob *glob, const char *pattern);

static bool take_match(void *with, const char *name)
{
    struct glob *glob = with;
    char joined[PATH_CAPACITY];
    if (name[0] == '.' || !fits(glob->name, name))
        return true;
    if ((size_t)snprintf(joined, sizeof joined, "%s/%s%s", glob->before, name, glob->rest) < sizeof joined) {
        struct glob deeper = {.out = glob->out, .count = glob->count};
        expand(&deeper, joined);
        glob->count = deeper.count;
    }
    return glob->count < MATCHES;
}

static void expand(struct glob *glob, const char *pattern)
{
    const char *star = strchr(pattern, '*');
    if (!star) {
        if (glob->count < MATCHES && exists(pattern))
            snprintf(glob->out[glob->count++], PATH_CAPACITY, "%s", pattern);
        return;
    }
    char before[PATH_CAPACITY];
    snprintf(before, sizeof before, "%.*s", (int)(star - pattern), pattern);
    char *slash = strrchr(before, '/');
    if (!slash)
        return;
    size_t folder = (size_t)(slash - before);
    size_t length = strcspn(pattern + folder + 1, "/");
    *slash = '\0';
    if (length >= sizeof glob->name)
        return;
    memcpy(glob->name, pattern + folder + 1, length);
    glob->name[length] = '\0';
    glob->before = before;
    glob->rest = pattern + folder + 1 + length;
    doctor_list(before, take_match, glob);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

size_t search_glob(struct doctor *doctor, const char *pattern)
{
    struct glob glob = {.out = doctor->matches};
    char rooted[PATH_CAPACITY];
    doctor_rooted(pattern, rooted);
    expand(&glob, rooted);
    qsort(doctor->matches, glob.count, sizeof *doctor->matches, by_name);
    return glob.count;
}

void search_file_name(const char *pattern, uint32_t arch, char *out, size_t capacity)
{
    static const char FIELD[] = "{arch}";
    const char *at = strstr(pattern, FIELD);
    if (at)
        snprintf(out, capacity, "%.*s%u%s", (int)(at - pattern), pattern, arch, at + sizeof FIELD - 1);
    else
        snprintf(out, capacity, "%s", pattern);
}

/* ---- the path ---- */

static void add(struct search *search, const char *folder)
{
    if (*folder && search->count < SEARCH_FOLDERS)
        snprintf(search->folders[search->count++], PATH_CAPACITY, "%s", folder);
}

/* Folders are parted by ; on every system. */
static void add_variable(const struct doctor *doctor, struct search *search)
{
    const char *value = NULL;
    size_t at = 0;
    for (const char *name; !value && (name = doctor_place(doctor, "variable", &at)) != NULL;)
        value = getenv(name);
    while (value && *value) {
        size_t length = strcspn(value, ";");
        char folder[PATH_CAPACITY];
        snprintf(folder, sizeof folder, "%.*s", (int)(length < sizeof folder ? length : 0), value);
        add(search, folder);
        value += length + (value[length] == ';');
    }
}

static void read_line(const char *path, char *out, size_t capacity)
{
    char problem[FAULT_TEXT];
    FILE *file = platform_open(path, "rb", problem);
    out[0] = '\0';
    if (!file)
        return;
    size_t length = fread(out, 1, capacity - 1, file);
    fclose(file);
    out[length] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
}

/* A line `"name": ...` or `name: ...`; `value` is what follows the colon, without quotes. */
static bool key_of(char *line, const char *key, char **value)
{
    line += strspn(line, " \"'");
    size_t length = strlen(key);
    if (strncmp(line, key, length) != 0)
        return false;
    line += length + strspn(line + length, "\"' ");
    if (*line != ':')
        return false;
    line++;
    line += strspn(line, " \"'");
    line[strcspn(line, "\"'\r\n#")] = '\0';
    *value = line;
    return true;
}

/* The folder that a configuration file gives to the machine: its first key below the machine's name. */
static bool read_machine(const char *path, const char *machine, const char *key, char folder[PATH_CAPACITY])
{
    char line[1024], problem[FAULT_TEXT];
    char *value;
    bool inside = false, found = false;
    FILE *file = platform_open(path, "rb", problem);
    while (file && !found && fgets(line, sizeof line, file)) {
        if (key_of(line, machine, &value))
            inside = true;
        else if (inside && key_of(line, key, &value)) {
            snprintf(folder, PATH_CAPACITY, "%s", value);
            found = true;
        }
    }
    if (file)
        fclose(file);
    return found;
}

static void add_machine(struct doctor *doctor)
{
    struct search *search = &doctor->search;
    const char *model = doctor_first(doctor, "machine");
    const char *files = doctor_first(doctor, "machines");
    const char *key = doctor_first(doctor, "machine-key");
    const char *base = doctor_first(doctor, "machine-folder");
    char path[PATH_CAPACITY], folder[PATH_CAPACITY], named[PATH_CAPACITY];
    if (!model || !files || !key || !base)
        return;
    doctor_rooted(model, path);
    read_line(path, search->machine, sizeof search->machine);
    size_t count = *search->machine ? search_glob(doctor, files) : 0;
    for (size_t i = 0; i < count; i++) /* the last one counts */
        search->machine_known |= read_machine(doctor->matches[i], search->machine, key, named);
    if (!search->machine_known)
        return;
    named[strcspn(named, ";")] = '\0';
    if ((size_t)snprintf(path, sizeof path, "%s/%s", base, named) >= sizeof path)
        return;
    doctor_rooted(path, folder);
    add(search, folder);
}

void search_open(struct doctor *doctor)
{
    struct search *search = &doctor->search;
    struct fault fault;
    char folder[PATH_CAPACITY];
    if (doctor->config && *doctor->config->dsp &&
        !config_resolve(doctor->config, doctor->config->dsp, "", folder, sizeof folder, &fault))
        add(search, folder);
    add_variable(doctor, search);
    search->own = search->count;
    add_machine(doctor);
    size_t at = 0;
    for (const char *place; (place = doctor_place(doctor, "dsp-folder", &at)) != NULL;) {
        doctor_rooted(place, folder);
        add(search, folder);
    }
}

static bool found_in(const char *folder, const char *domain, const char *name, char out[PATH_CAPACITY])
{
    int length = domain ? snprintf(out, PATH_CAPACITY, "%s/%s/%s", folder, domain, name)
                        : snprintf(out, PATH_CAPACITY, "%s/%s", folder, name);
    return length < PATH_CAPACITY && exists(out);
}

bool search_find(const struct doctor *doctor, const char *name, size_t first, char out[PATH_CAPACITY])
{
    const struct search *search = &doctor->search;
    for (size_t i = first; i < search->count; i++) {
        size_t at = 0;
        for (const char *domain; (domain = doctor_place(doctor, "domain", &at)) != NULL;)
            if (found_in(search->folders[i], domain, name, out))
                return true;
        if (found_in(search->folders[i], NULL, name, out))
            return true;
    }
    return false;
}

void search_note(const struct doctor *doctor, struct step *step, size_t first)
{
    const struct search *search = &doctor->search;
    for (size_t i = first; i < search->count; i++) {
        const char *folder = search->folders[i];
        struct looked looked;
        doctor_look(folder, false, &looked);
        if (looked.access == ACCESS_GRANTED)
            step_note(step, "searched %s", folder);
        else if (i < search->own && strchr(folder, ':') && strcmp(doctor->system, "windows") != 0)
            step_note(step, "searched %s, which is one folder for FastRPC: only ; parts folders", folder);
        else
            step_note(step, "searched %s: %s", folder, looked.text);
    }
}
