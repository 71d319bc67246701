/* tools/helper/listener.h - the socket that clients connect to: passed by systemd, or bound by the helper.
 *
 * Note: the owner, group and mode of the socket file control the access. The kernel refuses other users.
 */
#ifndef HELPER_LISTENER_H
#define HELPER_LISTENER_H

#include <joule/base.h>

/* Sets *out_fd to the socket that systemd passes (LISTEN_FDS, sd_listen_fds(3)), or to -1 if systemd passes
 * none. INVALID: not exactly one listening Unix socket was passed. */
joule_status listener_inherit(int *out_fd, joule_error *out_error);
/* Binds `path` for a group (mode 0660), or for this user alone (0600) if `group` is NULL. Replaces the socket
 * of a helper that has ended, but not of a running helper. The caller owns *out_fd. */
joule_status listener_bind(const char *path, const char *group, int *out_fd, joule_error *out_error);

#endif
