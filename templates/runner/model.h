/* A model as its metadata describes it: graphs, their inputs and outputs. */
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
    qnn_handle handle; /* of a graph that is composed here */
};

struct model {
    enum asset asset;
    struct mapped_file binary;
    qnn_handle log; /* the DLC reader's */
    /* One of these keeps every pointer below alive. */
    qnn_handle description, dlc;
    struct qnn_model_graph **composed;
    uint32_t composed_count;
    qnn_model_free_graphs free_composed;
    const struct qnn_system_interface *system;
    const char *build; /* QAIRT build that compiled it, or NULL */
    uint32_t soc_model, hexagon; /* that it was compiled for; 0: not told */
    size_t tensor_stride;
    struct graph *graphs;
    uint32_t graph_count;
};

/* Maps the file and reads its metadata. Every count, rank and name is checked before use. */
enum status model_open(const struct libraries *libraries, const char *path, struct model *out, struct fault *fault);
void model_close(struct model *model);

/* For graphs that are composed here, see compose.h: the beginning, and the same checks. */
void model_begin(const struct libraries *libraries, enum asset asset, struct model *out);
enum status model_read_graphs(struct model *model, const struct qnn_graph_info *first, uint32_t count,
                              struct fault *fault);
enum status model_read_composed(struct model *model, struct fault *fault);

/* The graph of that name; with NULL the only one, or a refusal that lists them. */
enum status model_choose_graph(const struct model *model, const char *name, const struct graph **out,
                               struct fault *fault);

const struct qnn_tensor *raw_tensor(const struct model *model, const struct graph_io *io, uint32_t index);

#endif
