/* What hexrun --doctor asks Windows: the registry, and the driver store. */
#define WIN32_LEAN_AND_MEAN

#include "doctor_steps.h"

#include <windows.h>

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { KEY_TEXT = 512 };

const char *doctor_system(void)
{
    return "windows";
}

static bool widen(const char *text, wchar_t *out, size_t capacity)
{
    return MultiByteToWideChar(CP_UTF8, 0, text, -1, out, (int)capacity) > 0;
}

static bool narrow(const wchar_t *wide, char *out, size_t capacity)
{
    return WideCharToMultiByte(CP_UTF8, 0, wide, -1, out, (int)capacity, NULL, NULL) > 0;
}

void doctor_look(const char *path, bool try_it, struct looked *out)
{
    wchar_t wide[PATH_CAPACITY];
    (void)try_it; /* nodes are for the driver alone */
    *out = (struct looked){.access = ACCESS_ABSENT};
    if (widen(path, wide, PATH_CAPACITY) && GetFileAttributesW(wide) != INVALID_FILE_ATTRIBUTES)
        out->access = ACCESS_GRANTED;
    else if (GetLastError() == ERROR_ACCESS_DENIED)
        out->access = ACCESS_HIDDEN;
    snprintf(out->text, sizeof out->text, "%s", out->access == ACCESS_GRANTED ? "is there" : "cannot be seen");
}

void doctor_identity(char *out, size_t capacity)
{
    snprintf(out, capacity, "a process of Windows");
}

bool doctor_list(const char *folder, bool (*take)(void *with, const char *name), void *with)
{
    wchar_t pattern[PATH_CAPACITY];
    char name[PATH_CAPACITY];
    WIN32_FIND_DATAW entry;
    if (!widen(folder, pattern, PATH_CAPACITY - 2))
        return false;
    wcscat(pattern, L"\\*");
    HANDLE listing = FindFirstFileW(pattern, &entry);
    if (listing == INVALID_HANDLE_VALUE)
        return false;
    do {
        if (narrow(entry.cFileName, name, sizeof name) && !take(with, name))
            break;
    } while (FindNextFileW(listing, &entry));
    FindClose(listing);
    return true;
}

static bool registry_text(const wchar_t *key, const wchar_t *value, wchar_t out[KEY_TEXT])
{
    DWORD size = KEY_TEXT * sizeof *out;
    /* As it is written: with its variables unexpanded. */
    return RegGetValueW(HKEY_LOCAL_MACHINE, key, value, RRF_RT_REG_SZ | RRF_RT_REG_EXPAND_SZ | RRF_NOEXPAND, NULL, out,
                        &size) == ERROR_SUCCESS;
}

/* \SystemRoot\System32\DriverStore\... is how the service manager writes it. */
static bool folder_of_image(const wchar_t *image, char folder[PATH_CAPACITY])
{
    static const wchar_t ROOT[] = L"\\SystemRoot\\";
    char tail[PATH_CAPACITY], windows[PATH_CAPACITY], path[PATH_CAPACITY];
    wchar_t wide[PATH_CAPACITY];
    bool relative = _wcsnicmp(image, ROOT, wcslen(ROOT)) == 0;
    if (!narrow(relative ? image + wcslen(ROOT) : image, tail, sizeof tail))
        return false;
    UINT length = GetSystemWindowsDirectoryW(wide, PATH_CAPACITY);
    if (!length || length >= PATH_CAPACITY || !narrow(wide, windows, sizeof windows))
        return false;
    const char *root = getenv("HEXRUN_DOCTOR_ROOT");
    if (root && *root)
        snprintf(windows, sizeof windows, "%s", root);
    size_t whole = relative ? (size_t)snprintf(path, sizeof path, "%s\\%s", windows, tail)
                            : (size_t)snprintf(path, sizeof path, "%s", tail);
    char *slash = whole < sizeof path ? strrchr(path, '\\') : NULL;
    if (!slash)
        return false;
    *slash = '\0';
    memcpy(folder, path, sizeof path);
    return true;
}

/* Service -> device that it drives -> the device's driver key -> version. */
static void device_version(const wchar_t *service, char *version, size_t capacity)
{
    wchar_t key[KEY_TEXT * 2], device[KEY_TEXT], driver[KEY_TEXT], text[KEY_TEXT];
    version[0] = '\0';
    swprintf(key, KEY_TEXT * 2, L"SYSTEM\\CurrentControlSet\\Services\\%ls\\Enum", service);
    if (!registry_text(key, L"0", device))
        return;
    swprintf(key, KEY_TEXT * 2, L"SYSTEM\\CurrentControlSet\\Enum\\%ls", device);
    if (!registry_text(key, L"Driver", driver))
        return;
    swprintf(key, KEY_TEXT * 2, L"SYSTEM\\CurrentControlSet\\Control\\Class\\%ls", driver);
    if (registry_text(key, L"DriverVersion", text))
        narrow(text, version, capacity);
}

bool doctor_service(const char *service, char folder[PATH_CAPACITY], char *version, size_t capacity)
{
    wchar_t name[64], key[KEY_TEXT], image[KEY_TEXT];
    if (!widen(service, name, sizeof name / sizeof *name))
        return false;
    swprintf(key, KEY_TEXT, L"SYSTEM\\CurrentControlSet\\Services\\%ls", name);
    if (!registry_text(key, L"ImagePath", image) || !folder_of_image(image, folder))
        return false;
    device_version(name, version, capacity);
    return true;
}

bool doctor_file_version(const char *path, char *out, size_t capacity)
{
    wchar_t wide[PATH_CAPACITY];
    DWORD size = widen(path, wide, PATH_CAPACITY) ? GetFileVersionInfoSizeW(wide, NULL) : 0;
    void *block = size ? malloc(size) : NULL;
    VS_FIXEDFILEINFO *info = NULL;
    UINT length = 0;
    bool told = block && GetFileVersionInfoW(wide, 0, size, block) &&
                VerQueryValueW(block, L"\\", (void **)&info, &length) && length >= sizeof *info;
    if (told)
        snprintf(out, capacity, "%u.%u.%u.%u", HIWORD(info->dwFileVersionMS), LOWORD(info->dwFileVersionMS),
                 HIWORD(info->dwFileVersionLS), LOWORD(info->dwFileVersionLS));
    free(block);
    return told;
}
