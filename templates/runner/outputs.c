#include "outputs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"

enum { STEM = 120 };

/* A tensor's name as a file name on every system. */
static void sanitise(const char *name, char *out)
{
    size_t length = 0;
    for (; name[length] && length < STEM; length++) {
        unsigned char c = (unsigned char)name[length];
        out[length] = (c < 0x80 && isalnum(c)) || c == '-' || c == '_' || (c == '.' && length) ? (char)c : '_';
    }
    out[length] = '\0';
}

static bool same_file(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return !*a && !*b;
}

static void name_file(struct outputs *outputs, uint32_t index)
{
    struct output *item = &outputs->items[index];
    char plain[STEM + 1];
    sanitise(outputs->feed->io->tensors[index].name, plain);
    bool taken = false;
    for (uint32_t i = 0; i < index; i++)
        taken = taken || same_file(outputs->items[i].stem, plain);
    if (taken)
        snprintf(item->stem, sizeof item->stem, "%s-%u", plain, index);
    else
        snprintf(item->stem, sizeof item->stem, "%s", plain);
}

static enum status make_folder(const char *path, struct fault *fault)
{
    char problem[FAULT_TEXT] = "";
    if (platform_make_folder(path, problem))
        return RUN_OK;
    fault_set(fault, RUN_UNAVAILABLE, "the output folder cannot be made");
    fault_evidence(fault, "%s: %s", path, problem);
    return RUN_UNAVAILABLE;
}

/* FOLDER/STEM.npy, or FOLDER/SAMPLE/STEM.npy. */
static enum status path_of(const struct outputs *outputs, uint32_t index, const char *sample,
                           char out[PATH_CAPACITY], struct fault *fault)
{
    int length = snprintf(out, PATH_CAPACITY, "%s%s%s/%s.npy", outputs->folder, sample ? "/" : "",
                          sample ? sample : "", outputs->items[index].stem);
    if (length > 0 && length < PATH_CAPACITY)
        return RUN_OK;
    return fault_set(fault, RUN_UNAVAILABLE, "the path of output %.256s is too long",
                     outputs->feed->io->tensors[index].name);
}

enum status outputs_open(const struct feed *feed, const struct samples *samples, const struct options *options,
                         struct outputs *out, struct fault *fault)
{
    *out = (struct outputs){.feed = feed, .samples = samples, .folder = options->output, .native = options->native};
    out->items = calloc(feed->io->count ? feed->io->count : 1, sizeof *out->items);
    enum status status = out->items ? RUN_OK : fault_memory(fault);
    if (!status && out->folder)
        status = make_folder(out->folder, fault);
    for (uint32_t i = 0; !status && i < feed->io->count; i++) {
        const struct tensor *tensor = &feed->io->tensors[i];
        struct output *item = &out->items[i];
        item->converted = !out->native && tensor_takes_float(tensor);
        item->descr = item->converted ? "<f4" : tensor->element->descr;
        digest_open(&item->running);
        name_file(out, i);
        if (out->folder)
            status = path_of(out, i, samples->kind == SAMPLES_FOLDER ? "{sample}" : NULL, item->file, fault);
    }
    return status;
}

static bool begin_file(const struct outputs *outputs, uint32_t index, const char *path, char *problem)
{
    const struct tensor *tensor = &outputs->feed->io->tensors[index];
    struct output *item = &outputs->items[index];
    uint64_t shape[TENSOR_RANK];
    for (uint32_t i = 0; i < tensor->rank; i++)
        shape[i] = tensor->shape[i];
    if (tensor->rank && outputs->samples->kind == SAMPLES_BATCH)
        shape[0] *= outputs->samples->count;
    /* What the head leaves unwritten shows when the draft is closed. */
    if (draft_open(&item->draft, path, problem))
        npy_write_header(item->draft.file, item->descr, shape, tensor->rank);
    return item->draft.file != NULL;
}

/* Digests the elements, and writes them where there is a file. */
static bool put_elements(struct outputs *outputs, uint32_t index, char *problem)
{
    const struct tensor *tensor = &outputs->feed->io->tensors[index];
    struct output *item = &outputs->items[index];
    const char *stored = outputs->feed->data[index];
    float real[SOURCE_BLOCK];
    bool good = true;
    for (size_t first = 0; good && first < tensor->count; first += SOURCE_BLOCK) {
        size_t rest = tensor->count - first;
        size_t count = rest < SOURCE_BLOCK ? rest : SOURCE_BLOCK;
        const char *at = stored + first * tensor->element->size;
        const void *data = item->converted ? (const void *)real : at;
        size_t bytes = count * (item->converted ? sizeof *real : tensor->element->size);
        if (item->converted)
            tensor_to_float(tensor, first, count, at, real);
        digest_add(&item->running, data, bytes);
        good = !item->draft.file || draft_write(&item->draft, data, bytes, problem);
    }
    return good;
}

static enum status cannot_write(const struct outputs *outputs, uint32_t index, const char *path, const char *problem,
                                struct fault *fault)
{
    fault_set(fault, RUN_UNAVAILABLE, "output %.256s cannot be written", outputs->feed->io->tensors[index].name);
    fault_evidence(fault, "%s: %s", path, problem);
    return RUN_UNAVAILABLE;
}

/* A batch is one file that stays open from the first run to the last; anything else is a file per run. Half an
 * array must not pass for a result, so each gets its name when it is whole. */
static enum status take_one(struct outputs *outputs, uint32_t index, size_t run, struct fault *fault)
{
    struct output *item = &outputs->items[index];
    const struct samples *samples = outputs->samples;
    char path[PATH_CAPACITY] = "", problem[FAULT_TEXT] = "";
    const char *sample = samples->kind == SAMPLES_FOLDER ? samples->names[run] : NULL;
    enum status status = outputs->folder ? path_of(outputs, index, sample, path, fault) : RUN_OK;
    if (status)
        return status;
    bool good = !outputs->folder || item->draft.file || begin_file(outputs, index, path, problem);
    good = good && put_elements(outputs, index, problem);
    bool last = samples->kind != SAMPLES_BATCH || run + 1 == samples->count;
    if (good && last && outputs->folder)
        good = draft_close(&item->draft, problem) && draft_keep(&item->draft, path, false, problem);
    return good ? RUN_OK : cannot_write(outputs, index, path, problem, fault);
}

enum status outputs_take(struct outputs *outputs, size_t run, struct fault *fault)
{
    char folder[PATH_CAPACITY];
    enum status status = RUN_OK;
    if (outputs->folder && outputs->samples->kind == SAMPLES_FOLDER) {
        if (!join_path(outputs->folder, outputs->samples->names[run], folder))
            return fault_set(fault, RUN_UNAVAILABLE, "the path of a sample's outputs is too long");
        status = make_folder(folder, fault);
    }
    for (uint32_t i = 0; !status && i < outputs->feed->io->count; i++)
        status = take_one(outputs, i, run, fault);
    return status;
}

void outputs_finish(struct outputs *outputs)
{
    unsigned char bytes[DIGEST_BYTES];
    struct digest whole;
    digest_open(&whole);
    for (uint32_t i = 0; i < outputs->feed->io->count; i++) {
        digest_finish(&outputs->items[i].running, bytes);
        digest_text(bytes, outputs->items[i].sha256);
        digest_add(&whole, bytes, sizeof bytes);
    }
    digest_finish(&whole, bytes);
    digest_text(bytes, outputs->sha256);
}

void outputs_close(struct outputs *outputs)
{
    for (uint32_t i = 0; outputs->items && i < outputs->feed->io->count; i++)
        draft_drop(&outputs->items[i].draft);
    free(outputs->items);
    *outputs = (struct outputs){0};
}
