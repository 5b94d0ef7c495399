#ifndef HEXRUN_TIME_H
#define HEXRUN_TIME_H

#include <sys/types.h>

int clock_gettime(clockid_t clock, struct timespec *now);
int nanosleep(const struct timespec *how_long, struct timespec *left);

#endif
