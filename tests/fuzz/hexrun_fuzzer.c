/* What hexrun reads from people and from files: runner.conf, the head of a .npy file, the command line, and what a
 * stub or skel is. The first byte says which; the rest is the input. Ends by abort() where an answer makes no sense. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "choose.h"
#include "config_lines.h"
#include "doctor_elf.h"
#include "npy.h"
#include "options.h"
#include "status.h"

#define MUST(condition)  \
    do                   \
        if (!(condition)) \
            abort();     \
    while (0)

static void check_fault(enum status status, const struct fault *fault)
{
    MUST(status == fault->status);
    MUST(*fault->what);
    MUST(fault->evidence_count <= FAULT_EVIDENCE);
}

static void choose(const struct config *config)
{
    struct choice choice;
    struct fault fault = {0};
    struct identity identity = {.from_backend = true, .soc_model = 77, .hexagon = 73, .vtcm_mb = 8};
    for (size_t i = 0; i < config->unit_count; i++) {
        const struct compute *unit = &config->units[i];
        MUST(*unit->backend);
        if (choose_variant(config, unit->unit, NULL, &identity, &choice, &fault))
            continue;
        MUST(choice.variant >= config->variants && choice.variant < config->variants + config->variant_count);
        MUST(choice.asset < ASSETS && *choice.variant->assets[choice.asset]);
        MUST(unit->unit == UNIT_NPU || choice.asset != ASSET_CONTEXT);
    }
}

static void read_config(const uint8_t *data, size_t size)
{
    struct fault fault = {0};
    struct config *config = calloc(1, sizeof *config);
    MUST(config);
    strcpy(config->path, "runner.conf");
    enum status status = config_read((const char *)data, size, config, &fault);
    if (status) {
        check_fault(status, &fault);
        MUST(status == RUN_USAGE);
    } else {
        MUST(config->unit_count && config->unit_count <= UNITS);
        MUST(config->variant_count && config->variant_count <= CONFIG_VARIANTS);
        MUST(*config->system && *config->package && *config->power);
        choose(config);
    }
    free(config);
}

static void read_npy(const uint8_t *data, size_t size)
{
    struct fault fault = {0};
    struct npy_header header = {0};
    FILE *file = fmemopen((void *)(uintptr_t)data, size, "rb");
    if (!file)
        return;
    enum status status = npy_read_header(file, "x.npy", &header, &fault);
    long place = ftell(file);
    if (status)
        check_fault(status, &fault);
    else
        MUST(header.rank <= TENSOR_RANK && memchr(header.descr, '\0', sizeof header.descr) && place >= 10 &&
             (size_t)place <= size);
    fclose(file);
}

/* Arguments end with a zero byte each. */
static void read_options(const uint8_t *data, size_t size)
{
    enum { ARGUMENTS = 64 };
    static struct options options;
    struct fault fault = {0};
    char *text = malloc(size + 1);
    char *arguments[ARGUMENTS + 1] = {"hexrun"};
    int count = 1;
    MUST(text);
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t at = 0; at < size && count < ARGUMENTS; at += strlen(text + at) + 1)
        arguments[count++] = text + at;
    enum status status = options_parse(count, arguments, &options, &fault);
    if (status) {
        check_fault(status, &fault);
        MUST(status == RUN_USAGE);
    } else {
        MUST(options.iterations >= 1 && options.iterations <= ITERATIONS_LIMIT);
        MUST(options.min_cosine >= 0 && options.min_cosine <= 1);
    }
    free(text);
}

static void read_elf(const uint8_t *data, size_t size)
{
    static const char PLACE[] = "library.so"; /* in a folder of the fuzzer's own */
    struct elf_facts facts;
    char problem[FAULT_TEXT] = "";
    FILE *file = fopen(PLACE, "wb");
    MUST(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    if (!elf_read(PLACE, &facts, problem)) {
        MUST(*problem);
        return;
    }
    MUST(facts.needed_count <= ELF_NEEDED && memchr(facts.build, '\0', sizeof facts.build));
    for (size_t i = 0; i < facts.needed_count; i++)
        MUST(*facts.needed[i] && memchr(facts.needed[i], '\0', sizeof facts.needed[i]));
    MUST(facts.is_elf || (!facts.machine && !facts.hexagon && !facts.needed_count));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const READERS[])(const uint8_t *, size_t) = {read_config, read_npy, read_options,
                                                                  read_elf};
    if (size)
        READERS[data[0] % (sizeof READERS / sizeof *READERS)](data + 1, size - 1);
    return 0;
}
