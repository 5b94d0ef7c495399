#include "source.h"

#include <string.h>

#include "npy.h"
#include "platform.h"

static const char *role(enum source_use use)
{
    return use == SOURCE_INPUT ? "input" : "the reference of output";
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* How often `tensor` fits into an array of this shape, one after the other; 0: it does not. */
static uint32_t parts_of(const struct npy_header *header, const struct tensor *tensor)
{
    if (header->rank != tensor->rank)
        return 0;
    for (uint32_t i = 1; i < tensor->rank; i++)
        if (header->shape[i] != tensor->shape[i])
            return 0;
    if (!tensor->rank || header->shape[0] == tensor->shape[0])
        return 1;
    return tensor->shape[0] && header->shape[0] % tensor->shape[0] == 0 ? header->shape[0] / tensor->shape[0] : 0;
}

static enum status check_shape(struct source *source, enum source_use use, const struct npy_header *header,
                               struct fault *fault)
{
    source->parts = parts_of(header, &source->as);
    if (source->parts)
        return RUN_OK;
    char found[128], wanted[128];
    shape_text(header->shape, header->rank, found, sizeof found);
    shape_text(source->as.shape, source->as.rank, wanted, sizeof wanted);
    fault_set(fault, RUN_REFUSED, "%s %.256s has another shape than the graph", role(use), source->as.name);
    fault_evidence(fault, "found %s in %s", found, source->path);
    fault_evidence(fault, "wanted %s", wanted);
    return RUN_REFUSED;
}

/* Settles how the file's elements are to be read. */
static enum status take_element(struct source *source, enum source_use use, const char *descr, struct fault *fault)
{
    struct tensor *as = &source->as;
    if (strcmp(descr, as->element->descr) == 0)
        return RUN_OK;
    const struct element *plain = element_of_descr(descr);
    bool welcome = use == SOURCE_REFERENCE || (strcmp(descr, "<f4") == 0 && tensor_takes_float(as));
    if (plain && welcome) {
        as->element = plain;
        as->quantization = (struct quantization){0};
        return RUN_OK;
    }
    fault_set(fault, RUN_REFUSED, "%s %.256s has another element type than the graph", role(use), as->name);
    fault_evidence(fault, "found %s in %s", dtype_name(descr), source->path);
    fault_evidence(fault, "wanted %s%s", dtype_name(as->element->descr), tensor_takes_float(as) ? " or float32" : "");
    return RUN_REFUSED;
}

static enum status wrong_length(const struct source *source, struct fault *fault)
{
    fault_set(fault, RUN_UNAVAILABLE, "%s does not hold the elements that it should", source->path);
    fault_evidence(fault, "wanted %llu bytes of elements, and the file's end after them",
                   (unsigned long long)tensor_bytes(&source->as) * source->parts);
    return RUN_UNAVAILABLE;
}

static enum status open_npy(struct source *source, enum source_use use, struct fault *fault)
{
    struct npy_header header;
    enum status status = npy_read_header(source->file, source->path, &header, fault);
    if (!status)
        status = check_shape(source, use, &header, fault);
    if (!status)
        status = take_element(source, use, header.descr, fault);
    if (status)
        return status;
    uint64_t bytes = tensor_bytes(&source->as);
    int64_t size = platform_file_size(source->file), head = ftell(source->file);
    /* What the head claims may be beyond any file. */
    bool whole = size >= head && (!bytes || source->parts <= INT64_MAX / bytes) &&
                 (uint64_t)(size - head) == bytes * source->parts;
    return whole ? RUN_OK : wrong_length(source, fault);
}

/* A raw file has no head, so its size says what it holds. */
static enum status open_raw(struct source *source, enum source_use use, struct fault *fault)
{
    const struct tensor *tensor = &source->as;
    int64_t size = platform_file_size(source->file);
    int64_t native = (int64_t)tensor_bytes(tensor);
    int64_t real = (int64_t)(tensor->count * sizeof(float));
    source->parts = 1;
    if (size == native)
        return RUN_OK;
    if (size == real && tensor_takes_float(tensor))
        return take_element(source, use, "<f4", fault);
    fault_set(fault, RUN_REFUSED, "%s %.256s has another size than the graph", role(use), tensor->name);
    fault_evidence(fault, "found %lld bytes in %s", (long long)size, source->path);
    fault_evidence(fault, "wanted %lld bytes of %s", (long long)native, dtype_name(tensor->element->descr));
    if (tensor_takes_float(tensor))
        fault_evidence(fault, "or %lld bytes of float32", (long long)real);
    return RUN_REFUSED;
}

enum status source_open(const char *path, enum source_use use, const struct tensor *tensor, struct source *out,
                        struct fault *fault)
{
    char problem[FAULT_TEXT] = "";
    bool npy = ends_with(path, ".npy");
    *out = (struct source){.path = path, .as = *tensor};
    if (!npy && !ends_with(path, ".raw"))
        return fault_set(fault, RUN_USAGE, "%s %.256s: %.512s is neither .npy nor .raw", role(use), tensor->name, path);
    out->file = platform_open(path, "rb", problem);
    if (!out->file) {
        fault_set(fault, RUN_UNAVAILABLE, "%s %.256s cannot be read", role(use), tensor->name);
        fault_evidence(fault, "%s: %s", path, problem);
        return RUN_UNAVAILABLE;
    }
    enum status status = npy ? open_npy(out, use, fault) : open_raw(out, use, fault);
    if (status)
        source_close(out);
    return status;
}

void source_close(struct source *source)
{
    if (source->file)
        fclose(source->file);
    source->file = NULL;
}

enum status source_elements(struct source *source, size_t count, void *elements, struct fault *fault)
{
    size_t bytes = count * source->as.element->size;
    return fread(elements, 1, bytes, source->file) == bytes ? RUN_OK : wrong_length(source, fault);
}

enum status source_part_done(struct source *source, struct fault *fault)
{
    if (++source->parts_read < source->parts)
        return RUN_OK;
    bool ended = fgetc(source->file) == EOF && !ferror(source->file);
    source_close(source);
    return ended ? RUN_OK : wrong_length(source, fault);
}

static enum status read_floats(struct source *source, const struct tensor *tensor, void *stored, struct fault *fault)
{
    float real[SOURCE_BLOCK];
    enum status status = RUN_OK;
    for (size_t first = 0; !status && first < tensor->count; first += SOURCE_BLOCK) {
        size_t rest = tensor->count - first;
        size_t count = rest < SOURCE_BLOCK ? rest : SOURCE_BLOCK;
        status = source_elements(source, count, real, fault);
        if (!status)
            status = tensor_from_float(tensor, first, count, real, (char *)stored + first * tensor->element->size,
                                       fault);
    }
    return status;
}

enum status source_read(struct source *source, const struct tensor *tensor, void *stored, struct fault *fault)
{
    bool native = source->as.element == tensor->element;
    enum status status = native ? source_elements(source, tensor->count, stored, fault)
                                : read_floats(source, tensor, stored, fault);
    return status ? status : source_part_done(source, fault);
}
