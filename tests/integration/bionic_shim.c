/* Android's libc.so for a test under qemu: glibc does the work, and what bionic does otherwise is translated here. It goes
 * by bionic's own structs, written down anew, so that a wrong one in the runner's headers shows. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compilers for Android keep the stack guard at thread pointer + 40, where glibc has the variables of the first library. */
__attribute__((used)) _Thread_local volatile char slots_of_bionic[64];

void __libc_init(void *arguments, void (*unused)(void), int (*program)(int, char **, char **), const void *structors)
{
    long count = *(long *)arguments;
    char **values = (char **)arguments + 1;
    (void)unused;
    slots_of_bionic[0] = structors != NULL;
    if (!structors || ((void *const *)structors)[2]) {
        fputs("shim: a program without destructors says so with a null pointer\n", stderr);
        abort();
    }
    exit(program((int)count, values, values + count + 1));
}

int *__errno(void)
{
    return &errno;
}

/* As on a phone, where the test says which. */
int __system_property_get(const char *name, char *value)
{
    const char *found = strcmp(name, "ro.soc.model") == 0 ? getenv("SHIM_SOC_MODEL") : NULL;
    strcpy(value, found ? found : "");
    return (int)strlen(value);
}

struct bionic_sigaction {
    int flags;
    int filler;
    void (*handler)(int);
    uint64_t mask;
    void (*restorer)(void);
};

int sigaction(int number, const struct sigaction *wanted, struct sigaction *old)
{
    int (*real)(int, const struct sigaction *, struct sigaction *);
    void *found = dlsym(RTLD_NEXT, "sigaction");
    const struct bionic_sigaction *from = (const void *)wanted;
    struct sigaction action = {0}, before;
    memcpy(&real, &found, sizeof real);
    if (from) {
        action.sa_handler = from->handler;
        action.sa_flags = from->flags;
        memcpy(&action.sa_mask, &from->mask, sizeof from->mask);
    }
    int failed = real(number, from ? &action : NULL, &before);
    if (!failed && old) {
        struct bionic_sigaction to = {.flags = before.sa_flags, .handler = before.sa_handler};
        memcpy(&to.mask, &before.sa_mask, sizeof to.mask);
        memcpy(old, &to, sizeof to);
    }
    return failed;
}

int pthread_sigmask(int how, const sigset_t *wanted, sigset_t *old)
{
    int (*real)(int, const sigset_t *, sigset_t *);
    void *found = dlsym(RTLD_NEXT, "pthread_sigmask");
    sigset_t mask = {0};
    memcpy(&real, &found, sizeof real);
    if (wanted)
        memcpy(&mask, wanted, sizeof(uint64_t));
    return old ? EINVAL : real(how, wanted ? &mask : NULL, NULL);
}

int sigemptyset(sigset_t *set)
{
    memset(set, 0, sizeof(uint64_t));
    return 0;
}

/* 40 bytes in bionic, 48 in glibc: the real one lies elsewhere. */
static pthread_mutex_t *real_mutex(void *mutex)
{
    pthread_mutex_t *real;
    memcpy(&real, mutex, sizeof(void *));
    return real;
}

static int call(const char *name, pthread_mutex_t *mutex)
{
    int (*real)(pthread_mutex_t *);
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(&real, &found, sizeof real);
    return real(mutex);
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    pthread_mutex_t *real = attributes ? NULL : calloc(1, sizeof *real);
    memset((void *)mutex, 0, 40);
    memcpy((void *)mutex, &real, sizeof(void *));
    return real ? 0 : ENOMEM;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return call("pthread_mutex_lock", real_mutex(mutex));
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return call("pthread_mutex_trylock", real_mutex(mutex));
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    return call("pthread_mutex_unlock", real_mutex(mutex));
}

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    free(real_mutex(mutex));
    return 0;
}
