/* tools/top/hosts_view.c - see hosts.h. */
#include "hosts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/string.h"
#include "common/options.h"
#include "common/page.h"
#include "common/secret.h"
#include "hosts_stream.h"
#include "screen.h"
#include "signals.h"

#define SUBCOMMAND   "top"
#define TOKEN        "JOULE_SERVE_TOKEN"
#define ONCE_NS      (6 * NS_PER_S) /* --once: maximum wait for hosts that do not answer */
#define PAGE_ROWS    10
#define MAX_PASSWORD 512

#ifdef TOP_HAS_CURL

/* The state of one run. Times are of CLOCK_MONOTONIC. */
struct view {
    struct hosts hosts;
    struct streams *streams;
    struct frame frame;
    int64_t begin_ns, tick_ns; /* time of the start; time of the next tick of the histories */
    int ended_by;              /* signal that ended the run; 0: none */
    bool has_ended;            /* the user quit, or the terminal is gone */
};

/* --- secrets -------------------------------------------------------------------------------------------- */

/* Returns the first line of a file; the caller frees it with secret_free. On failure prints a message and
 * returns NULL. `what` names the secret in messages. */
static char *read_line(const char *path, const char *what)
{
    char *text = secret_read(SUBCOMMAND, path, what, false);
    if (!text)
        return NULL;
    text[strcspn(text, "\r\n")] = '\0';
    if (*text && strlen(text) < MAX_PASSWORD)
        return text;
    complain(SUBCOMMAND, "cannot use %s in %s: it must have 1 to %d characters in the first line", what, path,
             MAX_PASSWORD - 1);
    secret_free(text);
    return NULL;
}

/* Returns true if a password or token may be sent to every host. A host must use TLS or be this machine,
 * or the user must have allowed plain text by writing "http://". Otherwise prints a message and returns
 * false. */
static bool may_send(const struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        const struct host_row *row = &hosts->list[i];
        if (!row->is_plain_http || row->is_loopback || row->has_scheme)
            continue;
        complain(SUBCOMMAND, "cannot send a password or token to %s unencrypted", row->name);
        complain(SUBCOMMAND, "hint: https://%s, or http://%s if the network is trusted", row->name,
                 row->name);
        return false;
    }
    return true;
}

/* Reads the token or the password from the user's files or environment. *out_token, *out_password: NULL if
 * not given; the caller frees them with secret_free, also after a failure. Returns false after a message. */
static bool read_access(const struct hosts_settings *settings, const struct hosts *hosts, char **out_token,
                        char **out_password)
{
    const char *token = getenv(TOKEN);
    *out_token = *out_password = NULL;
    if (settings->token_file && !(*out_token = read_line(settings->token_file, "the token")))
        return false;
    if (settings->password_file && !(*out_password = read_line(settings->password_file, "the password")))
        return false;
    if (!*out_token && !*out_password && token && *token) {
        if (strlen(token) >= MAX_PASSWORD) {
            complain(SUBCOMMAND, TOKEN " is longer than %d bytes", MAX_PASSWORD - 1);
            return false;
        }
        *out_token = strdup(token);
    }
    return (!*out_token && !*out_password) || may_send(hosts);
}

/* --- the loop ------------------------------------------------------------------------------------------- */

static void show(struct view *view)
{
    int width, height;
    screen_size(&width, &height);
    if (!frame_clear(&view->frame, width, height))
        return; /* keeps the last page on the screen */
    hosts_draw(&view->frame, &view->hosts, clock_now_ns());
    screen_show(&view->frame);
}

static void press(struct view *view, int key)
{
    struct ui_list *list = &view->hosts.view;
    size_t last = view->hosts.count - 1;
    switch (key) {
    case 'q':
        view->has_ended = true;
        break;
    case UI_UP:
    case UI_PAGE_UP:
    case UI_HOME: {
        size_t step = key == UI_UP ? 1 : key == UI_PAGE_UP ? PAGE_ROWS : last;
        list->selected = list->selected > step ? list->selected - step : 0;
        break;
    }
    case UI_DOWN:
    case UI_PAGE_DOWN:
    case UI_END: {
        size_t step = key == UI_DOWN ? 1 : key == UI_PAGE_DOWN ? PAGE_ROWS : last;
        list->selected = last - list->selected > step ? list->selected + step : last;
        break;
    }
    default:
        break;
    }
}

static void handle_keys(struct view *view, short events)
{
    int key = screen_key(), first = key;
    for (; key && !view->has_ended; key = screen_key())
        press(view, key);
    if (!first && events & (POLLHUP | POLLERR | POLLNVAL))
        view->has_ended = true;
}

static void tick(struct view *view)
{
    int64_t now = clock_now_ns();
    view->hosts.running_s = (double)(now - view->begin_ns) * 1e-9;
    if (now < view->tick_ns)
        return;
    hosts_tick(&view->hosts, now);
    view->tick_ns = now + (int64_t)(HOSTS_TICK_S * 1e9);
}

static int milliseconds_until(int64_t time_ns)
{
    int64_t left_ns = time_ns - clock_now_ns();
    return left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0;
}

static int run_on_terminal(struct view *view)
{
    joule_error error;
    int signals = signals_open();
    if (signals < 0 || screen_open(&error) != JOULE_OK) {
        complain(SUBCOMMAND, "%s", signals < 0 ? "cannot read signals" : error.message);
        return EXIT_OWN_FAILURE;
    }
    view->frame.is_ascii = !screen_has_utf8();
    view->tick_ns = view->begin_ns + (int64_t)(HOSTS_TICK_S * 1e9);
    struct pollfd others[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    while (!view->has_ended) {
        show(view);
        streams_wait(view->streams, others, 2, milliseconds_until(view->tick_ns));
        if (others[1].revents && (view->ended_by = signals_read(signals)))
            break;
        if (others[0].revents)
            handle_keys(view, others[0].revents);
        tick(view);
    }
    screen_close();
    close(signals);
    return 0;
}

/* --- once ----------------------------------------------------------------------------------------------- */

/* Waits until each host has failed or has sent two reports, but at most ONCE_NS. The energy of a host is the
 * difference of its two reports. Prints one page. Returns the exit code: EXIT_OWN_FAILURE if no host
 * answered. */
static int print_once(struct view *view)
{
    struct hosts_total total;
    int64_t deadline_ns = view->begin_ns + ONCE_NS;
    view->frame.is_ascii = !screen_has_utf8();
    for (size_t waiting = 1; waiting > 0 && clock_now_ns() < deadline_ns;) {
        streams_wait(view->streams, NULL, 0, 100);
        waiting = 0;
        for (size_t i = 0; i < view->hosts.count; i++)
            waiting += !(view->hosts.list[i].joules > 0) && !view->hosts.list[i].problem[0];
    }
    int64_t now = clock_now_ns();
    view->hosts.running_s = (double)(now - view->begin_ns) * 1e-9;
    hosts_tick(&view->hosts, now);
    hosts_sum(&view->hosts, now, &total);
    if (!hosts_draw_once(&view->frame, &view->hosts, now, screen_once_width())) {
        complain(SUBCOMMAND, "out of memory");
        return EXIT_OWN_FAILURE;
    }
    int code = page_print(SUBCOMMAND, frame_rows, &view->frame);
    return code == 0 && total.live == 0 ? EXIT_OWN_FAILURE : code;
}

int hosts_run(const struct hosts_settings *settings, int *out_signal)
{
    static struct view view;
    joule_error error;
    char *token = NULL, *password = NULL;
    int code = EXIT_OWN_FAILURE;
    if (!hosts_read(&view.hosts, settings->list, settings->ca_file != NULL, &error)) {
        complain(SUBCOMMAND, "%s", error.message);
        hosts_free(&view.hosts);
        return EXIT_USAGE;
    }
    if (read_access(settings, &view.hosts, &token, &password)) {
        const struct stream_access access = {
            .token = token, .password = password, .ca_file = settings->ca_file};
        view.begin_ns = clock_now_ns();
        view.streams = streams_open(&view.hosts, &access, &error);
        if (view.streams)
            code = settings->is_once ? print_once(&view) : run_on_terminal(&view);
        else
            complain(SUBCOMMAND, "%s", error.message);
    }
    *out_signal = view.ended_by;
    streams_close(view.streams);
    secret_free(token);
    secret_free(password);
    hosts_free(&view.hosts);
    frame_free(&view.frame);
    return code;
}

#else

int hosts_run(const struct hosts_settings *settings, int *out_signal)
{
    (void)settings;
    *out_signal = 0;
    complain(SUBCOMMAND, "--hosts: this build has no libcurl");
    return EXIT_OWN_FAILURE;
}

#endif
