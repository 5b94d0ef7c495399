#include "tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

const struct element *element_of_descr(const char *descr)
{
    for (size_t i = 0; i < sizeof ELEMENTS / sizeof *ELEMENTS; i++)
        if (ELEMENTS[i].descr && strcmp(ELEMENTS[i].descr, descr) == 0)
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

/* ---- quantization ---- */

struct qnn_scale_offset quantization_at(const struct quantization *q, uint32_t channel)
{
    struct qnn_scale_offset pair = {q->scale, q->offset};
    if (q->channels) {
        memcpy(&pair.scale, q->scales + channel * q->step, sizeof pair.scale);
        pair.offset = 0;
        if (q->offsets)
            memcpy(&pair.offset, q->offsets + channel * q->step, sizeof pair.offset);
    }
    return pair;
}

static enum status take_axis(struct tensor *tensor, int32_t axis, uint32_t channels, struct fault *fault)
{
    struct quantization *q = &tensor->quantization;
    int64_t index = axis < 0 ? (int64_t)axis + tensor->rank : axis;
    bool within = index >= 0 && index < tensor->rank;
    if (within && channels && tensor->shape[index] == channels && q->scales) {
        q->axis = (uint32_t)index;
        q->channels = channels;
        return RUN_OK;
    }
    char shape[128];
    shape_text(tensor->shape, tensor->rank, shape, sizeof shape);
    fault_set(fault, RUN_REFUSED, "the metadata of the context binary makes no sense");
    fault_evidence(fault, "tensor %.256s %s: found %u scales along axis %d", tensor->name, shape, channels, axis);
    return RUN_REFUSED;
}

static enum status read_encoding(struct tensor *tensor, const struct qnn_quantize_params *params,
                                 struct fault *fault)
{
    struct quantization *q = &tensor->quantization;
    q->known = true;
    switch (params->encoding) {
    case QNN_ENCODING_SCALE_OFFSET:
        q->scale = params->u.scale_offset.scale;
        q->offset = params->u.scale_offset.offset;
        return RUN_OK;
    case QNN_ENCODING_BW_SCALE_OFFSET:
        q->bits = params->u.bw_scale_offset.bit_width;
        q->scale = params->u.bw_scale_offset.scale;
        q->offset = params->u.bw_scale_offset.offset;
        return RUN_OK;
    case QNN_ENCODING_AXIS_SCALE_OFFSET: {
        const struct qnn_axis_scale_offset *found = &params->u.axis;
        q->scales = (const char *)found->pairs;
        q->offsets = q->scales ? q->scales + offsetof(struct qnn_scale_offset, offset) : NULL;
        q->step = sizeof *found->pairs;
        return take_axis(tensor, found->axis, found->count, fault);
    }
    case QNN_ENCODING_BW_AXIS_SCALE_OFFSET: {
        const struct qnn_bw_axis_scale_offset *found = &params->u.bw_axis;
        q->bits = found->bit_width;
        q->scales = (const char *)found->scales;
        q->offsets = (const char *)found->offsets;
        q->step = sizeof *found->scales;
        return take_axis(tensor, found->axis, found->count, fault);
    }
    default:
        q->known = false;
        return RUN_OK;
    }
}

enum status tensor_read_quantization(struct tensor *tensor, const struct qnn_quantize_params *params,
                                     struct fault *fault)
{
    struct quantization *q = &tensor->quantization;
    *q = (struct quantization){0};
    if (!tensor->element->converts || params->definition != QNN_DEFINITION_DEFINED)
        return RUN_OK;
    enum status status = read_encoding(tensor, params, fault);
    for (uint32_t i = 0; !status && q->known && i < (q->channels ? q->channels : 1); i++) {
        float scale = quantization_at(q, i).scale;
        q->known = scale > 0 && isfinite(scale);
    }
    return status;
}

struct range {
    int64_t low, high;
};

static struct range stored_range(const struct tensor *tensor)
{
    const struct element *element = tensor->element;
    uint32_t bits = (uint32_t)element->size * 8;
    if (tensor->quantization.bits && tensor->quantization.bits < bits)
        bits = tensor->quantization.bits;
    bool is_signed = element->descr[1] == 'i';
    int64_t steps = (int64_t)1 << bits;
    return is_signed ? (struct range){-steps / 2, steps / 2 - 1} : (struct range){0, steps - 1};
}

/* Little-endian hosts only, as are all that QNN runs on. */
static void store(void *stored, size_t size, size_t index, int64_t value)
{
    uint32_t bits = (uint32_t)value;
    memcpy((unsigned char *)stored + index * size, &bits, size);
}

static int64_t load(const void *stored, const struct element *element, size_t index)
{
    const unsigned char *at = (const unsigned char *)stored + index * element->size;
    uint64_t bits = 0;
    memcpy(&bits, at, element->size);
    unsigned unused = 64 - 8 * (unsigned)element->size;
    return element->descr[1] == 'i' ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

/* From element `index` on, `length` elements share a scale and an offset. */
struct stretch {
    size_t length;
    struct qnn_scale_offset pair;
};

static struct stretch stretch_at(const struct tensor *tensor, size_t index, size_t end)
{
    const struct quantization *q = &tensor->quantization;
    if (!q->channels)
        return (struct stretch){end - index, quantization_at(q, 0)};
    size_t inner = 1;
    for (uint32_t i = q->axis + 1; i < tensor->rank; i++)
        inner *= tensor->shape[i];
    size_t rest = inner - index % inner;
    return (struct stretch){rest < end - index ? rest : end - index,
                            quantization_at(q, (uint32_t)(index / inner % q->channels))};
}

static enum status quantize(const struct tensor *tensor, size_t first, size_t end, const float *real, void *stored,
                            struct fault *fault)
{
    const struct range range = stored_range(tensor);
    for (size_t at = first; at < end;) {
        struct stretch stretch = stretch_at(tensor, at, end);
        for (size_t stop = at + stretch.length; at < stop; at++) {
            float value = real[at - first];
            if (isnan(value)) {
                fault_set(fault, RUN_REFUSED, "input %s holds NaN, which %s cannot store", tensor->name,
                          tensor->element->name);
                fault_evidence(fault, "at element %zu", at);
                return RUN_REFUSED;
            }
            /* Divide in float32 and round ties to even: the arithmetic of ONNX QuantizeLinear, bit for bit. */
            double steps = nearbyint((double)(value / stretch.pair.scale)) - stretch.pair.offset;
            store(stored, tensor->element->size, at - first, steps <= (double)range.low    ? range.low
                                                     : steps >= (double)range.high ? range.high
                                                                                   : (int64_t)steps);
        }
    }
    return RUN_OK;
}

enum status tensor_from_float(const struct tensor *tensor, size_t first, size_t count, const float *real,
                              void *stored, struct fault *fault)
{
    if (tensor->element->qnn != QNN_FLOAT_16)
        return quantize(tensor, first, first + count, real, stored, fault);
    for (size_t i = 0; i < count; i++) {
        uint16_t half = float_to_half(real[i]);
        memcpy((unsigned char *)stored + 2 * i, &half, sizeof half);
    }
    return RUN_OK;
}

void tensor_to_float(const struct tensor *tensor, size_t first, size_t count, const void *stored, float *real)
{
    size_t end = first + count;
    if (tensor->element->qnn == QNN_FLOAT_16) {
        for (size_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, (const unsigned char *)stored + 2 * i, sizeof half);
            real[i] = half_to_float(half);
        }
        return;
    }
    for (size_t at = first; at < end;) {
        struct stretch stretch = stretch_at(tensor, at, end);
        for (size_t stop = at + stretch.length; at < stop; at++) {
            int64_t steps = load(stored, tensor->element, at - first) + stretch.pair.offset;
            real[at - first] = (float)((double)steps * (double)stretch.pair.scale);
        }
    }
}

void tensor_to_double(const struct tensor *tensor, size_t first, size_t count, const void *stored, double *real)
{
    const struct element *element = tensor->element;
    for (size_t i = 0; i < count; i++) {
        if (tensor_takes_float(tensor)) {
            float value;
            tensor_to_float(tensor, first + i, 1, (const char *)stored + i * element->size, &value);
            real[i] = (double)value;
        } else if (element->descr[1] == 'f' && element->size == sizeof(float)) {
            float value;
            memcpy(&value, (const char *)stored + i * sizeof value, sizeof value);
            real[i] = (double)value;
        } else if (element->descr[1] == 'f') {
            memcpy(&real[i], (const char *)stored + i * sizeof *real, sizeof *real);
        } else {
            int64_t value = load(stored, element, i);
            real[i] = strcmp(element->descr, "<u8") == 0 ? (double)(uint64_t)value : (double)value;
        }
    }
}
