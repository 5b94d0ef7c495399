/* An app that runs a package's model at the priority that apps in front have, and says how long it took.
 *
 * What it says goes to the log, with the tag hexrun, and as report.json into the app's folder. How often it runs is
 * the property debug.hexrun.iterations, which `adb shell setprop` sets. Inputs are zeros: HTP times do not depend on
 * them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "android_abi.h"
#include "hexrun.h"
#include "json.h"
#include "tree.h"
#include "words.h"

enum { ITERATIONS = 100, WARMUP = 10, ITERATIONS_MOST = 100000 };

static const char TAG[] = "hexrun";
static const char PROPERTY[] = "debug.hexrun.iterations";

/* One run at a time; the activity may end before its run does. */
static pthread_mutex_t lock; /* all zeros is one that is ready */
static struct android_activity *shown;
static int running;

struct times {
    uint64_t *us;
    size_t count;
};

static void to_log(void *context, const char *text)
{
    (void)context;
    __android_log_write(LOG_INFO, TAG, text);
}

static size_t iterations(void)
{
    char value[PROPERTY_MAX] = "";
    long wanted = __system_property_get(PROPERTY, value) > 0 ? strtol(value, NULL, 10) : ITERATIONS;
    return wanted > 0 && wanted <= ITERATIONS_MOST ? (size_t)wanted : ITERATIONS;
}

static int by_size(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

/* The nearest rank. */
static uint64_t percentile(const struct times *times, size_t percent)
{
    size_t rank = (times->count * percent + 99) / 100;
    return times->us[rank ? rank - 1 : 0];
}

static int measure(struct hexrun *model, struct times *times)
{
    for (size_t i = 0; i < WARMUP + times->count; i++) {
        struct hexrun_call call = {.size = sizeof call};
        int status = hexrun_run(model, &call);
        if (status)
            return status;
        if (i >= WARMUP)
            times->us[i - WARMUP] = call.took_us;
    }
    qsort(times->us, times->count, sizeof *times->us, by_size);
    return HEXRUN_OK;
}

static void write_description(struct json *json, struct hexrun *model)
{
    struct hexrun_description is = {.size = sizeof is};
    if (hexrun_describe(model, &is) != HEXRUN_OK)
        return;
    json_string(json, "soc", is.soc);
    json_string(json, "chosen_because", is.chosen_because);
    json_string(json, "unit", is.unit);
    json_string(json, "backend_build", is.backend_build);
    json_bool(json, "simulated", is.simulated != 0);
}

static void write_error(struct json *json, struct hexrun *model, int status)
{
    static struct hexrun_error error; /* nine kilobytes are much for the stack of a thread */
    error.size = sizeof error;
    json_number(json, "status", (uint64_t)status);
    if (hexrun_last_error(model, &error) != HEXRUN_OK)
        return;
    __android_log_write(LOG_ERROR, TAG, error.what);
    __android_log_write(LOG_ERROR, TAG, error.evidence);
    json_string(json, "what", error.what);
    json_string(json, "evidence", error.evidence);
    json_string(json, "fix", error.fix);
    json_number(json, "code", error.code);
    json_string(json, "sentence", error.sentence);
    json_string(json, "look_first", error.look_first);
}

static void write_times(struct json *json, const struct times *times)
{
    char line[160];
    json_number(json, "status", HEXRUN_OK);
    json_number(json, "warmup", WARMUP);
    json_number(json, "iterations", times->count);
    json_open_object(json, "us");
    json_number(json, "min", times->us[0]);
    json_number(json, "median", percentile(times, 50));
    json_number(json, "p90", percentile(times, 90));
    json_number(json, "p99", percentile(times, 99));
    json_number(json, "max", times->us[times->count - 1]);
    json_close_object(json);
    snprintf(line, sizeof line, "%zu runs: median %llu us, p90 %llu us", times->count,
             (unsigned long long)percentile(times, 50), (unsigned long long)percentile(times, 90));
    __android_log_write(LOG_INFO, TAG, line);
}

/* Runs the model of the tree, or says in `said` why there is no tree, and writes the report. */
static void run(const char *folder, const char *report, const char *said)
{
    struct hexrun *model = NULL;
    struct times times = {.count = iterations()};
    struct json json = {.out = fopen(report, "wb")};
    if (!json.out) {
        __android_log_write(LOG_ERROR, TAG, report);
        return;
    }
    json_open_object(&json, NULL);
    json_string(&json, "package", APP_PACKAGE);
    json_string(&json, "version", APP_VERSION);
    times.us = calloc(times.count, sizeof *times.us);
    if (*said || !times.us) {
        __android_log_write(LOG_ERROR, TAG, *said ? said : "out of memory");
        json_number(&json, "status", *said ? HEXRUN_UNAVAILABLE : HEXRUN_DEFECT);
        json_string(&json, "what", *said ? said : "out of memory");
    } else {
        hexrun_log_to(to_log, NULL);
        int status = hexrun_open(folder, NULL, &model);
        if (!status) {
            write_description(&json, model);
            status = measure(model, &times);
        }
        if (status)
            write_error(&json, model, status);
        else
            write_times(&json, &times);
        hexrun_close(&model);
    }
    json_close_object(&json);
    fputc('\n', json.out);
    fclose(json.out);
    free(times.us);
}

/* Where Android put this library, and so all of the app's. */
static void find_libraries(char *out, size_t size)
{
    struct android_symbol here;
    *out = '\0';
    if (dladdr((const void *)TAG, &here))
        snprintf(out, size, "%s", here.library);
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

static void *work(void *unused)
{
    (void)unused;
    char folder[TREE_PATH] = "", report[TREE_PATH] = "", libraries[TREE_PATH], said[TREE_SAID] = "";
    find_libraries(libraries, sizeof libraries);
    pthread_mutex_lock(&lock); /* the assets go away with the activity */
    if (shown) {
        snprintf(folder, sizeof folder, "%s/tree", shown->internal_data_path);
        snprintf(report, sizeof report, "%s/report.json", shown->internal_data_path);
        if (!tree_prepare(shown->assets, APP_ASSETS, folder, libraries, said) && !*said)
            snprintf(said, sizeof said, "the app's files cannot be copied");
    }
    pthread_mutex_unlock(&lock);
    if (*report)
        run(folder, report, said);
    __android_log_write(LOG_INFO, TAG, "done");
    pthread_mutex_lock(&lock);
    running = 0;
    if (shown)
        ANativeActivity_finish(shown);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void ended(struct android_activity *activity)
{
    pthread_mutex_lock(&lock);
    if (shown == activity)
        shown = NULL;
    pthread_mutex_unlock(&lock);
}

/* What Android calls by its name when the app is started. */
__attribute__((visibility("default"))) void ANativeActivity_onCreate(struct android_activity *activity, void *state,
                                                                     size_t size);

void ANativeActivity_onCreate(struct android_activity *activity, void *state, size_t size)
{
    (void)state;
    (void)size;
    pthread_t thread;
    activity->callbacks->on_destroy = ended;
    pthread_mutex_lock(&lock);
    int begin = !running;
    if (begin) {
        running = 1;
        shown = activity;
    }
    pthread_mutex_unlock(&lock);
    if (begin && pthread_create(&thread, NULL, work, NULL) != 0) {
        pthread_mutex_lock(&lock);
        running = 0;
        shown = NULL;
        pthread_mutex_unlock(&lock);
        begin = 0;
    }
    if (!begin) {
        __android_log_write(LOG_ERROR, TAG, "a run is under way, or no thread can be had");
        ANativeActivity_finish(activity);
    }
}
