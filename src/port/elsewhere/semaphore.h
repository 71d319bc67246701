/* port/elsewhere/semaphore.h - unnamed semaphores of one process, made from a mutex and a condition variable.
 *
 * macOS has none, and those of Windows cannot use the monotonic clock. Note: this file is found before the
 * system's header of the same name.
 */
#ifndef PORT_SEMAPHORE_H
#define PORT_SEMAPHORE_H

#include <errno.h>
#include <pthread.h>
#include <time.h>

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    unsigned count; /* under lock */
} sem_t;

static inline int sem_init(sem_t *semaphore, int is_shared, unsigned count)
{
    (void)is_shared;
    semaphore->count = count;
    pthread_mutex_init(&semaphore->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&semaphore->more, &attributes);
    pthread_condattr_destroy(&attributes);
    return 0;
}

static inline int sem_destroy(sem_t *semaphore)
{
    pthread_cond_destroy(&semaphore->more);
    pthread_mutex_destroy(&semaphore->lock);
    return 0;
}

static inline int sem_post(sem_t *semaphore)
{
    pthread_mutex_lock(&semaphore->lock);
    semaphore->count++;
    pthread_cond_signal(&semaphore->more);
    pthread_mutex_unlock(&semaphore->lock);
    return 0;
}

/* `clock` must be CLOCK_MONOTONIC. */
static inline int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline)
{
    (void)clock;
    int error = 0;
    pthread_mutex_lock(&semaphore->lock);
    while (semaphore->count == 0 && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&semaphore->more, &semaphore->lock, deadline);
    int has_come = semaphore->count > 0;
    semaphore->count -= (unsigned)has_come;
    pthread_mutex_unlock(&semaphore->lock);
    if (has_come)
        return 0;
    errno = ETIMEDOUT;
    return -1;
}

#endif
