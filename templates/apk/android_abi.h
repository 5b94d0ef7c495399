/* What the app needs of Android's native libraries: our own declarations of a stable interface.
 * (Source: the public documentation of the NDK's native_activity.h, asset_manager.h and log.h.) */
#ifndef HEXRUN_ANDROID_ABI_H
#define HEXRUN_ANDROID_ABI_H

#include <stddef.h>
#include <stdint.h>

struct android_activity;

/* Sixteen of them; only the one that says that the activity ends is of interest. */
struct android_callbacks {
    void (*before_destroy[5])(struct android_activity *);
    void (*on_destroy)(struct android_activity *);
    void (*after_destroy[10])(struct android_activity *);
};

struct android_activity {
    struct android_callbacks *callbacks;
    void *java_vm, *java_env, *java_object;
    const char *internal_data_path, *external_data_path;
    int32_t sdk_version;
    void *instance; /* the app's own */
    struct android_assets *assets;
    const char *obb_path;
};

_Static_assert(offsetof(struct android_callbacks, on_destroy) == 5 * sizeof(void *), "sixth of the callbacks");
_Static_assert(sizeof(struct android_callbacks) == 16 * sizeof(void *), "sixteen callbacks");
_Static_assert(offsetof(struct android_activity, internal_data_path) == 32, "as on arm64");
_Static_assert(offsetof(struct android_activity, instance) == 56, "as on arm64");
_Static_assert(offsetof(struct android_activity, assets) == 64, "as on arm64");

enum { ASSET_STREAMING = 2 };
enum { LOG_INFO = 4, LOG_ERROR = 6 };

struct android_asset;

struct android_asset *AAssetManager_open(struct android_assets *assets, const char *name, int mode);
int AAsset_read(struct android_asset *asset, void *out, size_t size);
void AAsset_close(struct android_asset *asset);
void ANativeActivity_finish(struct android_activity *activity);
int __android_log_write(int priority, const char *tag, const char *text);

/* The address of a function, and the library that it is in. */
struct android_symbol {
    const char *library;
    void *base;
    const char *name;
    void *address;
};

int dladdr(const void *address, struct android_symbol *out);
int __system_property_get(const char *name, char *value);

enum { PROPERTY_MAX = 92 };

#endif
