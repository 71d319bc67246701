/* support/session_rounds.c - see session_rounds.h. */
#include "support/session_rounds.h"

#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"

static struct reader reader;

static void add_update(void *context, const struct slot_update *update)
{
    struct seen *seen = context;
    seen->slots++;
    seen->open += update->open_count;
    seen->spans += update->span_count;
    seen->over += update->is_over;
    for (size_t i = 0; i < update->fold_count; i++) {
        seen->folded += update->folds[i].count;
        seen->folded_s += update->folds[i].duration_s;
        seen->own_s += update->folds[i].own_s;
    }
    for (size_t i = 0; i < update->span_count; i++)
        seen->span_s += (double)(update->spans[i].end_ns - update->spans[i].begin_ns) * 1e-9;
    if (update->span_count)
        seen->last = update->spans[update->span_count - 1];
}

struct seen session_read_all(bool ask_owners)
{
    struct seen seen = {0};
    if (reader.map != session_map(session_current()))
        reader_start(&reader, session_map(session_current()), 0);
    /* The reader checks owners from time to time. With this time it does so only if ask_owners is true. */
    reader.checked_ns = clock_now_ns();
    reader_round(&reader, clock_now_ns(), ask_owners, add_update, &seen);
    return seen;
}

int session_forget(void **state)
{
    (void)state;
    session_read_all(true);
    return 0;
}

bool session_in_child(bool (*body)(void *), void *argument)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(body(argument) ? 0 : 1);
    int status;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
