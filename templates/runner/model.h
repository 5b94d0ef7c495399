/* A context binary as its metadata describes it: graphs, their inputs and outputs. */
#ifndef HEXRUN_MODEL_H
#define HEXRUN_MODEL_H

#include "loader.h"
#include "platform.h"
#include "tensor.h"

enum { MODEL_GRAPHS = 64, MODEL_TENSORS = 1024, MODEL_NAME = 4096 };

struct graph_io {
    const struct qnn_tensor *raw; /* array of `count`, `stride` bytes apart, owned by the System library */
    struct tensor *tensors;
    uint32_t count;
};

struct graph {
    const char *name;
    struct graph_io inputs, outputs;
};

struct model {
    struct mapped_file binary;
    qnn_handle description; /* keeps every pointer below alive */
    const struct qnn_system_interface *system;
    const char *build; /* QAIRT build that compiled it, or NULL */
    size_t tensor_stride;
    struct graph *graphs;
    uint32_t graph_count;
};

/* Maps the file and reads its metadata. Every count, rank and name is checked before use. */
enum status model_open(const struct libraries *libraries, const char *path, struct model *out, struct fault *fault);
void model_close(struct model *model);

/* The graph of that name; with NULL the only one, or a refusal that lists them. */
enum status model_choose_graph(const struct model *model, const char *name, const struct graph **out,
                               struct fault *fault);

const struct qnn_tensor *raw_tensor(const struct model *model, const struct graph_io *io, uint32_t index);

#endif
