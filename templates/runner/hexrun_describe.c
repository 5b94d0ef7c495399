/* The part of hexrun.h that tells: what the model is, and what went wrong. */
#include <stdio.h>
#include <string.h>

#include "backend_log.h"
#include "decode.h"
#include "handle.h"
#include "sized.h"

static enum status no_such(struct hexrun *handle, const char *what)
{
    return fault_set(&handle->fault, RUN_USAGE, "the model has no such %s, or it is not open", what);
}

static enum status wrong_size(struct hexrun *handle)
{
    return fault_set(&handle->fault, RUN_USAGE, "the struct's size is not set");
}

/* Opened far enough to be described. */
static bool is_described(const struct hexrun *handle)
{
    return handle->lanes && handle->choice.variant;
}

/* ---- the model ---- */

static enum status describe(struct hexrun *handle, struct hexrun_description *out)
{
    if (!is_described(handle))
        return no_such(handle, "description");
    const struct variant *variant = handle->choice.variant;
    struct hexrun_description known = {
        .package = handle->config->package,
        .version = handle->config->version,
        .soc = variant->soc,
        .chosen_because = handle->choice.reason,
        .unit = UNIT_WORDS[handle->unit->unit],
        .backend_build = handle->libraries.build,
        .compiled_by = handle->model.build,
        .soc_model = variant->soc_model,
        .hexagon = variant->hexagon,
        .graph_count = handle->model.graph_count,
        .simulated = handle->config->simulator && handle->unit->unit == UNIT_NPU,
    };
    return sized_write(out, &known, sizeof known) ? RUN_OK : wrong_size(handle);
}

int hexrun_describe(struct hexrun *handle, struct hexrun_description *out)
{
    if (!handle)
        return RUN_USAGE;
    platform_lock_enter(handle->lock);
    enum status status = describe(handle, out);
    platform_lock_leave(handle->lock);
    return (int)status;
}

static enum status describe_graph(struct hexrun *handle, uint32_t index, struct hexrun_graph *out)
{
    if (!is_described(handle) || index >= handle->model.graph_count)
        return no_such(handle, "graph");
    const struct graph *graph = &handle->model.graphs[index];
    struct hexrun_graph known = {
        .name = graph->name, .input_count = graph->inputs.count, .output_count = graph->outputs.count};
    return sized_write(out, &known, sizeof known) ? RUN_OK : wrong_size(handle);
}

int hexrun_describe_graph(struct hexrun *handle, uint32_t index, struct hexrun_graph *out)
{
    if (!handle)
        return RUN_USAGE;
    platform_lock_enter(handle->lock);
    enum status status = describe_graph(handle, index, out);
    platform_lock_leave(handle->lock);
    return (int)status;
}

/* NULL with the fault set where there is none. */
static const struct tensor *find(struct hexrun *handle, uint32_t graph, uint32_t side, uint32_t index)
{
    const struct graph *of = is_described(handle) && graph < handle->model.graph_count && side <= HEXRUN_OUTPUT
                                 ? &handle->model.graphs[graph]
                                 : NULL;
    const struct graph_io *io = !of ? NULL : side == HEXRUN_INPUT ? &of->inputs : &of->outputs;
    if (io && index < io->count)
        return &io->tensors[index];
    no_such(handle, "tensor");
    return NULL;
}

static enum status describe_tensor(struct hexrun *handle, const struct tensor *tensor, struct hexrun_tensor *out)
{
    const struct quantization *q = &tensor->quantization;
    struct hexrun_tensor known = {
        .name = tensor->name,
        .dtype = dtype_name(tensor->element->descr),
        .stored_as = tensor->element->name,
        .rank = tensor->rank,
        .elements = tensor->count,
        .bytes = tensor_bytes(tensor),
        .takes_float32 = tensor_takes_float(tensor) || tensor->element->qnn == QNN_FLOAT_32,
        .quantized = q->known,
    };
    memcpy(known.dims, tensor->shape, sizeof known.dims);
    if (q->known) {
        known.bits = q->bits;
        known.channels = q->channels;
        known.axis = q->axis;
        known.scale = q->scale;
        known.offset = q->offset;
    }
    return sized_write(out, &known, sizeof known) ? RUN_OK : wrong_size(handle);
}

int hexrun_describe_tensor(struct hexrun *handle, uint32_t graph, uint32_t side, uint32_t index,
                           struct hexrun_tensor *out)
{
    if (!handle)
        return RUN_USAGE;
    platform_lock_enter(handle->lock);
    const struct tensor *tensor = find(handle, graph, side, index);
    enum status status = tensor ? describe_tensor(handle, tensor, out) : RUN_USAGE;
    platform_lock_leave(handle->lock);
    return (int)status;
}

int hexrun_describe_channel(struct hexrun *handle, uint32_t graph, uint32_t side, uint32_t index, uint32_t channel,
                            float *scale, int32_t *offset)
{
    if (!handle)
        return RUN_USAGE;
    platform_lock_enter(handle->lock);
    const struct tensor *tensor = find(handle, graph, side, index);
    const struct quantization *q = tensor ? &tensor->quantization : NULL;
    enum status status = tensor ? RUN_OK : RUN_USAGE;
    if (tensor && (!q->known || channel >= q->channels || !scale || !offset))
        status = no_such(handle, "channel");
    if (!status) {
        struct qnn_scale_offset pair = quantization_at(q, channel);
        *scale = pair.scale;
        *offset = pair.offset;
    }
    platform_lock_leave(handle->lock);
    return (int)status;
}

/* ---- errors ---- */

static void take_text(char *out, size_t capacity, const char *text)
{
    snprintf(out, capacity, "%s", text ? text : "");
}

static void add_line(char *out, size_t capacity, const char *before, const char *line)
{
    size_t used = strlen(out);
    if (used + 1 < capacity)
        snprintf(out + used, capacity - used, "%s%s%s", used ? "\n" : "", before, line);
}

static void tell(const struct fault *fault, struct hexrun_error *out)
{
    char log[LOG_LINES][LOG_LINE];
    out->status = (int)fault->status;
    take_text(out->what, sizeof out->what, fault->what);
    take_text(out->fix, sizeof out->fix, fault->fix);
    for (size_t i = 0; i < fault->evidence_count; i++)
        add_line(out->evidence, sizeof out->evidence, "", fault->evidence[i]);
    if (!fault->has_code)
        return;
    struct decoded decoded = decode_code(decode_mask(fault->code));
    out->code = decoded.code;
    take_text(out->code_name, sizeof out->code_name, decoded.name);
    take_text(out->sentence, sizeof out->sentence, decoded.sentence);
    take_text(out->look_first, sizeof out->look_first, decoded.look_first);
    size_t count = backend_log_lines(log);
    for (size_t i = 0; i < count; i++)
        add_line(out->evidence, sizeof out->evidence, "backend log: ", log[i]);
}

int hexrun_last_error(struct hexrun *handle, struct hexrun_error *out)
{
    struct hexrun_error known = {0};
    if (handle) {
        platform_lock_enter(handle->lock);
        if (handle->fault.status)
            tell(&handle->fault, &known);
        platform_lock_leave(handle->lock);
    } else {
        known.status = RUN_DEFECT;
        take_text(known.what, sizeof known.what, "out of memory");
    }
    return sized_write(out, &known, sizeof known) ? RUN_OK : RUN_USAGE;
}
