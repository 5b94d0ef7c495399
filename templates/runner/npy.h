/* NumPy's .npy files, versions 1 to 3, C order, little-endian. */
#ifndef HEXRUN_NPY_H
#define HEXRUN_NPY_H

#include <stdio.h>

#include "status.h"
#include "tensor.h"

struct npy_header {
    char descr[8];
    uint32_t rank;
    uint32_t shape[TENSOR_RANK];
};

/* Leaves `file` at the first element. `path` is for messages. */
enum status npy_read_header(FILE *file, const char *path, struct npy_header *out, struct fault *fault);

/* Returns false when the stream refuses. */
bool npy_write_header(FILE *file, const char *descr, const uint64_t *shape, uint32_t rank);

#endif
