#include "feed.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"

enum { FILE_STEM = 120 };

struct qnn_tensor *feed_tensors(const struct feed *feed)
{
    return (struct qnn_tensor *)(void *)feed->raw;
}

enum status feed_open(const struct model *model, const struct graph_io *io, struct feed *out, struct fault *fault)
{
    size_t count = io->count ? io->count : 1;
    *out = (struct feed){.io = io, .stride = model->tensor_stride};
    out->raw = calloc(count, out->stride);
    out->data = calloc(count, sizeof *out->data);
    if (!out->raw || !out->data)
        return fault_memory(fault);
    for (uint32_t i = 0; i < io->count; i++) {
        size_t bytes = tensor_bytes(&io->tensors[i]);
        out->data[i] = calloc(1, bytes ? bytes : 1);
        if (!out->data[i])
            return fault_memory(fault);
        struct qnn_tensor *tensor = (struct qnn_tensor *)(void *)(out->raw + i * out->stride);
        memcpy(tensor, raw_tensor(model, io, i), out->stride);
        tensor->v1.memory_type = QNN_TENSOR_RAW;
        tensor->v1.memory.client.data = out->data[i];
        tensor->v1.memory.client.size = (uint32_t)bytes;
    }
    return RUN_OK;
}

void feed_close(struct feed *feed)
{
    for (uint32_t i = 0; feed->data && i < feed->io->count; i++)
        free(feed->data[i]);
    free(feed->data);
    free(feed->raw);
    *feed = (struct feed){0};
}

/* ---- inputs ---- */

static enum status read_elements(FILE *file, const char *path, void *out, size_t bytes, struct fault *fault)
{
    if (fread(out, 1, bytes, file) == bytes && fgetc(file) == EOF && !ferror(file))
        return RUN_OK;
    fault_set(fault, RUN_UNAVAILABLE, "%s does not hold the elements that it should", path);
    fault_evidence(fault, "wanted %zu bytes of elements, and the file's end after them", bytes);
    return RUN_UNAVAILABLE;
}

static enum status read_as_float(FILE *file, const char *path, const struct tensor *tensor, void *out,
                                 struct fault *fault)
{
    float *real = malloc(tensor->count ? tensor->count * sizeof *real : 1);
    if (!real)
        return fault_memory(fault);
    enum status status = read_elements(file, path, real, tensor->count * sizeof *real, fault);
    if (!status)
        status = tensor_from_float(tensor, real, out, fault);
    free(real);
    return status;
}

static enum status read_npy(FILE *file, const char *path, const struct tensor *tensor, void *out,
                            struct fault *fault)
{
    struct npy_header header;
    enum status status = npy_read_header(file, path, &header, fault);
    if (status)
        return status;
    char found[128], wanted[128];
    shape_text(header.shape, header.rank, found, sizeof found);
    shape_text(tensor->shape, tensor->rank, wanted, sizeof wanted);
    if (strcmp(found, wanted) != 0) {
        fault_set(fault, RUN_REFUSED, "input %.256s has another shape than the graph", tensor->name);
        fault_evidence(fault, "found %s in %s", found, path);
        fault_evidence(fault, "wanted %s", wanted);
        return RUN_REFUSED;
    }
    if (strcmp(header.descr, tensor->element->descr) == 0)
        return read_elements(file, path, out, tensor_bytes(tensor), fault);
    if (strcmp(header.descr, "<f4") == 0 && tensor_takes_float(tensor))
        return read_as_float(file, path, tensor, out, fault);
    fault_set(fault, RUN_REFUSED, "input %.256s has another element type than the graph", tensor->name);
    fault_evidence(fault, "found %s in %s", dtype_name(header.descr), path);
    fault_evidence(fault, "wanted %s%s", dtype_name(tensor->element->descr),
                   tensor_takes_float(tensor) ? " or float32" : "");
    return RUN_REFUSED;
}

/* A raw file has no header, so its size says what it holds. */
static enum status read_raw(FILE *file, const char *path, const struct tensor *tensor, void *out,
                            struct fault *fault)
{
    size_t native = tensor_bytes(tensor);
    size_t real = tensor->count * sizeof(float);
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    rewind(file);
    if (size >= 0 && (size_t)size == native)
        return read_elements(file, path, out, native, fault);
    if (size >= 0 && (size_t)size == real && tensor_takes_float(tensor))
        return read_as_float(file, path, tensor, out, fault);
    fault_set(fault, RUN_REFUSED, "input %.256s has another size than the graph", tensor->name);
    fault_evidence(fault, "found %ld bytes in %s", size, path);
    fault_evidence(fault, "wanted %zu bytes of %s", native, dtype_name(tensor->element->descr));
    if (tensor_takes_float(tensor))
        fault_evidence(fault, "or %zu bytes of float32", real);
    return RUN_REFUSED;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static enum status read_input(const char *path, const struct tensor *tensor, void *out, struct fault *fault)
{
    char problem[FAULT_TEXT] = "";
    bool npy = ends_with(path, ".npy");
    if (!npy && !ends_with(path, ".raw"))
        return fault_set(fault, RUN_USAGE, "input %.256s: %s is neither .npy nor .raw", tensor->name, path);
    FILE *file = platform_open(path, "rb", problem);
    if (!file) {
        fault_set(fault, RUN_UNAVAILABLE, "input %.256s cannot be read", tensor->name);
        fault_evidence(fault, "%s: %s", path, problem);
        return RUN_UNAVAILABLE;
    }
    enum status status = npy ? read_npy(file, path, tensor, out, fault) : read_raw(file, path, tensor, out, fault);
    fclose(file);
    return status;
}

static void list_inputs(const struct graph_io *io, struct fault *fault)
{
    char shape[128];
    for (uint32_t i = 0; i < io->count; i++) {
        const struct tensor *tensor = &io->tensors[i];
        shape_text(tensor->shape, tensor->rank, shape, sizeof shape);
        fault_evidence(fault, "the graph wants %.256s: %s %s", tensor->name, dtype_name(tensor->element->descr), shape);
    }
}

/* The index of the input that this option feeds, io->count when there is none. */
static uint32_t find_input(const struct graph_io *io, const char *name)
{
    if (!name)
        return io->count == 1 ? 0 : io->count;
    uint32_t i = 0;
    while (i < io->count && strcmp(io->tensors[i].name, name) != 0)
        i++;
    return i;
}

static enum status read_all(struct feed *feed, const struct options *options, bool *given, struct fault *fault)
{
    for (size_t k = 0; k < options->input_count; k++) {
        const struct input_option *input = &options->inputs[k];
        uint32_t i = find_input(feed->io, input->name);
        if (i == feed->io->count || given[i]) {
            if (!input->name)
                fault_set(fault, RUN_USAGE, "--input %s does not say which input it is", input->path);
            else
                fault_set(fault, RUN_USAGE, i < feed->io->count ? "input \"%.256s\" is given twice"
                                                                : "the graph has no input \"%.256s\"", input->name);
            list_inputs(feed->io, fault);
            return RUN_USAGE;
        }
        given[i] = true;
        enum status status = read_input(input->path, &feed->io->tensors[i], feed->data[i], fault);
        if (status)
            return status;
    }
    for (uint32_t i = 0; i < feed->io->count; i++)
        if (!given[i]) {
            fault_set(fault, RUN_USAGE, "input \"%.256s\" is not given", feed->io->tensors[i].name);
            list_inputs(feed->io, fault);
            return RUN_USAGE;
        }
    return RUN_OK;
}

enum status feed_read(struct feed *feed, const struct options *options, struct fault *fault)
{
    bool *given = calloc(feed->io->count ? feed->io->count : 1, sizeof *given);
    if (!given)
        return fault_memory(fault);
    enum status status = read_all(feed, options, given, fault);
    free(given);
    return status;
}

/* ---- outputs ---- */

/* A tensor's name as a file name on every system. */
static void sanitise(const char *name, char out[FILE_STEM + 1])
{
    size_t length = 0;
    for (; name[length] && length < FILE_STEM; length++) {
        unsigned char c = (unsigned char)name[length];
        out[length] = (c < 0x80 && isalnum(c)) || c == '-' || c == '_' || (c == '.' && length) ? (char)c : '_';
    }
    out[length] = '\0';
}

/* Whether an earlier output has the same file name, letter case aside. */
static bool taken(const struct graph_io *io, uint32_t index, const char *stem)
{
    for (uint32_t i = 0; i < index; i++) {
        char other[FILE_STEM + 1];
        sanitise(io->tensors[i].name, other);
        size_t at = 0;
        while (other[at] && tolower((unsigned char)other[at]) == tolower((unsigned char)stem[at]))
            at++;
        if (!other[at] && !stem[at])
            return true;
    }
    return false;
}

static enum status write_output(const struct tensor *tensor, const char *descr, const void *data, size_t bytes,
                                const char *path, struct fault *fault)
{
    char problem[FAULT_TEXT] = "the disk may be full";
    FILE *file = platform_open(path, "wb", problem);
    bool good = file && npy_write_header(file, descr, tensor->shape, tensor->rank) &&
                fwrite(data, 1, bytes, file) == bytes;
    if (file)
        good = fclose(file) == 0 && good;
    if (good)
        return RUN_OK;
    fault_set(fault, RUN_UNAVAILABLE, "output %.256s cannot be written", tensor->name);
    fault_evidence(fault, "%s: %s", path, problem);
    return RUN_UNAVAILABLE;
}

static enum status write_one(const struct feed *feed, uint32_t index, const char *folder, bool native,
                             struct result *result, struct fault *fault)
{
    const struct tensor *tensor = &feed->io->tensors[index];
    bool convert = !native && tensor_takes_float(tensor);
    result->descr = convert ? "<f4" : tensor->element->descr;
    if (!folder)
        return RUN_OK;
    char stem[FILE_STEM + 1], suffix[16] = "";
    sanitise(tensor->name, stem);
    if (taken(feed->io, index, stem))
        snprintf(suffix, sizeof suffix, "-%u", index);
    int length = snprintf(result->file, sizeof result->file, "%s/%s%s.npy", folder, stem, suffix);
    if (length < 0 || (size_t)length >= sizeof result->file)
        return fault_set(fault, RUN_UNAVAILABLE, "the path of output %.256s is too long", tensor->name);
    if (!convert)
        return write_output(tensor, result->descr, feed->data[index], tensor_bytes(tensor), result->file, fault);
    float *real = malloc(tensor->count ? tensor->count * sizeof *real : 1);
    if (!real)
        return fault_memory(fault);
    tensor_to_float(tensor, feed->data[index], real);
    enum status status = write_output(tensor, "<f4", real, tensor->count * sizeof *real, result->file, fault);
    free(real);
    return status;
}

enum status feed_write(const struct feed *feed, const char *folder, bool native, struct result *results,
                       struct fault *fault)
{
    char problem[FAULT_TEXT] = "";
    if (folder && !platform_make_folder(folder, problem)) {
        fault_set(fault, RUN_UNAVAILABLE, "the output folder cannot be made");
        fault_evidence(fault, "%s: %s", folder, problem);
        return RUN_UNAVAILABLE;
    }
    enum status status = RUN_OK;
    for (uint32_t i = 0; !status && i < feed->io->count; i++)
        status = write_one(feed, i, folder, native, &results[i], fault);
    return status;
}
