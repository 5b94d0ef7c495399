#ifndef HEXRUN_POLL_H
#define HEXRUN_POLL_H

#include <sys/types.h>

struct pollfd {
    int fd;
    short events, revents;
};

int poll(struct pollfd *watched, nfds_t count, int milliseconds);

#endif
