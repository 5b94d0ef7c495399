#include "lane.h"

#include <stdio.h>

static enum status begin_feeds(struct lane *lane, const struct model *model, const struct shared_memory *memory,
                               struct fault *fault)
{
    enum status status = feed_begin(model, &lane->graph->inputs, memory, &lane->inputs, fault);
    return status ? status : feed_begin(model, &lane->graph->outputs, memory, &lane->outputs, fault);
}

static enum status open_feeds(struct lane *lane, const struct model *model, struct fault *fault)
{
    enum status status = feed_open(model, &lane->graph->inputs, &lane->memory, &lane->inputs, fault);
    return status ? status : feed_open(model, &lane->graph->outputs, &lane->memory, &lane->outputs, fault);
}

static enum status not_shared(const struct lane *lane, struct fault *fault)
{
    if (lane->kind == BUFFERS_AUTO) {
        say("buffers plain: %s", lane->reason);
        return RUN_OK;
    }
    fault_set(fault, RUN_REFUSED, "the buffers cannot be shared with the DSP");
    fault_evidence(fault, "%s", lane->reason);
    fault_fix(fault, "--buffers auto runs with plain buffers then");
    return RUN_REFUSED;
}

enum status lane_prepare(struct lane *lane, const struct model *model, const struct graph *graph,
                         enum buffer_kind kind, struct fault *fault)
{
    *lane = (struct lane){.graph = graph, .kind = kind};
    if (kind == BUFFERS_PLAIN)
        return begin_feeds(lane, model, NULL, fault);
    if (shared_open(&lane->memory, lane->reason)) {
        if (open_feeds(lane, model, fault) == RUN_OK)
            return RUN_OK;
        snprintf(lane->reason, sizeof lane->reason, "FastRPC gives no memory (rpcmem_alloc)");
        feed_close(&lane->inputs);
        feed_close(&lane->outputs);
    }
    enum status status = not_shared(lane, fault);
    return status ? status : begin_feeds(lane, model, NULL, fault);
}

enum status lane_open(struct lane *lane, struct session *session, const struct model *model, struct fault *fault)
{
    return session_open_graph(session, model, lane->graph, &lane->opened, fault);
}

enum status lane_share(struct lane *lane, const struct session *session, struct fault *fault)
{
    const struct qnn_functions *call = &session->libraries->backend->call;
    if (!lane->inputs.memory)
        return RUN_OK;
    lane->shared = feed_register(&lane->inputs, call, session->context, lane->reason) &&
                   feed_register(&lane->outputs, call, session->context, lane->reason);
    if (lane->shared)
        return RUN_OK;
    feed_unregister(&lane->inputs);
    return not_shared(lane, fault);
}

enum status lane_execute(const struct lane *lane, const struct session *session, const struct feed *inputs,
                         const struct feed *outputs, qnn_handle profile, uint64_t *took, struct fault *fault)
{
    uint64_t begin = platform_now_us();
    qnn_error code = session->libraries->backend->call.graph_execute(lane->opened, feed_tensors(inputs),
                                                                     inputs->io->count, feed_tensors(outputs),
                                                                     outputs->io->count, profile, NULL);
    *took = platform_now_us() - begin;
    return code ? fault_from_backend(fault, code, "the graph did not execute (graphExecute)") : RUN_OK;
}

void lane_unregister(struct lane *lane)
{
    feed_unregister(&lane->inputs);
    feed_unregister(&lane->outputs);
    lane->shared = false;
}

void lane_close(struct lane *lane)
{
    feed_close(&lane->inputs);
    feed_close(&lane->outputs);
    *lane = (struct lane){0};
}
