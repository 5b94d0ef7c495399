#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config_lines.h"

const struct compute *config_unit(const struct config *config, enum unit unit)
{
    for (size_t i = 0; i < config->unit_count; i++)
        if (config->units[i].unit == unit)
            return &config->units[i];
    return NULL;
}

bool list_contains(const struct number_list *list, uint32_t number)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == number)
            return true;
    return false;
}

bool parse_number(const char *text, uint32_t *out)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > UINT32_MAX)
            return false;
    }
    *out = (uint32_t)value;
    return true;
}

static enum status not_found(const char *folder, const char *const places[2], struct fault *fault)
{
    fault_set(fault, RUN_UNAVAILABLE, "there is no runner.conf");
    fault_evidence(fault, "looked for %s/%s and %s/%s", folder, places[0], folder, places[1]);
    fault_fix(fault, "name it with --config");
    return RUN_UNAVAILABLE;
}

static enum status find_in(const char *folder, const char *const places[2], struct config *config,
                           struct fault *fault)
{
    char candidate[PATH_CAPACITY + 32], problem[FAULT_TEXT] = "";
    for (size_t i = 0; i < 2; i++) {
        int length = snprintf(candidate, sizeof candidate, "%s/%s", folder, places[i]);
        if (length > 0 && (size_t)length < sizeof candidate &&
            platform_absolute(candidate, config->path, sizeof config->path, problem))
            return RUN_OK;
    }
    return not_found(folder, places, fault);
}

static enum status cannot_open(const char *path, const char *problem, struct fault *fault)
{
    fault_set(fault, RUN_UNAVAILABLE, "%s cannot be opened", path);
    fault_evidence(fault, "%s", problem);
    return RUN_UNAVAILABLE;
}

/* config->path, absolute, and the folder it is in. */
static enum status find(const char *named, struct config *config, struct fault *fault)
{
    static const char *const BESIDE[] = {"runner.conf", "../share/runner.conf"};
    static const char *const WITHIN[] = {"runner.conf", "share/runner.conf"};
    char own[PATH_CAPACITY], problem[FAULT_TEXT] = "";
    enum status status = RUN_OK;
    if (!named && !platform_own_folder(own, sizeof own))
        return fault_set(fault, RUN_UNAVAILABLE, "hexrun cannot find its own folder; name runner.conf with --config");
    if (!named)
        status = find_in(own, BESIDE, config, fault);
    else if (platform_is_folder(named))
        status = find_in(named, WITHIN, config, fault);
    else if (!platform_absolute(named, config->path, sizeof config->path, problem))
        status = cannot_open(named, problem, fault);
    if (status)
        return status;
    strcpy(config->folder, config->path);
    char *slash = config->folder;
    for (char *at = config->folder; *at; at++)
        if (*at == '/' || *at == '\\')
            slash = at;
    *slash = '\0';
    return RUN_OK;
}

static enum status read_file(struct config *config, struct fault *fault)
{
    char problem[FAULT_TEXT] = "";
    struct mapped_file file = {0};
    if (!platform_map(config->path, &file, problem))
        return cannot_open(config->path, problem, fault);
    enum status status = config_read(file.data, file.size, config, fault);
    platform_unmap(&file);
    return status;
}

/* Hands over what was read, or frees it. */
static enum status finish(struct config *config, struct config **out, enum status status)
{
    if (status)
        free(config);
    else
        *out = config;
    return status;
}

enum status config_load(const char *named, struct config **out, struct fault *fault)
{
    struct config *config = calloc(1, sizeof *config);
    if (!config)
        return fault_memory(fault);
    enum status status = find(named, config, fault);
    if (!status)
        status = read_file(config, fault);
    return finish(config, out, status);
}

enum status config_parse(const char *folder, const char *lines, struct config **out, struct fault *fault)
{
    char problem[FAULT_TEXT] = "";
    struct config *config = calloc(1, sizeof *config);
    if (!config)
        return fault_memory(fault);
    enum status status = RUN_OK;
    if (!platform_absolute(folder, config->folder, sizeof config->folder, problem))
        status = cannot_open(folder, problem, fault);
    strcpy(config->path, "runner.conf");
    if (!status)
        status = config_read(lines, strlen(lines), config, fault);
    return finish(config, out, status);
}

enum status config_resolve(const struct config *config, const char *path, const char *role, char *out,
                           size_t capacity, struct fault *fault)
{
    char joined[PATH_CAPACITY + CONFIG_LINE], problem[FAULT_TEXT] = "";
    if (platform_is_absolute(path))
        snprintf(joined, sizeof joined, "%s", path);
    else
        snprintf(joined, sizeof joined, "%s/%s", config->folder, path);
    if (platform_absolute(joined, out, capacity, problem))
        return RUN_OK;
    fault_set(fault, RUN_UNAVAILABLE, "the %s is not there", role);
    fault_evidence(fault, "%s: %s", joined, problem);
    fault_evidence(fault, "named by %s", config->path);
    fault_fix(fault, "unpack the whole package again; hexrun takes no library from elsewhere");
    return RUN_UNAVAILABLE;
}
