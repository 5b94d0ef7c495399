/* A QNN backend and System library in one file that behave as they are told by the environment, so that
 * the runner's conduct on a device can be watched: STAND_IN_<SETTING>=number. Every call that matters is
 * a line in the file STAND_IN_JOURNAL. The model doubles x, float32 [2, 2]. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qnn_abi.h"

#define EXPORT __attribute__((visibility("default")))

enum { GRAPHS = 3 };

static unsigned setting(const char *name, unsigned otherwise)
{
    char variable[64];
    snprintf(variable, sizeof variable, "STAND_IN_%s", name);
    const char *value = getenv(variable);
    return value ? (unsigned)strtoul(value, NULL, 0) : otherwise;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    const char *path = getenv("STAND_IN_JOURNAL");
    FILE *journal = path ? fopen(path, "a") : NULL;
    if (!journal)
        return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(journal, format, arguments);
    va_end(arguments);
    fputc('\n', journal);
    fclose(journal);
}

static qnn_log_callback log_callback;

static void complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_callback(format, QNN_LOG_ERROR, 0, arguments);
    va_end(arguments);
}

static qnn_error log_create(qnn_log_callback callback, uint32_t level, qnn_handle *log)
{
    log_callback = callback;
    *log = (qnn_handle)(uintptr_t)1;
    note("logCreate level=%u ADSP=%s DSP=%s", level, getenv("ADSP_LIBRARY_PATH"), getenv("DSP_LIBRARY_PATH"));
    return setting("LOG_ERROR", 0);
}

static qnn_error log_free(qnn_handle log)
{
    (void)log;
    note("logFree");
    return 0;
}

static qnn_error backend_create(qnn_handle log, const struct qnn_config **config, qnn_handle *backend)
{
    (void)log;
    (void)config;
    *backend = (qnn_handle)(uintptr_t)2;
    puts("a vendor's greeting on standard output");
    return 0;
}

static qnn_error backend_free(qnn_handle backend)
{
    (void)backend;
    note("backendFree");
    return 0;
}

static qnn_error build_id(const char **id)
{
    *id = "v2.51.0.260929181845";
    return 0;
}

static qnn_error api_version(struct qnn_api_version *version)
{
    *version = (struct qnn_api_version){{setting("CORE_MAJOR", 2), setting("TOLD_MINOR", setting("CORE_MINOR", 40)), 0},
                                        {5, 51, 0}};
    return 0;
}

static struct qnn_htp_device_extension extension;
static struct qnn_hardware_device hardware = {.version = 1};
static struct qnn_platform_info platform = {.version = 1};

static qnn_error get_platform_info(qnn_handle log, const struct qnn_platform_info **info)
{
    (void)log;
    extension = (struct qnn_htp_device_extension){
        .vtcm_mb = 8, .soc_model = setting("SOC", 0), .arch = setting("ARCH", 0)};
    hardware.v1.extension = &extension;
    platform.v1.device_count = 1;
    platform.v1.devices = &hardware;
    *info = &platform;
    return 0;
}

static qnn_error free_platform_info(qnn_handle log, const struct qnn_platform_info *info)
{
    (void)log;
    (void)info;
    return 0;
}

static qnn_error device_create(qnn_handle log, const struct qnn_config **config, qnn_handle *device)
{
    (void)log;
    *device = (qnn_handle)(uintptr_t)3;
    const struct qnn_htp_soc_config *soc = config ? config[0]->value : NULL;
    note("deviceCreate soc@4=%u soc@8=%u", soc ? soc->soc_model_early : 0, soc ? soc->soc_model_late : 0);
    return setting("DEVICE_ERROR", 0);
}

static qnn_error device_free(qnn_handle device)
{
    (void)device;
    note("deviceFree");
    return 0;
}

static qnn_error create_power_id(uint32_t device, uint32_t core, uint32_t *id)
{
    *id = 42;
    note("createPowerConfigId %u %u", device, core);
    return 0;
}

static qnn_error destroy_power_id(uint32_t id)
{
    note("destroyPowerConfigId %u", id);
    return 0;
}

static qnn_error set_power(uint32_t id, const struct qnn_power_config **configs)
{
    for (size_t i = 0; configs[i]; i++) {
        const struct qnn_dcvs_v3 *d = &configs[i]->u.dcvs;
        if (configs[i]->option == QNN_POWER_DCVS_V3)
            note("vote %u context=%u dcvs=%u mode=%u sleep=%u bus=%u/%u/%u core=%u/%u/%u", id, d->context_id,
                 d->dcvs_enable, d->power_mode, d->sleep_latency_us, d->bus_min, d->bus_target, d->bus_max,
                 d->core_min, d->core_target, d->core_max);
        else
            note("vote %u option=%u us=%u", id, configs[i]->option, configs[i]->u.microseconds);
        if (configs[i]->option == setting("REFUSED_VOTE", 0))
            return 13002;
    }
    return 0;
}

static qnn_error get_infrastructure(const struct qnn_htp_infrastructure **out)
{
    static const struct qnn_htp_infrastructure INFRASTRUCTURE = {
        .create_power_config_id = create_power_id,
        .destroy_power_config_id = destroy_power_id,
        .set_power_config = set_power,
    };
    if (setting("NO_POWER", 0))
        return 1000;
    *out = &INFRASTRUCTURE;
    return 0;
}

static qnn_error open_context(qnn_handle backend, qnn_handle device, const struct qnn_config **config,
                              const void *binary, uint64_t size, qnn_handle *context, qnn_handle profile)
{
    (void)backend;
    (void)device;
    (void)config;
    (void)profile;
    note("contextCreateFromBinary %.*s", (int)size, (const char *)binary);
    if (setting("CONTEXT_ERROR", 0)) {
        for (int i = 0; i < 20; i++)
            complain("remark %d", i);
        complain("skel failed with %s", "0x80000442");
        /* Above 16 bits are the backend's own. */
        return (uint64_t)7 << 32 | setting("CONTEXT_ERROR", 0);
    }
    *context = (qnn_handle)(uintptr_t)4;
    return 0;
}

static qnn_error free_context(qnn_handle context, qnn_handle profile)
{
    (void)context;
    (void)profile;
    note("contextFree");
    return 0;
}

static qnn_error retrieve(qnn_handle context, const char *name, qnn_handle *graph)
{
    (void)context;
    note("graphRetrieve %s", name);
    *graph = (qnn_handle)(uintptr_t)5;
    return 0;
}

static qnn_error execute(qnn_handle graph, const struct qnn_tensor *inputs, uint32_t input_count,
                         struct qnn_tensor *outputs, uint32_t output_count, qnn_handle profile, qnn_handle signal)
{
    (void)graph;
    (void)input_count;
    (void)output_count;
    (void)profile;
    (void)signal;
    const float *x = inputs->v1.memory.client.data;
    float *y = outputs->v1.memory.client.data;
    for (int i = 0; i < 4; i++)
        y[i] = 2 * x[i];
    return setting("EXECUTE_ERROR", 0);
}

EXPORT qnn_error QnnInterface_getProviders(const struct qnn_interface ***providers, uint32_t *count)
{
    static struct qnn_interface interface;
    static const struct qnn_interface *list[] = {&interface};
    interface = (struct qnn_interface){
        .backend_id = setting("BACKEND", QNN_BACKEND_HTP),
        .provider = "STAND_IN",
        .api = {{setting("CORE_MAJOR", 2), setting("CORE_MINOR", 40), 0}, {5, 51, 0}},
        .call = {.backend_create = backend_create,
                 .backend_free = backend_free,
                 .backend_get_api_version = api_version,
                 .backend_get_build_id = build_id,
                 .context_create_from_binary = open_context,
                 .context_free = free_context,
                 .graph_retrieve = retrieve,
                 .graph_execute = execute,
                 .log_create = log_create,
                 .log_free = log_free,
                 .device_get_platform_info = get_platform_info,
                 .device_free_platform_info = free_platform_info,
                 .device_get_infrastructure = get_infrastructure,
                 .device_create = device_create,
                 .device_free = device_free},
    };
    *providers = list;
    *count = 1;
    return 0;
}

/* ---- the System library ---- */

static char tensors[2][2 * QNN_TENSOR_STRIDE_WIDE];
static char graphs[GRAPHS * 88];
static struct qnn_binary_info information = {.version = 3};

static struct qnn_tensor *describe(char *place, const char *name)
{
    static const uint32_t SHAPE[] = {2, 2, 2, 2, 2, 2, 2, 2, 2};
    struct qnn_tensor *tensor = (struct qnn_tensor *)(void *)place;
    *tensor = (struct qnn_tensor){.version = 1,
                                  .v1 = {.name = name,
                                         .data_type = setting("DATA_TYPE", QNN_FLOAT_32),
                                         .rank = setting("RANK", 2),
                                         .dimensions = SHAPE}};
    return tensor;
}

static qnn_error get_metadata(qnn_handle context, const void *binary, uint64_t size, const struct qnn_binary_info **info)
{
    static const char *const NAMES[GRAPHS] = {"first", "second", "third"};
    (void)context;
    (void)binary;
    (void)size;
    for (size_t i = 0; i < GRAPHS; i++) {
        struct qnn_graph_info *graph = (struct qnn_graph_info *)(void *)(graphs + i * setting("GRAPH_STRIDE", 88));
        graph->version = setting("GRAPH_VERSION", 1);
        graph->v1 = (struct qnn_graph_v1){NAMES[i], 1, describe(tensors[0], "x"), 1, describe(tensors[1], "y")};
        /* What version 3 appends: updateable tensors, then the backend's record. */
        struct {
            uint32_t count;
            const void *first;
            uint32_t record_size;
            const void *record;
            uint32_t first_operation, last_operation;
        } rest = {setting("UPDATEABLE", 0), graphs, 112, graphs, 0, 5};
        if (graph->version == 3)
            memcpy((char *)graph + sizeof *graph, &rest, sizeof rest);
    }
    information.version = setting("INFO_VERSION", 3);
    if (information.version == 3) {
        information.u.v3.graph_count = setting("GRAPHS", 1);
        information.u.v3.graphs = (const struct qnn_graph_info *)(const void *)graphs;
    } else {
        information.u.v1.graph_count = setting("GRAPHS", 1);
        information.u.v1.graphs = (const struct qnn_graph_info *)(const void *)graphs;
    }
    *info = &information;
    return 0;
}

static qnn_error create_system(qnn_handle *context)
{
    *context = (qnn_handle)(uintptr_t)6;
    return 0;
}

static qnn_error free_system(qnn_handle context)
{
    (void)context;
    note("systemContextFree");
    return 0;
}

EXPORT qnn_error QnnSystemInterface_getProviders(const struct qnn_system_interface ***providers, uint32_t *count)
{
    static const struct qnn_system_interface INTERFACE = {
        .provider = "STAND_IN",
        .api = {1, 15, 0},
        .call = {.context_create = create_system, .context_get_metadata = get_metadata, .context_free = free_system},
    };
    static const struct qnn_system_interface *list[] = {&INTERFACE};
    *providers = list;
    *count = 1;
    return 0;
}
