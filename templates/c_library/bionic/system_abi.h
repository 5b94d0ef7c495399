/* What Android's C library, bionic, promises to programs on 64 bit Arm: types, structs and numbers. The numbers are those
 * of the Linux kernel for arm64, which bionic passes on. Source of each: bionic's public headers, libc/include. */
#ifndef HEXRUN_SYSTEM_ABI_H
#define HEXRUN_SYSTEM_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t dev_t;
typedef uint64_t ino_t;
typedef uint32_t mode_t;
typedef uint32_t nlink_t;
typedef uint32_t uid_t;
typedef uint32_t gid_t;
typedef int64_t off_t;
typedef int clockid_t;

struct timespec {
    int64_t tv_sec;
    long tv_nsec;
};

struct stat {
    dev_t st_dev;
    ino_t st_ino;
    mode_t st_mode;
    nlink_t st_nlink;
    uid_t st_uid;
    gid_t st_gid;
    dev_t st_rdev;
    uint64_t unused1;
    off_t st_size;
    int32_t st_blksize;
    int32_t unused2;
    int64_t st_blocks;
    struct timespec st_atim, st_mtim, st_ctim;
    uint32_t unused3[2];
};
_Static_assert(sizeof(struct stat) == 128, "struct stat of the kernel for arm64");
_Static_assert(offsetof(struct stat, st_mode) == 16, "st_mode");
_Static_assert(offsetof(struct stat, st_size) == 48, "st_size");
_Static_assert(offsetof(struct stat, st_atim) == 72, "st_atim");

struct dirent {
    uint64_t d_ino;
    int64_t d_off;
    uint16_t d_reclen;
    uint8_t d_type;
    char d_name[256];
};
_Static_assert(sizeof(struct dirent) == 280, "struct dirent");
_Static_assert(offsetof(struct dirent, d_name) == 19, "d_name");

struct passwd {
    char *pw_name;
    char *pw_passwd;
    uid_t pw_uid;
    gid_t pw_gid;
    char *pw_gecos;
    char *pw_dir;
    char *pw_shell;
};
_Static_assert(sizeof(struct passwd) == 48, "struct passwd where pointers have 64 bits");

enum { SIGTRAP = 5, SIGBUS = 7, SIGUSR1 = 10, SIGUSR2 = 12, SIGXCPU = 24, SIGXFSZ = 25, SIGVTALRM = 26, SIGSYS = 31 };
typedef uint64_t sigset_t;
typedef void (*signal_handler)(int number);

/* Neither the kernel's struct nor that of other C libraries: the flags come first. */
struct sigaction {
    int sa_flags;
    signal_handler sa_handler;
    sigset_t sa_mask;
    void (*sa_restorer)(void);
};
_Static_assert(sizeof(struct sigaction) == 32, "struct sigaction");
_Static_assert(offsetof(struct sigaction, sa_handler) == 8, "sa_handler");

#define SA_RESTART 0x10000000
#define SA_RESETHAND ((int)0x80000000u)

typedef struct {
    int32_t insides[10];
} pthread_mutex_t;
typedef long pthread_t;
_Static_assert(sizeof(pthread_mutex_t) == 40, "pthread_mutex_t where pointers have 64 bits");

typedef struct __sFILE FILE;
extern FILE *stderr;
extern FILE *stdout;

int *__errno(void);
#define errno (*__errno())

enum { O_RDONLY = 0, O_NONBLOCK = 04000, O_CLOEXEC = 02000000, F_DUPFD_CLOEXEC = 1030 };
enum { PROT_READ = 1, MAP_PRIVATE = 2 };
typedef unsigned int nfds_t;
enum { RTLD_LOCAL = 0, RTLD_NOW = 2 };
enum { CLOCK_MONOTONIC = 1 };

#endif
