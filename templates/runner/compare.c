#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding the references ---- */

static const struct graph_io *io_of(const struct compare *compare)
{
    return compare->outputs->feed->io;
}

static bool per_sample(const struct compare *compare)
{
    return compare->outputs->samples->kind == SAMPLES_FOLDER;
}

static void list_outputs(const struct graph_io *io, struct fault *fault)
{
    for (uint32_t i = 0; i < io->count; i++)
        fault_evidence(fault, "the graph gives %.256s", io->tensors[i].name);
}

static enum status assign(struct compare *compare, const struct named_path *option, struct fault *fault)
{
    const struct graph_io *io = io_of(compare);
    if (!option->name && platform_is_folder(option->path)) {
        if (compare->folder)
            return fault_set(fault, RUN_USAGE, "--compare names a second folder, %.512s", option->path);
        compare->folder = option->path;
        return RUN_OK;
    }
    uint32_t i = find_tensor(io, option->name);
    if (i < io->count && !compare->items[i].path) {
        compare->items[i].path = option->path;
        return RUN_OK;
    }
    if (!option->name)
        fault_set(fault, RUN_USAGE, "--compare %.512s does not say which output it is for", option->path);
    else if (i < io->count)
        fault_set(fault, RUN_USAGE, "output \"%.256s\" has two references", option->name);
    else
        fault_set(fault, RUN_USAGE, "the graph has no output \"%.256s\"", option->name);
    list_outputs(io, fault);
    return RUN_USAGE;
}

static enum status check_choice(const struct compare *compare, bool files, struct fault *fault)
{
    if (compare->folder && files)
        return fault_set(fault, RUN_USAGE, "--compare names files and a folder; one or the other");
    if (!files || !per_sample(compare))
        return RUN_OK;
    fault_set(fault, RUN_USAGE, "--compare wants a folder when the inputs are folders of samples");
    fault_evidence(fault, "with one folder for each sample, as --output writes them");
    return RUN_USAGE;
}

/* FOLDER/NAME.npy, or FOLDER/SAMPLE/NAME.npy. */
static enum status locate(const struct compare *compare, uint32_t index, size_t run, char out[PATH_CAPACITY],
                          struct fault *fault)
{
    const char *sample = per_sample(compare) ? compare->outputs->samples->names[run] : NULL;
    int length = snprintf(out, PATH_CAPACITY, "%s%s%s/%s.npy", compare->folder, sample ? "/" : "",
                          sample ? sample : "", compare->outputs->items[index].stem);
    if (length > 0 && length < PATH_CAPACITY)
        return RUN_OK;
    return fault_set(fault, RUN_UNAVAILABLE, "the path of the reference of output %.256s is too long",
                     io_of(compare)->tensors[index].name);
}

static enum status open_checked(const struct compare *compare, uint32_t index, const char *path, struct source *out,
                                struct fault *fault)
{
    const struct tensor *tensor = &io_of(compare)->tensors[index];
    const struct samples *samples = compare->outputs->samples;
    size_t wanted = samples->kind == SAMPLES_BATCH ? samples->count : 1;
    enum status status = source_open(path, SOURCE_REFERENCE, tensor, out, fault);
    if (status || out->parts == wanted)
        return status;
    source_close(out);
    fault_set(fault, RUN_REFUSED, "the reference of output %.256s is of another number of runs", tensor->name);
    fault_evidence(fault, "%s holds the output %u times, wanted %zu times", path, out->parts, wanted);
    return RUN_REFUSED;
}

static enum status check_samples(const struct compare *compare, struct fault *fault)
{
    enum status status = RUN_OK;
    for (size_t run = 0; !status && run < compare->outputs->samples->count; run++)
        for (uint32_t i = 0; !status && i < io_of(compare)->count; i++) {
            char path[PATH_CAPACITY];
            struct source source;
            status = locate(compare, i, run, path, fault);
            if (!status)
                status = open_checked(compare, i, path, &source, fault);
            if (!status)
                source_close(&source);
        }
    return status;
}

static enum status open_files(struct compare *compare, struct fault *fault)
{
    enum status status = RUN_OK;
    for (uint32_t i = 0; !status && i < io_of(compare)->count; i++) {
        struct reference *item = &compare->items[i];
        if (compare->folder) {
            status = locate(compare, i, 0, item->file, fault);
            item->path = item->file;
        }
        if (!status && item->path)
            status = open_checked(compare, i, item->path, &item->source, fault);
    }
    return status;
}

enum status compare_open(const struct outputs *outputs, const struct options *options, struct compare *out,
                         struct fault *fault)
{
    *out = (struct compare){.outputs = outputs, .min_cosine = options->min_cosine};
    if (!options->references.count)
        return RUN_OK;
    out->items = calloc(io_of(out)->count ? io_of(out)->count : 1, sizeof *out->items);
    enum status status = out->items ? RUN_OK : fault_memory(fault);
    for (size_t k = 0; !status && k < options->references.count; k++)
        status = assign(out, &options->references.items[k], fault);
    if (!status)
        status = check_choice(out, options->references.count > (out->folder ? 1 : 0), fault);
    if (!status)
        status = per_sample(out) ? check_samples(out, fault) : open_files(out, fault);
    return status;
}

void compare_close(struct compare *compare)
{
    for (uint32_t i = 0; compare->items && i < io_of(compare)->count; i++)
        source_close(&compare->items[i].source);
    free(compare->items);
    compare->items = NULL;
}

/* ---- comparing ---- */

struct sums {
    double product, found, wanted;
    double max_abs_error;
    size_t error_element;
};

/* Infinities of one sign agree; they say nothing about an angle. */
static void add_element(struct sums *sums, size_t at, double found, double wanted)
{
    if (isinf(found) && found == wanted)
        return;
    double error = fabs(found - wanted);
    if (isnan(error))
        error = INFINITY;
    sums->product += found * wanted;
    sums->found += found * found;
    sums->wanted += wanted * wanted;
    if (error > sums->max_abs_error) {
        sums->max_abs_error = error;
        sums->error_element = at;
    }
}

/* Two outputs of zeros are alike; zeros and something else have nothing in common. */
static double cosine_of(const struct sums *sums)
{
    if (sums->found == 0 || sums->wanted == 0)
        return sums->found == sums->wanted ? 1 : 0;
    double cosine = sums->product / (sqrt(sums->found) * sqrt(sums->wanted));
    if (isnan(cosine))
        return NAN; /* of one sign, so that it prints alike everywhere */
    return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
}

static enum status sum_up(const struct tensor *tensor, const void *stored, struct source *source, struct sums *sums,
                          struct fault *fault)
{
    double block[SOURCE_BLOCK], found[SOURCE_BLOCK], wanted[SOURCE_BLOCK];
    enum status status = RUN_OK;
    for (size_t first = 0; !status && first < tensor->count; first += SOURCE_BLOCK) {
        size_t rest = tensor->count - first;
        size_t count = rest < SOURCE_BLOCK ? rest : SOURCE_BLOCK;
        status = source_elements(source, count, block, fault);
        if (status)
            return status;
        tensor_to_double(tensor, first, count, (const char *)stored + first * tensor->element->size, found);
        tensor_to_double(&source->as, first, count, block, wanted);
        for (size_t i = 0; i < count; i++)
            add_element(sums, first + i, found[i], wanted[i]);
    }
    return source_part_done(source, fault);
}

static void keep_worst(struct likeness *worst, const struct sums *sums, double cosine, size_t run)
{
    /* Written so that a cosine that is no number is worse than any. */
    if (!worst->compared || (!isnan(worst->cosine) && !(cosine >= worst->cosine))) {
        worst->cosine = cosine;
        worst->cosine_run = run;
    }
    if (!worst->compared || sums->max_abs_error > worst->max_abs_error) {
        worst->max_abs_error = sums->max_abs_error;
        worst->error_element = sums->error_element;
        worst->error_run = run;
    }
    worst->compared = true;
}

static void note_failure(struct compare *compare, uint32_t index, size_t run, double cosine, const struct sums *sums)
{
    const struct samples *samples = compare->outputs->samples;
    char which[PATH_CAPACITY / 16] = "";
    if (!compare->failed++)
        fault_set(&compare->failures, RUN_REFUSED, "the outputs are not those of the reference");
    if (samples->kind == SAMPLES_FOLDER)
        snprintf(which, sizeof which, " of sample %.240s", samples->names[run]);
    else if (samples->kind == SAMPLES_BATCH)
        snprintf(which, sizeof which, " of run %zu of the batch", run);
    fault_evidence(&compare->failures,
                   "output %.256s%s: cosine %.9g, wanted at least %.9g; largest difference %.9g at element %zu",
                   io_of(compare)->tensors[index].name, which, cosine, compare->min_cosine, sums->max_abs_error,
                   sums->error_element);
}

static enum status take_one(struct compare *compare, uint32_t index, size_t run, struct fault *fault)
{
    struct reference *item = &compare->items[index];
    const struct tensor *tensor = &io_of(compare)->tensors[index];
    const void *stored = compare->outputs->feed->data[index];
    struct sums sums = {0};
    enum status status = RUN_OK;
    if (per_sample(compare)) {
        status = locate(compare, index, run, item->file, fault);
        if (!status)
            status = open_checked(compare, index, item->file, &item->source, fault);
    }
    if (!status)
        status = sum_up(tensor, stored, &item->source, &sums, fault);
    if (status)
        return status;
    double cosine = cosine_of(&sums);
    keep_worst(&item->worst, &sums, cosine, run);
    if (!(cosine >= compare->min_cosine))
        note_failure(compare, index, run, cosine, &sums);
    return RUN_OK;
}

enum status compare_take(struct compare *compare, size_t run, struct fault *fault)
{
    enum status status = RUN_OK;
    for (uint32_t i = 0; compare->items && !status && i < io_of(compare)->count; i++)
        if (per_sample(compare) || compare->items[i].path)
            status = take_one(compare, i, run, fault);
    return status;
}

enum status compare_verdict(const struct compare *compare, struct fault *fault)
{
    if (!compare->failed)
        return RUN_OK;
    *fault = compare->failures;
    return RUN_REFUSED;
}
