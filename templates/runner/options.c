#include "options.h"

#include <string.h>

#include "config.h"

static const char HELP[] =
    "usage: hexrun --input NAME=FILE [--input NAME=FILE ...] [options]\n"
    "\n"
    "Runs a compiled model on the Hexagon NPU, or on its simulator.\n"
    "\n"
    "  --input NAME=FILE   a .npy or .raw file for one input, or a folder of them, one for\n"
    "                      each sample; the name may be left out when there is one input.\n"
    "                      A .npy file N times as long is a batch of N runs\n"
    "  --output DIR        write every output as DIR/NAME.npy or DIR/SAMPLE/NAME.npy\n"
    "  --native            write outputs as the graph stores them, not as float32\n"
    "  --iterations N      run N times and report the times (default 1)\n"
    "  --warmup N          run N times before that, unmeasured (default 0)\n"
    "  --duration SECONDS  go on running until so much time is over\n"
    "  --compare NAME=FILE a .npy or .raw reference for one output, or a folder of them as\n"
    "                      --output writes it; without likeness hexrun ends with 1\n"
    "  --min-cosine X      the least likeness to the reference (default 0.999)\n"
    "  --profile LEVEL     basic or detailed: the backend's own account of its time\n"
    "  --buffers KIND      plain (default), shared with the DSP, or auto: shared if it can be\n"
    "  --graph NAME        which graph, when the model has several\n"
    "  --soc NAME|NUMBER   which model, when the package has several\n"
    "  --power PROFILE     clock vote, e.g. burst, balanced, power_saver, default\n"
    "  --config FILE       runner.conf (default: beside hexrun, then ../share)\n"
    "  --save-context FILE store a model that is composed here (a DLC, a model library) as a\n"
    "                      context binary, for --soc on the simulator; run nothing\n"
    "  --describe          print the model's graphs, inputs and outputs; run nothing\n"
    "  --doctor            say step by step why the NPU does not answer; run nothing\n"
    "  --json              print one JSON document on stdout\n"
    "  --version, --help\n"
    "\n"
    "exit codes: 0 done; 1 the model, device and inputs do not fit each other, or an output is\n"
    "not like its reference; 2 command line or runner.conf; 3 a file or library cannot be read\n"
    "or written; 4 the backend returned an error; 70 a fault of hexrun; 130 interrupted\n";

void options_help(FILE *out)
{
    fputs(HELP, out);
}

static bool switch_of(struct options *options, const char *word)
{
    const struct {
        const char *word;
        bool *flag;
    } switches[] = {
        {"--json", &options->json},       {"--native", &options->native}, {"--describe", &options->describe},
        {"--version", &options->version}, {"--help", &options->help},     {"-h", &options->help},
        {"--doctor", &options->doctor},
    };
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (strcmp(switches[i].word, word) == 0) {
            *switches[i].flag = true;
            return true;
        }
    return false;
}

static enum status add_path(struct named_paths *paths, const char *option, char *value, struct fault *fault)
{
    if (paths->count == OPTIONS_PATHS)
        return fault_set(fault, RUN_USAGE, "%s is given more than %d times", option, OPTIONS_PATHS);
    struct named_path *path = &paths->items[paths->count++];
    char *equals = strchr(value, '=');
    if (equals)
        *equals = '\0';
    path->name = equals ? value : NULL;
    path->path = equals ? equals + 1 : value;
    if (*path->path && (!equals || *value))
        return RUN_OK;
    return fault_set(fault, RUN_USAGE, "%s wants NAME=FILE", option);
}

static enum status count_of(const char *option, const char *value, uint32_t least, uint32_t *out,
                            struct fault *fault)
{
    if (parse_number(value, out) && *out >= least && *out <= ITERATIONS_LIMIT)
        return RUN_OK;
    return fault_set(fault, RUN_USAGE, "%s wants a number from %u to %d, found \"%.60s\"", option, least,
                     ITERATIONS_LIMIT, value);
}

/* Decimal digits with one point at most; fifteen of them, so that both numbers of the division are exact. */
static bool parse_decimal(const char *text, double *out)
{
    double digits = 0, unit = 1;
    size_t count = 0;
    bool fraction = false;
    for (; *text; text++) {
        if (*text == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (*text < '0' || *text > '9' || ++count > 15)
            return false;
        digits = digits * 10 + (*text - '0');
        unit *= fraction ? 10 : 1;
    }
    *out = digits / unit;
    return count > 0;
}

static enum status decimal_of(const char *option, const char *value, uint32_t most, double *out,
                              struct fault *fault)
{
    if (parse_decimal(value, out) && *out <= most)
        return RUN_OK;
    return fault_set(fault, RUN_USAGE, "%s wants a number up to %u, found \"%.60s\"", option, most, value);
}

/* The place of `value` among `words`, which end with NULL. */
static enum status word_of(const char *option, const char *value, const char *const *words, int *out,
                           struct fault *fault)
{
    char known[64] = "";
    size_t used = 0;
    for (*out = 0; words[*out]; ++*out) {
        if (strcmp(words[*out], value) == 0)
            return RUN_OK;
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", words[*out]);
    }
    return fault_set(fault, RUN_USAGE, "%s wants one of %s; found \"%.60s\"", option, known, value);
}

static enum status profile_of(struct options *options, const char *word, const char *value, struct fault *fault)
{
    static const char *const LEVELS[] = {"basic", "detailed", NULL};
    int level;
    enum status status = word_of(word, value, LEVELS, &level, fault);
    options->profile = level ? PROFILE_DETAILED : PROFILE_BASIC;
    return status;
}

static enum status buffers_of(struct options *options, const char *word, const char *value, struct fault *fault)
{
    static const char *const KINDS[] = {"plain", "shared", "auto", NULL};
    int kind;
    enum status status = word_of(word, value, KINDS, &kind, fault);
    options->buffers = (enum buffer_kind)kind;
    return status;
}

static enum status duration_of(struct options *options, const char *word, const char *value, struct fault *fault)
{
    enum status status = decimal_of(word, value, DURATION_LIMIT, &options->duration, fault);
    if (!status && options->duration == 0)
        return fault_set(fault, RUN_USAGE, "%s wants more than 0 seconds", word);
    return status;
}

static const char *const VALUED[] = {"--config",  "--soc",      "--graph",    "--output",     "--power",
                                     "--input",   "--compare",  "--profile",  "--buffers",    "--duration",
                                     "--warmup",  "--iterations", "--min-cosine", "--save-context"};

static bool takes_value(const char *word)
{
    for (size_t i = 0; i < sizeof VALUED / sizeof *VALUED; i++)
        if (strcmp(VALUED[i], word) == 0)
            return true;
    return false;
}

static enum status take_value(struct options *options, const char *word, char *value, struct fault *fault)
{
    const struct {
        const char *word;
        const char **place;
    } texts[] = {
        {"--config", &options->config}, {"--soc", &options->soc},     {"--graph", &options->graph},
        {"--output", &options->output}, {"--power", &options->power}, {"--save-context", &options->save_context},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].word, word) == 0) {
            *texts[i].place = value;
            return *value ? RUN_OK : fault_set(fault, RUN_USAGE, "%s wants a value", word);
        }
    if (strcmp(word, "--input") == 0)
        return add_path(&options->inputs, word, value, fault);
    if (strcmp(word, "--compare") == 0)
        return add_path(&options->references, word, value, fault);
    if (strcmp(word, "--profile") == 0)
        return profile_of(options, word, value, fault);
    if (strcmp(word, "--buffers") == 0)
        return buffers_of(options, word, value, fault);
    if (strcmp(word, "--duration") == 0)
        return duration_of(options, word, value, fault);
    if (strcmp(word, "--min-cosine") == 0)
        return decimal_of(word, value, 1, &options->min_cosine, fault);
    if (strcmp(word, "--iterations") == 0)
        return count_of(word, value, 1, &options->iterations, fault);
    return count_of(word, value, 0, &options->warmup, fault);
}

enum status options_parse(int count, char **arguments, struct options *out, struct fault *fault)
{
    *out = (struct options){.iterations = 1, .min_cosine = 0.999};
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], "--json") == 0)
            out->json = true;
    for (int i = 1; i < count; i++) {
        char *word = arguments[i];
        if (switch_of(out, word))
            continue;
        if (!takes_value(word)) {
            fault_set(fault, RUN_USAGE, "hexrun does not know \"%.128s\"", word);
            fault_fix(fault, "hexrun --help lists what it knows");
            return RUN_USAGE;
        }
        if (i + 1 == count)
            return fault_set(fault, RUN_USAGE, "%s wants a value", word);
        enum status status = take_value(out, word, arguments[++i], fault);
        if (status)
            return status;
    }
    return RUN_OK;
}
