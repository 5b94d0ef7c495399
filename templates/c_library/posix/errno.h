#ifndef HEXRUN_ERRNO_H
#define HEXRUN_ERRNO_H

#include "system_abi.h"

enum { ENOENT = 2, EINTR = 4, EACCES = 13, EEXIST = 17, EISDIR = 21 };

#endif
