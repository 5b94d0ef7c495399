#ifndef HEXRUN_PTHREAD_H
#define HEXRUN_PTHREAD_H

#include <sys/types.h>

/* Attributes have a size of their own on every system; hexrun uses none. */
typedef struct system_mutex_attributes pthread_mutexattr_t;
typedef struct system_thread_attributes pthread_attr_t;

int pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*work)(void *), void *with);
pthread_t pthread_self(void);
int pthread_join(pthread_t thread, void **result);
int pthread_detach(pthread_t thread);
int pthread_equal(pthread_t one, pthread_t other);
int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int pthread_mutex_trylock(pthread_mutex_t *mutex);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_mutex_destroy(pthread_mutex_t *mutex);

#endif
