/* Everything that differs between operating systems; the rest of hexrun is plain C11.
 *
 * Paths are UTF-8 everywhere. A function that fails fills `problem` (size FAULT_TEXT) with the system's
 * own words. */
#ifndef HEXRUN_PLATFORM_H
#define HEXRUN_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PATH_CAPACITY = 4096 };

struct mapped_file {
    const void *data;
    size_t size;
};

/* The command line in UTF-8. Returns false when memory is short. */
bool platform_arguments(int *count, char ***arguments);

/* The stream that results go to. Vendor libraries print to standard output, so that is turned into a
 * second standard error first; NULL when the system refuses. */
FILE *platform_result_stream(void);

/* The folder that the executable is in, without a trailing separator. */
bool platform_own_folder(char *out, size_t capacity);

/* An existing path made absolute, with the system's separators and no `..`. */
bool platform_absolute(const char *path, char *out, size_t capacity, char *problem);
bool platform_is_absolute(const char *path);

FILE *platform_open(const char *path, const char *mode, char *problem);
void platform_remove(const char *path);
/* Bytes of an open file, -1 when it is not a plain one. */
int64_t platform_file_size(FILE *file);
bool platform_make_folder(const char *path, char *problem);
bool platform_is_folder(const char *path);
/* Gives every name in the folder to `take`, in no order, until it returns false. */
bool platform_list_folder(const char *path, bool (*take)(void *context, const char *name), void *context,
                          char *problem);

/* Gives the file `from` the name `to`, which may exist, in one step; `durable`: for good when it returns. */
bool platform_replace(const char *from, const char *to, bool durable, char *problem);

/* Read-only and private: pages come in as they are needed, so size does not become memory. */
bool platform_map(const char *path, struct mapped_file *out, char *problem);
void platform_unmap(struct mapped_file *file);

/* `path` is absolute. There is no close: HTP backends do not survive being unloaded. */
void *platform_load(const char *path, char *problem);
/* The system's own library of that file name, wherever the system keeps it. */
void *platform_load_system(const char *name, char *problem);
void *platform_symbol(void *library, const char *name);

/* What FastRPC's library is called, in the order in which the vendor's backend looks for it. */
#ifdef _WIN32
#define PLATFORM_FASTRPC "libcdsprpc.dll"
#else
#define PLATFORM_FASTRPC "libcdsprpc.so.1", "libcdsprpc.so"
#endif

/* The variables in which FastRPC looks for its search path: both, because where DSP_LIBRARY_PATH is set it does
 * not look at the other; on QNX also one for each compute DSP. */
#ifdef __QNX__
#define PLATFORM_DSP_PATHS "ADSP_LIBRARY_PATH", "DSP_LIBRARY_PATH", "CDSP0_LIBRARY_PATH", "CDSP1_LIBRARY_PATH"
#else
#define PLATFORM_DSP_PATHS "ADSP_LIBRARY_PATH", "DSP_LIBRARY_PATH"
#endif

/* Put `folder` before the value that the variable has now, separated by `;` as FastRPC wants on every
 * system. Where it leads already, nothing changes. */
bool platform_prepend_path(const char *variable, const char *folder);

/* The kernel's SoC number (Linux), another number space than QNN's soc_model. */
bool platform_linux_soc_id(uint32_t *id);

/* What the system calls the SoC: Android's ro.soc.model, the kernel's name for it, Windows' name for the
 * processor. One line; false where there is none. */
bool platform_soc_name(char *out, size_t capacity);

/* Whether the backend takes RPC latency and polling votes on this system. */
bool platform_has_rpc_votes(void);

/* A lock that threads take in turn; NULL when memory is short, and then nothing to take. */
struct platform_lock *platform_lock_make(void);
void platform_lock_enter(struct platform_lock *lock);
/* False when another thread kept it all that time. */
bool platform_lock_enter_within(struct platform_lock *lock, uint32_t milliseconds);
void platform_lock_leave(struct platform_lock *lock);
void platform_lock_free(struct platform_lock *lock);

/* The number that no other process of this system has now. */
unsigned long platform_process_id(void);

/* A monotonic clock in microseconds. */
uint64_t platform_now_us(void);

/* The most memory that this process has had resident so far; false where the system does not tell. */
bool platform_peak_memory(uint64_t *bytes);

/* From now on a request to end the process (SIGINT and its kin, Ctrl-C, a console that closes) is remembered, and
 * a reader who goes away (SIGPIPE) is a write that fails. Request number `requests` and a crash do end the process, but
 * call `last` first, once, in a thread that main does not wait for; it has a few seconds. */
void platform_watch_interrupts(void (*last)(void), int requests);
bool platform_interrupted(void);
/* Calls `last` where a library ends the process by exit(); for atexit. */
void platform_last_act(void);

#endif
