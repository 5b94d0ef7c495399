/* The part of the QNN C interface that hexrun uses, in our own words.
 *
 * Valid for core API 2.10 and later: the function tables only ever grew at their end since then. All
 * offsets are for 64-bit targets; LP64 and LLP64 agree, because only fixed-width integers and pointers
 * appear. The assertions below are the contract: a compiler that lays a structure out differently
 * refuses to build. */
#ifndef HEXRUN_QNN_ABI_H
#define HEXRUN_QNN_ABI_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qnn_error;
typedef void *qnn_handle;

enum {
    QNN_CORE_MAJOR = 2,
    QNN_CORE_MINOR_OLDEST = 10,
    QNN_CORE_MINOR_WIDE_TENSOR = 14,
    QNN_SYSTEM_MINOR_DLC = 4,
    QNN_TENSOR_STRIDE_NARROW = 120,
    QNN_TENSOR_STRIDE_WIDE = 144,
    QNN_BACKEND_CPU = 3,
    QNN_BACKEND_GPU = 4,
    QNN_BACKEND_HTP = 6,
    QNN_BACKEND_HTP_QEMU = 13,
    QNN_LOG_ERROR = 1,
    QNN_DEVICE_CONFIG_CUSTOM = 0,
    QNN_HTP_DEVICE_SOC = 0,
    QNN_CONTEXT_CONFIG_PRIORITY = 1,
    QNN_CONTEXT_CONFIG_COMPATIBILITY = 8,
    QNN_COMPATIBILITY_PERMISSIVE = 0,
    QNN_COMPATIBILITY_STRICT = 1,
    QNN_GRAPH_CONFIG_CUSTOM = 0,
    QNN_GRAPH_CONFIG_PRIORITY = 3,
    QNN_PRIORITY_LOW = 0,
    QNN_PRIORITY_NORMAL = 100,
    QNN_PRIORITY_NORMAL_HIGH = 150,
    QNN_PRIORITY_HIGH = 200,
    QNN_HTP_GRAPH_OPTIMIZATION = 1,
    QNN_HTP_GRAPH_PRECISION = 2,
    QNN_HTP_GRAPH_VTCM_MB = 3,
    QNN_HTP_GRAPH_HVX_THREADS = 6,
    QNN_HTP_OPTIMIZATION_LEVEL = 3,
    QNN_HTP_PRECISION_FLOAT16 = 1,
    QNN_INFRASTRUCTURE_PERF = 0,
    QNN_POWER_DCVS_V3 = 1,
    QNN_POWER_RPC_LATENCY = 2,
    QNN_POWER_RPC_POLLING = 3,
    QNN_TENSOR_RAW = 0,
    QNN_TENSOR_MEMORY_HANDLE = 1,
    QNN_MEMORY_ION = 1,
    QNN_PROFILE_BASIC = 1,
    QNN_PROFILE_DETAILED = 2,
    QNN_DEFINITION_DEFINED = 1,
    QNN_ENCODING_SCALE_OFFSET = 0,
    QNN_ENCODING_AXIS_SCALE_OFFSET = 1,
    QNN_ENCODING_BW_SCALE_OFFSET = 2,
    QNN_ENCODING_BW_AXIS_SCALE_OFFSET = 3
};

/* A class digit, then the bit width in decimal digits written as hex. */
enum qnn_data_type {
    QNN_INT_8 = 0x008,
    QNN_INT_16 = 0x016,
    QNN_INT_32 = 0x032,
    QNN_INT_64 = 0x064,
    QNN_UINT_8 = 0x108,
    QNN_UINT_16 = 0x116,
    QNN_UINT_32 = 0x132,
    QNN_UINT_64 = 0x164,
    QNN_FLOAT_16 = 0x216,
    QNN_BFLOAT_16 = 0x226,
    QNN_FLOAT_32 = 0x232,
    QNN_FLOAT_64 = 0x264,
    QNN_SFIXED_4 = 0x304,
    QNN_SFIXED_8 = 0x308,
    QNN_SFIXED_16 = 0x316,
    QNN_SFIXED_32 = 0x332,
    QNN_UFIXED_4 = 0x404,
    QNN_UFIXED_8 = 0x408,
    QNN_UFIXED_16 = 0x416,
    QNN_UFIXED_32 = 0x432,
    QNN_BOOL_8 = 0x508
};

struct qnn_version {
    uint32_t major, minor, patch;
};

struct qnn_api_version {
    struct qnn_version core, backend;
};

/* ---- tensors ---- */

struct qnn_scale_offset {
    float scale;
    int32_t offset;
};

struct qnn_bw_scale_offset {
    uint32_t bit_width;
    float scale;
    int32_t offset;
};

struct qnn_axis_scale_offset {
    int32_t axis;
    uint32_t count;
    const struct qnn_scale_offset *pairs;
};

/* No offsets: all are 0. */
struct qnn_bw_axis_scale_offset {
    uint32_t bit_width;
    int32_t axis;
    uint32_t count;
    const float *scales;
    const int32_t *offsets;
};

/* real = (stored + offset) * scale */
struct qnn_quantize_params {
    uint32_t definition, encoding;
    union {
        struct qnn_scale_offset scale_offset;
        struct qnn_bw_scale_offset bw_scale_offset;
        struct qnn_axis_scale_offset axis;
        struct qnn_bw_axis_scale_offset bw_axis;
        uint64_t widest[4];
    } u;
};

struct qnn_tensor_v1 {
    uint32_t id;
    const char *name;
    uint32_t type, data_format, data_type;
    struct qnn_quantize_params quantize;
    uint32_t rank;
    const uint32_t *dimensions;
    uint32_t memory_type;
    union {
        struct {
            void *data;
            uint32_t size;
        } client;
        void *handle;
    } memory;
};

/* The common head of tensors of version 1 and 2; an array's stride is longer, see session.c. */
struct qnn_tensor {
    uint32_t version;
    struct qnn_tensor_v1 v1;
};

/* ---- shared memory ---- */

struct qnn_memory_shape {
    uint32_t rank;
    const uint32_t *dimensions;
    const char *layout;
};

struct qnn_memory_descriptor {
    struct qnn_memory_shape shape;
    uint32_t data_type, memory_type;
    union {
        int32_t descriptor;
        uint64_t widest[2];
    } u;
};

/* ---- profiling ---- */

enum qnn_profile_unit {
    QNN_UNIT_MICROSECONDS = 1,
    QNN_UNIT_BYTES,
    QNN_UNIT_CYCLES,
    QNN_UNIT_COUNT,
    QNN_UNIT_OBJECT,
    QNN_UNIT_NONE
};

struct qnn_profile_event {
    uint32_t type, unit;
    uint64_t value;
    const char *name;
};

/* ---- configuration ---- */

/* One setting of a backend, device, context or graph; lists of pointers to them end with NULL. */
struct qnn_config {
    uint32_t option;
    union {
        void *value;
        uint32_t number;
    };
};

/* 24 bytes before an arm with pointers was added; what is longer is not read. */
struct qnn_htp_graph_config {
    uint32_t option;
    union {
        struct {
            uint32_t type;
            float value;
        } optimization;
        uint32_t number;
        uint64_t count;
        uint64_t widest[6];
    } u;
};

/* ---- device ---- */

/* The SoC number sits at offset 4 or 8, depending on the release; the other place is ignored. */
struct qnn_htp_soc_config {
    uint32_t option, soc_model_early, soc_model_late, unused[3];
};

struct qnn_htp_device_extension {
    uint32_t device_type;
    size_t vtcm_mb;
    uint32_t soc_model;
    uint8_t signed_pd, dlbc;
    uint32_t arch;
};

struct qnn_hardware_device {
    uint32_t version;
    struct {
        uint32_t device_id, device_type, core_count;
        void *cores;
        struct qnn_htp_device_extension *extension;
    } v1;
};

struct qnn_platform_info {
    uint32_t version;
    struct {
        uint32_t device_count;
        struct qnn_hardware_device *devices;
    } v1;
};

/* ---- power ---- */

struct qnn_dcvs_v3 {
    uint32_t context_id, set_dcvs_enable, dcvs_enable, power_mode;
    uint32_t set_sleep_latency, sleep_latency_us, set_sleep_disable, sleep_disable;
    uint32_t set_bus, bus_min, bus_target, bus_max;
    uint32_t set_core, core_min, core_target, core_max;
};

struct qnn_power_config {
    uint32_t option;
    union {
        struct qnn_dcvs_v3 dcvs;
        uint32_t microseconds;
    } u;
};

struct qnn_htp_infrastructure {
    uint32_t type;
    qnn_error (*create_power_config_id)(uint32_t device_id, uint32_t core_id, uint32_t *id);
    qnn_error (*destroy_power_config_id)(uint32_t id);
    qnn_error (*set_power_config)(uint32_t id, const struct qnn_power_config **null_terminated);
    void (*set_memory_config)(void);
};

/* ---- the backend's interface ---- */

typedef void (*qnn_unused)(void);
typedef void (*qnn_log_callback)(const char *format, uint32_t level, uint64_t timestamp, va_list arguments);

struct qnn_functions {
    qnn_unused property_has_capability;
    qnn_error (*backend_create)(qnn_handle log, const struct qnn_config **config, qnn_handle *backend);
    qnn_unused backend_set_config;
    qnn_error (*backend_get_api_version)(struct qnn_api_version *version);
    qnn_error (*backend_get_build_id)(const char **id);
    qnn_unused backend_register_op_package, backend_get_supported_operations, backend_validate_op_config;
    qnn_error (*backend_free)(qnn_handle backend);
    qnn_error (*context_create)(qnn_handle backend, qnn_handle device, const struct qnn_config **config,
                                qnn_handle *context);
    qnn_unused context_set_config;
    qnn_error (*context_get_binary_size)(qnn_handle context, uint64_t *size);
    qnn_error (*context_get_binary)(qnn_handle context, void *binary, uint64_t size, uint64_t *written);
    qnn_error (*context_create_from_binary)(qnn_handle backend, qnn_handle device,
                                            const struct qnn_config **config, const void *binary,
                                            uint64_t size, qnn_handle *context, qnn_handle profile);
    qnn_error (*context_free)(qnn_handle context, qnn_handle profile);
    qnn_unused graph_create, graph_create_subgraph;
    qnn_error (*graph_set_config)(qnn_handle graph, const struct qnn_config **config);
    qnn_unused graph_add_node;
    qnn_error (*graph_finalize)(qnn_handle graph, qnn_handle profile, qnn_handle signal);
    qnn_error (*graph_retrieve)(qnn_handle context, const char *name, qnn_handle *graph);
    qnn_error (*graph_execute)(qnn_handle graph, const struct qnn_tensor *inputs, uint32_t input_count,
                               struct qnn_tensor *outputs, uint32_t output_count, qnn_handle profile,
                               qnn_handle signal);
    qnn_unused graph_execute_async, tensor_create_context_tensor, tensor_create_graph_tensor;
    qnn_error (*log_create)(qnn_log_callback callback, uint32_t level, qnn_handle *log);
    qnn_unused log_set_level;
    qnn_error (*log_free)(qnn_handle log);
    qnn_error (*profile_create)(qnn_handle backend, uint32_t level, qnn_handle *profile);
    qnn_unused profile_set_config;
    qnn_error (*profile_get_events)(qnn_handle profile, const uint64_t **ids, uint32_t *count);
    qnn_error (*profile_get_sub_events)(uint64_t id, const uint64_t **ids, uint32_t *count);
    qnn_error (*profile_get_event_data)(uint64_t id, struct qnn_profile_event *event);
    qnn_unused profile_get_extended_event_data;
    qnn_error (*profile_free)(qnn_handle profile);
    qnn_error (*mem_register)(qnn_handle context, const struct qnn_memory_descriptor *descriptors, uint32_t count,
                              qnn_handle *memory);
    qnn_error (*mem_deregister)(const qnn_handle *memory, uint32_t count);
    qnn_error (*device_get_platform_info)(qnn_handle log, const struct qnn_platform_info **info);
    qnn_error (*device_free_platform_info)(qnn_handle log, const struct qnn_platform_info *info);
    qnn_error (*device_get_infrastructure)(const struct qnn_htp_infrastructure **infrastructure);
    qnn_error (*device_create)(qnn_handle log, const struct qnn_config **config, qnn_handle *device);
    qnn_unused device_set_config, device_get_info;
    qnn_error (*device_free)(qnn_handle device);
};

struct qnn_interface {
    uint32_t backend_id;
    const char *provider;
    struct qnn_api_version api;
    struct qnn_functions call;
};

typedef qnn_error (*qnn_get_providers)(const struct qnn_interface ***providers, uint32_t *count);

/* How many functions the table of a core API has: first and last minor that are known to have so many, from
 * public headers and, from 36 on, from the libraries themselves, which take no other size. */
#define QNN_TABLE_LENGTHS(row) \
    row(10, 10, 48) row(14, 14, 55) row(27, 27, 68) row(28, 28, 69) row(32, 32, 71) row(36, 38, 72) row(39, 40, 75)

/* ---- model libraries: `QnnModel_composeGraphs` and its counterpart ---- */

struct qnn_model_graph {
    qnn_handle graph;
    const char *name;
    const struct qnn_tensor *inputs;
    uint32_t input_count;
    const struct qnn_tensor *outputs;
    uint32_t output_count;
};

typedef int (*qnn_model_free_graphs)(struct qnn_model_graph ***graphs, uint32_t count);

/* ---- the System library's interface, and what it says about a context binary ---- */

struct qnn_graph_v1 {
    const char *name;
    uint32_t input_count;
    const struct qnn_tensor *inputs;
    uint32_t output_count;
    const struct qnn_tensor *outputs;
};

/* The common head of graph descriptions of version 1 to 3; an array's stride is 48, 64 or 88. */
struct qnn_graph_info {
    uint32_t version;
    struct qnn_graph_v1 v1;
};

/* Versions 1 and 2; version 2 appends a pointer. */
struct qnn_binary_v1 {
    uint32_t backend_id;
    const char *build_id;
    struct qnn_version core_api, backend_api;
    const char *soc_version;
    struct qnn_version hardware_blob, context_blob;
    uint32_t hardware_blob_size;
    const void *hardware_blob_data;
    uint64_t context_blob_size;
    uint32_t context_tensor_count;
    const struct qnn_tensor *context_tensors;
    uint32_t graph_count;
    const struct qnn_graph_info *graphs;
};

struct qnn_binary_v3 {
    uint32_t backend_id;
    const char *build_id;
    struct qnn_version core_api, backend_api;
    const char *soc_version;
    struct qnn_version context_blob;
    uint64_t context_blob_size;
    uint32_t context_tensor_count;
    const struct qnn_tensor *context_tensors;
    uint32_t graph_count;
    const struct qnn_graph_info *graphs;
    const void *platform_info;
    uint32_t metadata_size;
    const void *metadata;
    uint32_t soc_model;
};

/* The HTP backend's own part of it. */
struct qnn_htp_metadata {
    uint32_t version, arch;
};

struct qnn_binary_info {
    uint32_t version;
    union {
        struct qnn_binary_v1 v1;
        struct qnn_binary_v3 v3;
    } u;
};

struct qnn_system_functions {
    qnn_error (*context_create)(qnn_handle *context);
    qnn_unused context_get_binary_info;
    qnn_error (*context_get_metadata)(qnn_handle context, const void *binary, uint64_t size,
                                      const struct qnn_binary_info **info);
    qnn_error (*context_free)(qnn_handle context);
    /* From here on of System API 1.4, see QNN_SYSTEM_MINOR_DLC. */
    qnn_unused tensor_get_memory_footprint;
    qnn_error (*log_create)(qnn_log_callback callback, uint32_t level, qnn_handle *log);
    qnn_unused log_set_level;
    qnn_error (*log_free)(qnn_handle log);
    qnn_error (*dlc_create_from_file)(qnn_handle log, const char *path, qnn_handle *dlc);
    qnn_unused dlc_create_from_binary;
    qnn_unused dlc_compose_graphs; /* its type depends on the release, see by_value.c */
    qnn_unused dlc_get_op_mappings;
    qnn_error (*dlc_free)(qnn_handle dlc);
};

struct qnn_system_interface {
    uint32_t backend_id;
    const char *provider;
    struct qnn_version api;
    struct qnn_system_functions call;
};

typedef qnn_error (*qnn_system_get_providers)(const struct qnn_system_interface ***providers, uint32_t *count);

/* ---- the contract ---- */

#define HEXRUN_AT(type, member, offset) \
    _Static_assert(offsetof(struct type, member) == (offset), #type "." #member " must be at " #offset)
#define HEXRUN_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type " must have " #size " bytes")

HEXRUN_SIZE(qnn_api_version, 24);
HEXRUN_SIZE(qnn_scale_offset, 8);
HEXRUN_SIZE(qnn_bw_scale_offset, 12);
HEXRUN_SIZE(qnn_axis_scale_offset, 16);
HEXRUN_AT(qnn_axis_scale_offset, pairs, 8);
HEXRUN_SIZE(qnn_bw_axis_scale_offset, 32);
HEXRUN_AT(qnn_bw_axis_scale_offset, scales, 16);
HEXRUN_AT(qnn_bw_axis_scale_offset, offsets, 24);
HEXRUN_SIZE(qnn_quantize_params, 40);
HEXRUN_AT(qnn_quantize_params, u, 8);
HEXRUN_SIZE(qnn_tensor_v1, 112);
HEXRUN_AT(qnn_tensor_v1, name, 8);
HEXRUN_AT(qnn_tensor_v1, data_type, 24);
HEXRUN_AT(qnn_tensor_v1, quantize, 32);
HEXRUN_AT(qnn_tensor_v1, rank, 72);
HEXRUN_AT(qnn_tensor_v1, dimensions, 80);
HEXRUN_AT(qnn_tensor_v1, memory_type, 88);
HEXRUN_AT(qnn_tensor_v1, memory, 96);
HEXRUN_SIZE(qnn_tensor, QNN_TENSOR_STRIDE_NARROW);
HEXRUN_SIZE(qnn_memory_shape, 24);
HEXRUN_SIZE(qnn_memory_descriptor, 48);
HEXRUN_AT(qnn_memory_descriptor, data_type, 24);
HEXRUN_AT(qnn_memory_descriptor, memory_type, 28);
HEXRUN_AT(qnn_memory_descriptor, u, 32);
HEXRUN_SIZE(qnn_profile_event, 24);
HEXRUN_AT(qnn_profile_event, value, 8);
HEXRUN_AT(qnn_profile_event, name, 16);
HEXRUN_SIZE(qnn_config, 16);
HEXRUN_AT(qnn_config, number, 8);
HEXRUN_SIZE(qnn_htp_graph_config, 56);
HEXRUN_AT(qnn_htp_graph_config, u, 8);
HEXRUN_AT(qnn_htp_graph_config, u.optimization.value, 12);
HEXRUN_SIZE(qnn_htp_soc_config, 24);
HEXRUN_AT(qnn_htp_soc_config, soc_model_early, 4);
HEXRUN_AT(qnn_htp_soc_config, soc_model_late, 8);
HEXRUN_SIZE(qnn_htp_device_extension, 32);
HEXRUN_AT(qnn_htp_device_extension, soc_model, 16);
HEXRUN_AT(qnn_htp_device_extension, signed_pd, 20);
HEXRUN_AT(qnn_htp_device_extension, arch, 24);
HEXRUN_SIZE(qnn_hardware_device, 40);
HEXRUN_AT(qnn_hardware_device, v1.device_id, 8);
HEXRUN_AT(qnn_hardware_device, v1.cores, 24);
HEXRUN_AT(qnn_hardware_device, v1.extension, 32);
HEXRUN_SIZE(qnn_platform_info, 24);
HEXRUN_AT(qnn_platform_info, v1.device_count, 8);
HEXRUN_AT(qnn_platform_info, v1.devices, 16);
HEXRUN_SIZE(qnn_dcvs_v3, 64);
HEXRUN_SIZE(qnn_power_config, 68);
HEXRUN_SIZE(qnn_htp_infrastructure, 40);
HEXRUN_AT(qnn_interface, api, 16);
HEXRUN_AT(qnn_interface, call, 40);
HEXRUN_AT(qnn_functions, backend_free, 8 * 8);
HEXRUN_AT(qnn_functions, context_create, 9 * 8);
HEXRUN_AT(qnn_functions, context_get_binary, 12 * 8);
HEXRUN_AT(qnn_functions, context_create_from_binary, 13 * 8);
HEXRUN_AT(qnn_functions, graph_set_config, 17 * 8);
HEXRUN_AT(qnn_functions, graph_finalize, 19 * 8);
HEXRUN_AT(qnn_functions, graph_retrieve, 20 * 8);
HEXRUN_AT(qnn_functions, graph_execute, 21 * 8);
HEXRUN_AT(qnn_functions, log_create, 25 * 8);
HEXRUN_AT(qnn_functions, profile_create, 28 * 8);
HEXRUN_AT(qnn_functions, profile_get_event_data, 32 * 8);
HEXRUN_AT(qnn_functions, profile_free, 34 * 8);
HEXRUN_AT(qnn_functions, mem_register, 35 * 8);
HEXRUN_AT(qnn_functions, device_get_platform_info, 37 * 8);
HEXRUN_AT(qnn_functions, device_create, 40 * 8);
HEXRUN_AT(qnn_functions, device_free, 43 * 8);
HEXRUN_SIZE(qnn_graph_info, 48);
HEXRUN_SIZE(qnn_binary_v1, 128);
HEXRUN_AT(qnn_binary_v1, soc_version, 40);
HEXRUN_AT(qnn_binary_v1, context_blob, 60);
HEXRUN_AT(qnn_binary_v1, graph_count, 112);
HEXRUN_SIZE(qnn_binary_v3, 136);
HEXRUN_AT(qnn_binary_v3, context_blob, 48);
HEXRUN_AT(qnn_binary_v3, graph_count, 88);
HEXRUN_AT(qnn_binary_v3, soc_model, 128);
HEXRUN_SIZE(qnn_htp_metadata, 8);
HEXRUN_SIZE(qnn_binary_info, 144);
HEXRUN_AT(qnn_system_interface, call, 32);
HEXRUN_AT(qnn_system_functions, log_create, 5 * 8);
HEXRUN_AT(qnn_system_functions, dlc_create_from_file, 8 * 8);
HEXRUN_AT(qnn_system_functions, dlc_compose_graphs, 10 * 8);
HEXRUN_AT(qnn_system_functions, dlc_free, 12 * 8);
HEXRUN_SIZE(qnn_model_graph, 48);
HEXRUN_AT(qnn_model_graph, input_count, 24);
HEXRUN_AT(qnn_model_graph, outputs, 32);

#endif
