/* See failing_calls.h. */
#include "failing_calls.h"

#undef malloc
#undef calloc
#undef realloc
#undef realpath
#undef setenv
#undef opendir
#undef fopen
#undef fdopen
#undef mmap
#undef fread
#undef fgets
#undef ferror
#undef fwrite
#undef fclose

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static FILE *broken;

static bool fails(const char *kind)
{
    static unsigned long calls;
    const char *wanted = getenv("FAIL_KIND");
    const char *at = getenv("FAIL_AT");
    if (!wanted || !at || strcmp(kind, wanted) != 0)
        return false;
    unsigned long number = strtoul(at, NULL, 10);
    calls++;
    if (calls != number && !(calls > number && getenv("FAIL_ON")))
        return false;
    int witness = open(getenv("FAIL_WITNESS"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (witness >= 0)
        close(witness);
    errno = strcmp(kind, "memory") == 0 ? ENOMEM : EIO;
    return true;
}

void *failing_malloc(size_t size)
{
    return fails("memory") ? NULL : malloc(size);
}

void *failing_calloc(size_t count, size_t size)
{
    return fails("memory") ? NULL : calloc(count, size);
}

void *failing_realloc(void *old, size_t size)
{
    return fails("memory") ? NULL : realloc(old, size);
}

char *failing_realpath(const char *path, char *out)
{
    return fails("memory") ? NULL : realpath(path, out);
}

int failing_setenv(const char *name, const char *value, int replace)
{
    return fails("memory") ? -1 : setenv(name, value, replace);
}

DIR *failing_opendir(const char *path)
{
    return fails("memory") ? NULL : opendir(path);
}

FILE *failing_fopen(const char *path, const char *mode)
{
    return fails("memory") ? NULL : fopen(path, mode);
}

FILE *failing_fdopen(int descriptor, const char *mode)
{
    return fails("memory") ? NULL : fdopen(descriptor, mode);
}

void *failing_mmap(void *at, size_t size, int protection, int flags, int descriptor, off_t offset)
{
    return fails("read") ? MAP_FAILED : mmap(at, size, protection, flags, descriptor, offset);
}

size_t failing_fread(void *out, size_t size, size_t count, FILE *file)
{
    bool cut = fails("read");
    broken = cut ? file : broken;
    return fread(out, size, cut ? count / 2 : count, file);
}

char *failing_fgets(char *out, int size, FILE *file)
{
    bool cut = fails("read");
    broken = cut ? file : broken;
    return cut ? NULL : fgets(out, size, file);
}

int failing_ferror(FILE *file)
{
    return file == broken ? 1 : ferror(file);
}

size_t failing_fwrite(const void *data, size_t size, size_t count, FILE *file)
{
    bool cut = fails("write");
    broken = cut ? file : broken;
    return fwrite(data, size, cut ? count / 2 : count, file);
}

int failing_fclose(FILE *file)
{
    bool written = (fcntl(fileno(file), F_GETFL) & O_ACCMODE) != O_RDONLY;
    bool failed = written && fails("write");
    int closed = fclose(file);
    return failed ? EOF : closed;
}
