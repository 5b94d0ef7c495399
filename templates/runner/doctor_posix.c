/* What hexrun --doctor asks Linux, Android and QNX. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor_steps.h"

enum { GROUPS = 1024 };

/* Android by what is there and not by the compiler, so that the tree of a phone can be examined elsewhere. */
const char *doctor_system(void)
{
#if defined(__QNX__)
    return "qnx";
#else
    char linker[PATH_CAPACITY];
    struct stat info;
    doctor_rooted("/system/bin/linker64", linker);
    return stat(linker, &info) == 0 ? "android" : "linux";
#endif
}

static const char *user_name(uid_t id, char *out, size_t capacity)
{
    const struct passwd *user = getpwuid(id);
    if (user && user->pw_name)
        snprintf(out, capacity, "%s", user->pw_name);
    else
        snprintf(out, capacity, "%u", (unsigned)id);
    return out;
}

static const char *group_name(gid_t id, char *out, size_t capacity)
{
    const struct group *group = getgrgid(id);
    if (group && group->gr_name)
        snprintf(out, capacity, "%s", group->gr_name);
    else
        snprintf(out, capacity, "%u", (unsigned)id);
    return out;
}

static void describe(const struct stat *info, struct looked *out)
{
    static const char LETTERS[] = "rwxrwxrwx";
    char mode[] = "----------", user[64], group[64];
    mode[0] = S_ISCHR(info->st_mode) ? 'c' : S_ISDIR(info->st_mode) ? 'd' : '-';
    for (int bit = 0; bit < 9; bit++)
        if (info->st_mode & (0400u >> bit))
            mode[bit + 1] = LETTERS[bit];
    snprintf(out->text, sizeof out->text, "%s %s:%s", mode, user_name(info->st_uid, user, sizeof user),
             group_name(info->st_gid, group, sizeof group));
    out->for_group = info->st_gid != 0 && info->st_mode & S_IRGRP;
}

void doctor_look(const char *path, bool try_it, struct looked *out)
{
    struct stat info;
    *out = (struct looked){0};
    if (stat(path, &info) != 0) {
        bool link = errno == ENOENT && lstat(path, &info) == 0;
        out->access = errno == EACCES ? ACCESS_HIDDEN : ACCESS_ABSENT;
        snprintf(out->text, sizeof out->text, "%s", link ? "is a link to nothing" : strerror(errno));
        return;
    }
    describe(&info, out);
    out->access = ACCESS_GRANTED;
    if (!try_it)
        return;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        out->access = ACCESS_DENIED;
    else
        close(descriptor);
}

void doctor_identity(char *out, size_t capacity)
{
    gid_t groups[GROUPS];
    char name[64];
    int count = getgroups(GROUPS, groups);
    snprintf(out, capacity, "user %s", user_name(geteuid(), name, sizeof name));
    size_t length = strlen(out);
    snprintf(out + length, capacity - length, ", groups %s", group_name(getegid(), name, sizeof name));
    for (int i = 0; i < count; i++) {
        length = strlen(out);
        if (groups[i] != getegid())
            snprintf(out + length, capacity - length, " %s", group_name(groups[i], name, sizeof name));
    }
}

bool doctor_list(const char *folder, bool (*take)(void *with, const char *name), void *with)
{
    DIR *listing = opendir(folder);
    if (!listing)
        return false;
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;)
        if (!take(with, entry->d_name))
            break;
    closedir(listing);
    return true;
}

bool doctor_service(const char *service, char folder[PATH_CAPACITY], char *version, size_t capacity)
{
    (void)service;
    (void)folder;
    (void)version;
    (void)capacity;
    return false;
}

bool doctor_file_version(const char *path, char *out, size_t capacity)
{
    (void)path;
    (void)out;
    (void)capacity;
    return false;
}
