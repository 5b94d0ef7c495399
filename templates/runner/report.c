#include "report.h"

#include <stdarg.h>
#include <string.h>

#include "decode.h"
#include "report_parts.h"

enum { SCHEMA_VERSION = 1 };

struct json report_begin(FILE *out)
{
    struct json json = {.out = out};
    json_open_object(&json, NULL);
    json_number(&json, "schema_version", SCHEMA_VERSION);
    json_string(&json, "hexrun", HEXRUN_VERSION);
    return json;
}

/* Where it runs, and where it does not although runner.conf prefers that. */
static void json_unit(struct json *json, const struct run *run)
{
    json_string(json, "unit", UNIT_WORDS[run->handle->unit->unit]);
    json_open_array(json, "units_passed_over");
    for (size_t i = 0; i < run->handle->passed_over.count; i++) {
        json_open_object(json, NULL);
        json_string(json, "unit", UNIT_WORDS[run->handle->passed_over.items[i].unit]);
        json_string(json, "reason", run->handle->passed_over.items[i].reason);
        json_close_object(json);
    }
    json_close_array(json);
}

void report_variant(struct json *json, const struct run *run)
{
    const struct variant *variant = run->handle->choice.variant;
    json_open_object(json, "package");
    json_string(json, "name", run->handle->config->package);
    json_string(json, "version", run->handle->config->version);
    json_close_object(json);
    json_open_object(json, "variant");
    json_string(json, "soc", variant->soc);
    json_number(json, "soc_model", variant->soc_model);
    json_number(json, "hexagon", variant->hexagon);
    json_string(json, ASSET_WORDS[run->handle->choice.asset], variant->assets[run->handle->choice.asset]);
    json_string(json, "compiled_by", run->handle->model.build);
    json_string(json, "chosen_because", run->handle->choice.reason);
    json_bool(json, "simulated", run->handle->config->simulator);
    json_close_object(json);
    json_unit(json, run);
}

static void json_version(struct json *json, const char *key, const struct qnn_version *version)
{
    char text[48];
    snprintf(text, sizeof text, "%u.%u.%u", version->major, version->minor, version->patch);
    json_string(json, key, text);
}

void report_backend(struct json *json, const struct libraries *libraries)
{
    json_open_object(json, "backend");
    json_string(json, "build", libraries->build);
    json_version(json, "core_api", &libraries->backend->api.core);
    json_version(json, "backend_api", &libraries->backend->api.backend);
    json_version(json, "system_api", &libraries->system->api);
    json_close_object(json);
}

void report_shape(struct json *json, const struct tensor *tensor, size_t times)
{
    json_open_array(json, "shape");
    for (uint32_t i = 0; i < tensor->rank; i++)
        json_number(json, NULL, i ? tensor->shape[i] : tensor->shape[i] * (uint64_t)times);
    json_close_array(json);
}

static void json_quantization(struct json *json, const struct quantization *q)
{
    if (!q->channels) {
        json_real(json, "scale", (double)q->scale);
        json_signed(json, "offset", q->offset);
        return;
    }
    json_number(json, "axis", q->axis);
    json_open_array(json, "scales");
    for (uint32_t i = 0; i < q->channels; i++)
        json_real(json, NULL, (double)quantization_at(q, i).scale);
    json_close_array(json);
    json_open_array(json, "offsets");
    for (uint32_t i = 0; i < q->channels; i++)
        json_signed(json, NULL, quantization_at(q, i).offset);
    json_close_array(json);
}

static void json_io(struct json *json, const char *key, const struct graph_io *io)
{
    json_open_array(json, key);
    for (uint32_t i = 0; i < io->count; i++) {
        const struct tensor *tensor = &io->tensors[i];
        json_open_object(json, NULL);
        json_string(json, "name", tensor->name);
        json_string(json, "dtype", dtype_name(tensor->element->descr));
        json_string(json, "stored_as", tensor->element->name);
        json_bool(json, "takes_float32", tensor_takes_float(tensor) || strcmp(tensor->element->descr, "<f4") == 0);
        report_shape(json, tensor, 1);
        if (tensor->quantization.known)
            json_quantization(json, &tensor->quantization);
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_description(FILE *out, const struct run *run)
{
    struct json json = report_begin(out);
    report_variant(&json, run);
    report_backend(&json, &run->handle->libraries);
    json_open_array(&json, "graphs");
    for (uint32_t i = 0; i < run->handle->model.graph_count; i++) {
        json_open_object(&json, NULL);
        json_string(&json, "name", run->handle->model.graphs[i].name);
        json_io(&json, "inputs", &run->handle->model.graphs[i].inputs);
        json_io(&json, "outputs", &run->handle->model.graphs[i].outputs);
        json_close_object(&json);
    }
    json_close_array(&json);
    json_close_object(&json);
}

void text_out(FILE *out, const char *format, ...)
{
    char text[PATH_CAPACITY + 2 * FAULT_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *end = strrchr(format, '\n') ? strrchr(text, '\n') : NULL;
    if (end)
        *end = '\0';
    make_visible(text);
    fputs(text, out);
    if (end)
        fputc('\n', out);
}

static void text_io(FILE *out, const char *what, const struct graph_io *io)
{
    for (uint32_t i = 0; i < io->count; i++) {
        const struct tensor *tensor = &io->tensors[i];
        char shape[128];
        shape_text(tensor->shape, tensor->rank, shape, sizeof shape);
        text_out(out, "  %-6s %s %s %s", what, tensor->name, tensor->element->name, shape);
        const struct quantization *q = &tensor->quantization;
        if (q->known && q->channels)
            text_out(out, " = (stored + offset) * scale, %u of each along axis %u", q->channels, q->axis);
        else if (q->known)
            text_out(out, " = (stored %+d) * %.9g", q->offset, (double)q->scale);
        fputc('\n', out);
    }
}

void report_description(FILE *out, const struct run *run)
{
    if (run->options->json) {
        json_description(out, run);
        return;
    }
    for (uint32_t i = 0; i < run->handle->model.graph_count; i++) {
        text_out(out, "graph %s\n", run->handle->model.graphs[i].name);
        text_io(out, "input", &run->handle->model.graphs[i].inputs);
        text_io(out, "output", &run->handle->model.graphs[i].outputs);
    }
}

static void json_saved(FILE *out, const struct run *run)
{
    struct json json = report_begin(out);
    report_variant(&json, run);
    report_backend(&json, &run->handle->libraries);
    json_open_object(&json, "saved");
    json_string(&json, "file", run->saved.file);
    json_number(&json, "bytes", run->saved.bytes);
    json_number(&json, "soc_model", run->saved.soc_model);
    json_number(&json, "hexagon", run->saved.hexagon);
    json_open_array(&json, "graphs");
    for (uint32_t i = 0; i < run->handle->model.graph_count; i++)
        json_string(&json, NULL, run->handle->model.graphs[i].name);
    json_close_array(&json);
    json_close_object(&json);
    json_close_object(&json);
}

void report_saved(FILE *out, const struct run *run)
{
    if (run->options->json)
        json_saved(out, run);
    else
        text_out(out, "%s: %llu bytes, %u graphs, for soc_model %u, Hexagon v%u\n", run->saved.file,
                (unsigned long long)run->saved.bytes, run->handle->model.graph_count, run->saved.soc_model,
                run->saved.hexagon);
}

/* ---- faults ---- */

static void json_fault(FILE *out, const struct fault *fault, char log[LOG_LINES][LOG_LINE], size_t log_count)
{
    struct json json = report_begin(out);
    json_open_object(&json, "error");
    json_number(&json, "exit", (uint64_t)fault->status);
    json_string(&json, "what", fault->what);
    json_open_array(&json, "evidence");
    for (size_t i = 0; i < fault->evidence_count; i++)
        json_string(&json, NULL, fault->evidence[i]);
    json_close_array(&json);
    json_number(&json, "evidence_left_out", fault->evidence_left_out);
    json_string(&json, "fix", *fault->fix ? fault->fix : NULL);
    if (fault->has_code) {
        struct decoded decoded = decode_code(decode_mask(fault->code));
        char hex[16];
        snprintf(hex, sizeof hex, "0x%x", decoded.code);
        json_open_object(&json, "code");
        json_number(&json, "decimal", decoded.code);
        json_string(&json, "hex", hex);
        json_string(&json, "name", decoded.name);
        json_string(&json, "sentence", decoded.sentence);
        json_string(&json, "look_first", decoded.look_first);
        json_close_object(&json);
    }
    json_open_array(&json, "backend_log");
    for (size_t i = 0; i < log_count; i++)
        json_string(&json, NULL, log[i]);
    json_close_array(&json);
    json_close_object(&json);
    json_close_object(&json);
}

void report_log(FILE *out, const char *indent, char log[LOG_LINES][LOG_LINE], size_t count)
{
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++) {
        struct decoded row = {0};
        fprintf(out, "%sbackend log: %s\n", indent, log[i]);
        if (decode_line(log[i], &row) && row.code != last)
            fprintf(out, "    0x%x %s: %s\n", row.code, row.name, row.sentence);
        last = row.code;
    }
}

void report_fault(FILE *out, const struct fault *fault, bool json)
{
    char log[LOG_LINES][LOG_LINE];
    size_t log_count = backend_log_lines(log);
    fprintf(stderr, "hexrun: error: %s\n", fault->what);
    for (size_t i = 0; i < fault->evidence_count; i++)
        fprintf(stderr, "  %s\n", fault->evidence[i]);
    if (fault->evidence_left_out)
        fprintf(stderr, "  and %zu more\n", fault->evidence_left_out);
    if (fault->has_code) {
        struct decoded decoded = decode_code(decode_mask(fault->code));
        fprintf(stderr, "  error %u (0x%x)%s%s\n", decoded.code, decoded.code, decoded.name ? " " : "",
                decoded.name ? decoded.name : "");
        if (decoded.sentence)
            fprintf(stderr, "  %s\n", decoded.sentence);
        if (decoded.look_first)
            fprintf(stderr, "  look first at: %s\n", decoded.look_first);
    }
    report_log(stderr, "  ", log, log_count);
    if (*fault->fix)
        fprintf(stderr, "  fix: %s\n", fault->fix);
    if (json)
        json_fault(out, fault, log, log_count);
}
