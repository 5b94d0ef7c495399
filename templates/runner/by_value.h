/* The two calls of QNN that take the backend's interface by value, whose size depends on its release. */
#ifndef HEXRUN_BY_VALUE_H
#define HEXRUN_BY_VALUE_H

#include "loader.h"

/* Both leave the callee's own answer in `code` and fail only where the call cannot be made. */
enum status by_value_compose_dlc(const struct libraries *libraries, qnn_handle dlc, qnn_handle backend,
                                 qnn_handle context, const struct qnn_graph_info **graphs, uint32_t *count,
                                 qnn_error *code, struct fault *fault);
enum status by_value_compose_library(const struct libraries *libraries, void *entry, qnn_handle backend,
                                     qnn_handle context, struct qnn_model_graph ***graphs, uint32_t *count, int *code,
                                     struct fault *fault);

#endif
