/* tools/top/signals.c - see signals.h. */
#include "signals.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "screen.h"

int signals_open(void)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        sigaddset(&set, handled[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Stops this process, so that the shell sees a stopped job. Returns when the process is continued. */
static void stop(void)
{
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTSTP);
    screen_leave();
    signal(SIGTSTP, SIG_DFL);
    raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stops, NULL); /* the process stops here until it is continued */
    pthread_sigmask(SIG_BLOCK, &stops, NULL);
    screen_return();
}

int signals_read(int fd)
{
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    switch (info.ssi_signo) {
    case SIGWINCH:
        break;
    case SIGTSTP:
        stop();
        break;
    case SIGCONT:
        screen_return();
        break;
    default:
        return (int)info.ssi_signo;
    }
    screen_resized();
    return 0;
}

int signals_end(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return 128 + number;
}
