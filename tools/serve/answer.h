/* tools/serve/answer.h - the texts that `joule serve` sends, each valid for one period of readings.
 *
 * Contains nothing of HTTP except the media type.
 *
 * Note: each kind has two pages, one being sent and one for the next text, so memory does not grow with the
 * number of requests. Slow clients hold additional pages while they receive them.
 */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include "joule/report/metrics.h"

enum answer_kind {
    ANSWER_TEXT,
    ANSWER_OPENMETRICS,
    ANSWER_DEVICES,
    ANSWER_HISTORY,
    ANSWER_EVENT, /* the text of DEVICES, for a caller that copies it at once */
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
    int64_t made_ns;      /* CLOCK_MONOTONIC; 0: never */
};

/* The caller zeroes it and sets `meter` and `tenants`. */
struct answers {
    joule_meter *meter;
    struct tenants *tenants; /* updated before each overview; NULL: none. Owned by the caller */
    struct overview overview;
    int64_t gathered_ns; /* when `overview` was read, CLOCK_MONOTONIC; 0: never */
    struct answer list[ANSWER_KINDS];
};

/* Returns the current text of a kind; NULL: out of memory. The text does not change until the caller gives
 * it back with answer_release. *out_is_new: the text differs from the last one of this kind. */
struct page *answer_make(struct answers *answers, enum answer_kind kind, bool *out_is_new);
void answer_release(struct page *page);
const char *answer_media_type(enum answer_kind kind);
/* Returns false if the power of the machine is no longer known. */
bool answers_are_fresh(struct answers *answers);
void answers_free(struct answers *answers);

#endif
