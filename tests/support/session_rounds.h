/* support/session_rounds.h - reads the finished regions of this process's session, as the collector does.
 *
 * All rounds use the same struct reader. Also runs child processes that share the session. Note: a round
 * removes the regions that it reads from the rings. session_forget is the set-up of a test: it reads all
 * regions that other tests left in the session. */
#ifndef TEST_SESSION_ROUNDS_H
#define TEST_SESSION_ROUNDS_H

#include "joule/collector/reader.h"
#include "joule/session/session.h"

/* The sums of one round: slots with news, open regions, finished spans, ended threads, and folded regions. */
struct seen {
    size_t slots, open, spans, over;
    uint64_t folded;
    double folded_s, own_s; /* total time of folded regions, and their time without nested regions */
    double span_s;          /* total time of finished spans */
    struct span last;
};

/* Reads one round and returns its sums. ask_owners: also checks whether the owners of slots are alive, and
 * reads the slots of ended threads. */
struct seen session_read_all(bool ask_owners);
int session_forget(void **state);
/* Runs `body` in a child process. Returns true if `body` returned true; false if it returned false or did not
 * return. */
bool session_in_child(bool (*body)(void *), void *argument);

#endif
