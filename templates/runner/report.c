#include "report.h"

#include <string.h>

#include "backend_log.h"
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
    json_string(json, "unit", UNIT_WORDS[run->unit->unit]);
    json_open_array(json, "units_passed_over");
    for (size_t i = 0; i < run->passed_over.count; i++) {
        json_open_object(json, NULL);
        json_string(json, "unit", UNIT_WORDS[run->passed_over.items[i].unit]);
        json_string(json, "reason", run->passed_over.items[i].reason);
        json_close_object(json);
    }
    json_close_array(json);
}

void report_variant(struct json *json, const struct run *run)
{
    const struct variant *variant = run->choice.variant;
    json_open_object(json, "package");
    json_string(json, "name", run->config->package);
    json_string(json, "version", run->config->version);
    json_close_object(json);
    json_open_object(json, "variant");
    json_string(json, "soc", variant->soc);
    json_number(json, "soc_model", variant->soc_model);
    json_number(json, "hexagon", variant->hexagon);
    json_string(json, ASSET_WORDS[run->choice.asset], variant->assets[run->choice.asset]);
    json_string(json, "compiled_by", run->model.build);
    json_string(json, "chosen_because", run->choice.reason);
    json_bool(json, "simulated", run->config->simulator);
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
    report_backend(&json, &run->libraries);
    json_open_array(&json, "graphs");
    for (uint32_t i = 0; i < run->model.graph_count; i++) {
        json_open_object(&json, NULL);
        json_string(&json, "name", run->model.graphs[i].name);
        json_io(&json, "inputs", &run->model.graphs[i].inputs);
        json_io(&json, "outputs", &run->model.graphs[i].outputs);
        json_close_object(&json);
    }
    json_close_array(&json);
    json_close_object(&json);
}

static void text_io(FILE *out, const char *what, const struct graph_io *io)
{
    for (uint32_t i = 0; i < io->count; i++) {
        const struct tensor *tensor = &io->tensors[i];
        char shape[128];
        shape_text(tensor->shape, tensor->rank, shape, sizeof shape);
        fprintf(out, "  %-6s %s %s %s", what, tensor->name, tensor->element->name, shape);
        const struct quantization *q = &tensor->quantization;
        if (q->known && q->channels)
            fprintf(out, " = (stored + offset) * scale, %u of each along axis %u", q->channels, q->axis);
        else if (q->known)
            fprintf(out, " = (stored %+d) * %.9g", q->offset, (double)q->scale);
        fputc('\n', out);
    }
}

void report_description(FILE *out, const struct run *run)
{
    if (run->options->json) {
        json_description(out, run);
        return;
    }
    for (uint32_t i = 0; i < run->model.graph_count; i++) {
        fprintf(out, "graph %s\n", run->model.graphs[i].name);
        text_io(out, "input", &run->model.graphs[i].inputs);
        text_io(out, "output", &run->model.graphs[i].outputs);
    }
}

static void json_saved(FILE *out, const struct run *run)
{
    struct json json = report_begin(out);
    report_variant(&json, run);
    report_backend(&json, &run->libraries);
    json_open_object(&json, "saved");
    json_string(&json, "file", run->saved.file);
    json_number(&json, "bytes", run->saved.bytes);
    json_number(&json, "soc_model", run->saved.soc_model);
    json_number(&json, "hexagon", run->saved.hexagon);
    json_open_array(&json, "graphs");
    for (uint32_t i = 0; i < run->model.graph_count; i++)
        json_string(&json, NULL, run->model.graphs[i].name);
    json_close_array(&json);
    json_close_object(&json);
    json_close_object(&json);
}

void report_saved(FILE *out, const struct run *run)
{
    if (run->options->json)
        json_saved(out, run);
    else
        fprintf(out, "%s: %llu bytes, %u graphs, for soc_model %u, Hexagon v%u\n", run->saved.file,
                (unsigned long long)run->saved.bytes, run->model.graph_count, run->saved.soc_model,
                run->saved.hexagon);
}

/* ---- faults ---- */

/* An error code with everything known about it; the pointers are NULL where nothing is. */
struct decoded {
    uint32_t code;
    const char *name, *sentence, *look_first;
};

static struct decoded decode(uint64_t returned)
{
    uint32_t code = decode_mask(returned);
    const struct error_row *row = decode_row(code);
    const struct error_range *range = decode_range(code);
    struct decoded out = {.code = code};
    if (row)
        out = (struct decoded){code, row->name, row->sentence, row->look_first};
    else if (range)
        out = (struct decoded){code, range->name, range->sentence, NULL};
    return out;
}

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
        struct decoded decoded = decode(fault->code);
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

static void text_log(char log[LOG_LINES][LOG_LINE], size_t count)
{
    const struct error_row *last = NULL;
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "  backend log: %s\n", log[i]);
        const struct error_row *row = decode_line(log[i]);
        if (row && row != last)
            fprintf(stderr, "    0x%x %s: %s\n", row->code, row->name, row->sentence);
        last = row ? row : last;
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
        struct decoded decoded = decode(fault->code);
        fprintf(stderr, "  error %u (0x%x)%s%s\n", decoded.code, decoded.code, decoded.name ? " " : "",
                decoded.name ? decoded.name : "");
        if (decoded.sentence)
            fprintf(stderr, "  %s\n", decoded.sentence);
        if (decoded.look_first)
            fprintf(stderr, "  look first at: %s\n", decoded.look_first);
    }
    text_log(log, log_count);
    if (*fault->fix)
        fprintf(stderr, "  fix: %s\n", fault->fix);
    if (json)
        json_fault(out, fault, log, log_count);
}
