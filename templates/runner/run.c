#include "run.h"

#include <stdlib.h>
#include <string.h>

/* Executions with plain buffers that shared ones are compared with, at most. */
enum { PLAIN_EXECUTIONS = 100 };
/* One ends the run in order, and another the process. */
enum { REQUESTS_TO_END = 2 };

/* ---- opening ---- */

static enum status check_interrupt(struct fault *fault)
{
    if (!platform_interrupted())
        return RUN_OK;
    return fault_set(fault, RUN_INTERRUPTED, "interrupted");
}

static enum status open_model(struct run *run, const struct handle_steps *steps, struct fault *fault)
{
    static const uint32_t MEMORY[] = {[BUFFERS_PLAIN] = HEXRUN_MEMORY_PLAIN,
                                      [BUFFERS_SHARED] = HEXRUN_MEMORY_SHARED,
                                      [BUFFERS_AUTO] = HEXRUN_MEMORY_AUTO};
    const struct options *options = run->options;
    struct hexrun_options asked = {.size = sizeof asked,
                                   .soc = options->soc,
                                   .power = options->power,
                                   .memory = MEMORY[options->buffers],
                                   .describe_only = options->describe || options->save_context};
    enum status status = handle_open(options->config, &asked, steps, &run->handle);
    if (status && run->handle)
        *fault = run->handle->fault;
    else if (status)
        fault_memory(fault);
    return status;
}

enum status run_describe(struct run *run, const struct options *options, struct fault *fault)
{
    static const struct handle_steps STEPS = {0};
    *run = (struct run){.options = options};
    return open_model(run, &STEPS, fault);
}

static enum status save(void *context, struct hexrun *handle, bool *units_own, struct fault *fault)
{
    struct run *run = context;
    *units_own = true;
    return save_context(handle, run->options->save_context, &run->saved, fault);
}

enum status run_save(struct run *run, const struct options *options, struct fault *fault)
{
    *run = (struct run){.options = options};
    run->steps = (struct handle_steps){.context = run, .described = save, .interrupted = platform_interrupted};
    platform_watch_interrupts(power_release_last, REQUESTS_TO_END);
    return open_model(run, &run->steps, fault);
}

/* ---- what goes in and out ---- */

static enum status allocate(struct feed *feed, struct fault *fault)
{
    enum status status = RUN_OK;
    for (uint32_t i = 0; !status && i < feed->io->count; i++)
        status = feed_allocate(feed, i, fault);
    return status;
}

static enum status open_buffers(struct run *run, struct hexrun *handle, struct fault *fault)
{
    enum status status = handle_lane(handle, run->options->graph, &run->lane, fault);
    if (!status)
        status = allocate(&run->lane->inputs, fault);
    return status ? status : allocate(&run->lane->outputs, fault);
}

static enum status open_times(struct run *run, struct fault *fault)
{
    const struct options *options = run->options;
    uint64_t expected = options->duration > 0 ? 0 : (uint64_t)options->iterations * run->samples.count;
    return times_open(&run->times, expected) ? RUN_OK : fault_memory(fault);
}

/* Of a library that ends the process by exit(). Before and after the device is open, because what is registered
 * later runs earlier: while the libraries that came with the device are still whole. */
static void watch_exit(void)
{
    atexit(platform_last_act);
}

/* Every file that the run needs, checked before the device is opened. */
static enum status open_files(void *context, struct hexrun *handle, bool *units_own, struct fault *fault)
{
    struct run *run = context;
    const struct options *options = run->options;
    (void)units_own;
    enum status status = open_buffers(run, handle, fault);
    if (!status)
        status = samples_open(&run->lane->graph->inputs, options, &run->samples, fault);
    if (!status && options->duration > 0 && run->samples.count > 1) {
        status = fault_set(fault, RUN_USAGE, "--duration is for one sample; --iterations counts for each of several");
        fault_evidence(fault, "found %zu samples", run->samples.count);
    }
    if (!status)
        status = outputs_open(&run->lane->outputs, &run->samples, options, &run->results, fault);
    if (!status)
        status = compare_open(&run->results, options, &run->compare, fault);
    if (!status)
        status = samples_load(&run->samples, 0, &run->lane->inputs, fault);
    if (!status)
        status = open_times(run, fault);
    if (!status)
        watch_exit();
    return status;
}

static enum status open_profile(void *context, struct hexrun *handle, struct fault *fault)
{
    static const uint32_t LEVELS[] = {[PROFILE_BASIC] = QNN_PROFILE_BASIC, [PROFILE_DETAILED] = QNN_PROFILE_DETAILED};
    struct run *run = context;
    watch_exit();
    if (run->options->profile == PROFILE_NONE)
        return RUN_OK;
    enum status status = profile_open(&run->profile, &handle->libraries.backend->call, handle->session.backend,
                                      LEVELS[run->options->profile], fault);
    handle->session.profile = run->profile.handle;
    return status;
}

static void close_files(void *context)
{
    struct run *run = context;
    profile_stop(&run->profile);
    compare_close(&run->compare);
    outputs_close(&run->results);
    samples_close(&run->samples);
    profile_close(&run->profile);
    times_close(&run->times);
    run->lane = NULL;
}

/* ---- executing ---- */

/* Through the same door as an app's run, with the handle's own buffers. */
static enum status execute(struct run *run, uint64_t *took, struct fault *fault)
{
    struct hexrun_call call = {.size = sizeof call, .graph = run->lane->graph->name};
    if (hexrun_run(run->handle, &call)) {
        *fault = run->handle->fault;
        return fault->status;
    }
    *took = call.took_us;
    if (!run->timings.started) {
        run->timings.started = true;
        run->timings.first = *took;
    }
    return check_interrupt(fault);
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

/* ---- comparing with plain buffers, profiling ---- */

static enum status execute_with(struct run *run, const struct feed *inputs, const struct feed *outputs,
                                qnn_handle profile, uint64_t *took, struct fault *fault)
{
    enum status status = lane_execute(run->lane, &run->handle->session, inputs, outputs, profile, took, fault);
    return status ? status : check_interrupt(fault);
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
        memcpy(inputs->data[i], run->lane->inputs.data[i], tensor_bytes(&inputs->io->tensors[i]));
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
    const struct model *model = &run->handle->model;
    struct feed inputs = {0}, outputs = {0};
    struct times times = {0};
    enum status status = feed_open(model, &run->lane->graph->inputs, NULL, &inputs, fault);
    if (!status)
        status = feed_open(model, &run->lane->graph->outputs, NULL, &outputs, fault);
    if (!status)
        status = time_plain(run, &inputs, &outputs, &times, fault);
    if (!status) {
        run->sharing.plain = times_summary(&times);
        run->sharing.same_outputs = same_data(&run->lane->outputs, &outputs);
        if (!run->sharing.same_outputs)
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
    enum status status =
        execute_with(run, &run->lane->inputs, &run->lane->outputs, run->profile.handle, &took, fault);
    return status ? status : profile_collect(&run->profile, &run->profile.execute, fault);
}

/* ---- a whole run ---- */

static enum status run_sample(struct run *run, size_t sample, struct fault *fault)
{
    enum status status = sample ? samples_load(&run->samples, sample, &run->lane->inputs, fault) : RUN_OK;
    if (!status)
        status = measure(run, sample, fault);
    if (sample + 1 == run->samples.count) {
        if (!status && run->lane->shared)
            status = compare_with_plain(run, fault);
        if (!status)
            status = take_profile(run, fault);
        power_release(&run->handle->power);
    }
    if (!status)
        status = outputs_take(&run->results, sample, fault);
    if (!status)
        status = compare_take(&run->compare, sample, fault);
    return status;
}

enum status run_execute(struct run *run, const struct options *options, struct fault *fault)
{
    *run = (struct run){.options = options};
    if (!power_guard())
        return fault_memory(fault);
    platform_watch_interrupts(power_release_last, REQUESTS_TO_END);
    run->steps = (struct handle_steps){.context = run,
                                       .described = open_files,
                                       .opening = open_profile,
                                       .undo = close_files,
                                       .interrupted = platform_interrupted};
    enum status status = open_model(run, &run->steps, fault);
    if (!status)
        status = profile_collect(&run->profile, &run->profile.create, fault);
    for (size_t sample = 0; !status && sample < run->samples.count; sample++)
        status = run_sample(run, sample, fault);
    if (run->handle)
        power_release(&run->handle->power);
    if (!status) {
        outputs_finish(&run->results);
        run->timings.each = times_summary(&run->times);
        if (!platform_peak_memory(&run->peak_memory))
            run->peak_memory = 0;
        status = compare_verdict(&run->compare, fault);
    }
    return status;
}

void run_close(struct run *run)
{
    if (run->handle)
        power_release(&run->handle->power);
    close_files(run);
    handle_close(run->handle);
    *run = (struct run){0};
}
