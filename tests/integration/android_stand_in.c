/* Android around an app, on this machine: assets are files below ASSETS, the log goes to standard output. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "android_abi.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int finished;

struct android_asset *AAssetManager_open(struct android_assets *assets, const char *name, int mode)
{
    char path[4096];
    (void)assets;
    (void)mode;
    snprintf(path, sizeof path, "%s/%s", getenv("ASSETS"), name);
    printf("asset %s\n", name);
    return (struct android_asset *)fopen(path, "rb");
}

int AAsset_read(struct android_asset *asset, void *out, size_t size)
{
    size_t got = fread(out, 1, size, (FILE *)asset);
    return ferror((FILE *)asset) ? -1 : (int)got;
}

void AAsset_close(struct android_asset *asset)
{
    fclose((FILE *)asset);
}

int __android_log_write(int priority, const char *tag, const char *text)
{
    return printf("%s %s: %s\n", priority == LOG_ERROR ? "E" : "I", tag, text);
}

int __system_property_get(const char *name, char *value)
{
    const char *set = strcmp(name, "debug.hexrun.iterations") == 0 ? getenv("ITERATIONS") : NULL;
    return set ? snprintf(value, PROPERTY_MAX, "%s", set) : 0;
}

void ANativeActivity_finish(struct android_activity *activity)
{
    (void)activity;
    pthread_mutex_lock(&lock);
    finished++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

void ANativeActivity_onCreate(struct android_activity *activity, void *state, size_t size);

/* Starts the activity as often as STARTS says, and ends each when it asks for it. */
int main(void)
{
    int starts = getenv("STARTS") ? atoi(getenv("STARTS")) : 1;
    struct android_callbacks callbacks[2];
    struct android_activity activities[2];
    memset(callbacks, 0, sizeof callbacks);
    memset(activities, 0, sizeof activities);
    for (int i = 0; i < starts; i++) {
        activities[i].callbacks = &callbacks[i];
        activities[i].internal_data_path = getenv("DATA");
        ANativeActivity_onCreate(&activities[i], NULL, 0);
    }
    pthread_mutex_lock(&lock);
    while (finished < starts)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < starts; i++)
        callbacks[i].on_destroy(&activities[i]);
    puts("ended");
    return 0;
}
