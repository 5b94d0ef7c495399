#ifndef HEXRUN_FCNTL_H
#define HEXRUN_FCNTL_H

#include <sys/types.h>

enum { F_SETFD = 2, F_SETFL = 4, FD_CLOEXEC = 1 };

int open(const char *path, int flags, ...);
int fcntl(int descriptor, int command, ...);

#endif
