#include "tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "qnn_abi.h"

static const struct element ELEMENTS[] = {
    {QNN_INT_8, "int_8", "|i1", 1, false},
    {QNN_INT_16, "int_16", "<i2", 2, false},
    {QNN_INT_32, "int_32", "<i4", 4, false},
    {QNN_INT_64, "int_64", "<i8", 8, false},
    {QNN_UINT_8, "uint_8", "|u1", 1, false},
    {QNN_UINT_16, "uint_16", "<u2", 2, false},
    {QNN_UINT_32, "uint_32", "<u4", 4, false},
    {QNN_UINT_64, "uint_64", "<u8", 8, false},
    {QNN_FLOAT_16, "float_16", "<f2", 2, true},
    {QNN_FLOAT_32, "float_32", "<f4", 4, false},
    {QNN_FLOAT_64, "float_64", "<f8", 8, false},
    {QNN_SFIXED_8, "sfixed_point_8", "|i1", 1, true},
    {QNN_SFIXED_16, "sfixed_point_16", "<i2", 2, true},
    {QNN_SFIXED_32, "sfixed_point_32", "<i4", 4, true},
    {QNN_UFIXED_8, "ufixed_point_8", "|u1", 1, true},
    {QNN_UFIXED_16, "ufixed_point_16", "<u2", 2, true},
    {QNN_UFIXED_32, "ufixed_point_32", "<u4", 4, true},
    {QNN_BOOL_8, "bool_8", "|b1", 1, false},
    {QNN_BFLOAT_16, "bfloat_16", NULL, 2, false},
    {QNN_SFIXED_4, "sfixed_point_4", NULL, 1, false},
    {QNN_UFIXED_4, "ufixed_point_4", NULL, 1, false},
};

static const struct {
    const char *descr, *name;
} DTYPES[] = {
    {"|i1", "int8"},    {"<i2", "int16"},   {"<i4", "int32"},   {"<i8", "int64"},
    {"|u1", "uint8"},   {"<u2", "uint16"},  {"<u4", "uint32"},  {"<u8", "uint64"},
    {"<f2", "float16"}, {"<f4", "float32"}, {"<f8", "float64"}, {"|b1", "bool"},
};

const struct element *element_of(uint32_t qnn_type)
{
    for (size_t i = 0; i < sizeof ELEMENTS / sizeof *ELEMENTS; i++)
        if (ELEMENTS[i].qnn == qnn_type)
            return &ELEMENTS[i];
    return NULL;
}

const char *dtype_name(const char *descr)
{
    for (size_t i = 0; i < sizeof DTYPES / sizeof *DTYPES; i++)
        if (strcmp(DTYPES[i].descr, descr) == 0)
            return DTYPES[i].name;
    return descr;
}

size_t tensor_bytes(const struct tensor *tensor)
{
    return tensor->count * tensor->element->size;
}

bool tensor_takes_float(const struct tensor *tensor)
{
    return tensor->element->converts && (tensor->element->qnn == QNN_FLOAT_16 || tensor->quantization.known);
}

void shape_text(const uint32_t *shape, uint32_t rank, char *out, size_t capacity)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < rank && used < capacity; i++)
        used += (size_t)snprintf(out + used, capacity - used, "%s%u", i ? ", " : "[", shape[i]);
    if (used < capacity)
        snprintf(out + used, capacity - used, "%s", rank ? "]" : "[]");
}

float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = (half >> 10) & 0x1F;
    uint32_t fraction = half & 0x3FF;
    float magnitude;
    if (exponent == 0) {
        magnitude = ldexpf((float)fraction, -24);
    } else {
        uint32_t wide = exponent == 0x1F ? 0xFF : exponent + 112;
        uint32_t bits = (wide << 23) | (fraction << 13);
        memcpy(&magnitude, &bits, sizeof bits);
    }
    uint32_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    bits |= sign;
    memcpy(&magnitude, &bits, sizeof bits);
    return magnitude;
}

/* Drops the low `drop` bits, rounding to nearest, ties to even. */
static uint32_t round_bits(uint32_t value, uint32_t drop)
{
    uint32_t kept = value >> drop;
    uint32_t rest = value & ((1u << drop) - 1);
    uint32_t tie = 1u << (drop - 1);
    return kept + (rest > tie || (rest == tie && (kept & 1)));
}

uint16_t float_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000);
    uint32_t exponent = (bits >> 23) & 0xFF;
    uint32_t fraction = bits & 0x7FFFFF;
    if (exponent == 0xFF)
        return (uint16_t)(sign | 0x7C00 | (fraction ? 0x200 | (fraction >> 13) : 0));
    if (exponent > 142)
        return sign | 0x7C00;
    if (exponent > 112)
        /* A carry out of the fraction raises the exponent, up to infinity: just what rounding asks for. */
        return (uint16_t)(sign | round_bits(((exponent - 112) << 23) | fraction, 13));
    if (exponent < 102)
        return sign;
    return (uint16_t)(sign | round_bits(fraction | 0x800000, 126 - exponent));
}

static void stored_range(uint32_t qnn_type, int64_t *low, int64_t *high)
{
    switch (qnn_type) {
    case QNN_SFIXED_8:
        *low = INT8_MIN;
        *high = INT8_MAX;
        break;
    case QNN_SFIXED_16:
        *low = INT16_MIN;
        *high = INT16_MAX;
        break;
    case QNN_SFIXED_32:
        *low = INT32_MIN;
        *high = INT32_MAX;
        break;
    case QNN_UFIXED_8:
        *low = 0;
        *high = UINT8_MAX;
        break;
    case QNN_UFIXED_16:
        *low = 0;
        *high = UINT16_MAX;
        break;
    default:
        *low = 0;
        *high = UINT32_MAX;
        break;
    }
}

/* Little-endian hosts only, as are all that QNN runs on. */
static void store(void *stored, size_t size, size_t index, int64_t value)
{
    uint32_t bits = (uint32_t)value;
    memcpy((unsigned char *)stored + index * size, &bits, size);
}

static int64_t load(const void *stored, const struct element *element, size_t index)
{
    uint32_t bits = 0;
    memcpy(&bits, (const unsigned char *)stored + index * element->size, element->size);
    switch (element->qnn) {
    case QNN_SFIXED_8:
        return (int8_t)bits;
    case QNN_SFIXED_16:
        return (int16_t)bits;
    case QNN_SFIXED_32:
        return (int32_t)bits;
    default:
        return bits;
    }
}

enum status tensor_from_float(const struct tensor *tensor, const float *real, void *stored, struct fault *fault)
{
    const struct quantization *q = &tensor->quantization;
    if (tensor->element->qnn == QNN_FLOAT_16) {
        for (size_t i = 0; i < tensor->count; i++) {
            uint16_t half = float_to_half(real[i]);
            memcpy((unsigned char *)stored + 2 * i, &half, sizeof half);
        }
        return RUN_OK;
    }
    int64_t low, high;
    stored_range(tensor->element->qnn, &low, &high);
    for (size_t i = 0; i < tensor->count; i++) {
        if (isnan(real[i])) {
            fault_set(fault, RUN_REFUSED, "input %s holds NaN, which %s cannot store", tensor->name,
                      tensor->element->name);
            fault_evidence(fault, "at element %zu", i);
            return RUN_REFUSED;
        }
        /* Divide in float32 and round ties to even: the arithmetic of ONNX QuantizeLinear, bit for bit. */
        double steps = nearbyint((double)(real[i] / q->scale)) - q->offset;
        store(stored, tensor->element->size, i, steps <= (double)low    ? low
                                                : steps >= (double)high ? high
                                                                        : (int64_t)steps);
    }
    return RUN_OK;
}

void tensor_to_float(const struct tensor *tensor, const void *stored, float *real)
{
    const struct quantization *q = &tensor->quantization;
    for (size_t i = 0; i < tensor->count; i++) {
        if (tensor->element->qnn == QNN_FLOAT_16) {
            uint16_t half;
            memcpy(&half, (const unsigned char *)stored + 2 * i, sizeof half);
            real[i] = half_to_float(half);
        } else {
            real[i] = (float)((double)(load(stored, tensor->element, i) + q->offset) * (double)q->scale);
        }
    }
}
