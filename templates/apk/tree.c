#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INDEX_MOST = 1 << 20, BLOCK = 1 << 16 };

static const char INDEX[] = "index.txt";
static const char *const LINKS[] = {"lib", "dsp"};

static bool fail(char *said, const char *what, const char *path)
{
    snprintf(said, TREE_SAID, "%s %s: %s", what, path, strerror(errno));
    return false;
}

/* Reads an asset of at most INDEX_MOST bytes; NULL when it is not there or larger. Ends with a zero. */
static char *read_asset(struct android_assets *assets, const char *path)
{
    struct android_asset *asset = AAssetManager_open(assets, path, ASSET_STREAMING);
    char *text = asset ? calloc(1, INDEX_MOST + 1) : NULL;
    size_t size = 0;
    int got = 0;
    while (text && size < INDEX_MOST && (got = AAsset_read(asset, text + size, INDEX_MOST - size)) > 0)
        size += (size_t)got;
    if (asset)
        AAsset_close(asset);
    if (!text || got < 0 || size == INDEX_MOST || !size) {
        free(text);
        return NULL;
    }
    return text;
}

static bool is_there(const char *path, const char *text)
{
    size_t size = strlen(text);
    char *have = calloc(1, size + 2);
    FILE *file = have ? fopen(path, "rb") : NULL;
    size_t got = file ? fread(have, 1, size + 1, file) : 0;
    if (file)
        fclose(file);
    bool same = have && got == size && memcmp(have, text, size) == 0;
    free(have);
    return same;
}

static bool make_folders(char *path, char *said)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        if (!made)
            fail(said, "cannot make", path);
        *slash = '/';
        if (!made)
            return false;
    }
    return true;
}

static bool copy(struct android_assets *assets, const char *asset_path, unsigned long long size, char *path, char *said)
{
    if (!make_folders(path, said))
        return false;
    struct android_asset *asset = AAssetManager_open(assets, asset_path, ASSET_STREAMING);
    if (!asset) {
        snprintf(said, TREE_SAID, "the app has no asset %s", asset_path);
        return false;
    }
    FILE *file = fopen(path, "wb");
    char *block = malloc(BLOCK);
    unsigned long long written = 0;
    bool good = file && block;
    int got = 0;
    while (good && (got = AAsset_read(asset, block, BLOCK)) > 0) {
        good = fwrite(block, 1, (size_t)got, file) == (size_t)got;
        written += (unsigned long long)got;
    }
    good = good && got == 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (!good)
        fail(said, "cannot write", path);
    else if (written != size) {
        snprintf(said, TREE_SAID, "asset %s has %llu bytes and should have %llu", asset_path, written, size);
        good = false;
    }
    if (file && fclose(file) != 0 && good)
        good = fail(said, "cannot write", path);
    free(block);
    AAsset_close(asset);
    return good;
}

/* Every line: digest, size, path. The digests are for people: the app's signature covers its assets. */
static bool copy_all(struct android_assets *assets, const char *source, const char *folder, const char *index,
                     char *said)
{
    const char *line = index;
    while (*line) {
        const char *end = strchr(line, '\n');
        char path[TREE_PATH], from[2 * TREE_PATH], to[2 * TREE_PATH];
        unsigned long long size;
        int width = end ? (int)(end - line) : -1;
        int begins = 0;
        if (width < 0 || sscanf(line, "%*64[0-9a-f] %llu %n", &size, &begins) != 1 || !begins || begins >= width ||
            width - begins >= TREE_PATH) {
            snprintf(said, TREE_SAID, "%s/%s is damaged", source, INDEX);
            return false;
        }
        snprintf(path, sizeof path, "%.*s", width - begins, line + begins);
        snprintf(from, sizeof from, "%s/%s", source, path);
        snprintf(to, sizeof to, "%s/%s", folder, path);
        if (!copy(assets, from, size, to, said))
            return false;
        line = end + 1;
    }
    return true;
}

static bool write_index(const char *folder, const char *index, char *said)
{
    char part[2 * TREE_PATH], path[2 * TREE_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, INDEX);
    snprintf(part, sizeof part, "%s/%s.part", folder, INDEX);
    FILE *file = fopen(part, "wb");
    bool good = file && fputs(index, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file && fclose(file) != 0)
        good = false;
    if (!good || rename(part, path) != 0)
        return fail(said, "cannot write", path);
    return true;
}

bool tree_prepare(struct android_assets *assets, const char *source, const char *folder, const char *libraries,
                  char *said)
{
    char path[2 * TREE_PATH];
    snprintf(path, sizeof path, "%s/%s", source, INDEX);
    char *index = read_asset(assets, path);
    if (!index) {
        snprintf(said, TREE_SAID, "the app has no asset %s", path);
        return false;
    }
    snprintf(path, sizeof path, "%s/%s", folder, INDEX);
    bool good = is_there(path, index);
    if (!good) {
        unlink(path);
        good = copy_all(assets, source, folder, index, said) && write_index(folder, index, said);
    }
    for (size_t i = 0; good && i < sizeof LINKS / sizeof *LINKS; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, LINKS[i]);
        unlink(path); /* an update of the app moves its libraries */
        if (symlink(libraries, path) != 0)
            good = fail(said, "cannot make", path);
    }
    free(index);
    return good;
}
