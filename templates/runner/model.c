#include "model.h"

#include <stdlib.h>
#include <string.h>

static enum status nonsense(struct fault *fault, const char *what, uint64_t found, uint64_t limit)
{
    fault_set(fault, RUN_REFUSED, "the model's description makes no sense");
    fault_evidence(fault, "%s: found %llu, at most %llu is believed", what, (unsigned long long)found,
                   (unsigned long long)limit);
    fault_fix(fault, "the QNN System library must be of the release of the backend, and the file undamaged");
    return RUN_REFUSED;
}

static bool good_name(const char *name)
{
    if (!name || !*name)
        return false;
    for (size_t length = 0; length <= MODEL_NAME; length++)
        if (!name[length])
            return true;
    return false;
}

static const struct qnn_tensor *at_stride(const struct qnn_tensor *first, size_t stride, uint32_t index)
{
    return (const struct qnn_tensor *)(const void *)((const char *)first + stride * index);
}

const struct qnn_tensor *raw_tensor(const struct model *model, const struct graph_io *io, uint32_t index)
{
    return at_stride(io->raw, model->tensor_stride, index);
}

static enum status read_tensor(const struct qnn_tensor *raw, struct tensor *out, struct fault *fault)
{
    const struct qnn_tensor_v1 *v1 = &raw->v1;
    if (raw->version < 1 || raw->version > 2)
        return nonsense(fault, "version of a tensor", raw->version, 2);
    if (!good_name(v1->name))
        return nonsense(fault, "length of a tensor's name", MODEL_NAME + 1, MODEL_NAME);
    if (v1->rank > TENSOR_RANK || (v1->rank && !v1->dimensions))
        return nonsense(fault, "rank of a tensor", v1->rank, TENSOR_RANK);
    *out = (struct tensor){.name = v1->name, .rank = v1->rank, .count = 1};
    out->element = element_of(v1->data_type);
    if (!out->element || !out->element->descr) {
        fault_set(fault, RUN_REFUSED, "tensor %s has a data type that hexrun cannot carry", v1->name);
        fault_evidence(fault, "QNN data type 0x%x (%s)", v1->data_type, out->element ? out->element->name : "unknown");
        return RUN_REFUSED;
    }
    for (uint32_t i = 0; i < v1->rank; i++) {
        out->shape[i] = v1->dimensions[i];
        /* The backend counts a buffer's bytes in 32 bits. */
        if (out->shape[i] && out->count > UINT32_MAX / 8 / out->shape[i])
            return nonsense(fault, "elements of a tensor", (uint64_t)out->count * out->shape[i], UINT32_MAX / 8);
        out->count *= out->shape[i];
    }
    return tensor_read_quantization(out, &v1->quantize, fault);
}

static enum status read_io(const struct model *model, const struct qnn_tensor *raw, uint32_t count, const char *what,
                           struct graph_io *out, struct fault *fault)
{
    if (count > MODEL_TENSORS || (count && !raw))
        return nonsense(fault, what, count, MODEL_TENSORS);
    *out = (struct graph_io){.raw = raw, .count = count};
    out->tensors = calloc(count ? count : 1, sizeof *out->tensors);
    if (!out->tensors)
        return fault_memory(fault);
    enum status status = RUN_OK;
    for (uint32_t i = 0; !status && i < count; i++)
        status = read_tensor(raw_tensor(model, out, i), &out->tensors[i], fault);
    return status;
}

static const struct qnn_graph_info *graph_at(const struct qnn_graph_info *first, size_t stride, uint32_t index)
{
    return (const struct qnn_graph_info *)(const void *)((const char *)first + stride * index);
}

static bool plausible(const struct qnn_graph_info *graph)
{
    return graph->version >= 1 && graph->version <= 3 && graph->v1.name && graph->v1.input_count <= MODEL_TENSORS &&
           graph->v1.output_count <= MODEL_TENSORS && (graph->v1.inputs || !graph->v1.input_count) &&
           (graph->v1.outputs || !graph->v1.output_count);
}

/* The distance between graph descriptions grew with the System library's releases and is told nowhere,
 * but it holds the version of the first: what that appends can look like a shorter description.
 * Smallest first, so that no probe reads past the array. 0: none fits. */
static size_t graph_stride(const struct qnn_graph_info *first, uint32_t count)
{
    static const size_t STRIDES[] = {48, 64, 88}; /* also the sizes of versions 1, 2 and 3 */
    if (!plausible(first))
        return 0;
    for (size_t i = first->version - 1; i < sizeof STRIDES / sizeof *STRIDES; i++) {
        uint32_t fits = 0;
        while (fits < count && plausible(graph_at(first, STRIDES[i], fits)))
            fits++;
        if (fits == count)
            return STRIDES[i];
    }
    return 0;
}

static enum status begin_graphs(struct model *model, const void *first, uint32_t count, struct fault *fault)
{
    if (!count || count > MODEL_GRAPHS || !first)
        return nonsense(fault, "number of graphs", count, MODEL_GRAPHS);
    model->graphs = calloc(count, sizeof *model->graphs);
    if (!model->graphs)
        return fault_memory(fault);
    model->graph_count = count;
    return RUN_OK;
}

static enum status read_graph(const struct model *model, const struct qnn_graph_v1 *v1, struct graph *graph,
                              struct fault *fault)
{
    graph->name = v1->name;
    if (!good_name(v1->name))
        return nonsense(fault, "length of a graph's name", MODEL_NAME + 1, MODEL_NAME);
    enum status status = read_io(model, v1->inputs, v1->input_count, "inputs of a graph", &graph->inputs, fault);
    if (!status)
        status = read_io(model, v1->outputs, v1->output_count, "outputs of a graph", &graph->outputs, fault);
    return status;
}

enum status model_read_graphs(struct model *model, const struct qnn_graph_info *first, uint32_t count,
                              struct fault *fault)
{
    enum status status = begin_graphs(model, first, count, fault);
    size_t stride = status ? 0 : graph_stride(first, count);
    if (!status && !stride)
        status = nonsense(fault, "graph descriptions of no known size", count, MODEL_GRAPHS);
    for (uint32_t i = 0; !status && i < count; i++)
        status = read_graph(model, &graph_at(first, stride, i)->v1, &model->graphs[i], fault);
    return status;
}

enum status model_read_composed(struct model *model, struct fault *fault)
{
    enum status status = begin_graphs(model, model->composed, model->composed_count, fault);
    for (uint32_t i = 0; !status && i < model->graph_count; i++) {
        const struct qnn_model_graph *from = model->composed[i];
        if (!from || !from->graph)
            return nonsense(fault, "graphs that are composed", i, model->graph_count);
        struct qnn_graph_v1 v1 = {from->name, from->input_count, from->inputs, from->output_count, from->outputs};
        model->graphs[i].handle = from->graph;
        status = read_graph(model, &v1, &model->graphs[i], fault);
    }
    return status;
}

static enum status read_metadata(struct model *model, const char *path, struct fault *fault)
{
    const struct qnn_binary_info *info = NULL;
    qnn_error code = model->system->call.context_create(&model->description);
    if (code) {
        model->description = NULL;
        return fault_from_backend(fault, code, "the QNN System library refuses to start");
    }
    code = model->system->call.context_get_metadata(model->description, model->binary.data, model->binary.size, &info);
    if (code) {
        fault_from_backend(fault, code, "%s is not a context binary that this release can read", path);
        fault_evidence(fault, "%zu bytes", model->binary.size);
        return RUN_BACKEND;
    }
    if (!info || info->version < 1 || info->version > 3)
        return nonsense(fault, "version of the description", info ? info->version : 0, 3);
    const struct qnn_binary_v1 *v1 = &info->u.v1;
    const struct qnn_binary_v3 *v3 = &info->u.v3;
    bool newest = info->version == 3;
    const char *build = newest ? v3->build_id : v1->build_id;
    model->build = good_name(build) ? build : NULL;
    if (newest) {
        const struct qnn_htp_metadata *metadata = v3->metadata;
        bool told = metadata && v3->metadata_size >= sizeof *metadata && metadata->version == 1;
        model->soc_model = v3->soc_model;
        model->hexagon = told && v3->backend_id == QNN_BACKEND_HTP ? metadata->arch : 0;
    }
    return model_read_graphs(model, newest ? v3->graphs : v1->graphs, newest ? v3->graph_count : v1->graph_count, fault);
}

void model_begin(const struct libraries *libraries, enum asset asset, struct model *out)
{
    bool wide = libraries->backend->api.core.minor >= QNN_CORE_MINOR_WIDE_TENSOR;
    *out = (struct model){.asset = asset,
                          .system = libraries->system,
                          .tensor_stride = wide ? QNN_TENSOR_STRIDE_WIDE : QNN_TENSOR_STRIDE_NARROW};
}

enum status model_open(const struct libraries *libraries, const char *path, struct model *out, struct fault *fault)
{
    char problem[FAULT_TEXT] = "";
    model_begin(libraries, ASSET_CONTEXT, out);
    if (platform_map(path, &out->binary, problem))
        return read_metadata(out, path, fault);
    fault_set(fault, RUN_UNAVAILABLE, "the context binary cannot be read");
    fault_evidence(fault, "%s: %s", path, problem);
    return RUN_UNAVAILABLE;
}

void model_close(struct model *model)
{
    for (uint32_t i = 0; i < model->graph_count; i++) {
        free(model->graphs[i].inputs.tensors);
        free(model->graphs[i].outputs.tensors);
    }
    free(model->graphs);
    if (model->description)
        model->system->call.context_free(model->description);
    if (model->dlc)
        model->system->call.dlc_free(model->dlc);
    if (model->log)
        model->system->call.log_free(model->log);
    if (model->free_composed)
        model->free_composed(&model->composed, model->composed_count);
    platform_unmap(&model->binary);
    *model = (struct model){0};
}

enum status model_choose_graph(const struct model *model, const char *name, const struct graph **out,
                               struct fault *fault)
{
    for (uint32_t i = 0; i < model->graph_count; i++)
        if (name ? strcmp(model->graphs[i].name, name) == 0 : model->graph_count == 1) {
            *out = &model->graphs[i];
            return RUN_OK;
        }
    if (name)
        fault_set(fault, RUN_USAGE, "the model has no graph \"%.256s\"", name);
    else
        fault_set(fault, RUN_USAGE, "the model has %u graphs; choose one with --graph", model->graph_count);
    for (uint32_t i = 0; i < model->graph_count; i++)
        fault_evidence(fault, "it has \"%.256s\"", model->graphs[i].name);
    return RUN_USAGE;
}
