/* tools/serve/privileges.c - see privileges.h.
 *
 * Note: the C library changes the user of every thread. If the process was root, the kernel then removes the
 * capabilities of every thread. A process started as another user may have capabilities, too
 * (AmbientCapabilities=). These belong to each thread: the thread that answers requests drops them, and
 * threads that read sensors keep them.
 */
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "common/options.h"
#include "serve.h"

#define DEFAULT_USER  "joule"
#define FALLBACK_USER "nobody"

/* --- root ----------------------------------------------------------------------------------------------- */

static const struct passwd *find_user(const char *name)
{
    const struct passwd *user = getpwnam(name ? name : DEFAULT_USER);
    if (user || name) {
        if (!user) {
            complain(SERVE, "cannot run as '%s': there is no such user", name);
            complain(SERVE, "hint: sudo useradd --system --no-create-home %s", name);
        }
        return user;
    }
    user = getpwnam(FALLBACK_USER);
    complain(SERVE, user ? "runs as " FALLBACK_USER ": there is no user '" DEFAULT_USER "'"
                         : "cannot find a user to run as: name one with --user");
    return user;
}

static bool become(const struct passwd *user)
{
    if (initgroups(user->pw_name, user->pw_gid) == 0 &&
        setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
        setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0)
        return true;
    complain(SERVE, "cannot run as '%s': %s", user->pw_name, strerror(errno));
    complain(SERVE, "hint: --user root keeps the rights of root");
    return false;
}

/* --- capabilities --------------------------------------------------------------------------------------- */

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    bool is_done = syscall(SYS_capset, &header, none) == 0;
    if (!is_done)
        complain(SERVE, "cannot drop capabilities: %s", strerror(errno));
    return is_done;
}

/* --- user and capabilities ------------------------------------------------------------------------------ */

static bool drop_root(const char *user)
{
    if (geteuid() != 0) {
        const struct passwd *wanted = user ? getpwnam(user) : NULL;
        if (!user || (wanted && wanted->pw_uid == geteuid()))
            return drop_capabilities();
        complain(SERVE, "cannot run as '%s': only root can become another user", user);
        return false;
    }
    const struct passwd *found = find_user(user);
    if (!found || (found->pw_uid != 0 && !become(found)))
        return false;
    return found->pw_uid == 0 || drop_capabilities();
}

bool privileges_drop(const char *user)
{
    if (!drop_root(user))
        return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        return true;
    complain(SERVE, "cannot set no_new_privs: %s", strerror(errno));
    return false;
}
