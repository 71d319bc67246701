/* support/session_rounds.h - reads this process's session round by round, as a reader does.
 *
 * There is one reader. Also runs child processes that share the session. Note: a round removes what it reads
 * from the rings. As a set-up, session_forget reads all that other tests left in the session. */
#ifndef TEST_SESSION_ROUNDS_H
#define TEST_SESSION_ROUNDS_H

#include "joule/collector/reader.h"
#include "joule/session/session.h"

/* The sums of one round. */
struct seen {
    size_t slots, open, spans, over;
    uint64_t folded;
    double folded_s, own_s; /* of folded regions: total time, and time without nested regions */
    double span_s;          /* total time of finished spans */
    struct span last;
};

/* Reads one round and returns its sums. ask_owners: also reads slots whose threads may have ended. */
struct seen session_read_all(bool ask_owners);
int session_forget(void **state);
/* Runs `body` in a child process. Returns true if `body` returned true; false if it returned false or did not
 * return. */
bool session_in_child(bool (*body)(void *), void *argument);

#endif
