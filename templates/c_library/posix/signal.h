#ifndef HEXRUN_SIGNAL_H
#define HEXRUN_SIGNAL_H

#include <sys/types.h>

/* Loads and stores of an int are single instructions on every machine that these headers are for. */
typedef int sig_atomic_t;

#define SIG_DFL ((signal_handler)0)
#define SIG_IGN ((signal_handler)1)

/* Those whose numbers are everywhere the same; the others are in system_abi.h. */
enum { SIGHUP = 1, SIGINT = 2, SIGQUIT = 3, SIGILL = 4, SIGABRT = 6, SIGFPE = 8, SIGKILL = 9, SIGSEGV = 11, SIGPIPE = 13,
       SIGALRM = 14, SIGTERM = 15 };
enum { SIG_BLOCK = 0, SIG_UNBLOCK = 1 };

int sigaction(int number, const struct sigaction *wanted, struct sigaction *old);
int sigemptyset(sigset_t *set);
int sigaddset(sigset_t *set, int number);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int kill(pid_t process, int number);
int raise(int number);

#endif
