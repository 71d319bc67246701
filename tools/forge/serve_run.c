/* tools/forge/serve_run.c - see serve_run.h.
 *
 * Note: SIGINT and SIGTERM are blocked before the first thread starts, so that only the main thread
 * receives them. */
#include "serve_run.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/string.h"
#include "serve_engine.h"
#include "serve_http.h"

#define TICK_MS  1000           /* time between checks of idle connections */
#define DRAIN_MS 20             /* time between checks while the server stops */
#define FLUSH_NS (5 * NS_PER_S) /* after the last answer, time for sending the last bytes */

/* Blocks of at least this size return to the system when they are freed. Otherwise the heap of each thread
 * would keep the memory of large requests. */
#define RETURNED_BYTES (128 << 10)

/* Sets the name of the model: --alias, or the last part of the path without ".bin" or ".gguf". */
static void set_name(struct server *server)
{
    const struct serve_settings *settings = server->settings;
    string_copy(server->name, sizeof server->name,
                settings->alias ? settings->alias : settings->language.model);
    if (settings->alias)
        return;
    char *end = server->name + strlen(server->name);
    while (end > server->name + 1 && end[-1] == '/')
        *--end = '\0';
    char *slash = strrchr(server->name, '/');
    if (slash)
        memmove(server->name, slash + 1, strlen(slash));
    if (string_ends(server->name, ".gguf") || string_ends(server->name, ".bin"))
        *strrchr(server->name, '.') = '\0';
}

static void announce(const struct listener *listener, const struct serve_settings *settings)
{
    if (!listener->is_loopback)
        complain(SERVE, "warning: %s can be reached from other machines, unencrypted%s", listener->address,
                 settings->keys.count ? "" : " and by everyone: use --api-key-file");
    complain(SERVE, "listening on http://%s/", listener->address);
}

/* Waits until a signal arrives or the engine fails. Returns true for a signal. */
static bool wait_for_end(struct http *http, int signals, int failed)
{
    struct pollfd waited[] = {{.fd = signals, .events = POLLIN}, {.fd = failed, .events = POLLIN}};
    while (!waited[0].revents && !waited[1].revents) {
        if (poll(waited, 2, TICK_MS) < 0 && errno != EINTR)
            break;
        http_close_idle(http);
    }
    return !waited[1].revents;
}

/* Waits until no choice is unfinished and, if `waits_for_clients`, all answers have been sent. Returns
 * earlier at `until_ns`, or if a further signal arrives. */
static void drain(struct server *server, bool waits_for_clients, int signals, int64_t until_ns)
{
    struct pollfd waited = {.fd = signals, .events = POLLIN};
    while (clock_now_ns() < until_ns &&
           (serve_engine_unfinished(server) || (waits_for_clients && atomic_load(&server->exchanges))))
        if (poll(&waited, 1, DRAIN_MS) > 0)
            return;
}

static void read_signal(int signals)
{
    struct signalfd_siginfo info;
    ssize_t got = read(signals, &info, sizeof info);
    (void)got; /* the result is ignored, because there may be no signal to read */
}

/* Stops: refuses new requests, lets running requests finish, and cancels those that take too long. */
static void stop(struct server *server, int signals)
{
    read_signal(signals);
    serve_engine_stop(server, SERVE_STOPPING);
    drain(server, false, signals, clock_now_ns() + (int64_t)(server->settings->grace_s * 1e9));
    serve_engine_stop(server, SERVE_ENDING);
    read_signal(signals);
    drain(server, true, signals, clock_now_ns() + FLUSH_NS);
}

/* Serves on an open socket. Returns the exit code. */
static int serve(struct server *server, const struct listener *listener, int signals)
{
    pthread_t thread;
    struct http *http = http_start(server, listener);
    if (!http || !serve_engine_start(server, &thread)) {
        http_stop(http);
        return EXIT_OWN_FAILURE;
    }
    announce(listener, server->settings);
    bool is_signal = wait_for_end(http, signals, server->failed_fd);
    if (is_signal)
        stop(server, signals);
    else
        drain(server, true, signals, clock_now_ns() + FLUSH_NS);
    pthread_join(thread, NULL);
    http_stop(http);
    if (server->engine_failure.status != JOULE_OK)
        complain(SERVE, "%s", server->engine_failure.message);
    return server->engine_failure.status == JOULE_OK ? 0 : EXIT_OWN_FAILURE;
}

static void init(struct server *server, const struct serve_settings *settings)
{
    pthread_condattr_t attributes;
    *server = (struct server){.settings = settings, .created_s = time(NULL), .queue_end = &server->queue};
    pthread_mutex_init(&server->lock, NULL);
    pthread_mutex_init(&server->parse_lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    set_name(server);
}

int serve_run(struct serve_settings *settings, const char *where)
{
    struct server server;
    struct listener listener = {.fd = -1};
    sigset_t ending;
    int code = EXIT_OWN_FAILURE;
    mallopt(M_MMAP_THRESHOLD, RETURNED_BYTES);
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (!listener_open(&listener, SERVE, where))
        return EXIT_OWN_FAILURE;
    host_names_read(&settings->names, &listener, &settings->allowed_hosts);
    init(&server, settings);
    int signals = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    server.failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (signals >= 0 && server.failed_fd >= 0)
        code = serve(&server, &listener, signals);
    else
        complain(SERVE, "cannot start the server: %s", strerror(errno));
    serve_engine_free(&server);
    close(listener.fd);
    if (signals >= 0)
        close(signals);
    if (server.failed_fd >= 0)
        close(server.failed_fd);
    pthread_cond_destroy(&server.wake);
    pthread_mutex_destroy(&server.lock);
    pthread_mutex_destroy(&server.parse_lock);
    return code;
}
