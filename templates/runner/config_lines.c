#include "config_lines.h"

#include <stdarg.h>
#include <string.h>

#include "qnn_abi.h"

enum { FORMAT_OLDEST = 1, FORMAT_UNITS = 2 };

const char *const UNIT_WORDS[UNITS] = {"npu", "gpu", "cpu"};
const char *const ASSET_WORDS[ASSETS] = {"context", "dlc", "library"};
const char *const ASSET_NAMES[ASSETS] = {"context binary", "DLC", "model library"};

struct reader {
    struct config *config;
    struct fault *fault;
    size_t line;
    uint32_t format;
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
    if (parse_number(value, &reader->format) && reader->format >= FORMAT_OLDEST && reader->format <= FORMAT_UNITS)
        return RUN_OK;
    return wrong(reader, "format \"%.60s\" is not known; this hexrun reads formats %d to %d", value, FORMAT_OLDEST,
                 FORMAT_UNITS);
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
    strcpy(reader->config->units[0].backend, value);
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

/* Cuts the first word off; the rest is what follows the blanks after it. */
static char *cut_word(char *text)
{
    char *rest = text + strcspn(text, " \t");
    if (*rest)
        *rest++ = '\0';
    return rest + strspn(rest, " \t");
}

static bool find_word(const char *word, const char *const *words, size_t count, size_t *out)
{
    for (*out = 0; *out < count; ++*out)
        if (strcmp(words[*out], word) == 0)
            return true;
    return false;
}

/* `npu`, and from format 2 on a unit and its library on each of several lines. */
static enum status read_compute(struct reader *reader, char *value)
{
    struct config *config = reader->config;
    size_t unit;
    if (reader->format < FORMAT_UNITS) {
        if (strcmp(value, UNIT_WORDS[UNIT_NPU]) != 0)
            return wrong(reader, "compute \"%.60s\" is not supported by format 1, which knows the npu alone", value);
        if (config->unit_count++)
            return wrong(reader, "compute is said twice");
        return RUN_OK;
    }
    char *library = cut_word(value);
    if (!find_word(value, UNIT_WORDS, UNITS, &unit))
        return wrong(reader, "compute \"%.60s\" is none of npu, gpu, cpu", value);
    for (size_t i = 0; i < config->unit_count; i++)
        if (config->units[i].unit == (enum unit)unit)
            return wrong(reader, "compute %s is said twice", value);
    if (!*library)
        return wrong(reader, "compute %s wants the path of its backend library", value);
    config->units[config->unit_count].unit = (enum unit)unit;
    strcpy(config->units[config->unit_count++].backend, library);
    return RUN_OK;
}

static enum status read_priority(struct reader *reader, char *value)
{
    static const char *const WORDS[] = {"low", "normal", "normal_high", "high"};
    static const uint32_t NUMBERS[] = {QNN_PRIORITY_LOW, QNN_PRIORITY_NORMAL, QNN_PRIORITY_NORMAL_HIGH,
                                       QNN_PRIORITY_HIGH};
    size_t word;
    if (!find_word(value, WORDS, sizeof WORDS / sizeof *WORDS, &word))
        return wrong(reader, "priority is low, normal, normal_high or high, found \"%.60s\"", value);
    reader->config->has_priority = true;
    reader->config->priority = NUMBERS[word];
    return RUN_OK;
}

static enum status read_compatibility(struct reader *reader, char *value)
{
    reader->config->has_compatibility = true;
    reader->config->strict = strcmp(value, "strict") == 0;
    if (reader->config->strict || strcmp(value, "permissive") == 0)
        return RUN_OK;
    return wrong(reader, "compatibility is strict or permissive, found \"%.60s\"", value);
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

/* ---- lines of name=value fields ---- */

/* `value` may be cut up. */
typedef bool (*read_field)(void *target, size_t field, char *value);

struct field_names {
    const char *line; /* the key that they stand behind */
    const char *const *words;
    size_t count;
};

static enum status unknown_field(struct reader *reader, const struct field_names *names, const char *word)
{
    char known[FAULT_TEXT / 4] = "";
    size_t used = 0;
    for (size_t i = 0; i < names->count && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names->words[i]);
    return wrong(reader, "%s does not know \"%.60s\"; it knows %s, each with = and a value", names->line, word, known);
}

/* Sets a bit in `seen` for each field that is there. */
static enum status read_fields(struct reader *reader, const struct field_names *names, char *text, read_field read,
                               void *target, uint32_t *seen)
{
    *seen = 0;
    for (char *word = text; *word;) {
        char *next = cut_word(word);
        char *equals = strchr(word, '=');
        size_t field;
        if (equals)
            *equals = '\0';
        if (!equals || !find_word(word, names->words, names->count, &field))
            return unknown_field(reader, names, word);
        if (*seen & 1u << field)
            return wrong(reader, "%s says %s twice", names->line, word);
        if (!read(target, field, equals + 1))
            return wrong(reader, "%s has a %s that is not understood", names->line, word);
        *seen |= 1u << field;
        word = next;
    }
    return RUN_OK;
}

enum { FIELD_SOC, FIELD_SOC_MODEL, FIELD_ACCEPTS, FIELD_HEXAGON, FIELD_VTCM, FIELD_LINUX_IDS, FIELD_ASSET };

static bool read_variant_field(void *target, size_t field, char *value)
{
    struct variant *variant = target;
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
        return *value && strcpy(variant->assets[field - FIELD_ASSET], value);
    }
}

static enum status read_variant(struct reader *reader, char *value)
{
    static const char *const WORDS[] = {"soc",           "soc_model", "accepts", "hexagon", "vtcm_mb",
                                        "linux_soc_ids", "context",   "dlc",     "library"};
    struct config *config = reader->config;
    bool composes = reader->format >= FORMAT_UNITS;
    struct field_names names = {"variant", WORDS, FIELD_ASSET + (composes ? ASSETS : 1)};
    uint32_t seen;
    if (config->variant_count == CONFIG_VARIANTS)
        return wrong(reader, "more than %d variants", CONFIG_VARIANTS);
    enum status status =
        read_fields(reader, &names, value, read_variant_field, &config->variants[config->variant_count], &seen);
    if (status)
        return status;
    for (size_t field = 0; field < FIELD_ASSET; field++)
        if (!(seen & 1u << field))
            return wrong(reader, "variant lacks %s=", WORDS[field]);
    if (!(seen >> FIELD_ASSET))
        return wrong(reader, "variant lacks context=%s", composes ? ", dlc= or library=" : "");
    config->variant_count++;
    return RUN_OK;
}

static bool read_preparation_field(void *target, size_t field, char *value)
{
    struct preparation *preparation = target;
    uint32_t *numbers[] = {&preparation->optimization, &preparation->vtcm_mb, &preparation->hvx_threads};
    if (field < sizeof numbers / sizeof *numbers)
        return parse_number(value, numbers[field]);
    preparation->fp16 = strcmp(value, "yes") == 0;
    return preparation->fp16 || strcmp(value, "no") == 0;
}

static enum status read_prepare(struct reader *reader, char *value)
{
    static const char *const WORDS[] = {"optimization", "vtcm_mb", "hvx_threads", "fp16"};
    static const struct field_names NAMES = {"prepare", WORDS, sizeof WORDS / sizeof *WORDS};
    uint32_t seen;
    return read_fields(reader, &NAMES, value, read_preparation_field, &reader->config->preparation, &seen);
}

/* ---- the file ---- */

static const struct {
    const char *name;
    enum status (*read)(struct reader *reader, char *value);
    uint32_t since, until; /* formats */
    bool required, repeats;
} KEYS[] = {
    {"format", read_format, 1, 2, true, false},
    {"package", read_package, 1, 2, true, false},
    {"backend", read_backend, 1, 1, true, false},
    {"system", read_system, 1, 2, true, false},
    {"dsp", read_dsp, 1, 2, false, false},
    {"simulator", read_simulator, 1, 2, true, false},
    {"compute", read_compute, 1, 2, true, true},
    {"power", read_power, 1, 2, true, false},
    {"rpc_latency_us", read_rpc_latency, 1, 2, false, false},
    {"rpc_polling_us", read_rpc_polling, 1, 2, false, false},
    {"priority", read_priority, 2, 2, false, false},
    {"compatibility", read_compatibility, 2, 2, false, false},
    {"prepare", read_prepare, 2, 2, false, false},
    {"variant", read_variant, 1, 2, true, true},
};
enum { KEY_COUNT = sizeof KEYS / sizeof *KEYS };

static bool key_of_format(const struct reader *reader, size_t key)
{
    return reader->format >= KEYS[key].since && reader->format <= KEYS[key].until;
}

static enum status unknown_key(struct reader *reader, const char *word)
{
    char known[FAULT_TEXT / 4] = "";
    size_t used = 0;
    for (size_t key = 0; key < KEY_COUNT && used < sizeof known; key++)
        if (key_of_format(reader, key))
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", KEYS[key].name);
    return wrong(reader, "unknown key \"%.60s\"; known are %s", word, known);
}

static enum status read_line(struct reader *reader, char *line)
{
    line += strspn(line, " \t");
    line[strcspn(line, "\r\n")] = '\0';
    for (size_t length = strlen(line); length && strchr(" \t", line[length - 1]);)
        line[--length] = '\0';
    if (!*line || *line == '#')
        return RUN_OK;

    char *value = cut_word(line);
    size_t key = 0;
    while (key < KEY_COUNT && strcmp(KEYS[key].name, line) != 0)
        key++;
    if (!reader->seen && key != 0)
        return wrong(reader, "the first line must be \"format 1\" or \"format 2\"");
    if (key == KEY_COUNT || (reader->seen && !key_of_format(reader, key)))
        return unknown_key(reader, line);
    if (!*value)
        return wrong(reader, "%s has no value", line);
    if (!KEYS[key].repeats && reader->seen & 1u << key)
        return wrong(reader, "%s is said twice", line);
    reader->seen |= 1u << key;
    return KEYS[key].read(reader, value);
}

/* The next line as a string of its own. `text` is moved behind it. */
static enum status next_line(struct reader *reader, const char **text, const char *end, char line[CONFIG_LINE])
{
    const char *stop = memchr(*text, '\n', (size_t)(end - *text));
    size_t length = (size_t)((stop ? stop : end) - *text);
    reader->line++;
    if (length > CONFIG_LINE - 2)
        return wrong(reader, "the line is longer than %d bytes", CONFIG_LINE - 2);
    if (memchr(*text, '\0', length))
        return wrong(reader, "the line holds a zero byte, so this is no text");
    memcpy(line, *text, length);
    line[length] = '\0';
    *text = stop ? stop + 1 : end;
    return RUN_OK;
}

enum status config_read(const char *text, size_t size, struct config *config, struct fault *fault)
{
    struct reader place = {.config = config, .fault = fault};
    struct reader *reader = &place;
    const char *end = text + size;
    char line[CONFIG_LINE];
    enum status status = RUN_OK;
    while (!status && text < end) {
        status = next_line(reader, &text, end, line);
        if (!status)
            status = read_line(reader, line);
    }
    for (size_t key = 0; !status && key < KEY_COUNT; key++)
        if (KEYS[key].required && !(reader->seen & 1u << key) && (!key || key_of_format(reader, key)))
            status = fault_set(reader->fault, RUN_USAGE, "%s lacks the key %s", reader->config->path, KEYS[key].name);
    if (!status && !reader->config->simulator && !*reader->config->dsp && config_unit(config, UNIT_NPU))
        status = fault_set(reader->fault, RUN_USAGE, "%s lacks the key dsp, which a device needs",
                           reader->config->path);
    return status;
}
