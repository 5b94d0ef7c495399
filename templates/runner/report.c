#include "report.h"

#include <string.h>

#include "backend_log.h"
#include "decode.h"
#include "json.h"

enum { SCHEMA_VERSION = 1 };

static struct json begin(FILE *out)
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

static void json_variant(struct json *json, const struct run *run)
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

static void json_backend(struct json *json, const struct libraries *libraries)
{
    json_open_object(json, "backend");
    json_string(json, "build", libraries->build);
    json_version(json, "core_api", &libraries->backend->api.core);
    json_version(json, "backend_api", &libraries->backend->api.backend);
    json_version(json, "system_api", &libraries->system->api);
    json_close_object(json);
}

static void json_power(struct json *json, const struct power *power)
{
    json_open_object(json, "power");
    json_string(json, "profile", power->profile->name);
    json_bool(json, "applied", power->applied);
    json_bool(json, "rpc_applied", power->rpc_applied);
    if (power->applied)
        json_number(json, "corner", power->profile->corner);
    if (power->rpc_applied) {
        json_number(json, "rpc_latency_us", power->rpc_latency_us);
        json_number(json, "rpc_polling_us", power->rpc_polling_us);
    }
    json_string(json, "reason", *power->reason ? power->reason : NULL);
    json_close_object(json);
}

static void json_timings(struct json *json, const struct timings *timings)
{
    json_open_object(json, "timings_us");
    json_number(json, "load", timings->load);
    json_number(json, "create", timings->create);
    json_number(json, "min", timings->min);
    json_number(json, "median", timings->median);
    json_number(json, "p90", timings->p90);
    json_number(json, "p99", timings->p99);
    json_close_object(json);
}

static void json_shape(struct json *json, const struct tensor *tensor)
{
    json_open_array(json, "shape");
    for (uint32_t i = 0; i < tensor->rank; i++)
        json_number(json, NULL, tensor->shape[i]);
    json_close_array(json);
}

static void json_results(FILE *out, const struct run *run)
{
    struct json json = begin(out);
    json_variant(&json, run);
    json_string(&json, "graph", run->graph->name);
    json_backend(&json, &run->libraries);
    json_power(&json, &run->power);
    json_timings(&json, &run->timings);
    json_number(&json, "iterations", run->options->iterations);
    json_open_array(&json, "outputs");
    for (uint32_t i = 0; i < run->graph->outputs.count; i++) {
        const struct tensor *tensor = &run->graph->outputs.tensors[i];
        json_open_object(&json, NULL);
        json_string(&json, "name", tensor->name);
        json_string(&json, "dtype", dtype_name(run->results[i].descr));
        json_shape(&json, tensor);
        json_string(&json, "file", *run->results[i].file ? run->results[i].file : NULL);
        json_close_object(&json);
    }
    json_close_array(&json);
    json_close_object(&json);
}

static void text_results(FILE *out, const struct run *run)
{
    const struct timings *t = &run->timings;
    fprintf(out, "%s %s, graph %s\n", run->config->package, run->config->version, run->graph->name);
    fprintf(out, "%s, %s, QAIRT %s%s\n", run->choice.variant->soc, UNIT_WORDS[run->unit->unit], run->libraries.build,
           run->config->simulator && run->unit->unit == UNIT_NPU ? ", simulated: times say nothing about a device" : "");
    fprintf(out, "load %llu us, create %llu us\n", (unsigned long long)t->load, (unsigned long long)t->create);
    fprintf(out, "%u x execute: min %llu, median %llu, p90 %llu, p99 %llu us\n", run->options->iterations,
           (unsigned long long)t->min, (unsigned long long)t->median, (unsigned long long)t->p90,
           (unsigned long long)t->p99);
    for (uint32_t i = 0; i < run->graph->outputs.count; i++) {
        const struct tensor *tensor = &run->graph->outputs.tensors[i];
        char shape[128];
        shape_text(tensor->shape, tensor->rank, shape, sizeof shape);
        fprintf(out, "output %s %s %s %s\n", tensor->name, dtype_name(run->results[i].descr), shape,
               *run->results[i].file ? run->results[i].file : "not written (no --output)");
    }
}

void report_results(FILE *out, const struct run *run)
{
    if (run->options->json)
        json_results(out, run);
    else
        text_results(out, run);
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
        json_shape(json, tensor);
        if (tensor->quantization.known) {
            json_real(json, "scale", (double)tensor->quantization.scale);
            json_signed(json, "offset", tensor->quantization.offset);
        }
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_description(FILE *out, const struct run *run)
{
    struct json json = begin(out);
    json_variant(&json, run);
    json_backend(&json, &run->libraries);
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
        if (tensor->quantization.known)
            fprintf(out, " = (stored %+d) * %.9g", tensor->quantization.offset, (double)tensor->quantization.scale);
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
    struct json json = begin(out);
    json_variant(&json, run);
    json_backend(&json, &run->libraries);
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
    struct json json = begin(out);
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
