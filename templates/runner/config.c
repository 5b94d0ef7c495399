#include "config.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct config *config;
    struct fault *fault;
    size_t line;
    uint32_t seen; /* one bit for each row of KEYS */
};

static enum status wrong(struct reader *reader, const char *format, ...) HEXRUN_PRINTF(2, 3);

static enum status wrong(struct reader *reader, const char *format, ...)
{
    char text[FAULT_TEXT / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fault_set(reader->fault, RUN_USAGE, "%s:%zu: %s", reader->config->path, reader->line, text);
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

/* "-" is the empty list. */
static bool parse_list(char *text, struct number_list *out)
{
    out->count = 0;
    if (strcmp(text, "-") == 0)
        return true;
    for (char *word = text; word;) {
        char *comma = strchr(word, ',');
        if (comma)
            *comma++ = '\0';
        if (out->count == CONFIG_LIST || !parse_number(word, &out->items[out->count]))
            return false;
        out->count++;
        word = comma;
    }
    return true;
}

static enum status copy_word(struct reader *reader, const char *key, const char *value, char *out)
{
    if (strlen(value) >= CONFIG_WORD || strpbrk(value, " \t"))
        return wrong(reader, "%s wants one word of at most %d bytes, found \"%.60s\"", key, CONFIG_WORD - 1, value);
    strcpy(out, value);
    return RUN_OK;
}

static enum status read_format(struct reader *reader, char *value)
{
    if (strcmp(value, "1") == 0)
        return RUN_OK;
    return wrong(reader, "format \"%.60s\" is not known; this hexrun reads format 1", value);
}

static enum status read_package(struct reader *reader, char *value)
{
    char *version = strchr(value, ' ');
    if (!version)
        return wrong(reader, "package wants a name and a version");
    *version++ = '\0';
    enum status status = copy_word(reader, "package", value, reader->config->package);
    return status ? status : copy_word(reader, "package", version, reader->config->version);
}

static enum status read_backend(struct reader *reader, char *value)
{
    strcpy(reader->config->backend, value);
    return RUN_OK;
}

static enum status read_system(struct reader *reader, char *value)
{
    strcpy(reader->config->system, value);
    return RUN_OK;
}

static enum status read_dsp(struct reader *reader, char *value)
{
    strcpy(reader->config->dsp, value);
    return RUN_OK;
}

static enum status read_simulator(struct reader *reader, char *value)
{
    reader->config->simulator = strcmp(value, "yes") == 0;
    if (reader->config->simulator || strcmp(value, "no") == 0)
        return RUN_OK;
    return wrong(reader, "simulator is yes or no, found \"%.60s\"", value);
}

static enum status read_compute(struct reader *reader, char *value)
{
    if (strcmp(value, "npu") != 0)
        return wrong(reader, "compute \"%.60s\" is not supported; this hexrun runs on the npu", value);
    return copy_word(reader, "compute", value, reader->config->compute);
}

static enum status read_power(struct reader *reader, char *value)
{
    return copy_word(reader, "power", value, reader->config->power);
}

static enum status read_rpc_latency(struct reader *reader, char *value)
{
    if (parse_number(value, &reader->config->rpc_latency_us))
        return RUN_OK;
    return wrong(reader, "rpc_latency_us wants a number of microseconds, found \"%.60s\"", value);
}

static enum status read_rpc_polling(struct reader *reader, char *value)
{
    reader->config->has_rpc_polling = true;
    if (parse_number(value, &reader->config->rpc_polling_us) && reader->config->rpc_polling_us <= 9999)
        return RUN_OK;
    return wrong(reader, "rpc_polling_us wants a number of microseconds up to 9999, found \"%.60s\"", value);
}

enum { FIELD_SOC, FIELD_SOC_MODEL, FIELD_ACCEPTS, FIELD_HEXAGON, FIELD_VTCM, FIELD_LINUX_IDS, FIELD_CONTEXT, FIELDS };

static const char *const FIELD_NAMES[FIELDS] = {
    "soc", "soc_model", "accepts", "hexagon", "vtcm_mb", "linux_soc_ids", "context",
};

/* `value` may be cut up. */
static bool read_field(struct variant *variant, size_t field, char *value)
{
    switch (field) {
    case FIELD_SOC:
        return *value && strlen(value) < CONFIG_WORD && strcpy(variant->soc, value);
    case FIELD_SOC_MODEL:
        return parse_number(value, &variant->soc_model);
    case FIELD_ACCEPTS:
        return parse_list(value, &variant->accepts);
    case FIELD_HEXAGON:
        return parse_number(value, &variant->hexagon);
    case FIELD_VTCM:
        return parse_number(value, &variant->vtcm_mb);
    case FIELD_LINUX_IDS:
        return parse_list(value, &variant->linux_soc_ids);
    default:
        return *value && strcpy(variant->context, value);
    }
}

static enum status read_variant(struct reader *reader, char *value)
{
    struct config *config = reader->config;
    if (config->variant_count == CONFIG_VARIANTS)
        return wrong(reader, "more than %d variants", CONFIG_VARIANTS);
    struct variant *variant = &config->variants[config->variant_count];
    uint32_t seen = 0;
    for (char *word = value; word && *word;) {
        word += strspn(word, " \t");
        char *next = strpbrk(word, " \t");
        if (next)
            *next++ = '\0';
        char *equals = strchr(word, '=');
        size_t field = FIELDS;
        if (equals) {
            *equals = '\0';
            for (field = 0; field < FIELDS && strcmp(word, FIELD_NAMES[field]) != 0;)
                field++;
        }
        if (field == FIELDS)
            return wrong(reader, "variant does not know \"%.60s\"; it knows soc, soc_model, accepts, hexagon, "
                                 "vtcm_mb, linux_soc_ids, context, each with = and a value", word);
        if (seen & 1u << field)
            return wrong(reader, "variant says %s twice", word);
        if (!read_field(variant, field, equals + 1))
            return wrong(reader, "variant has a %s that is not understood", word);
        seen |= 1u << field;
        word = next;
    }
    for (size_t field = 0; field < FIELDS; field++)
        if (!(seen & 1u << field))
            return wrong(reader, "variant lacks %s=", FIELD_NAMES[field]);
    config->variant_count++;
    return RUN_OK;
}

static const struct {
    const char *name;
    enum status (*read)(struct reader *reader, char *value);
    bool required, repeats;
} KEYS[] = {
    {"format", read_format, true, false},
    {"package", read_package, true, false},
    {"backend", read_backend, true, false},
    {"system", read_system, true, false},
    {"dsp", read_dsp, false, false},
    {"simulator", read_simulator, true, false},
    {"compute", read_compute, true, false},
    {"power", read_power, true, false},
    {"rpc_latency_us", read_rpc_latency, false, false},
    {"rpc_polling_us", read_rpc_polling, false, false},
    {"variant", read_variant, true, true},
};
enum { KEY_COUNT = sizeof KEYS / sizeof *KEYS };

static enum status read_line(struct reader *reader, char *line)
{
    line += strspn(line, " \t");
    line[strcspn(line, "\r\n")] = '\0';
    for (size_t length = strlen(line); length && strchr(" \t", line[length - 1]);)
        line[--length] = '\0';
    if (!*line || *line == '#')
        return RUN_OK;

    char *value = line + strcspn(line, " \t");
    if (*value)
        *value++ = '\0';
    value += strspn(value, " \t");
    size_t key = 0;
    while (key < KEY_COUNT && strcmp(KEYS[key].name, line) != 0)
        key++;
    if (key == KEY_COUNT)
        return wrong(reader, "unknown key \"%.60s\"; known are format, package, backend, system, dsp, simulator, "
                             "compute, power, rpc_latency_us, rpc_polling_us, variant", line);
    if (!reader->seen && key != 0)
        return wrong(reader, "the first line must be \"format 1\"");
    if (!*value)
        return wrong(reader, "%s has no value", line);
    if (!KEYS[key].repeats && reader->seen & 1u << key)
        return wrong(reader, "%s is said twice", line);
    reader->seen |= 1u << key;
    return KEYS[key].read(reader, value);
}

static enum status read_file(struct reader *reader, FILE *file)
{
    char line[CONFIG_LINE];
    enum status status = RUN_OK;
    while (!status && fgets(line, sizeof line, file)) {
        reader->line++;
        if (strlen(line) == sizeof line - 1 && line[sizeof line - 2] != '\n')
            status = wrong(reader, "the line is longer than %d bytes", CONFIG_LINE - 2);
        else
            status = read_line(reader, line);
    }
    if (!status && ferror(file))
        status = fault_set(reader->fault, RUN_UNAVAILABLE, "%s could not be read to its end", reader->config->path);
    for (size_t key = 0; !status && key < KEY_COUNT; key++)
        if (KEYS[key].required && !(reader->seen & 1u << key))
            status = fault_set(reader->fault, RUN_USAGE, "%s lacks the key %s", reader->config->path, KEYS[key].name);
    if (!status && !reader->config->simulator && !*reader->config->dsp)
        status = fault_set(reader->fault, RUN_USAGE, "%s lacks the key dsp, which a device needs",
                           reader->config->path);
    return status;
}

/* config->path, absolute, and the folder it is in. */
static enum status find(const char *named, struct config *config, struct fault *fault)
{
    static const char *const PLACES[] = {"runner.conf", "../share/runner.conf"};
    char own[PATH_CAPACITY], candidate[PATH_CAPACITY + 32], problem[FAULT_TEXT] = "";
    bool found = named && platform_absolute(named, config->path, sizeof config->path, problem);
    if (named && !found) {
        fault_set(fault, RUN_UNAVAILABLE, "%s cannot be opened", named);
        fault_evidence(fault, "%s", problem);
        return RUN_UNAVAILABLE;
    }
    if (!named && !platform_own_folder(own, sizeof own))
        return fault_set(fault, RUN_UNAVAILABLE, "hexrun cannot find its own folder; name runner.conf with --config");
    for (size_t i = 0; !found && i < sizeof PLACES / sizeof *PLACES; i++) {
        snprintf(candidate, sizeof candidate, "%s/%s", own, PLACES[i]);
        found = platform_absolute(candidate, config->path, sizeof config->path, problem);
    }
    if (!found) {
        fault_set(fault, RUN_UNAVAILABLE, "there is no runner.conf");
        fault_evidence(fault, "looked for %s/runner.conf and %s/../share/runner.conf", own, own);
        fault_fix(fault, "name it with --config");
        return RUN_UNAVAILABLE;
    }
    strcpy(config->folder, config->path);
    char *slash = config->folder;
    for (char *at = config->folder; *at; at++)
        if (*at == '/' || *at == '\\')
            slash = at;
    *slash = '\0';
    return RUN_OK;
}

enum status config_load(const char *named, struct config **out, struct fault *fault)
{
    char problem[FAULT_TEXT];
    struct config *config = calloc(1, sizeof *config);
    if (!config)
        return fault_memory(fault);
    enum status status = find(named, config, fault);
    if (!status) {
        FILE *file = platform_open(config->path, "rb", problem);
        if (file) {
            struct reader reader = {.config = config, .fault = fault};
            status = read_file(&reader, file);
            fclose(file);
        } else {
            status = fault_set(fault, RUN_UNAVAILABLE, "%s cannot be opened", config->path);
            fault_evidence(fault, "%s", problem);
        }
    }
    if (status)
        free(config);
    else
        *out = config;
    return status;
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
