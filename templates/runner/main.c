/* hexrun: runs one compiled model on the Hexagon NPU, or says in words why it cannot. */
#include <stdio.h>

#include "doctor.h"
#include "platform.h"
#include "report.h"
#include "run.h"
#include "tables.h"

static enum status perform(FILE *out, const struct options *options, struct fault *fault)
{
    struct run run;
    enum status status = options->describe       ? run_describe(&run, options, fault)
                         : options->save_context ? run_save(&run, options, fault)
                                                 : run_execute(&run, options, fault);
    if (status)
        report_fault(out, fault, options->json);
    else if (options->describe)
        report_description(out, &run);
    else if (options->save_context)
        report_saved(out, &run);
    else
        report_results(out, &run);
    /* What is said stays said, whatever the vendor's libraries do while they close. */
    fflush(out);
    run_close(&run);
    return status;
}

static void print_version(FILE *out)
{
    fprintf(out, "hexrun %s", hexrun_version());
    if (*HEXRUN_RESERVATION)
        fprintf(out, " (experimental: %s)", HEXRUN_RESERVATION);
    fputs("\n", out);
}

static void to_watcher(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "hexrun: %s\n", text);
}

int main(int argc, char **argv)
{
    static struct options options;
    static struct fault fault;
    hexrun_log_to(to_watcher, NULL);
    FILE *out = platform_result_stream();
    if (!out || !platform_arguments(&argc, &argv)) {
        say("the system gives neither an output stream nor a command line");
        return RUN_DEFECT;
    }
    enum status status = options_parse(argc, argv, &options, &fault);
    if (status)
        report_fault(out, &fault, options.json);
    else if (options.help)
        options_help(out);
    else if (options.version)
        print_version(out);
    else if (options.doctor)
        status = doctor_run(out, &options);
    else
        status = perform(out, &options, &fault);
    /* A flush that failed drops what it could not write, so that closing may succeed. */
    bool lost = ferror(out) != 0;
    lost = fclose(out) != 0 || lost;
    if (lost && !status) {
        say("the result could not be written");
        status = RUN_UNAVAILABLE;
    }
    return (int)status;
}
