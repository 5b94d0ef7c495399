#include "compose.h"

#include "backend_log.h"
#include "by_value.h"

/* ---- DLC ---- */

static enum status open_dlc(const struct libraries *libraries, const char *path, struct model *model,
                            struct fault *fault)
{
    const struct qnn_system_interface *system = libraries->system;
    if (system->api.minor < QNN_SYSTEM_MINOR_DLC) {
        fault_set(fault, RUN_REFUSED, "this QNN System library cannot compose graphs from a DLC");
        fault_evidence(fault, "found System API 1.%u, wanted 1.%d or later", system->api.minor, QNN_SYSTEM_MINOR_DLC);
        return RUN_REFUSED;
    }
    /* It has a log of its own; without one its reasons are lost, which is no reason to stop. */
    if (system->call.log_create(backend_log_callback, QNN_LOG_ERROR, &model->log))
        model->log = NULL;
    qnn_error code = system->call.dlc_create_from_file(model->log, path, &model->dlc);
    if (!code)
        return RUN_OK;
    model->dlc = NULL;
    fault_from_backend(fault, code, "the QNN System library cannot read the DLC (systemDlcCreateFromFile)");
    fault_evidence(fault, "%s", path);
    return RUN_BACKEND;
}

static enum status compose_dlc(struct session *session, const char *path, struct model *model, struct fault *fault)
{
    const struct libraries *libraries = session->libraries;
    const struct qnn_graph_info *graphs = NULL;
    uint32_t count = 0;
    qnn_error code = 0;
    enum status status = open_dlc(libraries, path, model, fault);
    if (!status)
        status = by_value_compose_dlc(libraries, model->dlc, session->backend, session->context, &graphs, &count,
                                      &code, fault);
    if (status)
        return status;
    if (code)
        return fault_from_backend(fault, code, "the graphs of the DLC cannot be composed (systemDlcComposeGraphs)");
    status = model_read_graphs(model, graphs, count, fault);
    for (uint32_t i = 0; !status && i < count; i++) {
        struct graph *graph = &model->graphs[i];
        code = libraries->backend->call.graph_retrieve(session->context, graph->name, &graph->handle);
        if (code)
            status = fault_from_backend(fault, code, "the composed graph %.256s is not there (graphRetrieve)",
                                        graph->name);
    }
    return status;
}

/* ---- model library ---- */

static const char *const MODEL_ERRORS[] = {
    "no error",          "a tensor is wrong",    "a parameter is wrong",  "a node is wrong",
    "a graph is wrong",  "the context is wrong", "building failed",       "setup failed",
    "memory is short",   "a file is wrong",      "a function is unknown",
};

static enum status compose_library(struct session *session, const char *path, struct model *model,
                                   struct fault *fault)
{
    const struct libraries *libraries = session->libraries;
    void *entry = NULL;
    void *release = NULL;
    int code = 0;
    enum status status =
        library_entry(libraries->config, path, "model library", "QnnModel_composeGraphs", &entry, fault);
    if (!status)
        status = library_entry(libraries->config, path, "model library", "QnnModel_freeGraphsInfo", &release, fault);
    if (!status)
        status = by_value_compose_library(libraries, entry, session->backend, session->context, &model->composed,
                                          &model->composed_count, &code, fault);
    if (status)
        return status;
    if (code) {
        bool known = code > 0 && (size_t)code < sizeof MODEL_ERRORS / sizeof *MODEL_ERRORS;
        fault_set(fault, RUN_BACKEND, "the model library cannot compose its graphs (QnnModel_composeGraphs)");
        fault_evidence(fault, "model error %d%s%s", code, known ? ": " : "", known ? MODEL_ERRORS[code] : "");
        return RUN_BACKEND;
    }
    model->free_composed = (qnn_model_free_graphs)(uintptr_t)release;
    return model_read_composed(model, fault);
}

uint32_t simulated_soc(const struct config *config, const struct choice *choice)
{
    return config->simulator && choice->variant ? choice->variant->soc_model : 0;
}

enum status asset_open(struct session *session, const struct choice *choice, struct model *out, struct fault *fault)
{
    const struct config *config = session->libraries->config;
    enum asset asset = choice->asset;
    char path[PATH_CAPACITY];
    enum status status =
        config_resolve(config, choice->variant->assets[asset], ASSET_NAMES[asset], path, sizeof path, fault);
    if (!status && asset == ASSET_CONTEXT)
        return model_open(session->libraries, path, out, fault);
    if (!status)
        status = session_create_device(session, simulated_soc(config, choice), fault);
    if (!status)
        status = session_create_context(session, fault);
    if (status)
        return status;
    model_begin(session->libraries, asset, out);
    return asset == ASSET_DLC ? compose_dlc(session, path, out, fault) : compose_library(session, path, out, fault);
}
