/* tools/top/hosts.h - power and energy of many machines. `joule serve` on each machine reports them.
 *
 * Note: a machine that stopped reporting is shown with its last values, marked as stale, and does not count
 * in the total power.
 */
#ifndef TOP_HOSTS_H
#define TOP_HOSTS_H

#include <joule/joule.h>
#include <stdint.h>
#include "history.h"
#include "ui.h"

#define HOSTS_TICK_S 1.0

struct host_row {
    char name[128]; /* name from the user, without a scheme */
    char url[192];
    bool is_loopback, is_plain_http, has_scheme; /* has_scheme: the user wrote "http://" or "https://" */
    char problem[96];                            /* problem of the connection; empty: none */
    /* The last report. NaN: unknown. */
    joule_quantity watts;
    double cpu_watts, gpu_watts;
    joule_class cpu_class, gpu_class;
    size_t devices;
    bool is_partial;
    int64_t seen_ns; /* time of the last report, CLOCK_MONOTONIC; 0: none yet */
    /* joules: since the first report that this program received. counted_joules and server_s: the server's
     * energy and running time in the last report; a restarted server begins at 0. */
    double joules, counted_joules, server_s;
    joule_class joules_class;
    struct history history;
};

/* HOST_WAITING: no report yet. HOST_STALE: the last report is too old. */
enum host_state { HOST_WAITING, HOST_LIVE, HOST_STALE };

struct hosts {
    struct host_row *list;
    size_t count;
    uint64_t tick;
    double running_s;
    struct ui_list view;
};

struct hosts_total {
    /* Sum over live hosts, with their weakest class. Errors of hosts are assumed to be fully correlated. */
    joule_quantity watts;
    double joules; /* sum over all hosts that ever reported */
    joule_class joules_class;
    size_t live;     /* number of live hosts */
    bool is_partial; /* a host is not live, or its own total is partial or unknown */
};

/* Creates the rows from a list of "HOST[:PORT]" or "http[s]://HOST[:PORT]", separated by commas. Without a
 * scheme, https is used if `is_tls`, else http. On failure returns false with a message. Call hosts_free in
 * both cases. */
bool hosts_read(struct hosts *hosts, const char *list, bool is_tls, joule_error *out_error);
void hosts_free(struct hosts *hosts);
/* Parses the report json[0..size) (docs/serve.schema.json), which is changed, and updates the row. Returns
 * false, with `problem` of the row set, if the text is not a report. now_ns: CLOCK_MONOTONIC. */
bool host_parse_report(struct host_row *row, char *json, size_t size, int64_t now_ns);
enum host_state host_state_of(const struct host_row *row, int64_t now_ns);
/* Adds one tick to the histories of all hosts. */
void hosts_tick(struct hosts *hosts, int64_t now_ns);
void hosts_sum(const struct hosts *hosts, int64_t now_ns, struct hosts_total *out);

/* hosts_draw draws the page in the frame's size. hosts_draw_once (--once) first sets the frame's size to
 * `width` and the height needed, and returns false if out of memory. */
void hosts_draw(struct frame *frame, struct hosts *hosts, int64_t now_ns);
bool hosts_draw_once(struct frame *frame, struct hosts *hosts, int64_t now_ns, int width);

/* --- `joule top --hosts`: many machines in one view ----------------------------------------------------- */

/* list: hosts in the format of hosts_read. The files are paths; NULL: not given. is_once: print one page and
 * end. */
struct hosts_settings {
    const char *list, *token_file, *password_file, *ca_file;
    bool is_once;
};

/* Shows the machines once (is_once), or until the user quits or a signal arrives. Prints messages. Returns
 * the exit code. *out_signal: the signal that ended the view; 0: none. */
int hosts_run(const struct hosts_settings *settings, int *out_signal);

#endif
