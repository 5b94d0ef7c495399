/* Linux, and what it shares with Android and QNX. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "platform.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "status.h"

static void explain(char *problem)
{
    snprintf(problem, FAULT_TEXT, "%s", strerror(errno));
}

bool platform_arguments(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    return true;
}

FILE *platform_result_stream(void)
{
    int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return NULL;
    return fdopen(kept, "w");
}

#ifdef __QNX__
/* A file with the path in it, where Linux has a link. */
static bool own_path(char *out, size_t capacity)
{
    FILE *file = fopen("/proc/self/exefile", "r");
    if (!file)
        return false;
    size_t length = fread(out, 1, capacity - 1, file);
    fclose(file);
    out[length] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    return *out && length + 1 < capacity;
}
#else
static bool own_path(char *out, size_t capacity)
{
    ssize_t length = readlink("/proc/self/exe", out, capacity);
    if (length <= 0 || (size_t)length >= capacity)
        return false;
    out[length] = '\0';
    return true;
}
#endif

bool platform_own_folder(char *out, size_t capacity)
{
    if (!own_path(out, capacity))
        return false;
    char *slash = strrchr(out, '/');
    if (!slash)
        return false;
    slash[slash == out] = '\0';
    return true;
}

bool platform_absolute(const char *path, char *out, size_t capacity, char *problem)
{
    char *real = realpath(path, NULL);
    if (!real) {
        explain(problem);
        return false;
    }
    bool fits = strlen(real) < capacity;
    if (fits)
        memcpy(out, real, strlen(real) + 1);
    else
        snprintf(problem, FAULT_TEXT, "the path is longer than %zu bytes", capacity - 1);
    free(real);
    return fits;
}

bool platform_is_absolute(const char *path)
{
    return path[0] == '/';
}

FILE *platform_open(const char *path, const char *mode, char *problem)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        snprintf(problem, FAULT_TEXT, "%s", strerror(EISDIR));
        return NULL;
    }
    FILE *file = fopen(path, mode);
    if (!file)
        explain(problem);
    return file;
}

bool platform_make_folder(const char *path, char *problem)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return true;
    explain(problem);
    return false;
}

static bool sync_file(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    bool done = descriptor >= 0 && fsync(descriptor) == 0;
    int reason = errno;
    if (descriptor >= 0)
        close(descriptor);
    errno = reason;
    return done;
}

bool platform_replace(const char *from, const char *to, bool durable, char *problem)
{
    bool done = (!durable || sync_file(from)) && rename(from, to) == 0;
    if (!done)
        explain(problem);
    return done;
}

void platform_remove(const char *path)
{
    unlink(path);
}

int64_t platform_file_size(FILE *file)
{
    struct stat info;
    return fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) ? (int64_t)info.st_size : -1;
}

bool platform_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool platform_list_folder(const char *path, bool (*take)(void *context, const char *name), void *context,
                          char *problem)
{
    DIR *folder = opendir(path);
    if (!folder) {
        explain(problem);
        return false;
    }
    const struct dirent *entry;
    errno = 0;
    while ((entry = readdir(folder)) && take(context, entry->d_name))
        errno = 0;
    bool whole = entry || !errno;
    if (!whole)
        explain(problem);
    closedir(folder);
    return whole;
}

bool platform_map(const char *path, struct mapped_file *out, char *problem)
{
    bool mapped = false;
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &info) != 0) {
        explain(problem);
    } else if (!S_ISREG(info.st_mode) || info.st_size <= 0) {
        snprintf(problem, FAULT_TEXT, "it is empty or not a file");
    } else {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        mapped = data != MAP_FAILED;
        if (mapped)
            *out = (struct mapped_file){.data = data, .size = (size_t)info.st_size};
        else
            explain(problem);
    }
    if (descriptor >= 0)
        close(descriptor);
    return mapped;
}

void platform_unmap(struct mapped_file *file)
{
    if (file->data)
        munmap((void *)(uintptr_t)file->data, file->size);
    *file = (struct mapped_file){0};
}

void *platform_load(const char *path, char *problem)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        snprintf(problem, FAULT_TEXT, "%s", reason ? reason : "the loader gave no reason");
    }
    return library;
}

void *platform_load_system(const char *name, char *problem)
{
    return platform_load(name, problem);
}

void *platform_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

bool platform_prepend_path(const char *variable, const char *folder)
{
    const char *old = getenv(variable);
    size_t length = strlen(folder);
    if (old && strncmp(old, folder, length) == 0 && (!old[length] || old[length] == ';'))
        return true;
    size_t size = length + (old ? strlen(old) : 0) + 2;
    char *value = malloc(size);
    if (!value)
        return false;
    snprintf(value, size, "%s%s%s", folder, old && *old ? ";" : "", old ? old : "");
    bool set = setenv(variable, value, 1) == 0;
    free(value);
    return set;
}

bool platform_linux_soc_id(uint32_t *id)
{
    FILE *file = fopen("/sys/devices/soc0/soc_id", "r");
    if (!file)
        return false;
    char line[32] = "";
    char *end = line;
    errno = 0;
    unsigned long value = fgets(line, sizeof line, file) ? strtoul(line, &end, 10) : 0;
    fclose(file);
    if (end == line || errno || value > UINT32_MAX)
        return false;
    *id = (uint32_t)value;
    return true;
}

/* Only Android's C library has properties, so it is asked for at run time. */
static bool android_property(const char *key, char *out, size_t capacity)
{
    enum { LONGEST = 92 };
    char value[LONGEST] = "";
    int (*get)(const char *, char *);
    void *program = dlopen(NULL, RTLD_NOW);
    void *found = program ? dlsym(program, "__system_property_get") : NULL;
    if (!found)
        return false;
    memcpy(&get, &found, sizeof get);
    int length = get(key, value);
    if (length <= 0 || length >= LONGEST)
        return false;
    snprintf(out, capacity, "%s", value);
    return true;
}

bool platform_soc_name(char *out, size_t capacity)
{
    if (android_property("ro.soc.model", out, capacity))
        return true;
    FILE *file = fopen("/sys/devices/soc0/machine", "r");
    bool read = file && fgets(out, (int)capacity, file);
    if (file)
        fclose(file);
    if (!read)
        return false;
    out[strcspn(out, "\r\n")] = '\0';
    return *out != '\0';
}

bool platform_has_rpc_votes(void)
{
#ifdef __QNX__
    return false;
#else
    return true;
#endif
}

/* In libc itself as far as it is used here, so that no runner needs libpthread. */
struct platform_lock {
    pthread_mutex_t mutex;
};

struct platform_lock *platform_lock_make(void)
{
    struct platform_lock *lock = malloc(sizeof *lock);
    if (lock && pthread_mutex_init(&lock->mutex, NULL) != 0) {
        free(lock);
        lock = NULL;
    }
    return lock;
}

void platform_lock_enter(struct platform_lock *lock)
{
    if (lock)
        pthread_mutex_lock(&lock->mutex);
}

bool platform_lock_enter_within(struct platform_lock *lock, uint32_t milliseconds)
{
    static const struct timespec ONE_MS = {.tv_nsec = 1000000};
    bool entered = !lock;
    for (uint32_t i = 0; !entered && i <= milliseconds; i++) {
        entered = pthread_mutex_trylock(&lock->mutex) == 0;
        if (!entered)
            nanosleep(&ONE_MS, NULL);
    }
    return entered;
}

void platform_lock_leave(struct platform_lock *lock)
{
    if (lock)
        pthread_mutex_unlock(&lock->mutex);
}

void platform_lock_free(struct platform_lock *lock)
{
    if (lock)
        pthread_mutex_destroy(&lock->mutex);
    free(lock);
}

unsigned long platform_process_id(void)
{
    return (unsigned long)getpid();
}

uint64_t platform_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* Not getrusage: its figure is inherited from the program that started this one. */
bool platform_peak_memory(uint64_t *bytes)
{
    FILE *file = fopen("/proc/self/status", "r");
    if (!file)
        return false;
    char line[256];
    unsigned long long kilobytes = 0;
    while (!kilobytes && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %llu kB", &kilobytes) != 1)
            kilobytes = 0;
    fclose(file);
    *bytes = kilobytes * 1024;
    return kilobytes != 0;
}
