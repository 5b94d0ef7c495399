#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "compose.h"

/* Executions with plain buffers that shared ones are compared with, at most. */
enum { PLAIN_EXECUTIONS = 100 };

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
        status = asset_open(&run->session, &run->choice, &run->model, fault);
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

/* ---- what goes in and out ---- */

static enum status open_both(struct run *run, const struct shared_memory *memory, struct feed *inputs,
                             struct feed *outputs, struct fault *fault)
{
    enum status status = feed_open(&run->model, &run->graph->inputs, memory, inputs, fault);
    return status ? status : feed_open(&run->model, &run->graph->outputs, memory, outputs, fault);
}

static enum status not_shared(struct run *run, struct fault *fault)
{
    if (run->options->buffers == BUFFERS_AUTO) {
        say("buffers plain: %s", run->buffers.reason);
        return RUN_OK;
    }
    fault_set(fault, RUN_REFUSED, "the buffers cannot be shared with the DSP");
    fault_evidence(fault, "%s", run->buffers.reason);
    fault_fix(fault, "--buffers auto runs with plain buffers then");
    return RUN_REFUSED;
}

static enum status open_buffers(struct run *run, struct fault *fault)
{
    struct buffers *buffers = &run->buffers;
    if (run->options->buffers == BUFFERS_PLAIN)
        return open_both(run, NULL, &run->inputs, &run->outputs, fault);
    if (shared_open(&buffers->memory, buffers->reason)) {
        enum status status = open_both(run, &buffers->memory, &run->inputs, &run->outputs, fault);
        if (!status)
            return RUN_OK;
        snprintf(buffers->reason, sizeof buffers->reason, "FastRPC gives no memory (rpcmem_alloc)");
        feed_close(&run->inputs);
        feed_close(&run->outputs);
    }
    enum status status = not_shared(run, fault);
    return status ? status : open_both(run, NULL, &run->inputs, &run->outputs, fault);
}

/* Every file that the run needs, checked before the device is opened. */
static enum status open_files(struct run *run, struct fault *fault)
{
    const struct options *options = run->options;
    enum status status = open_buffers(run, fault);
    if (!status)
        status = samples_open(&run->graph->inputs, options, &run->samples, fault);
    if (!status && options->duration > 0 && run->samples.count > 1) {
        status = fault_set(fault, RUN_USAGE, "--duration is for one sample; --iterations counts for each of several");
        fault_evidence(fault, "found %zu samples", run->samples.count);
    }
    if (!status)
        status = outputs_open(&run->outputs, &run->samples, options, &run->results, fault);
    if (!status)
        status = compare_open(&run->results, options, &run->compare, fault);
    if (!status)
        status = samples_load(&run->samples, 0, &run->inputs, fault);
    return status;
}

/* ---- the device ---- */

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
    power_say(power);
}

static enum status open_profile(struct run *run, struct fault *fault)
{
    static const uint32_t LEVELS[] = {[PROFILE_BASIC] = QNN_PROFILE_BASIC, [PROFILE_DETAILED] = QNN_PROFILE_DETAILED};
    if (run->options->profile == PROFILE_NONE)
        return RUN_OK;
    enum status status = profile_open(&run->profile, &run->libraries.backend->call, run->session.backend,
                                      LEVELS[run->options->profile], fault);
    run->session.profile = run->profile.handle;
    return status;
}

static enum status share_buffers(struct run *run, struct fault *fault)
{
    struct buffers *buffers = &run->buffers;
    const struct qnn_functions *call = &run->libraries.backend->call;
    if (!run->inputs.memory)
        return RUN_OK;
    buffers->shared = feed_register(&run->inputs, call, run->session.context, buffers->reason) &&
                      feed_register(&run->outputs, call, run->session.context, buffers->reason);
    if (buffers->shared)
        return RUN_OK;
    feed_unregister(&run->inputs);
    return not_shared(run, fault);
}

static enum status open_times(struct run *run, struct fault *fault)
{
    const struct options *options = run->options;
    uint64_t expected = options->duration > 0 ? 0 : (uint64_t)options->iterations * run->samples.count;
    return times_open(&run->times, expected) ? RUN_OK : fault_memory(fault);
}

static enum status open_model(struct run *run, struct fault *fault)
{
    enum status status = check_interrupt(fault);
    uint64_t begin = platform_now_us();
    if (!status)
        status = session_create_device(&run->session, simulated_soc(run->config, &run->choice), fault);
    if (!status) {
        vote(run);
        status = check_interrupt(fault);
    }
    if (!status)
        status = open_profile(run, fault);
    if (!status)
        status = session_open_graph(&run->session, &run->model, run->graph, fault);
    run->timings.create = platform_now_us() - begin;
    if (!status)
        status = profile_collect(&run->profile, &run->profile.create, fault);
    if (!status)
        status = share_buffers(run, fault);
    return status ? status : check_interrupt(fault);
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
        status = open_files(run, fault);
    if (!status)
        status = open_times(run, fault);
    if (status)
        return status;
    *units_own = true;
    return open_model(run, fault);
}

/* ---- executing ---- */

static enum status execute_with(struct run *run, const struct feed *inputs, const struct feed *outputs,
                                qnn_handle profile, uint64_t *took, struct fault *fault)
{
    uint64_t begin = platform_now_us();
    qnn_error code =
        run->libraries.backend->call.graph_execute(run->session.graph, feed_tensors(inputs), inputs->io->count,
                                                   feed_tensors(outputs), outputs->io->count, profile, NULL);
    *took = platform_now_us() - begin;
    if (code)
        return fault_from_backend(fault, code, "the graph did not execute (graphExecute)");
    return check_interrupt(fault);
}

static enum status execute(struct run *run, uint64_t *took, struct fault *fault)
{
    enum status status = execute_with(run, &run->inputs, &run->outputs, NULL, took, fault);
    if (!status && !run->timings.started) {
        run->timings.started = true;
        run->timings.first = *took;
    }
    return status;
}

/* The executions of one sample; the warm-up is before those of the first. */
static enum status measure(struct run *run, size_t sample, struct fault *fault)
{
    const struct options *options = run->options;
    uint64_t took;
    enum status status = RUN_OK;
    for (uint32_t i = 0; !status && !sample && i < options->warmup; i++)
        status = execute(run, &took, fault);
    uint64_t begin = platform_now_us();
    uint64_t duration = (uint64_t)(options->duration * 1e6);
    for (uint64_t i = 0; !status && (i < options->iterations || platform_now_us() - begin < duration); i++) {
        status = execute(run, &took, fault);
        if (!status)
            times_add(&run->times, took);
    }
    return status;
}

static bool same_data(const struct feed *a, const struct feed *b)
{
    bool same = true;
    for (uint32_t i = 0; i < a->io->count; i++)
        same = same && memcmp(a->data[i], b->data[i], tensor_bytes(&a->io->tensors[i])) == 0;
    return same;
}

static enum status time_plain(struct run *run, const struct feed *inputs, const struct feed *outputs,
                              struct times *times, struct fault *fault)
{
    uint64_t count = run->times.count < PLAIN_EXECUTIONS ? run->times.count : PLAIN_EXECUTIONS;
    uint64_t took;
    if (!times_open(times, count))
        return fault_memory(fault);
    for (uint32_t i = 0; i < inputs->io->count; i++)
        memcpy(inputs->data[i], run->inputs.data[i], tensor_bytes(&inputs->io->tensors[i]));
    enum status status = execute_with(run, inputs, outputs, NULL, &took, fault);
    for (uint64_t i = 0; !status && i < count; i++) {
        status = execute_with(run, inputs, outputs, NULL, &took, fault);
        if (!status)
            times_add(times, took);
    }
    return status;
}

/* What sharing gains, and whether it computes the same: a cache that is not kept coherent shows here. */
static enum status compare_with_plain(struct run *run, struct fault *fault)
{
    struct feed inputs = {0}, outputs = {0};
    struct times times = {0};
    enum status status = open_both(run, NULL, &inputs, &outputs, fault);
    if (!status)
        status = time_plain(run, &inputs, &outputs, &times, fault);
    if (!status) {
        run->buffers.plain = times_summary(&times);
        run->buffers.same_outputs = same_data(&run->outputs, &outputs);
        if (!run->buffers.same_outputs)
            say("warning: shared and plain buffers do not give the same outputs");
    }
    times_close(&times);
    feed_close(&inputs);
    feed_close(&outputs);
    return status;
}

/* One more execution, because a profile costs time. */
static enum status take_profile(struct run *run, struct fault *fault)
{
    uint64_t took;
    if (!run->profile.handle)
        return RUN_OK;
    enum status status = execute_with(run, &run->inputs, &run->outputs, run->profile.handle, &took, fault);
    return status ? status : profile_collect(&run->profile, &run->profile.execute, fault);
}

static enum status run_sample(struct run *run, size_t sample, struct fault *fault)
{
    enum status status = sample ? samples_load(&run->samples, sample, &run->inputs, fault) : RUN_OK;
    if (!status)
        status = measure(run, sample, fault);
    if (sample + 1 == run->samples.count) {
        if (!status && run->buffers.shared)
            status = compare_with_plain(run, fault);
        if (!status)
            status = take_profile(run, fault);
        power_release(&run->power);
    }
    if (!status)
        status = outputs_take(&run->results, sample, fault);
    if (!status)
        status = compare_take(&run->compare, sample, fault);
    return status;
}

enum status run_execute(struct run *run, const struct options *options, struct fault *fault)
{
    platform_watch_interrupts();
    enum status status = begin(run, options, fault);
    if (!status)
        status = units_try(run, get_ready, fault);
    for (size_t sample = 0; !status && sample < run->samples.count; sample++)
        status = run_sample(run, sample, fault);
    power_release(&run->power);
    if (!status) {
        outputs_finish(&run->results);
        run->timings.each = times_summary(&run->times);
        if (!platform_peak_memory(&run->peak_memory))
            run->peak_memory = 0;
        status = compare_verdict(&run->compare, fault);
    }
    return status;
}

static void close_all(struct run *run)
{
    power_release(&run->power);
    feed_unregister(&run->inputs);
    feed_unregister(&run->outputs);
    profile_stop(&run->profile);
    session_stop(&run->session);
    compare_close(&run->compare);
    outputs_close(&run->results);
    samples_close(&run->samples);
    feed_close(&run->inputs);
    feed_close(&run->outputs);
    profile_close(&run->profile);
    times_close(&run->times);
    model_close(&run->model);
}

void run_close_unit(struct run *run)
{
    struct run rest = {.options = run->options,
                       .config = run->config,
                       .passed_over = run->passed_over,
                       .power.profile = run->power.profile};
    close_all(run);
    *run = rest;
}

void run_close(struct run *run)
{
    close_all(run);
    free(run->config);
    *run = (struct run){0};
}
