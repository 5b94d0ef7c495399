/* What the C library of QNX SDP 7.1 promises to programs on 64 bit Arm, as far as it is publicly known: types, structs and
 * numbers. Source of each: the declarations of Rust's libc crate for `nto`, which was made with an SDP at hand. Nothing
 * of this was ever tried on QNX. */
#ifndef HEXRUN_SYSTEM_ABI_H
#define HEXRUN_SYSTEM_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t dev_t;
typedef uint64_t ino_t;
typedef uint32_t mode_t;
typedef uint32_t nlink_t;
typedef int32_t uid_t;
typedef int32_t gid_t;
typedef int64_t off_t;
typedef int clockid_t;

struct timespec {
    int64_t tv_sec;
    long tv_nsec;
};

struct stat {
    ino_t st_ino;
    off_t st_size;
    dev_t st_dev;
    dev_t st_rdev;
    uid_t st_uid;
    gid_t st_gid;
    uint32_t times_of_32_bit[3];
    mode_t st_mode;
    nlink_t st_nlink;
    uint32_t st_blocksize;
    int32_t st_nblocks;
    uint32_t st_blksize;
    uint64_t st_blocks;
    struct timespec st_mtim, st_atim, st_ctim;
};
_Static_assert(sizeof(struct stat) == 120, "struct stat");
_Static_assert(offsetof(struct stat, st_mode) == 44, "st_mode");
_Static_assert(offsetof(struct stat, st_blocks) == 64, "st_blocks");

/* The name goes on behind the struct. */
struct dirent {
    ino_t d_ino;
    off_t d_offset;
    int16_t d_reclen;
    int16_t d_namelen;
    char d_name[1];
};
_Static_assert(offsetof(struct dirent, d_name) == 20, "d_name");

struct passwd {
    char *pw_name;
    char *pw_passwd;
    uid_t pw_uid;
    gid_t pw_gid;
    char *pw_age;
    char *pw_comment;
    char *pw_gecos;
    char *pw_dir;
    char *pw_shell;
};
_Static_assert(sizeof(struct passwd) == 64, "struct passwd");

enum { SIGTRAP = 5, SIGBUS = 10, SIGSYS = 12, SIGUSR1 = 16, SIGUSR2 = 17, SIGVTALRM = 28, SIGXCPU = 30, SIGXFSZ = 31 };
typedef struct {
    uint32_t bits[2];
} sigset_t;
typedef void (*signal_handler)(int number);

struct sigaction {
    signal_handler sa_handler;
    int sa_flags;
    sigset_t sa_mask;
};
_Static_assert(sizeof(struct sigaction) == 24, "struct sigaction");
_Static_assert(offsetof(struct sigaction, sa_mask) == 12, "sa_mask");

/* QNX has no SA_RESTART: a call that a signal interrupts says so. */
#define SA_RESTART 0
#define SA_RESETHAND 4

typedef struct {
    uint32_t insides[2];
} pthread_mutex_t;
typedef int pthread_t;
_Static_assert(sizeof(pthread_mutex_t) == 8, "pthread_mutex_t");

/* QNX's stream is a struct whose size is not known here, so streams.c opens one of our own. */
typedef struct system_stream FILE;
FILE *system_error_stream(void);
#define stderr (system_error_stream())

int *__get_errno_ptr(void);
#define errno (*__get_errno_ptr())

enum { O_RDONLY = 0, O_NONBLOCK = 0200, O_CLOEXEC = 020000, F_DUPFD_CLOEXEC = 5 };
enum { PROT_READ = 0x100, MAP_PRIVATE = 2 };
typedef unsigned int nfds_t;
enum { RTLD_LOCAL = 0x200, RTLD_NOW = 2 };
enum { CLOCK_MONOTONIC = 2 };

#endif
