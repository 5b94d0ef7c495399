/* runner_overhead FOLDER RUNS: one execution through hexrun_run and one straight into the backend's graphExecute, in
 * turn, so that whatever else the machine does falls on both alike. Prints nanoseconds for each pair, then what
 * hexrun copied: "copied FORM INPUT_BYTES COPIED_BYTES". For a model of one graph and one input. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "handle.h"

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long direct(const struct hexrun *model)
{
    const struct lane *lane = &model->lanes[0];
    long long begin = now();
    qnn_error code = model->libraries.backend->call.graph_execute(
        lane->opened, feed_tensors(&lane->inputs), lane->inputs.io->count, feed_tensors(&lane->outputs),
        lane->outputs.io->count, NULL, NULL);
    return code ? -1 : now() - begin;
}

static long long through(struct hexrun *model)
{
    struct hexrun_call call = {.size = sizeof call};
    long long begin = now();
    return hexrun_run(model, &call) ? -1 : now() - begin;
}

static int tell_copies(struct hexrun *model, uint32_t form, const char *name)
{
    struct hexrun_tensor tensor = {.size = sizeof tensor};
    if (hexrun_describe_tensor(model, 0, HEXRUN_INPUT, 0, &tensor))
        return 1;
    uint64_t bytes = form == HEXRUN_NATIVE ? tensor.bytes : tensor.elements * sizeof(float);
    struct hexrun_buffer in = {.data = calloc(1, bytes), .bytes = bytes, .form = form};
    struct hexrun_call call = {.size = sizeof call, .inputs = &in, .input_count = 1};
    int status = hexrun_run(model, &call);
    printf("copied %s %llu %llu\n", name, (unsigned long long)tensor.bytes, (unsigned long long)call.copied_bytes);
    free(in.data);
    return status;
}

int main(int argc, char **argv)
{
    struct hexrun *model = NULL;
    int runs = argc == 3 ? atoi(argv[2]) : 0;
    int status = runs > 0 ? hexrun_open(argv[1], NULL, &model) : 99;
    for (int i = -10; !status && i < runs; i++) { /* the first ten warm up */
        long long straight = i % 2 ? direct(model) : 0;
        long long run = through(model);
        straight = straight ? straight : direct(model);
        status = run < 0 || straight < 0;
        if (i >= 0)
            printf("pair %lld %lld\n", run, straight);
    }
    if (!status)
        status = tell_copies(model, HEXRUN_NATIVE, "native") || tell_copies(model, HEXRUN_FLOAT32, "float32");
    hexrun_close(&model);
    return status;
}
