/* tools/joulec/check/children.h - checks in processes of their own, several at a time.
 *
 * Owns starting them, collecting what they leave, and ending them all when this program is told to end. Newcomers: each lives in
 * a process group of its own, so that its clang ends with it; they are waited for with signals blocked, so that none is missed.
 */
#ifndef CHECK_CHILDREN_H
#define CHECK_CHILDREN_H

#include <signal.h>
#include <sys/types.h>
#include "check.h"

/* Of plain numbers alone: it comes out of another process. */
struct ending {
    struct checked checked;
    bool has_failed;  /* it could not be checked; the messages say why */
    bool is_broken;   /* as its command is wrong */
    char unknown[64]; /* an option that clang does not know; empty: none */
    struct tally tally;
};

/* What a child leaves. */
struct leaving {
    size_t number;
    int signal; /* that ended it; 0: none did */
    struct ending ending;
    char *bytes[PIECES]; /* for free() */
    size_t sizes[PIECES];
};

struct child {
    pid_t pid;
    size_t number;
    int fds[PIECES], end_fd; /* -1: none */
};

struct children {
    struct child *list;
    size_t count, most;
    sigset_t old_mask, awaited;
    int signal; /* that told this program to end; 0: none did */
};

/* False after a message. */
bool children_open(struct children *children, size_t most);
/* Runs work(context, number) in a process. `real` has the pieces that are wanted. False after a message. */
bool children_start(struct children *children, const struct outputs *real, size_t number,
                    void (*work)(void *context, size_t number, struct outputs *part, struct ending *out),
                    void *context);
/* The next one that ends. False: this program was told to end, or after a message. */
bool children_wait(struct children *children, struct leaving *out);
void leaving_free(struct leaving *leaving);
/* Ends those that still run. */
void children_close(struct children *children);

#endif
