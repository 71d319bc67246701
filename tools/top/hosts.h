/* tools/top/hosts.h - what many machines use, as their `joule serve` reports it.
 *
 * Note: a machine that does not report now has its last figures shown as old ones, and is in no total of
 * power.
 */
#ifndef TOP_HOSTS_H
#define TOP_HOSTS_H

#include <joule/joule.h>
#include <stdint.h>
#include "history.h"
#include "ui.h"

#define HOSTS_TICK_S 1.0

struct host_row {
    char name[128]; /* as it was asked for, without a scheme */
    char url[192];
    bool is_loopback, is_plain_http, has_scheme;
    char problem[96]; /* of the connection; empty: none */
    /* The last report. NaN: not known. */
    joule_quantity watts;
    double cpu_watts, gpu_watts;
    joule_class cpu_class, gpu_class;
    size_t devices;
    bool is_partial;
    int64_t seen_ns; /* CLOCK_MONOTONIC; 0: never */
    /* Since the first report here. A server that begins again counts from 0. */
    double joules, counted_joules, server_s;
    joule_class joules_class;
    struct history history;
};

enum host_state { HOST_WAITING, HOST_LIVE, HOST_STALE };

struct hosts {
    struct host_row *list;
    size_t count;
    uint64_t tick;
    double running_s;
    struct ui_list view;
};

struct hosts_total {
    joule_quantity watts; /* of live hosts, of the weakest class among them; errors are taken to be common */
    double joules;        /* of all that were ever seen */
    joule_class joules_class;
    size_t live;
    bool is_partial; /* a host is not live, or its own total is partial or unknown */
};

/* Makes rows of "HOST[:PORT]" or "http[s]://HOST[:PORT]" with commas; without a scheme https if
 * `is_tls`. False with a message. */
bool hosts_read(struct hosts *hosts, const char *list, bool is_tls, joule_error *out_error);
void hosts_free(struct hosts *hosts);
/* Takes a report (docs/serve.schema.json), which is changed. False: it is none, and the row has the
 * problem. */
bool host_take(struct host_row *row, char *json, size_t size, int64_t now_ns);
enum host_state host_state_of(const struct host_row *row, int64_t now_ns);
/* One more step of all histories. */
void hosts_tick(struct hosts *hosts, int64_t now_ns);
void hosts_sum(const struct hosts *hosts, int64_t now_ns, struct hosts_total *out);

/* The page; and for --once, as high as it must be. False when memory is used up. */
void hosts_draw(struct frame *frame, struct hosts *hosts, int64_t now_ns);
bool hosts_draw_once(struct frame *frame, struct hosts *hosts, int64_t now_ns, int width);

#endif
