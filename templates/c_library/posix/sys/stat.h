#ifndef HEXRUN_SYS_STAT_H
#define HEXRUN_SYS_STAT_H

#include <sys/types.h>

#define S_IFMT 0170000
#define S_IFCHR 0020000
#define S_IFDIR 0040000
#define S_IFREG 0100000
#define S_IRGRP 0040
#define S_ISCHR(mode) (((mode) & S_IFMT) == S_IFCHR)
#define S_ISDIR(mode) (((mode) & S_IFMT) == S_IFDIR)
#define S_ISREG(mode) (((mode) & S_IFMT) == S_IFREG)

int stat(const char *path, struct stat *out);
int lstat(const char *path, struct stat *out);
int fstat(int descriptor, struct stat *out);
int mkdir(const char *path, mode_t mode);

#endif
