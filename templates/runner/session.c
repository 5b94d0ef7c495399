#include "session.h"

#include "backend_log.h"

static bool on_npu(const struct session *session)
{
    return session->libraries->unit->unit == UNIT_NPU;
}

/* A handle that comes with an error is nothing to give back. */
static qnn_error taken(qnn_handle *handle, qnn_error code)
{
    if (code)
        *handle = NULL;
    return code;
}

enum status session_start(const struct libraries *libraries, struct session *out, struct fault *fault)
{
    const struct qnn_functions *call = &libraries->backend->call;
    *out = (struct session){.libraries = libraries};
    qnn_error code = taken(&out->log, call->log_create(backend_log_callback, QNN_LOG_ERROR, &out->log));
    if (code)
        return fault_from_backend(fault, code, "the backend refuses its first call (logCreate)");
    code = taken(&out->backend, call->backend_create(out->log, NULL, &out->backend));
    if (code)
        return fault_from_backend(fault, code, "the backend cannot start (backendCreate)");
    return RUN_OK;
}

void session_identify(const struct session *session, struct identity *out)
{
    const struct qnn_functions *call = &session->libraries->backend->call;
    const struct qnn_platform_info *info = NULL;
    *out = (struct identity){0};
    /* The extension is the HTP backend's own. */
    if (on_npu(session) && call->device_get_platform_info(session->log, &info) == 0 && info) {
        bool told = info->version == 1 && info->v1.device_count && info->v1.devices && info->v1.devices->version == 1;
        const struct qnn_htp_device_extension *extension = told ? info->v1.devices->v1.extension : NULL;
        if (extension && extension->soc_model) {
            out->from_backend = true;
            out->soc_model = extension->soc_model;
            out->hexagon = extension->arch;
            out->vtcm_mb = (uint32_t)extension->vtcm_mb;
        }
        call->device_free_platform_info(session->log, info);
    }
    out->from_linux = platform_linux_soc_id(&out->linux_soc_id);
    if (!platform_soc_name(out->name, sizeof out->name))
        *out->name = '\0';
}

enum status session_create_device(struct session *session, uint32_t simulated_soc, struct fault *fault)
{
    if (session->device || !on_npu(session))
        return RUN_OK;
    struct qnn_htp_soc_config soc = {
        .option = QNN_HTP_DEVICE_SOC,
        .soc_model_early = simulated_soc,
        .soc_model_late = simulated_soc,
    };
    struct qnn_config custom = {.option = QNN_DEVICE_CONFIG_CUSTOM, .value = &soc};
    const struct qnn_config *configs[] = {&custom, NULL};
    qnn_error code = taken(&session->device, session->libraries->backend->call.device_create(
                                                 session->log, simulated_soc ? configs : NULL, &session->device));
    if (code)
        return fault_from_backend(fault, code, "the backend cannot open the device (deviceCreate)");
    return RUN_OK;
}

/* ---- settings ---- */

enum { SETTINGS = 8 };

/* Settings of a context or a graph, as the backend takes them. It must not be copied: it points into itself. */
struct settings {
    struct qnn_config items[SETTINGS];
    struct qnn_htp_graph_config custom[SETTINGS];
    const struct qnn_config *list[SETTINGS + 1];
    size_t count, custom_count;
};

static void add_number(struct settings *settings, uint32_t option, uint32_t number)
{
    struct qnn_config *item = &settings->items[settings->count];
    *item = (struct qnn_config){.option = option};
    item->number = number;
    settings->list[settings->count++] = item;
}

static struct qnn_htp_graph_config *add_custom(struct settings *settings, uint32_t option)
{
    struct qnn_htp_graph_config *custom = &settings->custom[settings->custom_count++];
    struct qnn_config *item = &settings->items[settings->count];
    custom->option = option;
    *item = (struct qnn_config){.option = QNN_GRAPH_CONFIG_CUSTOM, .value = custom};
    settings->list[settings->count++] = item;
    return custom;
}

static void context_settings(const struct session *session, bool from_binary, struct settings *out)
{
    const struct config *config = session->libraries->config;
    *out = (struct settings){0};
    if (config->has_priority && on_npu(session))
        add_number(out, QNN_CONTEXT_CONFIG_PRIORITY, config->priority);
    /* The simulator does not support it (error 1000). */
    if (config->has_compatibility && from_binary && on_npu(session) && !config->simulator)
        add_number(out, QNN_CONTEXT_CONFIG_COMPATIBILITY,
                   config->strict ? QNN_COMPATIBILITY_STRICT : QNN_COMPATIBILITY_PERMISSIVE);
}

static void graph_settings(const struct session *session, struct settings *out)
{
    const struct config *config = session->libraries->config;
    const struct preparation *preparation = &config->preparation;
    *out = (struct settings){0};
    if (!on_npu(session))
        return;
    if (config->has_priority)
        add_number(out, QNN_GRAPH_CONFIG_PRIORITY, config->priority);
    if (preparation->optimization) {
        struct qnn_htp_graph_config *level = add_custom(out, QNN_HTP_GRAPH_OPTIMIZATION);
        level->u.optimization.type = QNN_HTP_OPTIMIZATION_LEVEL;
        level->u.optimization.value = (float)preparation->optimization;
    }
    if (preparation->fp16)
        add_custom(out, QNN_HTP_GRAPH_PRECISION)->u.number = QNN_HTP_PRECISION_FLOAT16;
    if (preparation->vtcm_mb)
        add_custom(out, QNN_HTP_GRAPH_VTCM_MB)->u.number = preparation->vtcm_mb;
    if (preparation->hvx_threads)
        add_custom(out, QNN_HTP_GRAPH_HVX_THREADS)->u.count = preparation->hvx_threads;
}

/* ---- contexts and graphs ---- */

enum status session_create_context(struct session *session, struct fault *fault)
{
    struct settings settings;
    context_settings(session, false, &settings);
    qnn_error code = taken(&session->context, session->libraries->backend->call.context_create(
                                                  session->backend, session->device,
                                                  settings.count ? settings.list : NULL, &session->context));
    if (code)
        return fault_from_backend(fault, code, "the backend makes no context (contextCreate)");
    return RUN_OK;
}

enum status session_finalize(struct session *session, const struct graph *graph, struct fault *fault)
{
    const struct qnn_functions *call = &session->libraries->backend->call;
    struct settings settings;
    graph_settings(session, &settings);
    qnn_error code = settings.count ? call->graph_set_config(graph->handle, settings.list) : 0;
    if (code)
        return fault_from_backend(fault, code, "the backend refuses the settings of graph %.256s (graphSetConfig)",
                                  graph->name);
    code = call->graph_finalize(graph->handle, session->profile, NULL);
    if (code)
        return fault_from_backend(fault, code, "the backend cannot prepare the graph %.256s (graphFinalize)",
                                  graph->name);
    return RUN_OK;
}

/* A context binary is opened once. A second try after a 5xxx has rebooted phones, so there is none. */
enum status session_open_context(struct session *session, const struct model *model, struct fault *fault)
{
    struct settings settings;
    if (model->asset != ASSET_CONTEXT)
        return RUN_OK;
    context_settings(session, true, &settings);
    qnn_error code = taken(&session->context, session->libraries->backend->call.context_create_from_binary(
                                                  session->backend, session->device,
                                                  settings.count ? settings.list : NULL, model->binary.data,
                                                  model->binary.size, &session->context, session->profile));
    if (!code)
        return RUN_OK;
    fault_from_backend(fault, code, "the backend refuses the context binary (contextCreateFromBinary)");
    fault_evidence(fault, "compiled by QAIRT %s, opened by %s", model->build ? model->build : "of unknown build",
                   session->libraries->build);
    return RUN_BACKEND;
}

enum status session_open_graph(struct session *session, const struct model *model, const struct graph *graph,
                               qnn_handle *out, struct fault *fault)
{
    if (model->asset != ASSET_CONTEXT) {
        *out = graph->handle;
        return session_finalize(session, graph, fault);
    }
    qnn_error code = session->libraries->backend->call.graph_retrieve(session->context, graph->name, out);
    if (code)
        return fault_from_backend(fault, code, "the context does not give up its graph %.256s (graphRetrieve)",
                                  graph->name);
    return RUN_OK;
}

void session_stop(struct session *session)
{
    if (!session->libraries)
        return;
    const struct qnn_functions *call = &session->libraries->backend->call;
    if (session->context)
        call->context_free(session->context, NULL);
    if (session->device)
        call->device_free(session->device);
    if (session->backend)
        call->backend_free(session->backend);
    if (session->log)
        call->log_free(session->log);
    *session = (struct session){0};
}
