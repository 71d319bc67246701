/* support/session_rounds.h - what a reader sees of the session of this process, round by round.
 *
 * Owns one reader and the sums of what its last round handed on; children of a test, which have the same session.
 * Newcomers: what a round has read is gone from the rings; session_forget, as a test's set-up, reads all that others left.
 */
#ifndef TEST_SESSION_ROUNDS_H
#define TEST_SESSION_ROUNDS_H

#include "joule/collector/reader.h"
#include "joule/session/session.h"

/* What one round handed on. */
struct seen {
    size_t slots, open, spans, over;
    uint64_t folded;
    double folded_s, own_s; /* of folded regions: total time, and time less nested regions */
    double span_s;          /* of finished spans */
    struct span last;
};

/* One round; with ask_owners also over slots whose threads may be gone. */
struct seen session_read_all(bool ask_owners);
int session_forget(void **state);
/* Runs `body` in a child; false: it returned false, or did not return. */
bool session_in_child(bool (*body)(void *), void *argument);

#endif
