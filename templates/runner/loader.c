#include "loader.h"

#include <inttypes.h>
#include <string.h>

static enum status set_dsp_path(const struct config *config, struct fault *fault)
{
    static const char *const VARIABLES[] = {PLATFORM_DSP_PATHS};
    char folder[PATH_CAPACITY];
    if (!*config->dsp)
        return RUN_OK;
    enum status status = config_resolve(config, config->dsp, "folder of DSP libraries", folder, sizeof folder, fault);
    if (status)
        return status;
    if (strchr(folder, ';')) {
        fault_set(fault, RUN_UNAVAILABLE, "FastRPC would not find the folder of DSP libraries");
        fault_evidence(fault, "found a ; in %s, which parts folders", folder);
        fault_fix(fault, "install the package in a folder without ; in its path");
        return RUN_UNAVAILABLE;
    }
    for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++)
        if (!platform_prepend_path(VARIABLES[i], folder))
            return fault_memory(fault);
    return RUN_OK;
}

enum status library_entry(const struct config *config, const char *name, const char *role, const char *symbol,
                          void **entry, struct fault *fault)
{
    char path[PATH_CAPACITY], problem[FAULT_TEXT] = "";
    enum status status = config_resolve(config, name, role, path, sizeof path, fault);
    if (status)
        return status;
    void *library = platform_load(path, problem);
    if (!library) {
        fault_set(fault, RUN_UNAVAILABLE, "the %s cannot be loaded", role);
        fault_evidence(fault, "%s", problem);
        fault_evidence(fault, "file %s", path);
        return RUN_UNAVAILABLE;
    }
    *entry = platform_symbol(library, symbol);
    if (*entry)
        return RUN_OK;
    fault_set(fault, RUN_UNAVAILABLE, "the %s is not a QNN library", role);
    fault_evidence(fault, "%s does not export %s", path, symbol);
    return RUN_UNAVAILABLE;
}

/* A backend of runner.conf's word, the NPU's simulator included. */
static const struct backend_kind {
    const char *name;
    uint32_t ids[2];
} KINDS[UNITS] = {
    [UNIT_NPU] = {"an HTP", {QNN_BACKEND_HTP, QNN_BACKEND_HTP_QEMU}},
    [UNIT_GPU] = {"a GPU", {QNN_BACKEND_GPU, QNN_BACKEND_GPU}},
    [UNIT_CPU] = {"a CPU", {QNN_BACKEND_CPU, QNN_BACKEND_CPU}},
};

static bool is_of(const struct qnn_interface *candidate, const struct backend_kind *kind)
{
    return (candidate->backend_id == kind->ids[0] || candidate->backend_id == kind->ids[1]) &&
           candidate->api.core.major == QNN_CORE_MAJOR && candidate->api.core.minor >= QNN_CORE_MINOR_OLDEST;
}

/* A wrong idea of the function table would call into the void; the version that the table's own getter
 * returns must be the one beside the table. */
static enum status check_layout(const struct qnn_interface *backend, struct fault *fault)
{
    struct qnn_api_version told = {0};
    qnn_error code = backend->call.backend_get_api_version(&told);
    if (code)
        return fault_from_backend(fault, code, "the backend does not tell its API version");
    if (memcmp(&told, &backend->api, sizeof told) == 0)
        return RUN_OK;
    fault_set(fault, RUN_REFUSED, "the backend's function table is not laid out as hexrun knows it");
    fault_evidence(fault, "table of core API %u.%u.%u, its getter says %u.%u.%u", backend->api.core.major,
                   backend->api.core.minor, backend->api.core.patch, told.core.major, told.core.minor,
                   told.core.patch);
    return RUN_REFUSED;
}

static enum status choose_backend(qnn_get_providers get, struct libraries *out, struct fault *fault)
{
    const struct backend_kind *kind = &KINDS[out->unit->unit];
    const struct qnn_interface **list = NULL;
    uint32_t count = 0;
    qnn_error code = get(&list, &count);
    if (code)
        return fault_from_backend(fault, code, "the backend library offers no interface");
    const struct qnn_interface *seen = NULL;
    for (uint32_t i = 0; list && i < count && !out->backend; i++) {
        seen = list[i] ? list[i] : seen;
        if (list[i] && is_of(list[i], kind))
            out->backend = list[i];
    }
    if (out->backend)
        return check_layout(out->backend, fault);
    fault_set(fault, RUN_REFUSED, "the backend library is not %s backend that hexrun can drive", kind->name);
    if (seen)
        fault_evidence(fault, "found %s (backend id %u), core API %u.%u", seen->provider ? seen->provider : "?",
                       seen->backend_id, seen->api.core.major, seen->api.core.minor);
    fault_evidence(fault, "wanted %s backend of core API %d.%d or later within %d.x (QAIRT 2.16 or later)", kind->name,
                   QNN_CORE_MAJOR, QNN_CORE_MINOR_OLDEST, QNN_CORE_MAJOR);
    return RUN_REFUSED;
}

static enum status choose_system(qnn_system_get_providers get, struct libraries *out, struct fault *fault)
{
    const struct qnn_system_interface **list = NULL;
    uint32_t count = 0;
    qnn_error code = get(&list, &count);
    if (code)
        return fault_from_backend(fault, code, "the QNN System library offers no interface");
    for (uint32_t i = 0; list && i < count && !out->system; i++)
        if (list[i] && list[i]->api.major == 1)
            out->system = list[i];
    if (out->system)
        return RUN_OK;
    fault_set(fault, RUN_REFUSED, "the QNN System library does not offer interface 1.x");
    return RUN_REFUSED;
}

enum status libraries_load(const struct config *config, const struct compute *unit, struct libraries *out,
                           struct fault *fault)
{
    void *backend = NULL;
    void *system = NULL;
    *out = (struct libraries){.config = config, .unit = unit, .build = "unknown"};
    enum status status = unit->unit == UNIT_NPU ? set_dsp_path(config, fault) : RUN_OK;
    if (!status)
        status = library_entry(config, unit->backend, "QNN backend library", "QnnInterface_getProviders", &backend,
                               fault);
    if (!status)
        status = library_entry(config, config->system, "QNN System library", "QnnSystemInterface_getProviders", &system,
                               fault);
    if (!status)
        status = choose_backend((qnn_get_providers)(uintptr_t)backend, out, fault);
    if (!status)
        status = choose_system((qnn_system_get_providers)(uintptr_t)system, out, fault);
    if (!status) {
        const char *build = NULL;
        if (out->backend->call.backend_get_build_id(&build) == 0 && build)
            out->build = build;
    }
    return status;
}
