/* Declarations that POSIX and C11 make, as far as hexrun uses them; what differs between systems is in system_abi.h. */
#ifndef HEXRUN_SYS_TYPES_H
#define HEXRUN_SYS_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "system_abi.h"

typedef long ssize_t;
typedef int pid_t;

#endif
