/* What a graph's input or output holds, and the way between its stored form and float32. */
#ifndef HEXRUN_TENSOR_H
#define HEXRUN_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qnn_abi.h"
#include "status.h"

enum { TENSOR_RANK = 8 };

/* A QNN data type as NumPy knows it. `descr` is the little-endian .npy word. */
struct element {
    uint32_t qnn;
    const char *name;  /* what people call it, e.g. ufixed_point_16 */
    const char *descr; /* e.g. <u2; NULL: NumPy has no such type and hexrun no way to carry it */
    size_t size;       /* bytes */
    bool converts;     /* stored form differs from float32 but stands for real numbers */
};

const struct element *element_of(uint32_t qnn_type);
/* The word in reports: float32, uint16 … for a .npy descr. */
const char *dtype_name(const char *descr);

/* real = (stored + offset) * scale, with one pair for the tensor or one for each index along an axis. */
struct quantization {
    bool known;
    uint32_t bits; /* that the numbers use; 0: all of the element */
    float scale;   /* of the whole tensor, where there are no channels */
    int32_t offset;
    uint32_t axis, channels;     /* channels == 0: per tensor */
    const char *scales, *offsets; /* owned by the System library; no offsets: all are 0 */
    size_t step;                 /* bytes from one to the next */
};

struct tensor {
    const char *name;
    const struct element *element;
    struct quantization quantization;
    uint32_t rank;
    uint32_t shape[TENSOR_RANK];
    size_t count; /* elements */
};

/* The plain element (no quantization) of a .npy descr, or NULL. */
const struct element *element_of_descr(const char *descr);

/* Fills tensor->quantization; the shape is known already. An encoding that hexrun cannot compute with, or
 * scales that are none, leave it unknown; channels that do not match the shape are refused. */
enum status tensor_read_quantization(struct tensor *tensor, const struct qnn_quantize_params *params,
                                     struct fault *fault);
struct qnn_scale_offset quantization_at(const struct quantization *quantization, uint32_t channel);

size_t tensor_bytes(const struct tensor *tensor);
/* Whether float32 can stand in for the stored form. */
bool tensor_takes_float(const struct tensor *tensor);
/* "[1, 3, 48, 48]" */
void shape_text(const uint32_t *shape, uint32_t rank, char *out, size_t capacity);

/* Conversion of `count` elements. Both arrays begin with the tensor's element `first`, which tells the
 * channel. */
enum status tensor_from_float(const struct tensor *tensor, size_t first, size_t count, const float *real,
                              void *stored, struct fault *fault);
void tensor_to_float(const struct tensor *tensor, size_t first, size_t count, const void *stored, float *real);
/* The same as numbers for arithmetic, whatever the element is. */
void tensor_to_double(const struct tensor *tensor, size_t first, size_t count, const void *stored, double *real);

float half_to_float(uint16_t half);
uint16_t float_to_half(float value);

#endif
