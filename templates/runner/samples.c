#include "samples.h"

#include <stdlib.h>
#include <string.h>

bool join_path(const char *folder, const char *name, char out[PATH_CAPACITY])
{
    int length = snprintf(out, PATH_CAPACITY, "%s/%s", folder, name);
    return length > 0 && length < PATH_CAPACITY;
}

/* ---- which option feeds which input ---- */

static void list_inputs(const struct graph_io *io, struct fault *fault)
{
    char shape[128];
    for (uint32_t i = 0; i < io->count; i++) {
        const struct tensor *tensor = &io->tensors[i];
        shape_text(tensor->shape, tensor->rank, shape, sizeof shape);
        fault_evidence(fault, "the graph wants %.256s: %s %s", tensor->name, dtype_name(tensor->element->descr), shape);
    }
}

static enum status assign(struct samples *samples, const struct named_path *option, struct fault *fault)
{
    uint32_t i = find_tensor(samples->io, option->name);
    if (i < samples->io->count && !samples->inputs[i].path) {
        samples->inputs[i].path = option->path;
        return RUN_OK;
    }
    if (!option->name)
        fault_set(fault, RUN_USAGE, "--input %.512s does not say which input it is", option->path);
    else if (i < samples->io->count)
        fault_set(fault, RUN_USAGE, "input \"%.256s\" is given twice", option->name);
    else
        fault_set(fault, RUN_USAGE, "the graph has no input \"%.256s\"", option->name);
    list_inputs(samples->io, fault);
    return RUN_USAGE;
}

static enum status assign_all(struct samples *samples, const struct options *options, struct fault *fault)
{
    enum status status = RUN_OK;
    for (size_t k = 0; !status && k < options->inputs.count; k++)
        status = assign(samples, &options->inputs.items[k], fault);
    for (uint32_t i = 0; !status && i < samples->io->count; i++)
        if (!samples->inputs[i].path) {
            status = fault_set(fault, RUN_USAGE, "input \"%.256s\" is not given", samples->io->tensors[i].name);
            list_inputs(samples->io, fault);
        }
    return status;
}

/* ---- folders ---- */

static size_t stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) : strlen(name);
}

/* Of the names without their endings, so that folders with other endings have their samples in the same order. */
static int compare_stems(const char *a, const char *b)
{
    size_t la = stem_length(a), lb = stem_length(b);
    int order = memcmp(a, b, la < lb ? la : lb);
    return order ? order : (la > lb) - (la < lb);
}

static bool same_stem(const char *a, const char *b)
{
    return compare_stems(a, b) == 0;
}

struct listing_in_work {
    struct listing *listing;
    size_t capacity;
    bool short_of_memory, too_many;
};

static bool take_name(void *context, const char *name)
{
    struct listing_in_work *work = context;
    struct listing *listing = work->listing;
    const char *ending = strrchr(name, '.');
    /* A name that begins with a point is hidden, or would lead out of the folder of the outputs. */
    if (!ending || *name == '.' || (strcmp(ending, ".npy") != 0 && strcmp(ending, ".raw") != 0))
        return true;
    work->too_many = listing->count == SAMPLES_LIMIT;
    if (work->too_many)
        return false;
    if (listing->count == work->capacity) {
        size_t capacity = work->capacity ? 2 * work->capacity : 64;
        char **grown = realloc(listing->names, capacity * sizeof *grown);
        work->short_of_memory = !grown;
        if (!grown)
            return false;
        listing->names = grown;
        work->capacity = capacity;
    }
    char *copy = malloc(strlen(name) + 1);
    work->short_of_memory = !copy;
    if (copy)
        listing->names[listing->count++] = strcpy(copy, name);
    return copy != NULL;
}

static int by_stem(const void *a, const void *b)
{
    return compare_stems(*(char *const *)a, *(char *const *)b);
}

static enum status list_folder(struct sample_input *input, const struct tensor *tensor, struct fault *fault)
{
    char problem[FAULT_TEXT] = "";
    struct listing *listing = &input->files;
    struct listing_in_work work = {.listing = listing};
    bool read = platform_list_folder(input->path, take_name, &work, problem);
    if (work.short_of_memory)
        return fault_memory(fault);
    if (work.too_many)
        return fault_set(fault, RUN_REFUSED, "input %.256s: %.512s holds more than %d samples", tensor->name, input->path,
                         SAMPLES_LIMIT);
    if (!read || !listing->count) {
        fault_set(fault, RUN_UNAVAILABLE, "input %.256s cannot be read", tensor->name);
        fault_evidence(fault, "%s: %s", input->path, read ? "it holds no .npy and no .raw file" : problem);
        return RUN_UNAVAILABLE;
    }
    qsort(listing->names, listing->count, sizeof *listing->names, by_stem);
    for (size_t i = 1; i < listing->count; i++)
        if (same_stem(listing->names[i - 1], listing->names[i])) {
            fault_set(fault, RUN_REFUSED, "input %.256s has two files for one sample", tensor->name);
            fault_evidence(fault, "%s holds %s and %s", input->path, listing->names[i - 1], listing->names[i]);
            return RUN_REFUSED;
        }
    return RUN_OK;
}

static enum status same_samples(const struct sample_input *first, const struct sample_input *other,
                                struct fault *fault)
{
    size_t i = 0;
    while (i < first->files.count && i < other->files.count && same_stem(first->files.names[i], other->files.names[i]))
        i++;
    if (i == first->files.count && i == other->files.count)
        return RUN_OK;
    fault_set(fault, RUN_REFUSED, "the folders of samples do not hold the same names");
    fault_evidence(fault, "at place %zu, %s holds %s", i, first->path,
                   i < first->files.count ? first->files.names[i] : "no more");
    fault_evidence(fault, "and %s holds %s", other->path, i < other->files.count ? other->files.names[i] : "no more");
    return RUN_REFUSED;
}

static enum status name_samples(struct samples *samples, const struct listing *files, struct fault *fault)
{
    samples->kind = SAMPLES_FOLDER;
    samples->count = files->count;
    samples->names = calloc(files->count, sizeof *samples->names);
    for (size_t i = 0; samples->names && i < files->count; i++) {
        size_t length = stem_length(files->names[i]);
        samples->names[i] = calloc(1, length + 1);
        if (!samples->names[i])
            return fault_memory(fault);
        memcpy(samples->names[i], files->names[i], length);
    }
    return samples->names ? RUN_OK : fault_memory(fault);
}

static enum status open_one(const char *path, const struct tensor *tensor, struct source *out, struct fault *fault)
{
    return source_open(path, SOURCE_INPUT, tensor, out, fault);
}

/* A sample is one run, so a batch among samples is as wrong as any other shape. */
static enum status open_sample(const struct sample_input *input, size_t index, const struct tensor *tensor,
                               char path[PATH_CAPACITY], struct source *out, struct fault *fault)
{
    if (!join_path(input->path, input->files.names[index], path))
        return fault_set(fault, RUN_UNAVAILABLE, "the path of a sample of input %.256s is too long", tensor->name);
    enum status status = open_one(path, tensor, out, fault);
    if (!status && out->parts > 1) {
        source_close(out);
        fault_set(fault, RUN_REFUSED, "input %.256s: a sample holds a batch", tensor->name);
        fault_evidence(fault, "%s holds the input %u times, wanted once", path, out->parts);
        return RUN_REFUSED;
    }
    return status;
}

static enum status check_folder(const struct sample_input *input, const struct tensor *tensor, struct fault *fault)
{
    char path[PATH_CAPACITY];
    struct source source;
    enum status status = RUN_OK;
    for (size_t i = 0; !status && i < input->files.count; i++) {
        status = open_sample(input, i, tensor, path, &source, fault);
        if (!status)
            source_close(&source);
    }
    return status;
}

static enum status open_folders(struct samples *samples, struct fault *fault)
{
    const struct sample_input *first = NULL;
    enum status status = RUN_OK;
    for (uint32_t i = 0; !status && i < samples->io->count; i++) {
        struct sample_input *input = &samples->inputs[i];
        if (!platform_is_folder(input->path))
            continue;
        status = list_folder(input, &samples->io->tensors[i], fault);
        if (!status)
            status = first ? same_samples(first, input, fault) : name_samples(samples, &input->files, fault);
        first = first ? first : input;
    }
    for (uint32_t i = 0; !status && i < samples->io->count; i++)
        status = check_folder(&samples->inputs[i], &samples->io->tensors[i], fault);
    return status;
}

/* ---- files and batches ---- */

static enum status open_file(struct samples *samples, uint32_t index, struct fault *fault)
{
    struct sample_input *input = &samples->inputs[index];
    const struct tensor *tensor = &samples->io->tensors[index];
    enum status status = open_one(input->path, tensor, &input->source, fault);
    if (status || input->source.parts == 1)
        return status;
    if (samples->kind == SAMPLES_ONE) {
        samples->kind = SAMPLES_BATCH;
        samples->count = input->source.parts;
    }
    if (samples->kind == SAMPLES_BATCH && input->source.parts == samples->count)
        return RUN_OK;
    fault_set(fault, RUN_REFUSED, "input %.256s is a batch of another size than the other inputs", tensor->name);
    fault_evidence(fault, "found the input %u times in %s", input->source.parts, input->path);
    if (samples->kind == SAMPLES_BATCH)
        fault_evidence(fault, "wanted once, or %zu times", samples->count);
    else
        fault_evidence(fault, "wanted once: other inputs are folders of samples");
    return RUN_REFUSED;
}

enum status samples_open(const struct graph_io *io, const struct options *options, struct samples *out,
                         struct fault *fault)
{
    *out = (struct samples){.io = io, .count = 1};
    out->inputs = calloc(io->count ? io->count : 1, sizeof *out->inputs);
    if (!out->inputs)
        return fault_memory(fault);
    enum status status = assign_all(out, options, fault);
    if (!status)
        status = open_folders(out, fault);
    for (uint32_t i = 0; !status && i < io->count; i++)
        if (!out->inputs[i].files.count)
            status = open_file(out, i, fault);
    return status;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

void samples_close(struct samples *samples)
{
    for (uint32_t i = 0; samples->inputs && i < samples->io->count; i++) {
        source_close(&samples->inputs[i].source);
        free_names(samples->inputs[i].files.names, samples->inputs[i].files.count);
    }
    free_names(samples->names, samples->count);
    free(samples->inputs);
    *samples = (struct samples){0};
}

enum status samples_load(struct samples *samples, size_t index, const struct feed *feed, struct fault *fault)
{
    enum status status = RUN_OK;
    for (uint32_t i = 0; !status && i < samples->io->count; i++) {
        struct sample_input *input = &samples->inputs[i];
        const struct tensor *tensor = &samples->io->tensors[i];
        if (!input->files.count) {
            /* A file of one part was read for the first run and stays in the buffer. */
            if (input->source.file)
                status = source_read(&input->source, tensor, feed->data[i], fault);
            continue;
        }
        char path[PATH_CAPACITY];
        struct source source;
        status = open_sample(input, index, tensor, path, &source, fault);
        if (!status) {
            status = source_read(&source, tensor, feed->data[i], fault);
            source_close(&source);
        }
    }
    return status;
}
