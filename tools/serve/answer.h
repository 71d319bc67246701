/* tools/serve/answer.h - what stands on each page.
 *
 * Owns the overview, the texts made of it and how long they hold: as long as a round of readings takes. Nothing of HTTP but
 * the media type.
 * Newcomers: each kind has two pages, one being sent and one to write the next text into, so that a year of scrapes needs the
 * memory that the first ones did. Slow clients hold more of them for as long as they take.
 */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include "joule/report/metrics.h"

enum answer_kind {
    ANSWER_TEXT,
    ANSWER_OPENMETRICS,
    ANSWER_DEVICES,
    ANSWER_HISTORY,
    ANSWER_EVENT, /* like DEVICES, for a caller that copies the text at once */
    ANSWER_KINDS
};

/* A text that is being sent, or may be written anew. */
struct page {
    struct page *next;
    char *bytes;
    size_t length, capacity;
    bool is_used; /* set when it is given out, cleared by answer_release */
};

struct answer {
    struct page *pages, *current;
    int64_t made_ns; /* CLOCK_MONOTONIC; 0: never */
};

/* Zeroed but for the meter. */
struct answers {
    joule_meter *meter;
    struct tenants *tenants; /* settled before each overview; NULL: none. Owned by the caller */
    struct overview overview;
    int64_t gathered_ns;
    struct answer list[ANSWER_KINDS];
};

/* The text as it is now, which nobody else writes until it is released; *out_is_new: another one than at the last call for this
 * kind. NULL where memory is used up. */
struct page *answer_make(struct answers *answers, enum answer_kind kind, bool *out_is_new);
void answer_release(struct page *page);
const char *answer_media_type(enum answer_kind kind);
/* Whether readings come in: false where what this machine uses in all is no longer known. */
bool answers_are_fresh(struct answers *answers);
void answers_free(struct answers *answers);

#endif
