/* A model library: two graphs of one operator each, composed through the interface that it is given by value.
 * INTERFACE_LENGTH is the number of functions in that interface. FAULT_IN_MODEL=number makes it fail so. */
#include <stdbool.h>
#include <stdlib.h>

#include "qnn_abi.h"

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

enum { GRAPHS = 2, RANK = 4, GRAPH_CREATE = 15, GRAPH_ADD_NODE = 18, GRAPH_TENSOR = 24 };
enum { APP_WRITE = 0, APP_READ = 1 };

struct table {
    qnn_unused call[INTERFACE_LENGTH];
};

union tensor {
    struct qnn_tensor head;
    char size[QNN_TENSOR_STRIDE_WIDE];
};

struct operation {
    uint32_t version;
    const char *name, *package, *type;
    uint32_t parameter_count;
    const void *parameters;
    uint32_t input_count;
    const union tensor *inputs;
    uint32_t output_count;
    const union tensor *outputs;
};
_Static_assert(sizeof(struct operation) == 80, "the size that is passed by value");

typedef qnn_error (*create_graph)(qnn_handle context, const char *name, const struct qnn_config **, qnn_handle *graph);
typedef qnn_error (*add_node)(qnn_handle graph, struct operation operation);
typedef qnn_error (*create_tensor)(qnn_handle graph, union tensor *tensor);

static uint32_t shape[RANK] = {1, 3, 8, 8};
static union tensor tensors[GRAPHS][2];
static struct qnn_model_graph graphs[GRAPHS];
static struct qnn_model_graph *list[GRAPHS];

static union tensor described(const char *name, uint32_t type)
{
    union tensor tensor = {{0}};
    tensor.head.version = 1;
    tensor.head.v1 = (struct qnn_tensor_v1){.name = name,
                                            .type = type,
                                            .data_type = QNN_FLOAT_32,
                                            .quantize = {0x7FFFFFFF, 0x7FFFFFFF, {{0}}},
                                            .rank = RANK,
                                            .dimensions = shape};
    return tensor;
}

static qnn_error compose(const struct table *table, qnn_handle context, size_t index, const char *name,
                         const char *type)
{
    struct qnn_model_graph *graph = &graphs[index];
    union tensor *x = &tensors[index][0], *y = &tensors[index][1];
    qnn_error error = ((create_graph)table->call[GRAPH_CREATE])(context, name, NULL, &graph->graph);
    *x = described("x", APP_WRITE);
    *y = described("y", APP_READ);
    if (!error)
        error = ((create_tensor)table->call[GRAPH_TENSOR])(graph->graph, x);
    if (!error)
        error = ((create_tensor)table->call[GRAPH_TENSOR])(graph->graph, y);
    struct operation operation = {1, name, "qti.aisw", type, 0, NULL, 1, x, 1, y};
    if (!error)
        error = ((add_node)table->call[GRAPH_ADD_NODE])(graph->graph, operation);
    *graph = (struct qnn_model_graph){graph->graph, name, &x->head, 1, &y->head, 1};
    list[index] = graph;
    return error;
}

EXPORT int QnnModel_composeGraphs(qnn_handle backend, struct table table, qnn_handle context, const void **configs,
                                  uint32_t config_count, struct qnn_model_graph ***out, uint32_t *count, bool debug,
                                  qnn_log_callback log, uint32_t level)
{
    (void)backend;
    (void)configs;
    const char *fault = getenv("FAULT_IN_MODEL");
    if (fault)
        return atoi(fault);
    /* Behind the table in the argument area: they are what they should be only if its size is. */
    if (config_count || debug || !log || level != QNN_LOG_ERROR)
        return 2;
    if (compose(&table, context, 0, "rectified", "Relu") || compose(&table, context, 1, "negated", "ElementWiseNeg"))
        return 4;
    *out = list;
    *count = GRAPHS;
    return 0;
}

EXPORT int QnnModel_freeGraphsInfo(struct qnn_model_graph ***given, uint32_t count)
{
    if (*given != list || count != GRAPHS)
        abort();
    return 0;
}
