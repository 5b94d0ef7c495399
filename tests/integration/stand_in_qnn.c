/* A QNN backend and System library in one file that behave as they are told by the environment, so that
 * the runner's conduct on a device can be watched: STAND_IN_<SETTING>=number. Every call that matters is
 * a line in the file STAND_IN_JOURNAL. The model doubles x, float32 [2, 2], and adds w where there is a
 * second input; of another data type it gives x back as it is. */
#define _DEFAULT_SOURCE
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qnn_abi.h"

#ifdef _WIN32 /* where no test shares memory */
#define PROT_READ 0
#define PROT_WRITE 0
#define MAP_SHARED 0
#define MAP_FAILED NULL
#define mmap(at, size, protection, flags, descriptor, offset) NULL
#define munmap(data, size) (void)(data)
#define kill(process, number) raise(number)
#else
#include <sys/mman.h>
#endif

#define EXPORT __attribute__((visibility("default")))

enum { GRAPHS = 3, CHANNELS = 64, EVENTS = 20000 };

static unsigned setting(const char *name, unsigned otherwise)
{
    char variable[64];
    snprintf(variable, sizeof variable, "STAND_IN_%s", name);
    const char *value = getenv(variable);
    return value ? (unsigned)strtoul(value, NULL, 0) : otherwise;
}

/* In the call that STAND_IN_TROUBLE names, STAND_IN_SIGNALS come, and the call ends when they let it. 0 is an
 * exit, SIGABRT and SIGSEGV are what a library's own faults are, and 99 stands for a call that hangs. */
static void trouble(const char *call)
{
    const char *where = getenv("STAND_IN_TROUBLE");
    const char *signals = getenv("STAND_IN_SIGNALS");
    static unsigned calls;
    if (!where || !signals || strncmp(call, where, strlen(where)) != 0 || ++calls != setting("TROUBLE_AT", 1))
        return;
    for (char *rest = strdup(signals); *rest;) {
        int number = (int)strtol(rest, &rest, 10);
        if (number == 0)
            exit(7);
        if (number == SIGABRT)
            abort();
        if (number == SIGSEGV)
            *(volatile char *)NULL = 0;
        if (number == 99)
            sleep(600);
        kill(getpid(), number);
    }
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
    trouble(format);
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
    note("backendCreate");
    if (setting("LOCALE", 0))
        setlocale(LC_ALL, "");
    return setting("BACKEND_ERROR", 0);
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
        if (setting("HANGING_RELEASE", 0) && configs[i]->option == QNN_POWER_DCVS_V3 && d->dcvs_enable)
            sleep(600);
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

static void note_settings(const char *of, const struct qnn_config **config)
{
    for (; config && *config; config++) {
        const struct qnn_htp_graph_config *custom = (*config)->option == QNN_GRAPH_CONFIG_CUSTOM ? (*config)->value : NULL;
        if (custom && custom->option == QNN_HTP_GRAPH_OPTIMIZATION)
            note("%s custom=%u type=%u value=%g", of, custom->option, custom->u.optimization.type,
                 (double)custom->u.optimization.value);
        else if (custom)
            note("%s custom=%u number=%u", of, custom->option, custom->u.number);
        else
            note("%s option=%u number=%u", of, (*config)->option, (*config)->number);
    }
}

static qnn_error create_context(qnn_handle backend, qnn_handle device, const struct qnn_config **config,
                                qnn_handle *context)
{
    (void)backend;
    note("contextCreate device=%p", device);
    note_settings("context", config);
    *context = (qnn_handle)(uintptr_t)4;
    return 0;
}

static qnn_error set_graph_config(qnn_handle graph, const struct qnn_config **config)
{
    (void)graph;
    note_settings("graph", config);
    return 0;
}

/* The first so many fail. */
static qnn_error finalize(qnn_handle graph, qnn_handle profile, qnn_handle signal)
{
    static unsigned calls;
    (void)graph;
    (void)profile;
    (void)signal;
    note("graphFinalize");
    return calls++ < setting("FINALIZE_ERRORS", 0) ? 6022 : 0;
}

static qnn_error open_context(qnn_handle backend, qnn_handle device, const struct qnn_config **config,
                              const void *binary, uint64_t size, qnn_handle *context, qnn_handle profile)
{
    (void)backend;
    (void)device;
    (void)profile;
    note_settings("context", config);
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

static const char BINARY[] = "what is composed, stored";

static qnn_error get_binary_size(qnn_handle context, uint64_t *size)
{
    (void)context;
    *size = setting("BINARY_SIZE", sizeof BINARY);
    return setting("BINARY_ERROR", 0);
}

static qnn_error get_binary(qnn_handle context, void *out, uint64_t capacity, uint64_t *size)
{
    (void)context;
    memcpy(out, BINARY, capacity < sizeof BINARY ? (size_t)capacity : sizeof BINARY);
    *size = setting("BINARY_WRITTEN", sizeof BINARY);
    return 0;
}

static qnn_error retrieve(qnn_handle context, const char *name, qnn_handle *graph)
{
    (void)context;
    note("graphRetrieve %s", name);
    *graph = (qnn_handle)(uintptr_t)5;
    return 0;
}

/* ---- memory that is shared with the DSP: mapped a second time, as a DSP would ---- */

struct registered {
    void *data;
    size_t size;
};

static size_t elements(const uint32_t *dimensions, uint32_t rank)
{
    size_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= dimensions[i];
    return count;
}

static size_t element_size(uint32_t data_type)
{
    uint32_t bits = data_type & 0xFF;
    return bits == 0x64 ? 8 : bits == 0x32 ? 4 : bits == 0x16 ? 2 : 1;
}

static qnn_error register_memory(qnn_handle context, const struct qnn_memory_descriptor *descriptors, uint32_t count,
                                 qnn_handle *memory)
{
    static unsigned calls;
    (void)context;
    note("memRegister count=%u type=%u rank=%u data=0x%x", count, descriptors->memory_type, descriptors->shape.rank,
         descriptors->data_type);
    if (++calls == setting("REFUSED_BUFFER", 0))
        return 8003;
    struct registered *made = malloc(sizeof *made);
    made->size = elements(descriptors->shape.dimensions, descriptors->shape.rank) * element_size(descriptors->data_type);
    made->data = mmap(NULL, made->size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptors->u.descriptor, 0);
    *memory = made;
    return made->data == MAP_FAILED ? 8003 : 0;
}

static qnn_error deregister_memory(const qnn_handle *memory, uint32_t count)
{
    struct registered *made = *memory;
    note("memDeRegister count=%u", count);
    munmap(made->data, made->size);
    free(made);
    return 0;
}

static void *data_of(const struct qnn_tensor *tensor)
{
    if (tensor->v1.memory_type == QNN_TENSOR_MEMORY_HANDLE)
        return ((struct registered *)tensor->v1.memory.handle)->data;
    return tensor->v1.memory.client.data;
}

/* ---- profiling: a tree of DEPTH levels with WIDTH events at each ---- */

static qnn_error create_profile(qnn_handle backend, uint32_t level, qnn_handle *profile)
{
    (void)backend;
    note("profileCreate level=%u", level);
    *profile = (qnn_handle)(uintptr_t)7;
    return setting("PROFILE_ERROR", 0);
}

static qnn_error free_profile(qnn_handle profile)
{
    note("profileFree %p", profile);
    return 0;
}

/* An event's number is the level that it is on, then its place there. */
static qnn_error events_at(uint64_t level, const uint64_t **ids, uint32_t *count)
{
    static uint64_t places[16][EVENTS];
    *count = level < setting("DEPTH", 2) && level < 16 ? setting("WIDTH", 2) : 0;
    for (uint32_t i = 0; i < *count; i++)
        places[level][i] = level << 32 | i;
    *ids = places[level % 16];
    return 0;
}

static qnn_error get_events(qnn_handle profile, const uint64_t **ids, uint32_t *count)
{
    (void)profile;
    return setting("EVENTS_ERROR", 0) ? setting("EVENTS_ERROR", 0) : events_at(0, ids, count);
}

static qnn_error get_sub_events(uint64_t id, const uint64_t **ids, uint32_t *count)
{
    return events_at((id >> 32) + 1, ids, count);
}

static qnn_error get_event(uint64_t id, struct qnn_profile_event *event)
{
    static char name[256];
    memset(name, 'n', setting("NAME_LENGTH", 0));
    snprintf(name + setting("NAME_LENGTH", 0), 32, "event %u.%u", (unsigned)(id >> 32), (unsigned)id);
    *event = (struct qnn_profile_event){.type = 404, .unit = (uint32_t)id % 8, .value = 100 + (id >> 32), .name = name};
    if (setting("NAMELESS", 0))
        event->name = NULL;
    return 0;
}

static qnn_error execute(qnn_handle graph, const struct qnn_tensor *inputs, uint32_t input_count,
                         struct qnn_tensor *outputs, uint32_t output_count, qnn_handle profile, qnn_handle signal)
{
    (void)graph;
    (void)output_count;
    (void)signal;
    const struct qnn_tensor_v1 *v1 = &inputs->v1;
    size_t stride = setting("CORE_MINOR", 40) < QNN_CORE_MINOR_WIDE_TENSOR ? QNN_TENSOR_STRIDE_NARROW
                                                                          : QNN_TENSOR_STRIDE_WIDE;
    const float *x = data_of(inputs);
    float *y = data_of(outputs);
    size_t count = elements(v1->dimensions, v1->rank);
    if (outputs->v1.memory_type == QNN_TENSOR_RAW &&
        outputs->v1.memory.client.size < count * element_size(v1->data_type))
        return 6004;
    trouble("graphExecute");
    if (setting("EXECUTE_US", 0))
        usleep(setting("EXECUTE_US", 0));
    if (setting("NOTE_EXECUTE", 0))
        note("graphExecute profile=%p memory=%u/%u", profile, v1->memory_type, outputs->v1.memory_type);
    if (v1->data_type != QNN_FLOAT_32) {
        memcpy(y, x, count * element_size(v1->data_type));
        return setting("EXECUTE_ERROR", 0);
    }
    const struct qnn_tensor *second = (const struct qnn_tensor *)(const void *)((const char *)inputs + stride);
    for (size_t i = 0; i < count; i++)
        y[i] = 2 * x[i] + (input_count > 1 ? ((const float *)data_of(second))[i] : 0);
    if (setting("INCOHERENT", 0) && v1->memory_type == QNN_TENSOR_MEMORY_HANDLE)
        y[0] += 1;
    return setting("EXECUTE_ERROR", 0);
}

EXPORT qnn_error QnnInterface_getProviders(const struct qnn_interface ***providers, uint32_t *count)
{
    static struct qnn_interface interface, cpu;
    static const struct qnn_interface *list[] = {&interface, &cpu};
    interface = (struct qnn_interface){
        .backend_id = setting("BACKEND", QNN_BACKEND_HTP),
        .provider = "STAND_IN",
        .api = {{setting("CORE_MAJOR", 2), setting("CORE_MINOR", 40), 0}, {5, 51, 0}},
        .call = {.backend_create = backend_create,
                 .backend_free = backend_free,
                 .backend_get_api_version = api_version,
                 .backend_get_build_id = build_id,
                 .context_create = create_context,
                 .context_create_from_binary = open_context,
                 .graph_set_config = set_graph_config,
                 .graph_finalize = finalize,
                 .context_get_binary_size = get_binary_size,
                 .context_get_binary = get_binary,
                 .context_free = free_context,
                 .graph_retrieve = retrieve,
                 .graph_execute = execute,
                 .profile_create = create_profile,
                 .profile_get_events = get_events,
                 .profile_get_sub_events = get_sub_events,
                 .profile_get_event_data = get_event,
                 .profile_free = free_profile,
                 .mem_register = setting("NO_MEMORY", 0) ? NULL : register_memory,
                 .mem_deregister = deregister_memory,
                 .log_create = log_create,
                 .log_free = log_free,
                 .device_get_platform_info = get_platform_info,
                 .device_free_platform_info = free_platform_info,
                 .device_get_infrastructure = get_infrastructure,
                 .device_create = device_create,
                 .device_free = device_free},
    };
    cpu = interface;
    cpu.backend_id = QNN_BACKEND_CPU;
    *providers = list;
    *count = setting("CPU", 0) ? 2 : 1;
    return 0;
}

/* ---- the System library ---- */

static char tensors[2][2 * QNN_TENSOR_STRIDE_WIDE];
static char graphs[GRAPHS * 88];
static struct qnn_binary_info information = {.version = 3};

/* STAND_IN_SHAPE=2x3x4; otherwise twos. */
static uint32_t shape(uint32_t out[9])
{
    const char *text = getenv("STAND_IN_SHAPE");
    uint32_t rank = 0;
    for (char *end; text && *text && rank < 8; text = *end ? end + 1 : end)
        out[rank++] = (uint32_t)strtoul(text, &end, 10);
    if (rank)
        return rank;
    for (uint32_t i = 0; i < 9; i++)
        out[i] = 2;
    return setting("RANK", 2);
}

/* Scales grow and offsets fall along the axis, so that a mix-up shows. */
static struct qnn_quantize_params quantization(void)
{
    static struct qnn_scale_offset pairs[CHANNELS];
    static float scales[CHANNELS];
    static int32_t offsets[CHANNELS];
    struct qnn_quantize_params made = {.definition = QNN_DEFINITION_DEFINED, .encoding = setting("ENCODING", 99)};
    int32_t axis = (int32_t)setting("AXIS", 0);
    uint32_t count = setting("CHANNELS", 2);
    for (int i = 0; i < CHANNELS; i++) {
        scales[i] = setting("BAD_SCALE", 0) == (unsigned)i + 1 ? 0 : 0.0131f * (float)(i + 1);
        offsets[i] = -3 * i;
        pairs[i] = (struct qnn_scale_offset){scales[i], offsets[i]};
    }
    if (made.encoding == QNN_ENCODING_SCALE_OFFSET)
        made.u.scale_offset = pairs[1];
    else if (made.encoding == QNN_ENCODING_BW_SCALE_OFFSET)
        made.u.bw_scale_offset = (struct qnn_bw_scale_offset){setting("BITS", 4), scales[1], offsets[1]};
    else if (made.encoding == QNN_ENCODING_AXIS_SCALE_OFFSET)
        made.u.axis = (struct qnn_axis_scale_offset){axis, count, setting("NO_SCALES", 0) ? NULL : pairs};
    else if (made.encoding == QNN_ENCODING_BW_AXIS_SCALE_OFFSET)
        made.u.bw_axis = (struct qnn_bw_axis_scale_offset){setting("BITS", 4), axis, count, scales,
                                                           setting("NO_OFFSETS", 0) ? NULL : offsets};
    return made;
}

static struct qnn_tensor *describe(char *place, const char *name)
{
    static uint32_t dimensions[9];
    struct qnn_tensor *tensor = (struct qnn_tensor *)(void *)place;
    *tensor = (struct qnn_tensor){.version = 1,
                                  .v1 = {.name = name,
                                         .data_type = setting("DATA_TYPE", QNN_FLOAT_32),
                                         .quantize = quantization(),
                                         .rank = shape(dimensions),
                                         .dimensions = dimensions}};
    return tensor;
}

static qnn_error get_metadata(qnn_handle context, const void *binary, uint64_t size, const struct qnn_binary_info **info)
{
    const char *named = getenv("STAND_IN_GRAPH_NAME");
    const char *const NAMES[GRAPHS] = {named ? named : "first", "second", "third"};
    (void)context;
    (void)binary;
    (void)size;
    for (size_t i = 0; i < GRAPHS; i++) {
        struct qnn_graph_info *graph = (struct qnn_graph_info *)(void *)(graphs + i * setting("GRAPH_STRIDE", 88));
        graph->version = setting("GRAPH_VERSION", 1);
        graph->v1 = (struct qnn_graph_v1){NAMES[i], setting("INPUTS", 1), describe(tensors[0], "x"), 1,
                                          describe(tensors[1], "y")};
        describe(tensors[0] + (setting("CORE_MINOR", 40) < QNN_CORE_MINOR_WIDE_TENSOR ? QNN_TENSOR_STRIDE_NARROW
                                                                                      : QNN_TENSOR_STRIDE_WIDE), "w");
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

static qnn_error create_system_log(qnn_log_callback callback, uint32_t level, qnn_handle *log)
{
    (void)callback;
    (void)level;
    *log = (qnn_handle)(uintptr_t)8;
    return setting("NO_SYSTEM_LOG", 0) ? 1000 : 0;
}

static qnn_error free_system_log(qnn_handle log)
{
    (void)log;
    note("systemLogFree");
    return 0;
}

static qnn_error open_dlc(qnn_handle log, const char *path, qnn_handle *dlc)
{
    const char *name = strrchr(path, '/');
    note("systemDlcCreateFromFile log=%p %s", log, name ? name + 1 : path);
    *dlc = (qnn_handle)(uintptr_t)9;
    return 0;
}

static qnn_error free_dlc(qnn_handle dlc)
{
    (void)dlc;
    note("systemDlcFree");
    return 0;
}

/* The interface of core API 2.40 by value, and what follows it in the argument area. */
struct whole_interface {
    uint64_t words[80];
};

static qnn_error compose_dlc(qnn_handle dlc, const void **configs, uint32_t config_count, qnn_handle backend,
                             qnn_handle context, struct whole_interface interface, uint32_t version,
                             const struct qnn_graph_info **out, uint32_t *count)
{
    const struct qnn_binary_info *info;
    (void)configs;
    struct qnn_interface head;
    memcpy(&head, &interface, sizeof head);
    note("systemDlcComposeGraphs dlc=%p configs=%u backend=%p context=%p id=%u version=%u", dlc, config_count, backend,
         context, head.backend_id, version);
    qnn_error error = get_metadata(NULL, NULL, 0, &info);
    *out = info->u.v3.graphs;
    *count = info->u.v3.graph_count;
    return error;
}

EXPORT qnn_error QnnSystemInterface_getProviders(const struct qnn_system_interface ***providers, uint32_t *count)
{
    static struct qnn_system_interface interface = {
        .provider = "STAND_IN",
        .call = {.context_create = create_system,
                 .context_get_metadata = get_metadata,
                 .context_free = free_system,
                 .log_create = create_system_log,
                 .log_free = free_system_log,
                 .dlc_create_from_file = open_dlc,
                 .dlc_compose_graphs = (qnn_unused)compose_dlc,
                 .dlc_free = free_dlc},
    };
    interface.api = (struct qnn_version){1, setting("SYSTEM_MINOR", 15), 0};
    static const struct qnn_system_interface *list[] = {&interface};
    *providers = list;
    *count = 1;
    return 0;
}
