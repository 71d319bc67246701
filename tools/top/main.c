/* tools/top/main.c - `joule top`: options, and the loop of ticks, keys and signals.
 *
 * Note: all signals that end or stop the program are blocked, also in the meter's threads, and read from a
 * descriptor. The terminal is thus restored in one place.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/string.h"
#include "common/options.h"
#include "common/output.h"
#include "common/page.h"
#include "draw.h"
#include "gather.h"
#include "hosts.h"
#include "screen.h"
#include "signals.h"

#define SUBCOMMAND   "top"
#define PERIOD_S     1.0
#define MIN_PERIOD_S 0.1
#define MAX_PERIOD_S 60.0
#define ONCE_ROWS    30 /* maximum number of processes for --once */

const char tool_name[] = "joule";

struct settings {
    joule_options meter;
    const char *record;
    struct hosts_settings hosts;
    bool is_once;
};

struct top {
    struct settings settings;
    struct gathering gathering;
    struct model model;
    struct ui ui;
    struct frame frame;
    int signals, timer;
    uint64_t tick;
    int ended_by; /* signal that ended the program; 0: none */
    bool has_ended;
};

/* --- recording ------------------------------------------------------------------------------------------ */

static void start_record(struct top *top, const char *path)
{
    joule_error error;
    if (output_check_file(path, &error) == JOULE_OK &&
        gather_record(&top->gathering, path, &error) == JOULE_OK) {
        top->ui.is_recording = true;
        string_print(top->ui.message, sizeof top->ui.message, "recording to %s; joule report shows it", path);
    } else {
        string_copy(top->ui.message, sizeof top->ui.message, error.message);
    }
}

static void stop_record(struct top *top)
{
    joule_error error;
    top->ui.is_recording = false;
    if (gather_end_record(&top->gathering, &error) == JOULE_OK)
        string_print(top->ui.message, sizeof top->ui.message, "recorded: %s", top->gathering.record_path);
    else
        string_copy(top->ui.message, sizeof top->ui.message, error.message);
}

static void toggle_record(struct top *top)
{
    char path[64];
    time_t now = time(NULL);
    struct tm day;
    if (top->ui.is_recording) {
        stop_record(top);
        return;
    }
    localtime_r(&now, &day);
    strftime(path, sizeof path, "joule-top-%Y%m%d-%H%M%S.record", &day);
    start_record(top, path);
}

/* --- drawing -------------------------------------------------------------------------------------------- */

static void show(struct top *top)
{
    int width, height;
    screen_size(&width, &height);
    if (!frame_clear(&top->frame, width, height))
        return; /* keeps the last page on the screen */
    draw(&top->frame, &top->ui, &top->model);
    screen_show(&top->frame);
}

static void tick(struct top *top)
{
    gather_tick(&top->gathering, &top->model, top->tick++, top->ui.is_paused);
    if (!top->ui.is_paused)
        ui_refresh(&top->ui, &top->model);
}

/* --- keys and signals ----------------------------------------------------------------------------------- */

static void press(struct top *top, int key)
{
    switch (ui_press(&top->ui, &top->model, key)) {
    case UI_QUIT:
        top->has_ended = true;
        break;
    case UI_RECORD:
        toggle_record(top);
        break;
    case UI_DETAIL:
        gather_detail(&top->gathering, &top->model);
        ui_refresh(&top->ui, &top->model);
        break;
    case UI_STAY:
        break;
    }
}

static void handle_signal(struct top *top)
{
    top->ended_by = signals_read(top->signals);
    top->has_ended = top->has_ended || top->ended_by != 0;
}

/* Handles pending keys; ends the program if the terminal is gone. */
static void handle_keys(struct top *top, short events)
{
    int key = screen_key(), first = key;
    for (; key && !top->has_ended; key = screen_key())
        press(top, key);
    if (!first && events & (POLLHUP | POLLERR | POLLNVAL))
        top->has_ended = true;
}

static void run(struct top *top)
{
    struct pollfd wait[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = top->signals, .events = POLLIN},
                            {.fd = top->timer, .events = POLLIN}};
    while (!top->has_ended) {
        show(top);
        if (poll(wait, 3, -1) < 0)
            continue;
        uint64_t expired;
        if (wait[1].revents)
            handle_signal(top);
        if (wait[0].revents && !top->has_ended)
            handle_keys(top, wait[0].revents);
        if (wait[2].revents && read(top->timer, &expired, sizeof expired) > 0 && !top->has_ended)
            tick(top);
    }
}

/* --- running -------------------------------------------------------------------------------------------- */

static bool open_descriptors(struct top *top)
{
    top->signals = signals_open(); /* before the meter starts threads, which inherit blocked signals */
    top->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return top->signals >= 0 && top->timer >= 0;
}

static void start_timer(const struct top *top)
{
    struct timespec period = clock_timespec((int64_t)(top->settings.meter.period_s * 1e9));
    timerfd_settime(top->timer, 0, &(struct itimerspec){period, period}, NULL);
}

static int run_on_terminal(struct top *top)
{
    joule_error error;
    if (screen_open(&error) != JOULE_OK) {
        complain(SUBCOMMAND, "%s", error.message);
        return EXIT_OWN_FAILURE;
    }
    top->frame.is_ascii = !screen_has_utf8();
    tick(top);
    start_timer(top);
    run(top);
    screen_close();
    return 0;
}

/* Keeps only the first ONCE_ROWS processes that used energy or CPU time. */
static void keep_active(struct top *top)
{
    size_t kept = 0;
    for (size_t i = 0; i < top->ui.shown_count && kept < ONCE_ROWS; i++) {
        const struct process_row *row = &top->model.processes[top->ui.shown[i]];
        if (row->joules.value > 0 || row->cpu_share > 0)
            top->ui.shown[kept++] = top->ui.shown[i];
    }
    top->ui.shown_count = kept;
}

/* Waits for one period, in which energy is attributed, and prints one page. */
static int print_once(struct top *top)
{
    struct timespec period = clock_timespec((int64_t)(top->settings.meter.period_s * 1e9));
    top->frame.is_ascii = !screen_has_utf8();
    while (nanosleep(&period, &period) != 0 && errno == EINTR)
        ;
    tick(top);
    keep_active(top);
    top->ui.focus = FOCUS_NOTHING;
    if (!draw_once(&top->frame, &top->ui, &top->model, screen_once_width())) {
        complain(SUBCOMMAND, "out of memory");
        return EXIT_OWN_FAILURE;
    }
    return page_print(SUBCOMMAND, frame_rows, &top->frame);
}

static int open_and_run(struct top *top)
{
    joule_error error;
    int code = EXIT_OWN_FAILURE;
    if (!top->settings.is_once && !open_descriptors(top)) {
        complain(SUBCOMMAND, "cannot open descriptors for signals: %s", strerror(errno));
        return code;
    }
    joule_status status = gather_open(&top->gathering, &top->settings.meter, &top->model, &error);
    if (status == JOULE_OK) {
        if (top->settings.record)
            start_record(top, top->settings.record);
        if (top->settings.record && !top->ui.is_recording)
            complain(SUBCOMMAND, "%s", top->ui.message);
        else
            code = top->settings.is_once ? print_once(top) : run_on_terminal(top);
    } else {
        complain(SUBCOMMAND, "%s", error.message);
        code = status == JOULE_INVALID ? EXIT_USAGE : code;
    }
    if (gather_end_record(&top->gathering, &error) != JOULE_OK) {
        complain(SUBCOMMAND, "%s", error.message);
        code = EXIT_OWN_FAILURE;
    }
    gather_close(&top->gathering);
    ui_free(&top->ui);
    model_free(&top->model);
    frame_free(&top->frame);
    return code;
}

/* --- options -------------------------------------------------------------------------------------------- */

/* Reads the options. Returns 1 if they are valid, else OPTIONS_HELP or OPTIONS_WRONG. */
static int read_settings(struct settings *settings, int argc, char **argv)
{
    joule_options *meter = &settings->meter;
    const struct option table[] = {{.name = "period",
                                    .kind = OPTION_TIME,
                                    .value = &meter->period_s,
                                    .argument = "TIME",
                                    .help = "time between updates, 100ms to 60s (default 1s)"},
                                   {.name = "record",
                                    .kind = OPTION_TEXT,
                                    .value = &settings->record,
                                    .argument = "FILE",
                                    .help = "store every reading in FILE for `joule report`"},
                                   {.name = "once",
                                    .kind = OPTION_FLAG,
                                    .value = &settings->is_once,
                                    .help = "print one page and exit; needs no terminal"},
                                   {.name = "hosts",
                                    .kind = OPTION_TEXT,
                                    .value = &settings->hosts.list,
                                    .argument = "LIST",
                                    .help = "machines with joule serve to show: HOST[:PORT] or "
                                            "https://HOST[:PORT],..."},
                                   {.name = "token-file",
                                    .kind = OPTION_TEXT,
                                    .value = &settings->hosts.token_file,
                                    .argument = "FILE",
                                    .help = "with --hosts: bearer token to send"},
                                   {.name = "password-file",
                                    .kind = OPTION_TEXT,
                                    .value = &settings->hosts.password_file,
                                    .argument = "FILE",
                                    .help = "with --hosts: NAME:PASSWORD to send"},
                                   {.name = "ca",
                                    .kind = OPTION_TEXT,
                                    .value = &settings->hosts.ca_file,
                                    .argument = "FILE",
                                    .help = "with --hosts: trusted certificates; uses https for all hosts"},
                                   {.name = "sources",
                                    .kind = OPTION_TEXT,
                                    .value = &meter->sources,
                                    .argument = "LIST",
                                    .help = "use only these sources (\"a,b\"), or all except some (\"-a\")"},
                                   {.name = "root",
                                    .kind = OPTION_TEXT,
                                    .value = &meter->root,
                                    .argument = "DIR",
                                    .help = "show the machine recorded in DIR instead of this one"},
                                   {0}};
    const struct command_text text = {
        .usage = "joule top [OPTIONS]",
        .summary = "Shows the power and energy of this machine's devices and processes, live.",
        .notes = "The letter after a value is its class: m measured, d derived, ~ modelled, ? "
                 "assumed.\nPress ? for the list of keys.\n"};
    int first = options_read(table, &text, argc, argv);
    if (first <= OPTIONS_HELP)
        return first;
    if (first < argc) {
        complain(SUBCOMMAND, "unexpected argument '%s'; see joule top --help", argv[first]);
        return OPTIONS_WRONG;
    }
    settings->hosts.is_once = settings->is_once;
    if (settings->hosts.list && (settings->record || meter->sources || meter->root)) {
        complain(SUBCOMMAND, "--hosts cannot be combined with --record, --sources or --root");
        return OPTIONS_WRONG;
    }
    if (!(meter->period_s >= MIN_PERIOD_S && meter->period_s <= MAX_PERIOD_S)) {
        complain(SUBCOMMAND, "--period must be between 100 ms and 60 s");
        return OPTIONS_WRONG;
    }
    return 1;
}

int main(int argc, char **argv)
{
    static struct top top = {.settings.meter = {.struct_size = sizeof top.settings.meter,
                                                .flags = JOULE_OPEN_NO_SESSION | JOULE_OPEN_DEVICES,
                                                .period_s = PERIOD_S}};
    char name[] = SUBCOMMAND;
    output_guard_streams();
    argv[0] = name; /* name in messages */
    int ready = read_settings(&top.settings, argc, argv);
    int code = ready == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (ready == 1)
        code = top.settings.hosts.list ? hosts_run(&top.settings.hosts, &top.ended_by) : open_and_run(&top);
    code = output_end(SUBCOMMAND, code);
    return top.ended_by == 0 ? code : signals_end(top.ended_by);
}
