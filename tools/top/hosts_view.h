/* tools/top/hosts_view.h - `joule top --hosts`: many machines in one view. */
#ifndef TOP_HOSTS_VIEW_H
#define TOP_HOSTS_VIEW_H

#include <stdbool.h>

/* list: as for hosts_read. The files are paths; NULL: not given. is_once: print one page and end. */
struct hosts_settings {
    const char *list, *token_file, *password_file, *ca_file;
    bool is_once;
};

/* Shows the machines once (is_once), or until the user quits or a signal arrives. Prints messages. Returns
 * the exit code. *out_signal: the signal that ended the view; 0: none. */
int hosts_run(const struct hosts_settings *settings, int *out_signal);

#endif
