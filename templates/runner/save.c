#include "save.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "handle.h"

static enum status finalize_all(struct hexrun *handle, struct fault *fault)
{
    enum status status = RUN_OK;
    if (handle->model.asset == ASSET_CONTEXT)
        return fault_set(fault, RUN_USAGE, "the model for %s is a context binary already", handle->choice.variant->soc);
    for (uint32_t i = 0; !status && i < handle->model.graph_count; i++) {
        status = session_finalize(&handle->session, &handle->model.graphs[i], fault);
        status = status ? status : handle_check_interrupt(handle, fault);
    }
    return status;
}

static enum status get_binary(const struct session *session, void **binary, uint64_t *size, struct fault *fault)
{
    const struct qnn_functions *call = &session->libraries->backend->call;
    uint64_t capacity = 0;
    qnn_error code = call->context_get_binary_size(session->context, &capacity);
    if (code)
        return fault_from_backend(fault, code, "the context has no binary form (contextGetBinarySize)");
    *binary = capacity && capacity <= SIZE_MAX ? calloc(1, (size_t)capacity) : NULL;
    if (!*binary)
        return fault_memory(fault);
    code = call->context_get_binary(session->context, *binary, capacity, size);
    if (code)
        return fault_from_backend(fault, code, "the context does not give its binary (contextGetBinary)");
    if (*size && *size <= capacity)
        return RUN_OK;
    fault_set(fault, RUN_REFUSED, "the backend gives a binary of an impossible size");
    fault_evidence(fault, "%" PRIu64 " bytes in a buffer of %" PRIu64, *size, capacity);
    return RUN_REFUSED;
}

static enum status cannot(struct fault *fault, const char *what, const char *path, const char *problem)
{
    fault_set(fault, RUN_UNAVAILABLE, "the context binary cannot be %s", what);
    fault_evidence(fault, "%s: %s", path, problem);
    return RUN_UNAVAILABLE;
}

static enum status another(struct fault *fault, const char *what, uint32_t found, uint32_t wanted)
{
    fault_set(fault, RUN_REFUSED, "the stored context binary is another than was asked for");
    fault_evidence(fault, "%s: found %u, wanted %u", what, found, wanted);
    return RUN_REFUSED;
}

/* The SoC is only ours to choose on the simulator; a backend that misread the choice builds for its oldest. */
static enum status judge(const struct hexrun *handle, const struct model *stored, struct fault *fault)
{
    const struct variant *wanted = handle->choice.variant;
    const struct graph *graph;
    if (stored->graph_count != handle->model.graph_count)
        return another(fault, "graphs", stored->graph_count, handle->model.graph_count);
    for (uint32_t i = 0; i < handle->model.graph_count; i++)
        if (model_choose_graph(stored, handle->model.graphs[i].name, &graph, fault))
            return RUN_REFUSED;
    if (handle->unit->unit != UNIT_NPU || !handle->config->simulator)
        return RUN_OK;
    if (stored->hexagon != wanted->hexagon)
        return another(fault, "Hexagon", stored->hexagon, wanted->hexagon);
    /* Releases before 2.47 leave the number out. */
    if (stored->soc_model && stored->soc_model != wanted->soc_model)
        return another(fault, "soc_model", stored->soc_model, wanted->soc_model);
    return RUN_OK;
}

static enum status read_back(const struct hexrun *handle, const char *path, struct saved *out, struct fault *fault)
{
    struct model stored;
    enum status status = model_open(&handle->libraries, path, &stored, fault);
    if (!status)
        status = judge(handle, &stored, fault);
    out->bytes = stored.binary.size;
    out->soc_model = stored.soc_model;
    out->hexagon = stored.hexagon;
    model_close(&stored);
    return status;
}

/* Under another name, read back, judged, and given its own. */
static enum status store(struct hexrun *handle, struct draft *draft, const void *binary, uint64_t size,
                         struct saved *out, struct fault *fault)
{
    char problem[FAULT_TEXT] = "";
    if (!draft_open(draft, out->file, problem) || !draft_write(draft, binary, (size_t)size, problem) ||
        !draft_close(draft, problem))
        return cannot(fault, "written", out->file, problem);
    enum status status = read_back(handle, draft->path, out, fault);
    if (!status && !draft_keep(draft, out->file, true, problem))
        status = cannot(fault, "given its name", out->file, problem);
    return status;
}

enum status save_context(struct hexrun *handle, const char *file, struct saved *out, struct fault *fault)
{
    struct draft draft = {0};
    void *binary = NULL;
    uint64_t size = 0;
    *out = (struct saved){.file = file};
    enum status status = finalize_all(handle, fault);
    if (!status)
        status = get_binary(&handle->session, &binary, &size, fault);
    if (!status)
        status = store(handle, &draft, binary, size, out, fault);
    draft_drop(&draft);
    free(binary);
    return status;
}
