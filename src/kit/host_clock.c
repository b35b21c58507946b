/* Sets the computer's clock for one driver only. The library is loaded before the driver's own libraries (LD_PRELOAD).
 * The first 64-bit number of the file MENURA_CLOCK is added to civil time, in nanoseconds; it may change while the
 * driver runs. Clocks that count from the start of the computer are unchanged. The second number of the file counts the
 * processes that have loaded the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Longest part of a wait for an instant, nanoseconds. After each part the clock is read again, because a case may have
 * set it. */
#define SLICE_NS 50000000
#define SECOND_NS 1000000000

static int64_t *shared;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("MENURA_CLOCK");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *memory = mmap(0, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        return;
    shared = memory;
    __atomic_fetch_add(shared + 1, 1, __ATOMIC_RELAXED);
}

static int64_t ahead_ns(void) {
    return shared ? __atomic_load_n(shared, __ATOMIC_RELAXED) : 0;
}

static int64_t ns_of(const struct timespec *time) {
    return (int64_t)time->tv_sec * SECOND_NS + time->tv_nsec;
}

static struct timespec time_of(int64_t ns) {
    int64_t seconds = ns / SECOND_NS, rest = ns % SECOND_NS;
    if (rest < 0)
        seconds--, rest += SECOND_NS;
    return (struct timespec){.tv_sec = seconds, .tv_nsec = rest};
}

/* The C library's function of this name. `version` selects one if the C library has two versions of the function. */
static void *next(void **known, const char *name, const char *version) {
    if (!*known && version)
        *known = dlvsym(RTLD_NEXT, name, version);
    if (!*known)
        *known = dlsym(RTLD_NEXT, name);
    return *known;
}
#define NEXT(name, version, result, ...) \
    static void *known;                  \
    result (*real)(__VA_ARGS__) = (result(*)(__VA_ARGS__))next(&known, name, version)

static int is_civil(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    NEXT("clock_gettime", 0, int, clockid_t, struct timespec *);
    int failed = real(clock, time);
    if (!failed && is_civil(clock))
        *time = time_of(ns_of(time) + ahead_ns());
    return failed;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    if (zone)
        *(struct timezone *)zone = (struct timezone){0};
    if (time) {
        clock_gettime(CLOCK_REALTIME, &now);
        *time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    }
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *time, int base) {
    if (base != TIME_UTC)
        return 0;
    clock_gettime(CLOCK_REALTIME, time);
    return base;
}

/* The end of the next part of a wait until `deadline`. The deadline is on the driver's civil clock, the result on the
 * computer's real one. `is_last` is set to whether the wait ends with this part. */
static struct timespec slice(const struct timespec *deadline, int *is_last) {
    NEXT("clock_gettime", 0, int, clockid_t, struct timespec *);
    struct timespec now;
    real(CLOCK_REALTIME, &now);
    int64_t until = ns_of(deadline) - ahead_ns(), soon = ns_of(&now) + SLICE_NS;
    *is_last = until <= soon;
    return time_of(*is_last ? until < 0 ? 0 : until : soon);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *rest) {
    NEXT("clock_nanosleep", 0, int, clockid_t, int, const struct timespec *, struct timespec *);
    if (!is_civil(clock) || !(flags & TIMER_ABSTIME))
        return real(clock, flags, wanted, rest);
    for (int is_last = 0;;) {
        struct timespec until = slice(wanted, &is_last);
        int failed = real(CLOCK_REALTIME, flags, &until, rest);
        if (failed || is_last)
            return failed;
    }
}

/* Whether a deadline counts from the start of the computer: condition variables may use such a clock. Deadlines on the
 * civil clock are larger than this limit, which is in 1985. */
static int is_since_start(const struct timespec *deadline) {
    return deadline->tv_sec < 500000000;
}

/* Programs that wait with a condition variable check their condition after each return. So the wait may return early,
 * after one part. */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict deadline) {
    NEXT("pthread_cond_timedwait", "GLIBC_2.3.2", int, pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (is_since_start(deadline))
        return real(cond, mutex, deadline);
    int is_last;
    struct timespec until = slice(deadline, &is_last);
    int failed = real(cond, mutex, &until);
    return failed == ETIMEDOUT && !is_last ? 0 : failed;
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
    NEXT("pthread_mutex_timedlock", 0, int, pthread_mutex_t *, const struct timespec *);
    for (int is_last = 0;;) {
        struct timespec until = slice(deadline, &is_last);
        int failed = real(mutex, &until);
        if (failed != ETIMEDOUT || is_last)
            return failed;
    }
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
    NEXT("sem_timedwait", 0, int, sem_t *, const struct timespec *);
    for (int is_last = 0;;) {
        struct timespec until = slice(deadline, &is_last);
        int failed = real(semaphore, &until);
        if (!failed || errno != ETIMEDOUT || is_last)
            return failed;
    }
}
