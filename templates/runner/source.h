/* A .npy or .raw file with the elements of one tensor, or of several after each other. */
#ifndef HEXRUN_SOURCE_H
#define HEXRUN_SOURCE_H

#include <stdio.h>

#include "tensor.h"

/* Elements are read in blocks of so many, so that a conversion needs no second copy of a tensor. */
enum { SOURCE_BLOCK = 4096 };

struct source {
    FILE *file;
    const char *path;
    struct tensor as; /* the tensor with the element type that the file has */
    uint32_t parts;   /* tensors in the file, one unless it is a batch */
    uint32_t parts_read;
};

enum source_use {
    SOURCE_INPUT,    /* holds what the graph stores, or float32 where that can stand in */
    SOURCE_REFERENCE /* holds numbers of any type */
};

/* Checks head, shape, element type and size. `path` must outlive the source. A .npy file whose first
 * dimension is a multiple of the tensor's has several parts. */
enum status source_open(const char *path, enum source_use use, const struct tensor *tensor, struct source *out,
                        struct fault *fault);
void source_close(struct source *source);

/* The next part, in the stored form of `tensor`. The file closes after the last. */
enum status source_read(struct source *source, const struct tensor *tensor, void *stored, struct fault *fault);

/* `count` elements of the current part as they are in the file; source_part_done after the part's last. */
enum status source_elements(struct source *source, size_t count, void *elements, struct fault *fault);
enum status source_part_done(struct source *source, struct fault *fault);

#endif
