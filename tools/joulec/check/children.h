/* tools/joulec/check/children.h - runs checks in parallel child processes.
 *
 * Each child has its own process group, so that children_close can also end the clang that the child started.
 * Note: signals are blocked until the program waits for children, so that none is lost.
 */
#ifndef CHECK_CHILDREN_H
#define CHECK_CHILDREN_H

#include <signal.h>
#include <sys/types.h>
#include "check.h"

/* Result that a child sends to its parent. It contains no pointers. */
struct check_result {
    struct checked checked;
    bool has_failed;  /* the source could not be checked; a message was printed */
    bool is_broken;   /* the entry's command is invalid */
    char unknown[64]; /* an option that clang does not know; "": none */
    struct tally tally;
};

/* Result and outputs of a child that has ended. */
struct child_result {
    size_t number;
    int signal; /* signal that ended the child; 0: none */
    struct check_result check;
    char *bytes[PIECES]; /* the caller frees them with free(); NULL: none */
    size_t sizes[PIECES];
};

struct child {
    pid_t pid;
    size_t number;
    int fds[PIECES], end_fd; /* files in memory; -1: none */
};

struct children {
    struct child *list;
    size_t count, max_count;
    sigset_t old_mask, awaited;
    int signal; /* signal that requests the end of this program; 0: none */
};

/* Prepares *children for at most `max_count` children at the same time, and blocks signals until
 * children_close. Returns false after a message. */
bool children_open(struct children *children, size_t max_count);
/* Runs work(context, number) in a new process. `real`: the outputs of this program. For each of them the
 * child gets a file in memory. Returns false after a message. */
bool children_start(struct children *children, const struct outputs *real, size_t number,
                    void (*work)(void *context, size_t number, struct outputs *part,
                                 struct check_result *out),
                    void *context);
/* Waits until a child ends, and sets *out, which the caller frees with child_result_free. Returns false if a
 * signal requests that this program ends. */
bool children_wait(struct children *children, struct child_result *out);
void child_result_free(struct child_result *result);
/* Ends the remaining children, and waits for them. */
void children_close(struct children *children);

#endif
