#include "hexrun.h"

#include <string.h>

#include "handle.h"
#include "sized.h"
#include "tables.h"

const char *hexrun_version(void)
{
    return HEXRUN_VERSION;
}

void hexrun_log_to(void (*line)(void *context, const char *text), void *context)
{
    say_to(line, context);
}

int hexrun_open(const char *folder, const struct hexrun_options *options, struct hexrun **out)
{
    static const struct handle_steps STEPS = {0};
    struct hexrun_options known = {.size = sizeof known};
    if (!out)
        return RUN_USAGE;
    /* A size of 0 is refused where there is a handle to say it. */
    if (options && !sized_read(&known, sizeof known, options))
        known = (struct hexrun_options){0};
    return (int)handle_open(folder, &known, &STEPS, out);
}

void hexrun_close(struct hexrun **handle)
{
    if (!handle)
        return;
    handle_close(*handle);
    *handle = NULL;
}

/* ---- running ---- */

/* One side of a run: what the caller gave, and the feed that it goes through. */
struct side {
    const char *word;
    struct feed *feed;
    const struct hexrun_buffer *buffers;
    uint32_t count;
};

static enum status wrong(struct fault *fault, const struct side *side, uint32_t index, const char *what, uint64_t found,
                         uint64_t wanted)
{
    fault_set(fault, RUN_REFUSED, "%s %.256s: the buffer has another %s than the graph", side->word,
              side->feed->io->tensors[index].name, what);
    fault_evidence(fault, "found %llu, wanted %llu", (unsigned long long)found, (unsigned long long)wanted);
    return RUN_REFUSED;
}

/* Whether elements are converted on their way; false where the form is the stored one anyway. */
static bool is_converted(const struct tensor *tensor, const struct hexrun_buffer *buffer)
{
    return buffer->form == HEXRUN_FLOAT32 && tensor_takes_float(tensor);
}

static enum status check_buffer(const struct side *side, uint32_t index, struct fault *fault)
{
    const struct tensor *tensor = &side->feed->io->tensors[index];
    const struct hexrun_buffer *buffer = &side->buffers[index];
    bool converted = is_converted(tensor, buffer);
    uint64_t wanted = converted ? (uint64_t)tensor->count * sizeof(float) : tensor_bytes(tensor);
    if (buffer->reserved || buffer->form > HEXRUN_FLOAT32)
        return fault_set(fault, RUN_USAGE, "%s %.256s: the buffer's form is unknown", side->word, tensor->name);
    if (buffer->form == HEXRUN_FLOAT32 && !converted && tensor->element->qnn != QNN_FLOAT_32) {
        fault_set(fault, RUN_REFUSED, "%s %.256s cannot be float32", side->word, tensor->name);
        fault_evidence(fault, "the graph stores %s", tensor->element->name);
        return RUN_REFUSED;
    }
    if (!buffer->data && converted)
        return fault_set(fault, RUN_USAGE, "%s %.256s: the handle's own buffer is native", side->word, tensor->name);
    if (buffer->data && buffer->bytes != wanted)
        return wrong(fault, side, index, "size in bytes", buffer->bytes, wanted);
    return RUN_OK;
}

static enum status check_side(const struct side *side, struct fault *fault)
{
    enum status status = RUN_OK;
    uint32_t wanted = side->feed->io->count;
    if (!side->buffers && !side->count)
        return RUN_OK;
    if (!side->buffers || side->count != wanted) {
        fault_set(fault, RUN_REFUSED, "the graph has another number of %ss", side->word);
        fault_evidence(fault, "found %u, wanted %u", side->buffers ? side->count : 0, wanted);
        return RUN_REFUSED;
    }
    for (uint32_t i = 0; !status && i < wanted; i++)
        status = check_buffer(side, i, fault);
    return status;
}

/* The caller's memory where the backend can work in it as it lies; NULL: the feed's own is needed. */
static void *in_place(const struct side *side, uint32_t index)
{
    const struct hexrun_buffer *buffer = side->buffers ? &side->buffers[index] : NULL;
    if (!buffer || side->feed->handles || is_converted(&side->feed->io->tensors[index], buffer))
        return NULL;
    return buffer->data;
}

static enum status place(const struct side *side, struct fault *fault)
{
    enum status status = RUN_OK;
    for (uint32_t i = 0; !status && i < side->feed->io->count; i++) {
        void *data = in_place(side, i);
        if (!data)
            status = feed_allocate(side->feed, i, fault);
        if (!status && !side->feed->handles)
            feed_point(side->feed, i, data);
    }
    return status;
}

/* Whether a tensor has to be carried between the caller's memory and the feed's own. */
static bool is_carried(const struct side *side, uint32_t index)
{
    const struct hexrun_buffer *buffer = side->buffers ? &side->buffers[index] : NULL;
    return buffer && buffer->data && buffer->data != side->feed->data[index] && !in_place(side, index);
}

static enum status carry_in(const struct side *side, uint64_t *copied, struct fault *fault)
{
    enum status status = RUN_OK;
    for (uint32_t i = 0; !status && i < side->feed->io->count; i++) {
        const struct tensor *tensor = &side->feed->io->tensors[i];
        if (!is_carried(side, i))
            continue;
        if (is_converted(tensor, &side->buffers[i]))
            status = tensor_from_float(tensor, 0, tensor->count, side->buffers[i].data, side->feed->data[i], fault);
        else
            memcpy(side->feed->data[i], side->buffers[i].data, tensor_bytes(tensor));
        *copied += tensor_bytes(tensor);
    }
    return status;
}

static void carry_out(const struct side *side, uint64_t *copied)
{
    for (uint32_t i = 0; i < side->feed->io->count; i++) {
        const struct tensor *tensor = &side->feed->io->tensors[i];
        if (!is_carried(side, i))
            continue;
        if (is_converted(tensor, &side->buffers[i]))
            tensor_to_float(tensor, 0, tensor->count, side->feed->data[i], side->buffers[i].data);
        else
            memcpy(side->buffers[i].data, side->feed->data[i], tensor_bytes(tensor));
        *copied += side->buffers[i].bytes;
    }
}

/* The graph's lane, opened if this is its first use. */
static enum status ready_lane(struct hexrun *handle, const char *graph, struct lane **out, struct fault *fault)
{
    if (!handle->running)
        return fault_set(fault, RUN_USAGE, "the model is not open for running");
    enum status status = handle_lane(handle, graph, out, fault);
    if (status || (*out)->opened)
        return status;
    status = lane_open(*out, &handle->session, &handle->model, fault);
    if (!status)
        status = lane_share(*out, &handle->session, fault);
    if (status) {
        lane_unregister(*out);
        lane_close(*out);
    }
    return status;
}

static enum status run_locked(struct hexrun *handle, struct hexrun_call *call, struct fault *fault)
{
    struct lane *lane = NULL;
    enum status status = ready_lane(handle, call->graph, &lane, fault);
    if (status)
        return status;
    const struct side inputs = {"input", &lane->inputs, call->inputs, call->input_count};
    const struct side outputs = {"output", &lane->outputs, call->outputs, call->output_count};
    status = check_side(&inputs, fault);
    if (!status)
        status = check_side(&outputs, fault);
    if (!status)
        status = place(&inputs, fault);
    if (!status)
        status = place(&outputs, fault);
    if (!status)
        status = carry_in(&inputs, &call->copied_bytes, fault);
    if (!status)
        status = lane_execute(lane, &handle->session, &lane->inputs, &lane->outputs, NULL, &call->took_us, fault);
    if (!status)
        carry_out(&outputs, &call->copied_bytes);
    return status;
}

int hexrun_run(struct hexrun *handle, struct hexrun_call *call)
{
    struct hexrun_call known;
    if (!handle)
        return RUN_USAGE;
    platform_lock_enter(handle->lock);
    enum status status;
    if (sized_read(&known, sizeof known, call)) {
        known.took_us = known.copied_bytes = 0;
        status = run_locked(handle, &known, &handle->fault);
        sized_write(call, &known, sizeof known);
    } else {
        status = fault_set(&handle->fault, RUN_USAGE, "call.size is not the size of a struct hexrun_call");
    }
    platform_lock_leave(handle->lock);
    return (int)status;
}

static enum status own_buffer(struct hexrun *handle, const char *graph, uint32_t side, uint32_t index, void **data,
                              uint64_t *bytes, struct fault *fault)
{
    struct lane *lane = NULL;
    enum status status = ready_lane(handle, graph, &lane, fault);
    if (status)
        return status;
    struct feed *feed = side == HEXRUN_INPUT ? &lane->inputs : &lane->outputs;
    if (side > HEXRUN_OUTPUT || index >= feed->io->count || !data || !bytes)
        return fault_set(fault, RUN_USAGE, "graph %.256s has no such tensor", lane->graph->name);
    status = feed_allocate(feed, index, fault);
    *data = feed->data[index];
    *bytes = tensor_bytes(&feed->io->tensors[index]);
    return status;
}

int hexrun_own_buffer(struct hexrun *handle, const char *graph, uint32_t side, uint32_t index, void **data,
                      uint64_t *bytes)
{
    if (!handle)
        return RUN_USAGE;
    platform_lock_enter(handle->lock);
    enum status status = own_buffer(handle, graph, side, index, data, bytes, &handle->fault);
    platform_lock_leave(handle->lock);
    return (int)status;
}
