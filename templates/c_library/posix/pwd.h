#ifndef HEXRUN_PWD_H
#define HEXRUN_PWD_H

#include <sys/types.h>

struct passwd *getpwuid(uid_t id);

#endif
