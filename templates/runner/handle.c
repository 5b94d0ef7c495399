#include "handle.h"

#include <stdlib.h>
#include <string.h>

#include "compose.h"

enum status handle_check_interrupt(const struct hexrun *handle, struct fault *fault)
{
    if (!handle->steps->interrupted || !handle->steps->interrupted())
        return RUN_OK;
    return fault_set(fault, RUN_INTERRUPTED, "interrupted");
}

/* ---- up to the metadata ---- */

/* runner.conf, and what can be said wrong about the options before any library is loaded. */
static enum status begin(struct hexrun *handle, const char *folder, struct fault *fault)
{
    const struct hexrun_options *options = &handle->options;
    static const enum buffer_kind KINDS[] = {[HEXRUN_MEMORY_AUTO] = BUFFERS_AUTO,
                                             [HEXRUN_MEMORY_PLAIN] = BUFFERS_PLAIN,
                                             [HEXRUN_MEMORY_SHARED] = BUFFERS_SHARED};
    if (!options->size)
        return fault_set(fault, RUN_USAGE, "options.size is not the size of a struct hexrun_options");
    if (options->memory >= sizeof KINDS / sizeof *KINDS)
        return fault_set(fault, RUN_USAGE, "options.memory: %u is no enum hexrun_memory", options->memory);
    if (options->conf && !folder)
        return fault_set(fault, RUN_USAGE, "options.conf needs a folder that its paths start at");
    handle->buffers = KINDS[options->memory];
    enum status status = options->conf ? config_parse(folder, options->conf, &handle->config, fault)
                                       : config_load(folder, &handle->config, fault);
    if (!status)
        status = power_find(options->power ? options->power : handle->config->power, &handle->power.profile, fault);
    return status;
}

static enum status choose(struct hexrun *handle, struct fault *fault)
{
    struct identity identity = {0};
    if (!handle->config->simulator)
        session_identify(&handle->session, &identity);
    enum status status = choose_variant(handle->config, handle->unit->unit, handle->options.soc, &identity,
                                        &handle->choice, fault);
    if (!status)
        say("model for %s (soc_model %u, Hexagon v%u) on the %s: %s", handle->choice.variant->soc,
            handle->choice.variant->soc_model, handle->choice.variant->hexagon, UNIT_WORDS[handle->unit->unit],
            handle->choice.reason);
    return status;
}

/* Libraries, backend, variant, metadata. */
static enum status describe(struct hexrun *handle, struct fault *fault)
{
    uint64_t begun = platform_now_us();
    enum status status = libraries_load(handle->config, handle->unit, &handle->libraries, fault);
    if (!status)
        status = session_start(&handle->libraries, &handle->session, fault);
    handle->load_us = platform_now_us() - begun;
    if (!status)
        status = choose(handle, fault);
    if (!status)
        status = asset_open(&handle->session, &handle->choice, &handle->model, fault);
    if (status)
        return status;
    handle->lanes = calloc(handle->model.graph_count, sizeof *handle->lanes);
    return handle->lanes ? RUN_OK : fault_memory(fault);
}

/* ---- the device ---- */

static void vote(struct hexrun *handle)
{
    struct power *power = &handle->power;
    bool conf_rpc = !handle->options.power && handle->config->has_rpc_polling;
    power->rpc_latency_us = handle->config->rpc_latency_us;
    power->rpc_polling_us = conf_rpc ? handle->config->rpc_polling_us : power->profile->rpc_polling_us;
    if (handle->unit->unit == UNIT_NPU)
        power_vote(power, &handle->libraries);
    else
        snprintf(power->reason, sizeof power->reason, "only the npu takes votes");
    if (handle->config->simulator && power->applied)
        snprintf(power->reason, sizeof power->reason, "taken by the simulator, which has no clocks to change");
    power_say(power);
}

static enum status open_device(struct hexrun *handle, struct fault *fault)
{
    enum status status = handle_check_interrupt(handle, fault);
    if (!status)
        status = session_create_device(&handle->session, simulated_soc(handle->config, &handle->choice), fault);
    if (status)
        return status;
    vote(handle);
    return handle_check_interrupt(handle, fault);
}

/* The context, and the graphs that are prepared. */
static enum status open_model(struct hexrun *handle, struct fault *fault)
{
    uint64_t begun = platform_now_us();
    enum status status = open_device(handle, fault);
    if (!status && handle->steps->opening)
        status = handle->steps->opening(handle->steps->context, handle, fault);
    if (!status)
        status = session_open_context(&handle->session, &handle->model, fault);
    for (uint32_t i = 0; !status && i < handle->model.graph_count; i++)
        if (handle->lanes[i].graph)
            status = lane_open(&handle->lanes[i], &handle->session, &handle->model, fault);
    handle->create_us = platform_now_us() - begun;
    for (uint32_t i = 0; !status && i < handle->model.graph_count; i++)
        if (handle->lanes[i].graph)
            status = lane_share(&handle->lanes[i], &handle->session, fault);
    handle->running = !status;
    return status ? status : handle_check_interrupt(handle, fault);
}

static enum status prepare_graph(struct hexrun *handle, struct fault *fault)
{
    struct lane *lane;
    if (!handle->options.graph && handle->model.graph_count > 1)
        return RUN_OK;
    return handle_lane(handle, handle->options.graph, &lane, fault);
}

static enum status open_on_unit(struct hexrun *handle, bool *units_own, struct fault *fault)
{
    *units_own = true;
    enum status status = describe(handle, fault);
    if (status)
        return status;
    *units_own = false;
    if (handle->steps->described)
        status = handle->steps->described(handle->steps->context, handle, units_own, fault);
    else if (!handle->options.describe_only || handle->options.graph)
        status = prepare_graph(handle, fault);
    if (status || handle->options.describe_only)
        return status;
    *units_own = true;
    return open_model(handle, fault);
}

enum status handle_open(const char *folder, const struct hexrun_options *options, const struct handle_steps *steps,
                        struct hexrun **out)
{
    struct hexrun *handle = calloc(1, sizeof *handle);
    *out = handle;
    if (!handle)
        return RUN_DEFECT;
    handle->options = *options;
    handle->steps = steps;
    handle->lock = platform_lock_make();
    enum status status = handle->lock ? begin(handle, folder, &handle->fault) : fault_memory(&handle->fault);
    if (!status)
        status = units_try(handle, open_on_unit, &handle->fault);
    if (!status)
        handle->fault.status = RUN_OK; /* of a unit that was passed over */
    return status;
}

enum status handle_lane(struct hexrun *handle, const char *graph, struct lane **out, struct fault *fault)
{
    const struct graph *found = NULL;
    enum status status = model_choose_graph(&handle->model, graph, &found, fault);
    if (status)
        return status;
    *out = &handle->lanes[found - handle->model.graphs];
    if ((*out)->graph)
        return RUN_OK;
    status = lane_prepare(*out, &handle->model, found, handle->buffers, fault);
    if (status)
        lane_close(*out);
    return status;
}

/* ---- closing ---- */

static void close_unit(struct hexrun *handle)
{
    power_release(&handle->power);
    for (uint32_t i = 0; handle->lanes && i < handle->model.graph_count; i++)
        lane_unregister(&handle->lanes[i]);
    session_stop(&handle->session);
    for (uint32_t i = 0; handle->lanes && i < handle->model.graph_count; i++)
        lane_close(&handle->lanes[i]);
    free(handle->lanes);
    model_close(&handle->model);
}

void handle_close_unit(struct hexrun *handle)
{
    if (handle->steps->undo)
        handle->steps->undo(handle->steps->context);
    close_unit(handle);
    handle->lanes = NULL;
    handle->libraries = (struct libraries){0};
    handle->choice = (struct choice){0};
    handle->power = (struct power){.profile = handle->power.profile};
    handle->load_us = handle->create_us = 0;
    handle->running = false;
}

void handle_close(struct hexrun *handle)
{
    if (!handle)
        return;
    close_unit(handle);
    platform_lock_free(handle->lock);
    free(handle->config);
    free(handle);
}
