#include "options.h"

#include <string.h>

#include "config.h"

static const char HELP[] =
    "usage: hexrun --input NAME=FILE [--input NAME=FILE ...] [options]\n"
    "\n"
    "Runs a compiled model on the Hexagon NPU, or on its simulator.\n"
    "\n"
    "  --input NAME=FILE   a .npy or .raw file for one input; the name may be left out\n"
    "                      when the graph has a single input\n"
    "  --output DIR        write every output as DIR/NAME.npy\n"
    "  --native            write outputs as the graph stores them, not as float32\n"
    "  --iterations N      run N times and report the times (default 1)\n"
    "  --warmup N          run N times before that, unmeasured (default 0)\n"
    "  --graph NAME        which graph, when the model has several\n"
    "  --soc NAME|NUMBER   which model, when the package has several\n"
    "  --power PROFILE     clock vote, e.g. burst, balanced, power_saver, default\n"
    "  --config FILE       runner.conf (default: beside hexrun, then ../share)\n"
    "  --describe          print the model's graphs, inputs and outputs; run nothing\n"
    "  --doctor            say step by step why the NPU does not answer; run nothing\n"
    "  --json              print one JSON document on stdout\n"
    "  --version, --help\n"
    "\n"
    "exit codes: 0 done; 1 the model, device and inputs do not fit each other; 2 command line\n"
    "or runner.conf; 3 a file or library cannot be read or written; 4 the backend returned an\n"
    "error; 70 a fault of hexrun; 130 interrupted\n";

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

static enum status add_input(struct options *options, char *value, struct fault *fault)
{
    if (options->input_count == OPTIONS_INPUTS)
        return fault_set(fault, RUN_USAGE, "more than %d inputs", OPTIONS_INPUTS);
    struct input_option *input = &options->inputs[options->input_count++];
    char *equals = strchr(value, '=');
    if (equals)
        *equals = '\0';
    input->name = equals ? value : NULL;
    input->path = equals ? equals + 1 : value;
    if (*input->path && (!equals || *value))
        return RUN_OK;
    return fault_set(fault, RUN_USAGE, "--input wants NAME=FILE");
}

static enum status count_of(const char *option, const char *value, uint32_t least, uint32_t *out,
                            struct fault *fault)
{
    if (parse_number(value, out) && *out >= least && *out <= ITERATIONS_LIMIT)
        return RUN_OK;
    return fault_set(fault, RUN_USAGE, "%s wants a number from %u to %d, found \"%.60s\"", option, least,
                     ITERATIONS_LIMIT, value);
}

static enum status take_value(struct options *options, const char *word, char *value, struct fault *fault)
{
    const struct {
        const char *word;
        const char **place;
    } texts[] = {
        {"--config", &options->config}, {"--soc", &options->soc},     {"--graph", &options->graph},
        {"--output", &options->output}, {"--power", &options->power},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].word, word) == 0) {
            *texts[i].place = value;
            return *value ? RUN_OK : fault_set(fault, RUN_USAGE, "%s wants a value", word);
        }
    if (strcmp(word, "--input") == 0)
        return add_input(options, value, fault);
    if (strcmp(word, "--iterations") == 0)
        return count_of(word, value, 1, &options->iterations, fault);
    return count_of(word, value, 0, &options->warmup, fault);
}

static bool takes_value(const char *word)
{
    static const char *const WORDS[] = {"--config", "--soc",   "--graph",      "--output",
                                        "--power",  "--input", "--iterations", "--warmup"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strcmp(WORDS[i], word) == 0)
            return true;
    return false;
}

enum status options_parse(int count, char **arguments, struct options *out, struct fault *fault)
{
    *out = (struct options){.iterations = 1};
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
