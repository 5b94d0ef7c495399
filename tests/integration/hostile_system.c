/* A System library whose description of a context is sound but for what HOSTILE asks for: a word of the table
 * below, or a number, which spoils some of its numbers by chance. What counts and ranks may reach is there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "qnn_abi.h"

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* As many as the runner believes, see model.h. */
enum { GRAPHS = 64, TENSORS = 1024, CHANNELS = 64, LONG = 1 << 16, GRAPH_SIZE = 88 };

static char tensors[2][TENSORS][QNN_TENSOR_STRIDE_WIDE];
static char graphs[GRAPHS][GRAPH_SIZE];
static uint32_t shape[16] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
static struct qnn_scale_offset pairs[CHANNELS];
static float scales[CHANNELS];
static int32_t offsets[CHANNELS];
static char endless[LONG];
static struct qnn_htp_metadata metadata = {1, 73};
static struct qnn_binary_info information;

static struct qnn_tensor *tensor(int side)
{
    return (struct qnn_tensor *)(void *)tensors[side][0];
}

static struct qnn_graph_info *graph(int index)
{
    return (struct qnn_graph_info *)(void *)graphs[index];
}

static void describe(void)
{
    static const char *const NAMES[] = {"x", "y"};
    memset(endless, 'a', sizeof endless);
    for (int i = 0; i < CHANNELS; i++) {
        pairs[i] = (struct qnn_scale_offset){0.5f, -1};
        scales[i] = 0.5f;
        offsets[i] = -1;
    }
    for (int side = 0; side < 2; side++)
        *tensor(side) = (struct qnn_tensor){
            .version = 1,
            .v1 = {.name = NAMES[side],
                   .data_type = QNN_UFIXED_8,
                   .quantize = {QNN_DEFINITION_DEFINED, QNN_ENCODING_SCALE_OFFSET, .u.scale_offset = {0.5f, -1}},
                   .rank = 2,
                   .dimensions = shape}};
    *graph(0) = (struct qnn_graph_info){1, {"first", 1, tensor(0), 1, tensor(1)}};
    *graph(1) = (struct qnn_graph_info){1, {"second", 1, tensor(0), 1, tensor(1)}};
    information = (struct qnn_binary_info){
        .version = 3,
        .u.v3 = {.backend_id = QNN_BACKEND_HTP, .build_id = "v2.51.0", .graph_count = 2, .graphs = graph(0),
                 .metadata_size = sizeof metadata, .metadata = &metadata, .soc_model = 77}};
}

static void axis(int32_t which, uint32_t count, const struct qnn_scale_offset *values)
{
    struct qnn_quantize_params *q = &tensor(0)->v1.quantize;
    *q = (struct qnn_quantize_params){.definition = QNN_DEFINITION_DEFINED,
                                      .encoding = QNN_ENCODING_AXIS_SCALE_OFFSET};
    q->u.axis.axis = which;
    q->u.axis.count = count;
    q->u.axis.pairs = values;
}

static void scale(float value)
{
    tensor(0)->v1.quantize.u.scale_offset.scale = value;
}

/* A column of numbers that may be anything, and what a hostile file would put there. */
static void spoil(unsigned seed)
{
    static const uint32_t VALUES[] = {0, 1, 2, 3, 4, 7, 9, 63, 64, 65, 1023, 1024, 1025, 0x408, 0x232, 0x7FFFFFFF,
                                      0x80000000, 0xFFFFFFFE, 0xFFFFFFFF};
    uint32_t *const places[] = {
        &information.version, &information.u.v3.backend_id, &information.u.v3.graph_count,
        &information.u.v3.soc_model, &metadata.version, &metadata.arch,
        &graph(0)->version, &graph(1)->version, &graph(0)->v1.input_count, &graph(0)->v1.output_count,
        &graph(1)->v1.input_count, &tensor(0)->version, &tensor(0)->v1.rank, &tensor(1)->v1.rank,
        &tensor(0)->v1.data_type, &tensor(1)->v1.data_type, &tensor(0)->v1.quantize.definition,
        &tensor(0)->v1.quantize.encoding, &tensor(0)->v1.type, &tensor(0)->v1.data_format, &tensor(0)->v1.id,
        &tensor(0)->v1.memory_type, &shape[0], &shape[1], &shape[7],
    };
    uint32_t random = seed * 2654435761u + 1;
    for (unsigned i = 0; i <= seed % 4; i++) {
        random = random * 1664525u + 1013904223u;
        uint32_t *place = places[(random >> 8) % (sizeof places / sizeof *places)];
        random = random * 1664525u + 1013904223u;
        *place = VALUES[(random >> 8) % (sizeof VALUES / sizeof *VALUES)];
    }
}

static void make_hostile(const char *how)
{
    struct qnn_binary_v3 *v3 = &information.u.v3;
    struct qnn_tensor_v1 *x = &tensor(0)->v1;
#define WHEN(word) else if (strcmp(how, word) == 0)
    if (strcmp(how, "nothing") == 0)
        return;
    WHEN("version 0") information.version = 0;
    WHEN("version 4") information.version = 4;
    WHEN("no graphs") v3->graph_count = 0;
    WHEN("65 graphs") v3->graph_count = 65;
    WHEN("all graphs") v3->graph_count = UINT32_MAX;
    WHEN("graphs nowhere") v3->graphs = NULL;
    WHEN("graph version 0") graph(0)->version = 0;
    WHEN("graph version 4") graph(1)->version = 4;
    WHEN("graph without a name") graph(1)->v1.name = NULL;
    WHEN("graph of an empty name") graph(0)->v1.name = "";
    WHEN("graph of an endless name") graph(0)->v1.name = endless;
    WHEN("all inputs") graph(0)->v1.input_count = UINT32_MAX;
    WHEN("1025 outputs") graph(0)->v1.output_count = TENSORS + 1;
    WHEN("1024 outputs") graph(0)->v1.output_count = TENSORS;
    WHEN("inputs nowhere") graph(0)->v1.inputs = NULL;
    WHEN("tensor version 0") tensor(0)->version = 0;
    WHEN("tensor version 3") tensor(1)->version = 3;
    WHEN("tensor without a name") x->name = NULL;
    WHEN("tensor of an endless name") x->name = endless;
    WHEN("rank 9") x->rank = 9;
    WHEN("all ranks") x->rank = UINT32_MAX;
    WHEN("shape nowhere") x->dimensions = NULL;
    WHEN("huge shape") shape[0] = shape[1] = UINT32_MAX;
    WHEN("unknown type") x->data_type = 0x777;
    WHEN("no scale") scale(0);
    WHEN("scale below zero") scale(-1);
    WHEN("scale of no number") scale(NAN);
    WHEN("endless scale") scale(INFINITY);
    WHEN("unknown encoding") x->quantize.encoding = 77;
    WHEN("axis -3 of 2") axis(-3, 2, pairs);
    WHEN("axis 2 of 2") axis(2, 2, pairs);
    WHEN("3 scales for 2") axis(0, 3, pairs);
    WHEN("all scales") axis(0, UINT32_MAX, pairs);
    WHEN("scales nowhere") axis(0, 2, NULL);
    WHEN("no build") v3->build_id = NULL;
    WHEN("endless build") v3->build_id = endless;
    WHEN("metadata nowhere") v3->metadata = NULL;
    WHEN("short metadata") v3->metadata_size = 4;
    WHEN("metadata version 2") metadata.version = 2;
    else spoil((unsigned)strtoul(how, NULL, 10));
}

static qnn_error get_metadata(qnn_handle context, const void *binary, uint64_t size,
                              const struct qnn_binary_info **info)
{
    const char *how = getenv("HOSTILE");
    (void)context;
    (void)binary;
    (void)size;
    describe();
    make_hostile(how ? how : "nothing");
    *info = how && strcmp(how, "no description") == 0 ? NULL : &information;
    return 0;
}

static qnn_error create(qnn_handle *context)
{
    *context = (qnn_handle)(uintptr_t)6;
    return 0;
}

static qnn_error release(qnn_handle context)
{
    (void)context;
    return 0;
}

EXPORT qnn_error QnnSystemInterface_getProviders(const struct qnn_system_interface ***providers, uint32_t *count)
{
    static const struct qnn_system_interface INTERFACE = {
        .provider = "HOSTILE",
        .api = {1, 15, 0},
        .call = {.context_create = create, .context_get_metadata = get_metadata, .context_free = release},
    };
    static const struct qnn_system_interface *list[] = {&INTERFACE};
    *providers = list;
    *count = 1;
    return 0;
}
