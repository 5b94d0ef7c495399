/* report_results: what a run did, as text and as JSON. */
#include "report.h"

#include "report_parts.h"

static size_t batch_of(const struct run *run)
{
    return run->samples.kind == SAMPLES_BATCH ? run->samples.count : 1;
}

static const char *sample_name(const struct run *run, size_t index)
{
    return run->samples.kind == SAMPLES_FOLDER ? run->samples.names[index] : NULL;
}

/* ---- JSON ---- */

static void json_power(struct json *json, const struct power *power)
{
    const struct power_profile *row = power->profile;
    json_open_object(json, "power");
    json_string(json, "profile", row->name);
    json_bool(json, "applied", power->applied);
    json_bool(json, "rpc_applied", power->rpc_applied);
    if (power->applied) {
        json_number(json, "corner", row->corner);
        json_string(json, "corner_name", power_corner_name(row->corner));
        json_number(json, "mode", row->power_mode);
        json_string(json, "mode_name", power_mode_name(row->power_mode));
        json_bool(json, "dcvs", row->dcvs_enable);
        json_number(json, "sleep_latency_us", row->sleep_latency_us);
    }
    if (power->rpc_applied) {
        json_number(json, "rpc_latency_us", power->rpc_latency_us);
        json_number(json, "rpc_polling_us", power->rpc_polling_us);
    }
    json_string(json, "reason", *power->reason ? power->reason : NULL);
    json_close_object(json);
}

static void json_summary(struct json *json, const struct summary *summary)
{
    json_number(json, "min", summary->min);
    json_number(json, "median", summary->median);
    json_number(json, "p90", summary->p90);
    json_number(json, "p99", summary->p99);
    json_number(json, "max", summary->max);
    json_real(json, "mean", summary->mean);
}

static void json_timings(struct json *json, const struct run *run)
{
    json_open_object(json, "timings_us");
    json_number(json, "load", run->handle->load_us);
    json_number(json, "create", run->handle->create_us);
    json_number(json, "first", run->timings.first);
    json_summary(json, &run->timings.each);
    json_close_object(json);
    json_number(json, "iterations", run->timings.each.count);
    if (run->peak_memory)
        json_number(json, "peak_memory_bytes", run->peak_memory);
    else
        json_string(json, "peak_memory_bytes", NULL);
}

static void json_samples(struct json *json, const struct run *run)
{
    static const char *const KINDS[] = {"one", "batch", "samples"};
    json_open_object(json, "runs");
    json_string(json, "kind", KINDS[run->samples.kind]);
    json_number(json, "count", run->samples.count);
    if (run->samples.kind == SAMPLES_FOLDER) {
        json_open_array(json, "samples");
        for (size_t i = 0; i < run->samples.count; i++)
            json_string(json, NULL, run->samples.names[i]);
        json_close_array(json);
    }
    json_close_object(json);
}

static void json_buffers(struct json *json, const struct run *run)
{
    static const char *const KINDS[] = {"plain", "shared", "auto"};
    const struct sharing *sharing = &run->sharing;
    json_open_object(json, "buffers");
    json_string(json, "asked", KINDS[run->options->buffers]);
    json_string(json, "used", run->lane->shared ? "shared" : "plain");
    json_number(json, "bytes", feed_bytes(&run->lane->inputs) + feed_bytes(&run->lane->outputs));
    json_string(json, "reason", *run->lane->reason ? run->lane->reason : NULL);
    if (run->lane->shared) {
        json_open_object(json, "plain_us");
        json_summary(json, &sharing->plain);
        json_close_object(json);
        json_number(json, "plain_iterations", sharing->plain.count);
        json_bool(json, "same_outputs", sharing->same_outputs);
    }
    json_close_object(json);
}

static void json_likeness(struct json *json, const struct run *run, const struct likeness *likeness)
{
    json_open_object(json, "reference");
    json_real(json, "cosine", likeness->cosine);
    json_real(json, "min_cosine", run->compare.min_cosine);
    json_real(json, "max_abs_error", likeness->max_abs_error);
    json_number(json, "error_element", likeness->error_element);
    if (run->samples.count > 1) {
        json_number(json, "cosine_run", likeness->cosine_run);
        json_number(json, "error_run", likeness->error_run);
    }
    json_close_object(json);
}

static void json_outputs(struct json *json, const struct run *run)
{
    json_string(json, "outputs_sha256", run->results.sha256);
    json_open_array(json, "outputs");
    for (uint32_t i = 0; i < run->lane->graph->outputs.count; i++) {
        const struct tensor *tensor = &run->lane->graph->outputs.tensors[i];
        const struct output *output = &run->results.items[i];
        json_open_object(json, NULL);
        json_string(json, "name", tensor->name);
        json_string(json, "dtype", dtype_name(output->descr));
        report_shape(json, tensor, batch_of(run));
        json_string(json, "file", *output->file ? output->file : NULL);
        json_string(json, "sha256", output->sha256);
        if (run->compare.items && run->compare.items[i].worst.compared)
            json_likeness(json, run, &run->compare.items[i].worst);
        json_close_object(json);
    }
    json_close_array(json);
}

/* The event at `index` with its parts; returns the index after them. */
static size_t json_event(struct json *json, const struct profile_tree *tree, size_t index)
{
    const struct profile_event *event = &tree->events[index++];
    json_open_object(json, NULL);
    json_string(json, "name", event->name);
    json_number(json, "type", event->type);
    json_number(json, "value", event->value);
    json_string(json, "unit", profile_unit(event->unit));
    if (index < tree->count && tree->events[index].depth > event->depth) {
        json_open_array(json, "parts");
        while (index < tree->count && tree->events[index].depth > event->depth)
            index = json_event(json, tree, index);
        json_close_array(json);
    }
    json_close_object(json);
    return index;
}

static void json_tree(struct json *json, const char *key, const struct profile_tree *tree)
{
    json_open_object(json, key);
    json_number(json, "left_out", tree->left_out);
    json_open_array(json, "events");
    for (size_t i = 0; i < tree->count;)
        i = json_event(json, tree, i);
    json_close_array(json);
    json_close_object(json);
}

static void json_profile(struct json *json, const struct run *run)
{
    if (run->options->profile == PROFILE_NONE)
        return;
    json_open_object(json, "profile");
    json_string(json, "level", run->options->profile == PROFILE_BASIC ? "basic" : "detailed");
    json_tree(json, "create", &run->profile.create);
    json_tree(json, "execute", &run->profile.execute);
    json_close_object(json);
}

static void json_results(FILE *out, const struct run *run)
{
    struct json json = report_begin(out);
    report_variant(&json, run);
    json_string(&json, "graph", run->lane->graph->name);
    report_backend(&json, &run->handle->libraries);
    json_power(&json, &run->handle->power);
    json_timings(&json, run);
    json_samples(&json, run);
    json_buffers(&json, run);
    json_outputs(&json, run);
    json_profile(&json, run);
    json_close_object(&json);
}

/* ---- text ---- */

static void text_times(FILE *out, const char *what, const struct summary *s)
{
    text_out(out, "%llu x execute%s: min %llu, median %llu, p90 %llu, p99 %llu, max %llu, mean %.1f us\n",
            (unsigned long long)s->count, what, (unsigned long long)s->min, (unsigned long long)s->median,
            (unsigned long long)s->p90, (unsigned long long)s->p99, (unsigned long long)s->max, s->mean);
}

static void text_timings(FILE *out, const struct run *run)
{
    const struct timings *t = &run->timings;
    text_out(out, "load %llu us, create %llu us, first inference %llu us", (unsigned long long)run->handle->load_us,
            (unsigned long long)run->handle->create_us, (unsigned long long)t->first);
    if (run->peak_memory)
        text_out(out, ", peak memory %.1f MiB", (double)run->peak_memory / (1024 * 1024));
    fputc('\n', out);
    text_times(out, "", &t->each);
    if (run->lane->shared)
        text_times(out, " with plain buffers instead of shared", &run->sharing.plain);
    if (run->samples.count > 1)
        text_out(out, "%zu %s\n", run->samples.count,
                run->samples.kind == SAMPLES_BATCH ? "runs of a batch" : "samples");
}

static void text_likeness(FILE *out, const struct run *run, const struct likeness *likeness)
{
    const char *cosine_sample = sample_name(run, likeness->cosine_run);
    const char *error_sample = sample_name(run, likeness->error_run);
    text_out(out, "  like its reference: cosine %.9g (wanted %.9g)%s%s, largest difference %.9g at element %zu%s%s\n",
            likeness->cosine, run->compare.min_cosine, cosine_sample ? " in sample " : "",
            cosine_sample ? cosine_sample : "", likeness->max_abs_error, likeness->error_element,
            error_sample ? " of sample " : "", error_sample ? error_sample : "");
}

static void text_outputs(FILE *out, const struct run *run)
{
    for (uint32_t i = 0; i < run->lane->graph->outputs.count; i++) {
        struct tensor shown = run->lane->graph->outputs.tensors[i];
        const struct output *output = &run->results.items[i];
        char shape[128];
        shown.shape[0] *= (uint32_t)(shown.rank ? batch_of(run) : 1);
        shape_text(shown.shape, shown.rank, shape, sizeof shape);
        text_out(out, "output %s %s %s %s\n", shown.name, dtype_name(output->descr), shape,
                *output->file ? output->file : "not written (no --output)");
        if (run->compare.items && run->compare.items[i].worst.compared)
            text_likeness(out, run, &run->compare.items[i].worst);
    }
    text_out(out, "sha256 of the outputs %s\n", run->results.sha256);
}

static void text_tree(FILE *out, const char *title, const struct profile_tree *tree)
{
    text_out(out, "profile of %s%s\n", title, tree->count ? "" : ": the backend reports no event");
    for (size_t i = 0; i < tree->count; i++) {
        const struct profile_event *event = &tree->events[i];
        text_out(out, "  %*s%s %llu %s\n", (int)(2 * event->depth), "", event->name, (unsigned long long)event->value,
                profile_unit(event->unit));
    }
    if (tree->left_out)
        text_out(out, "  and %zu more\n", tree->left_out);
}

static void text_results(FILE *out, const struct run *run)
{
    text_out(out, "%s %s, graph %s\n", run->handle->config->package, run->handle->config->version, run->lane->graph->name);
    bool simulated = run->handle->config->simulator && run->handle->unit->unit == UNIT_NPU;
    text_out(out, "%s, %s, QAIRT %s%s\n", run->handle->choice.variant->soc, UNIT_WORDS[run->handle->unit->unit], run->handle->libraries.build,
            simulated ? ", simulated: times say nothing about a device" : "");
    text_timings(out, run);
    text_outputs(out, run);
    if (run->options->profile == PROFILE_NONE)
        return;
    text_tree(out, "opening the graph", &run->profile.create);
    text_tree(out, "one execution", &run->profile.execute);
}

void report_results(FILE *out, const struct run *run)
{
    if (run->options->json)
        json_results(out, run);
    else
        text_results(out, run);
}
