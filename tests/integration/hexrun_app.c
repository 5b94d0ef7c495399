/* An app as its developer would write it against hexrun.h: hexrun_app FOLDER INPUT OUTPUT [THREADS [RUNS]]. INPUT and
 * OUTPUT are float32 without a head, for a model of one graph. Every thread has buffers of its own and all share one
 * handle; a second handle on the same folder runs beside it. All of them must compute the same. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hexrun.h"

enum { THREADS = 8 };

struct job {
    struct hexrun *model;
    const float *in;
    float *out;
    uint64_t in_bytes, out_bytes;
    int runs, status;
};

static void *work(void *argument)
{
    struct job *job = argument;
    struct hexrun_buffer in = {.data = (void *)(uintptr_t)job->in, .bytes = job->in_bytes, .form = HEXRUN_FLOAT32};
    struct hexrun_buffer out = {.data = job->out, .bytes = job->out_bytes, .form = HEXRUN_FLOAT32};
    struct hexrun_call call = {
        .size = sizeof call, .inputs = &in, .input_count = 1, .outputs = &out, .output_count = 1};
    for (int i = 0; !job->status && i < job->runs; i++)
        job->status = hexrun_run(job->model, &call);
    return NULL;
}

/* Says what went wrong and closes what is open. */
static int complain(struct hexrun *models[2], struct hexrun *model, int status)
{
    struct hexrun_error error = {.size = sizeof error};
    hexrun_last_error(model, &error);
    fprintf(stderr, "%d: %s\n%s\n%s\n", status, error.what, error.evidence, error.fix);
    for (int i = 0; i < 2; i++)
        hexrun_close(&models[i]);
    return status ? status : 1;
}

static uint64_t floats_of(struct hexrun *model, uint32_t side)
{
    struct hexrun_tensor tensor = {.size = sizeof tensor};
    return hexrun_describe_tensor(model, 0, side, 0, &tensor) ? 0 : tensor.elements;
}

static void *read_whole(const char *path, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    void *data = malloc(bytes);
    if (!file || !data || fread(data, 1, bytes, file) != bytes)
        exit(100);
    fclose(file);
    return data;
}

int main(int argc, char **argv)
{
    struct hexrun *models[2] = {NULL, NULL};
    struct job jobs[THREADS] = {{0}};
    pthread_t threads[THREADS];
    int count = argc > 4 ? atoi(argv[4]) : 1, status = 0;
    if (argc < 4 || count < 1 || count > THREADS)
        return 99;
    for (int i = 0; i < (count > 1 ? 2 : 1); i++)
        if ((status = hexrun_open(argv[1], NULL, &models[i])))
            return complain(models, models[i], status);
    uint64_t in = floats_of(models[0], HEXRUN_INPUT) * sizeof(float);
    uint64_t out = floats_of(models[0], HEXRUN_OUTPUT) * sizeof(float);
    float *input = read_whole(argv[2], in);
    for (int i = 0; i < count; i++) {
        /* The last one has the second handle. */
        struct hexrun *model = models[count > 1 && i + 1 == count];
        jobs[i] = (struct job){model, input, calloc(1, out), in, out, argc > 5 ? atoi(argv[5]) : 1, 0};
        pthread_create(&threads[i], NULL, work, &jobs[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        if (jobs[i].status)
            return complain(models, jobs[i].model, jobs[i].status);
        if (memcmp(jobs[i].out, jobs[0].out, out) != 0)
            return 101;
    }
    FILE *file = fopen(argv[3], "wb");
    if (!file || fwrite(jobs[0].out, 1, out, file) != out || fclose(file) != 0)
        return 102;
    for (int i = 0; i < 2; i++) {
        hexrun_close(&models[i]);
        hexrun_close(&models[i]);
    }
    for (int i = 0; i < count; i++)
        free(jobs[i].out);
    free(input);
    return models[0] ? 103 : 0;
}
