/* tools/serve/answer.h - the texts that `joule serve` sends, each valid for one period of readings.
 *
 * The code depends on HTTP only by the media types.
 *
 * Note: each kind has two pages: one that is being sent, and one for the next text. Memory therefore does not
 * grow with the number of requests. Additional pages exist only while slow clients receive older texts.
 */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include "joule/report/metrics.h"

enum answer_kind {
    ANSWER_TEXT, /* metrics in Prometheus' text format */
    ANSWER_OPENMETRICS,
    ANSWER_DEVICES, /* the overview as JSON */
    ANSWER_HISTORY, /* see power_chart.h */
    ANSWER_EVENT,   /* the text of ANSWER_DEVICES, for a caller that copies it at once */
    ANSWER_KINDS
};

/* A text that is being sent, or a free buffer. */
struct page {
    struct page *next;
    char *bytes;
    size_t length, capacity;
    bool is_used; /* a caller uses the text; set by answer_make, cleared by answer_release */
};

/* The texts of one kind. */
struct answer {
    struct page *pages;   /* linked list of all pages of this kind */
    struct page *current; /* the page with the current text; NULL: none yet */
    int64_t printed_ns;   /* time of `current` on CLOCK_MONOTONIC; 0: none yet */
};

/* Initialise with zeros, then set `meter` and `tenants`. */
struct answers {
    joule_meter *meter;
    struct tenants *tenants; /* updated before each overview; NULL: none. The caller owns it. */
    struct overview overview;
    int64_t gathered_ns; /* when `overview` was read, CLOCK_MONOTONIC; 0: never */
    struct answer list[ANSWER_KINDS];
};

/* Returns the page with the current text of a kind, or NULL if out of memory. Sets *out_is_new to whether
 * this call printed a new text. If so, the text stays unchanged until the caller calls answer_release. */
struct page *answer_make(struct answers *answers, enum answer_kind kind, bool *out_is_new);
void answer_release(struct page *page);
const char *answer_media_type(enum answer_kind kind);
/* Returns true if the machine's power is known, or not known yet. */
bool answers_are_fresh(struct answers *answers);
void answers_free(struct answers *answers);

#endif
