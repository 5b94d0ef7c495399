#include "session.h"

#include "backend_log.h"

enum status session_start(const struct libraries *libraries, struct session *out, struct fault *fault)
{
    const struct qnn_functions *call = &libraries->backend->call;
    *out = (struct session){.libraries = libraries};
    qnn_error code = call->log_create(backend_log_callback, QNN_LOG_ERROR, &out->log);
    if (code)
        return fault_from_backend(fault, code, "the backend refuses its first call (logCreate)");
    code = call->backend_create(out->log, NULL, &out->backend);
    if (code)
        return fault_from_backend(fault, code, "the backend cannot start (backendCreate)");
    return RUN_OK;
}

void session_identify(const struct session *session, struct identity *out)
{
    const struct qnn_functions *call = &session->libraries->backend->call;
    const struct qnn_platform_info *info = NULL;
    *out = (struct identity){0};
    if (call->device_get_platform_info(session->log, &info) == 0 && info) {
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
}

enum status session_create_device(struct session *session, uint32_t simulated_soc, struct fault *fault)
{
    struct qnn_htp_soc_config soc = {
        .option = QNN_HTP_DEVICE_SOC,
        .soc_model_early = simulated_soc,
        .soc_model_late = simulated_soc,
    };
    struct qnn_config custom = {.option = QNN_DEVICE_CONFIG_CUSTOM, .value = &soc};
    const struct qnn_config *configs[] = {&custom, NULL};
    qnn_error code = session->libraries->backend->call.device_create(session->log, simulated_soc ? configs : NULL,
                                                                     &session->device);
    if (code)
        return fault_from_backend(fault, code, "the backend cannot open the device (deviceCreate)");
    return RUN_OK;
}

/* A context binary is opened once. A second try after a 5xxx has rebooted phones, so there is none. */
enum status session_open_graph(struct session *session, const struct model *model, const struct graph *graph,
                               struct fault *fault)
{
    const struct qnn_functions *call = &session->libraries->backend->call;
    qnn_error code = call->context_create_from_binary(session->backend, session->device, NULL, model->binary.data,
                                                      model->binary.size, &session->context, session->profile);
    if (code) {
        fault_from_backend(fault, code, "the backend refuses the context binary (contextCreateFromBinary)");
        fault_evidence(fault, "compiled by QAIRT %s, opened by %s", model->build ? model->build : "of unknown build",
                       session->libraries->build);
        return RUN_BACKEND;
    }
    code = call->graph_retrieve(session->context, graph->name, &session->graph);
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
