/* Windows on Arm and x64. */
#define WIN32_LEAN_AND_MEAN
#define PSAPI_VERSION 2 /* GetProcessMemoryInfo from kernel32 */

#include "platform.h"

#include <windows.h>

#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <psapi.h>
#include <shellapi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <wchar.h>

#include "status.h"

static void explain(char *problem)
{
    DWORD code = GetLastError();
    wchar_t text[512] = L"";
    DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0, text,
                                  (DWORD)(sizeof text / sizeof *text), NULL);
    while (length && (text[length - 1] == L'\r' || text[length - 1] == L'\n' || text[length - 1] == L'.'))
        text[--length] = L'\0';
    char narrow[FAULT_TEXT - 64] = "";
    WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, sizeof narrow, NULL, NULL);
    snprintf(problem, FAULT_TEXT, "%s (Windows error %lu)", narrow, code);
}

static wchar_t *widen(const char *text)
{
    int length = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    wchar_t *wide = length > 0 ? malloc((size_t)length * sizeof *wide) : NULL;
    if (wide)
        MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, length);
    return wide;
}

static char *narrowed(const wchar_t *wide)
{
    int length = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = length > 0 ? malloc((size_t)length) : NULL;
    if (text)
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, length, NULL, NULL);
    return text;
}

bool platform_arguments(int *count, char ***arguments)
{
    int wide_count;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &wide_count);
    char **list = wide ? calloc((size_t)wide_count + 1, sizeof *list) : NULL;
    bool good = list != NULL;
    for (int i = 0; good && i < wide_count; i++)
        good = (list[i] = narrowed(wide[i])) != NULL;
    LocalFree(wide);
    if (good) {
        *count = wide_count;
        *arguments = list;
    }
    return good;
}

FILE *platform_result_stream(void)
{
    int kept = _dup(_fileno(stdout));
    if (kept < 0 || _dup2(_fileno(stderr), _fileno(stdout)) != 0)
        return NULL;
    _setmode(kept, _O_BINARY);
    SetConsoleOutputCP(CP_UTF8);
    return _fdopen(kept, "wb");
}

bool platform_own_folder(char *out, size_t capacity)
{
    wchar_t wide[PATH_CAPACITY];
    DWORD length = GetModuleFileNameW(NULL, wide, PATH_CAPACITY);
    if (!length || length >= PATH_CAPACITY)
        return false;
    if (!WideCharToMultiByte(CP_UTF8, 0, wide, -1, out, (int)capacity, NULL, NULL))
        return false;
    char *slash = strrchr(out, '\\');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

bool platform_absolute(const char *path, char *out, size_t capacity, char *problem)
{
    wchar_t full[PATH_CAPACITY];
    wchar_t *wide = widen(path);
    DWORD length = wide ? GetFullPathNameW(wide, PATH_CAPACITY, full, NULL) : 0;
    bool good = length && length < PATH_CAPACITY && GetFileAttributesW(full) != INVALID_FILE_ATTRIBUTES &&
                WideCharToMultiByte(CP_UTF8, 0, full, -1, out, (int)capacity, NULL, NULL);
    if (!good)
        explain(problem);
    free(wide);
    return good;
}

bool platform_is_absolute(const char *path)
{
    return path[0] == '/' || path[0] == '\\' || (path[0] && path[1] == ':');
}

FILE *platform_open(const char *path, const char *mode, char *problem)
{
    wchar_t *wide = widen(path);
    wchar_t *wide_mode = widen(mode);
    FILE *file = wide && wide_mode ? _wfopen(wide, wide_mode) : NULL;
    if (!file)
        snprintf(problem, FAULT_TEXT, "%s", strerror(errno));
    free(wide);
    free(wide_mode);
    return file;
}

bool platform_make_folder(const char *path, char *problem)
{
    wchar_t *wide = widen(path);
    bool made = wide && (_wmkdir(wide) == 0 || (GetFileAttributesW(wide) != INVALID_FILE_ATTRIBUTES &&
                                                (GetFileAttributesW(wide) & FILE_ATTRIBUTE_DIRECTORY)));
    if (!made)
        explain(problem);
    free(wide);
    return made;
}

bool platform_replace(const char *from, const char *to, bool durable, char *problem)
{
    DWORD flags = MOVEFILE_REPLACE_EXISTING | (durable ? MOVEFILE_WRITE_THROUGH : 0);
    wchar_t *wide_from = widen(from);
    wchar_t *wide_to = widen(to);
    bool done = wide_from && wide_to && MoveFileExW(wide_from, wide_to, flags);
    if (!done)
        explain(problem);
    free(wide_from);
    free(wide_to);
    return done;
}

void platform_remove(const char *path)
{
    wchar_t *wide = widen(path);
    if (wide)
        _wremove(wide);
    free(wide);
}

int64_t platform_file_size(FILE *file)
{
    struct _stat64 info;
    return _fstat64(_fileno(file), &info) == 0 && info.st_mode & _S_IFREG ? (int64_t)info.st_size : -1;
}

bool platform_is_folder(const char *path)
{
    wchar_t *wide = widen(path);
    DWORD attributes = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    free(wide);
    return attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY;
}

bool platform_list_folder(const char *path, bool (*take)(void *context, const char *name), void *context,
                          char *problem)
{
    char pattern[PATH_CAPACITY];
    WIN32_FIND_DATAW entry;
    int length = snprintf(pattern, sizeof pattern, "%s\\*", path);
    wchar_t *wide = length > 0 && (size_t)length < sizeof pattern ? widen(pattern) : NULL;
    HANDLE folder = wide ? FindFirstFileW(wide, &entry) : INVALID_HANDLE_VALUE;
    free(wide);
    bool whole = folder != INVALID_HANDLE_VALUE;
    bool more = whole;
    while (more) {
        char *name = narrowed(entry.cFileName);
        whole = name != NULL;
        more = whole && take(context, name);
        free(name);
        if (more && !FindNextFileW(folder, &entry)) {
            whole = GetLastError() == ERROR_NO_MORE_FILES;
            more = false;
        }
    }
    if (!whole)
        explain(problem);
    if (folder != INVALID_HANDLE_VALUE)
        FindClose(folder);
    return whole;
}

bool platform_map(const char *path, struct mapped_file *out, char *problem)
{
    HANDLE section = NULL;
    void *data = NULL;
    LARGE_INTEGER size = {0};
    wchar_t *wide = widen(path);
    HANDLE file = wide ? CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL)
                       : INVALID_HANDLE_VALUE;
    if (file != INVALID_HANDLE_VALUE && GetFileSizeEx(file, &size))
        section = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
    if (section)
        data = MapViewOfFile(section, FILE_MAP_READ, 0, 0, 0);
    if (data)
        *out = (struct mapped_file){.data = data, .size = (size_t)size.QuadPart};
    else
        explain(problem);
    if (section)
        CloseHandle(section);
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    free(wide);
    return data != NULL;
}

void platform_unmap(struct mapped_file *file)
{
    if (file->data)
        UnmapViewOfFile(file->data);
    *file = (struct mapped_file){0};
}

void *platform_load(const char *path, char *problem)
{
    wchar_t *wide = widen(path);
    HMODULE library = NULL;
    if (wide)
        library = LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    if (!library)
        explain(problem);
    free(wide);
    return (void *)library;
}

/* A driver's library lies in a folder of the driver store that only the backend knows; where the backend has
 * loaded it already, it is found by its name alone. */
void *platform_load_system(const char *name, char *problem)
{
    wchar_t *wide = widen(name);
    HMODULE library = wide ? GetModuleHandleW(wide) : NULL;
    if (!library && wide)
        library = LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (!library)
        explain(problem);
    free(wide);
    return (void *)library;
}

void *platform_symbol(void *library, const char *name)
{
    return (void *)(uintptr_t)GetProcAddress((HMODULE)library, name);
}

bool platform_prepend_path(const char *variable, const char *folder)
{
    bool set = false;
    wchar_t *name = widen(variable);
    wchar_t *first = widen(folder);
    const wchar_t *old = name ? _wgetenv(name) : NULL;
    size_t size = (first ? wcslen(first) : 0) + (old ? wcslen(old) : 0) + 2;
    wchar_t *value = malloc(size * sizeof *value);
    size_t length = first ? wcslen(first) : 0;
    if (first && old && wcsncmp(old, first, length) == 0 && (!old[length] || old[length] == L';')) {
        set = true;
    } else if (name && first && value) {
        swprintf(value, size, L"%ls%ls%ls", first, old && *old ? L";" : L"", old ? old : L"");
        /* The C library keeps a copy of the environment; this call changes both. */
        set = _wputenv_s(name, value) == 0;
    }
    free(value);
    free(first);
    free(name);
    return set;
}

bool platform_linux_soc_id(uint32_t *id)
{
    (void)id;
    return false;
}

bool platform_soc_name(char *out, size_t capacity)
{
    typedef LSTATUS(WINAPI * get_value)(HKEY, LPCWSTR, LPCWSTR, DWORD, LPDWORD, PVOID, LPDWORD);
    HMODULE library = LoadLibraryExW(L"advapi32.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    FARPROC found = library ? GetProcAddress(library, "RegGetValueW") : NULL;
    get_value get = (get_value)(uintptr_t)found;
    wchar_t name[128] = L"";
    DWORD size = sizeof name;
    return get &&
           get(HKEY_LOCAL_MACHINE, L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", L"ProcessorNameString",
               RRF_RT_REG_SZ, NULL, name, &size) == ERROR_SUCCESS &&
           WideCharToMultiByte(CP_UTF8, 0, name, -1, out, (int)capacity, NULL, NULL) > 1;
}

bool platform_has_rpc_votes(void)
{
    return false;
}

struct platform_lock {
    SRWLOCK slim;
};

struct platform_lock *platform_lock_make(void)
{
    struct platform_lock *lock = malloc(sizeof *lock);
    if (lock)
        InitializeSRWLock(&lock->slim);
    return lock;
}

void platform_lock_enter(struct platform_lock *lock)
{
    if (lock)
        AcquireSRWLockExclusive(&lock->slim);
}

bool platform_lock_enter_within(struct platform_lock *lock, uint32_t milliseconds)
{
    bool entered = !lock;
    for (uint32_t i = 0; !entered && i <= milliseconds; i++) {
        entered = TryAcquireSRWLockExclusive(&lock->slim);
        if (!entered)
            Sleep(1);
    }
    return entered;
}

void platform_lock_leave(struct platform_lock *lock)
{
    if (lock)
        ReleaseSRWLockExclusive(&lock->slim);
}

void platform_lock_free(struct platform_lock *lock)
{
    free(lock);
}

unsigned long platform_process_id(void)
{
    return GetCurrentProcessId();
}

uint64_t platform_now_us(void)
{
    LARGE_INTEGER ticks, frequency;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&ticks);
    uint64_t seconds = (uint64_t)(ticks.QuadPart / frequency.QuadPart);
    uint64_t rest = (uint64_t)(ticks.QuadPart % frequency.QuadPart);
    return seconds * 1000000u + rest * 1000000u / (uint64_t)frequency.QuadPart;
}

bool platform_peak_memory(uint64_t *bytes)
{
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof counters};
    bool told = GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
    *bytes = counters.PeakWorkingSetSize;
    return told;
}

static volatile LONG interrupted, ended;
static void (*last_act)(void);
static LONG last_request;

/* Longer than Windows waits for a program whose console closes. */
enum { GRACE_MS = 60000 };

void platform_last_act(void)
{
    if (last_act && InterlockedExchange(&ended, 1) == 0)
        last_act();
}

/* Runs in a thread of its own. When the console closes or the user logs off, Windows ends the process as
 * soon as this returns, so it leaves that to main. */
static BOOL WINAPI remember(DWORD event)
{
    bool last = InterlockedIncrement(&interrupted) >= last_request;
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT)
        Sleep(GRACE_MS);
    if (last)
        platform_last_act();
    return !last;
}

static LONG WINAPI crash(EXCEPTION_POINTERS *unused)
{
    (void)unused;
    platform_last_act();
    return EXCEPTION_CONTINUE_SEARCH;
}

void platform_watch_interrupts(void (*last)(void), int requests)
{
    last_act = last;
    last_request = requests;
    SetConsoleCtrlHandler(remember, TRUE);
    SetUnhandledExceptionFilter(crash);
}

bool platform_interrupted(void)
{
    return InterlockedCompareExchange(&interrupted, 0, 0) != 0;
}
