/* Signals, and every end of the process that is not main's own, on Linux, Android and QNX.
 *
 * A signal handler may do next to nothing, and a crash may have left any lock taken. So a handler only writes
 * the signal's number into a pipe, and a thread that has its own stack and nothing else to do acts on it. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "platform.h"
#include "status.h"

/* For the last act, whatever it waits for. */
enum { GRACE_MS = 3000 };

/* Requests to end, some of them by mistake: what nobody sends to a program on purpose would end it too. */
static const int REQUESTS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGXCPU};
static const int CRASHES[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP};
enum { CRASH_COUNT = sizeof CRASHES / sizeof *CRASHES };
/* A write fails instead, and is reported. */
static const int FAILED_WRITES[] = {SIGPIPE, SIGXFSZ};

/* What is written where there is no signal. */
enum { END = 0 };

static volatile sig_atomic_t interrupted;
/* Android's writes a report about the crash. */
static struct sigaction before_crash[CRASH_COUNT];

static struct {
    int said[2], done[2]; /* pipes: signals for the watcher; closed by it after its last act */
    pthread_t thread;
    volatile sig_atomic_t running;
    void (*last)(void);
    int requests; /* the one of them that ends the process */
} watcher;

static void tell(unsigned char number)
{
    int kept = errno;
    ssize_t written;
    do
        written = write(watcher.said[1], &number, 1);
    while (written < 0 && errno == EINTR);
    errno = kept;
}

/* Until the last act is done, or its time is over. */
static void wait_for_last(void)
{
    struct pollfd done = {.fd = watcher.done[0]};
    int waited;
    do
        waited = poll(&done, 1, GRACE_MS);
    while (waited < 0 && errno == EINTR);
}

void platform_last_act(void)
{
    if (!watcher.running || pthread_equal(pthread_self(), watcher.thread))
        return;
    tell(END);
    wait_for_last();
}

static void request(int number)
{
    interrupted = 1;
    if (watcher.running)
        tell((unsigned char)number);
}

/* The process then ends as it would have ended, with its core where cores are written. */
static void crash(int number)
{
    platform_last_act();
    for (size_t i = 0; i < CRASH_COUNT; i++)
        if (CRASHES[i] == number)
            sigaction(number, &before_crash[i], NULL);
    raise(number);
}

/* The last act has its time, and then the system ends the process. */
static void limit_time(void)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t one;
    sigemptyset(&by_default.sa_mask);
    sigaction(SIGALRM, &by_default, NULL);
    sigemptyset(&one);
    sigaddset(&one, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    alarm((GRACE_MS + 999) / 1000);
}

/* Earlier requests are for main to see. The last, a crash and an exit by a library end the process, and this is what
 * can still be done. */
static void *watch(void *unused)
{
    unsigned char number = END;
    (void)unused;
    for (int requests = 0; requests < watcher.requests;) {
        ssize_t count = read(watcher.said[0], &number, 1);
        if (count < 0 && errno == EINTR)
            continue;
        if (count != 1)
            return NULL;
        requests = number == END ? watcher.requests : requests + 1;
    }
    if (number != END)
        limit_time();
    watcher.last();
    if (number != END)
        _exit(RUN_INTERRUPTED);
    close(watcher.done[1]);
    return NULL;
}

static bool make_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

static void start_watcher(void (*last)(void), int requests)
{
    watcher.last = last;
    watcher.requests = requests;
    if (!make_pipe(watcher.said) || !make_pipe(watcher.done))
        return;
    /* A full pipe is full of requests: one more changes nothing, and a handler must not wait. */
    fcntl(watcher.said[1], F_SETFL, O_NONBLOCK);
    watcher.running = pthread_create(&watcher.thread, NULL, watch, NULL) == 0;
}

/* What was to be ignored, as nohup and a shell's background jobs have it, stays so. */
static void handle(int number, void (*handler)(int), struct sigaction *before)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, before) == 0 && before->sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void platform_watch_interrupts(void (*last)(void), int requests)
{
    struct sigaction before;
    start_watcher(last, requests);
    for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++)
        handle(REQUESTS[i], request, &before);
    for (size_t i = 0; i < sizeof FAILED_WRITES / sizeof *FAILED_WRITES; i++)
        handle(FAILED_WRITES[i], SIG_IGN, &before);
    for (size_t i = 0; watcher.running && i < CRASH_COUNT; i++)
        handle(CRASHES[i], crash, &before_crash[i]);
}

bool platform_interrupted(void)
{
    return interrupted != 0;
}
