#ifndef HEXRUN_UNISTD_H
#define HEXRUN_UNISTD_H

#include <sys/types.h>

enum { STDIN_FILENO = 0, STDOUT_FILENO = 1, STDERR_FILENO = 2 };
enum { F_OK = 0, X_OK = 1, W_OK = 2, R_OK = 4 };

ssize_t read(int descriptor, void *out, size_t size);
ssize_t write(int descriptor, const void *data, size_t size);
int pipe(int ends[2]);
unsigned alarm(unsigned seconds);
_Noreturn void _exit(int status);
int close(int descriptor);
int dup2(int from, int to);
int fsync(int descriptor);
ssize_t readlink(const char *path, char *out, size_t size);
int unlink(const char *path);
int access(const char *path, int mode);
int ftruncate(int descriptor, off_t size);
off_t lseek(int descriptor, off_t offset, int from);
int link(const char *from, const char *to);
int rmdir(const char *path);
int symlink(const char *text, const char *path);
pid_t getpid(void);
pid_t getppid(void);
uid_t getuid(void);
gid_t getgid(void);
uid_t geteuid(void);
gid_t getegid(void);
int getgroups(int size, gid_t *out);

#endif
