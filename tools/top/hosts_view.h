/* tools/top/hosts_view.h - `joule top --hosts`: many machines in one view. */
#ifndef TOP_HOSTS_VIEW_H
#define TOP_HOSTS_VIEW_H

#include <stdbool.h>

struct hosts_settings {
    const char *list, *token_file, *password_file, *ca_file;
    bool is_once;
};

/* Shows the machines once, or until it is ended. Returns the exit code. *out_signal: the signal that ended
 * it; 0: none. */
int hosts_run(const struct hosts_settings *settings, int *out_signal);

#endif
