#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "compose.h"
#include "save.h"

static enum status check_interrupt(struct fault *fault)
{
    if (!platform_interrupted())
        return RUN_OK;
    return fault_set(fault, RUN_INTERRUPTED, "interrupted");
}

static enum status choose(struct run *run, struct fault *fault)
{
    struct identity identity = {0};
    if (!run->config->simulator)
        session_identify(&run->session, &identity);
    enum status status =
        choose_variant(run->config, run->unit->unit, run->options->soc, &identity, &run->choice, fault);
    if (!status)
        say("model for %s (soc_model %u, Hexagon v%u) on the %s: %s", run->choice.variant->soc,
            run->choice.variant->soc_model, run->choice.variant->hexagon, UNIT_WORDS[run->unit->unit],
            run->choice.reason);
    return status;
}

/* runner.conf, and what can be said wrong about the command line before any library is loaded. */
static enum status begin(struct run *run, const struct options *options, struct fault *fault)
{
    *run = (struct run){.options = options};
    enum status status = config_load(options->config, &run->config, fault);
    if (!status)
        status = power_find(options->power ? options->power : run->config->power, &run->power.profile, fault);
    return status;
}

static enum status create_device(struct run *run, struct fault *fault)
{
    return session_create_device(&run->session, run->config->simulator ? run->choice.variant->soc_model : 0, fault);
}

static enum status open_asset(struct run *run, struct fault *fault)
{
    static const char *const ROLES[ASSETS] = {"context binary", "DLC", "model library"};
    char path[PATH_CAPACITY];
    enum asset asset = run->choice.asset;
    enum status status =
        config_resolve(run->config, run->choice.variant->assets[asset], ROLES[asset], path, sizeof path, fault);
    if (!status && asset == ASSET_CONTEXT)
        return model_open(&run->libraries, path, &run->model, fault);
    if (!status)
        status = create_device(run, fault);
    if (!status)
        status = model_compose(&run->session, asset, path, &run->model, fault);
    return status;
}

/* Libraries, backend, variant, metadata. */
static enum status prepare(struct run *run, bool *units_own, struct fault *fault)
{
    uint64_t begun = platform_now_us();
    *units_own = true;
    enum status status = libraries_load(run->config, run->unit, &run->libraries, fault);
    if (!status)
        status = session_start(&run->libraries, &run->session, fault);
    run->timings.load = platform_now_us() - begun;
    if (!status)
        status = choose(run, fault);
    if (!status)
        status = open_asset(run, fault);
    return status;
}

enum status run_describe(struct run *run, const struct options *options, struct fault *fault)
{
    enum status status = begin(run, options, fault);
    return status ? status : units_try(run, prepare, fault);
}

static enum status save(struct run *run, bool *units_own, struct fault *fault)
{
    enum status status = prepare(run, units_own, fault);
    return status ? status : save_context(run, &run->saved, fault);
}

enum status run_save(struct run *run, const struct options *options, struct fault *fault)
{
    enum status status = begin(run, options, fault);
    return status ? status : units_try(run, save, fault);
}

static void vote(struct run *run)
{
    struct power *power = &run->power;
    bool conf_rpc = !run->options->power && run->config->has_rpc_polling;
    power->rpc_latency_us = run->config->rpc_latency_us;
    power->rpc_polling_us = conf_rpc ? run->config->rpc_polling_us : power->profile->rpc_polling_us;
    if (run->unit->unit == UNIT_NPU)
        power_vote(power, &run->libraries);
    else
        snprintf(power->reason, sizeof power->reason, "only the npu takes votes");
    if (run->config->simulator && power->applied)
        snprintf(power->reason, sizeof power->reason, "taken by the simulator, which has no clocks to change");
    say("power %s: %s%s%s", power->profile->name, power->applied ? "applied" : "not applied",
        *power->reason ? ", " : "", power->reason);
}

static enum status open_model(struct run *run, struct fault *fault)
{
    uint64_t begin = platform_now_us();
    enum status status = create_device(run, fault);
    if (!status) {
        vote(run);
        status = check_interrupt(fault);
    }
    if (!status)
        status = session_open_graph(&run->session, &run->model, run->graph, fault);
    run->timings.create = platform_now_us() - begin;
    return status ? status : check_interrupt(fault);
}

static enum status execute_once(struct run *run, uint64_t *took, struct fault *fault)
{
    uint64_t begin = platform_now_us();
    qnn_error code = run->libraries.backend->call.graph_execute(
        run->session.graph, feed_tensors(&run->inputs), run->inputs.io->count, feed_tensors(&run->outputs),
        run->outputs.io->count, NULL, NULL);
    *took = platform_now_us() - begin;
    if (code)
        return fault_from_backend(fault, code, "the graph did not execute (graphExecute)");
    return check_interrupt(fault);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank: the smallest time that `percent` of all times do not exceed. */
static uint64_t percentile(const uint64_t *sorted, size_t count, size_t percent)
{
    return sorted[(count * percent + 99) / 100 - 1];
}

static enum status measure(struct run *run, struct fault *fault)
{
    size_t count = run->options->iterations;
    uint64_t *times = calloc(count, sizeof *times);
    uint64_t unmeasured;
    enum status status = times ? RUN_OK : fault_memory(fault);
    for (uint32_t i = 0; !status && i < run->options->warmup; i++)
        status = execute_once(run, &unmeasured, fault);
    for (size_t i = 0; !status && i < count; i++)
        status = execute_once(run, &times[i], fault);
    if (!status) {
        qsort(times, count, sizeof *times, ascending);
        run->timings.min = times[0];
        run->timings.median = percentile(times, count, 50);
        run->timings.p90 = percentile(times, count, 90);
        run->timings.p99 = percentile(times, count, 99);
    }
    free(times);
    return status;
}

/* Everything up to the first execution. What is wrong with the command line is wrong on every unit. */
static enum status get_ready(struct run *run, bool *units_own, struct fault *fault)
{
    enum status status = prepare(run, units_own, fault);
    if (status)
        return status;
    *units_own = false;
    status = model_choose_graph(&run->model, run->options->graph, &run->graph, fault);
    if (!status)
        status = feed_open(&run->model, &run->graph->inputs, &run->inputs, fault);
    if (!status)
        status = feed_open(&run->model, &run->graph->outputs, &run->outputs, fault);
    if (!status)
        status = feed_read(&run->inputs, run->options, fault);
    if (!status) {
        *units_own = true;
        status = open_model(run, fault);
    }
    return status;
}

enum status run_execute(struct run *run, const struct options *options, struct fault *fault)
{
    platform_watch_interrupts();
    enum status status = begin(run, options, fault);
    if (!status)
        status = units_try(run, get_ready, fault);
    if (!status)
        status = measure(run, fault);
    power_release(&run->power);
    if (!status) {
        run->results = calloc(run->graph->outputs.count + 1, sizeof *run->results);
        status = run->results ? feed_write(&run->outputs, options->output, options->native, run->results, fault)
                              : fault_memory(fault);
    }
    return status;
}

void run_close_unit(struct run *run)
{
    power_release(&run->power);
    session_stop(&run->session);
    feed_close(&run->inputs);
    feed_close(&run->outputs);
    model_close(&run->model);
}

void run_close(struct run *run)
{
    run_close_unit(run);
    free(run->results);
    free(run->config);
    *run = (struct run){0};
}
