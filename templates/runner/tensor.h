/* What a graph's input or output holds, and the way between its stored form and float32. */
#ifndef HEXRUN_TENSOR_H
#define HEXRUN_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* real = (stored + offset) * scale */
struct quantization {
    bool known;
    float scale;
    int32_t offset;
};

struct tensor {
    const char *name;
    const struct element *element;
    struct quantization quantization;
    uint32_t rank;
    uint32_t shape[TENSOR_RANK];
    size_t count; /* elements */
};

size_t tensor_bytes(const struct tensor *tensor);
/* Whether float32 can stand in for the stored form. */
bool tensor_takes_float(const struct tensor *tensor);
/* "[1, 3, 48, 48]" */
void shape_text(const uint32_t *shape, uint32_t rank, char *out, size_t capacity);

/* Both arrays hold tensor->count elements. */
enum status tensor_from_float(const struct tensor *tensor, const float *real, void *stored, struct fault *fault);
void tensor_to_float(const struct tensor *tensor, const void *stored, float *real);

float half_to_float(uint16_t half);
uint16_t float_to_half(float value);

#endif
