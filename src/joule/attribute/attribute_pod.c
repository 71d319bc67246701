/* joule/attribute/attribute_pod.c - see attribute_pod.h.
 *
 * Note: the kubelet creates a pod's folder before the pod runs, but links a container's log only after the
 * container has started. So a name may be missing at first. The search for it is repeated at growing
 * intervals. It ends after MAX_SEARCHES updates, because a pod's pause container has no log.
 */
#include "joule/attribute/attribute_pod.h"

#include <string.h>
#include "base/string.h"
#include "joule/meter/engine.h"

#define MAX_SEARCHES 64

/* --- names of logs -------------------------------------------------------------------------------------- */

/* Copies the name [from, end) with a terminator. Returns false if it is empty, does not fit, or has
 * characters that Kubernetes does not allow. */
static bool take(char *out, size_t size, const char *from, const char *end)
{
    size_t length = (size_t)(end - from);
    if (length == 0 || length >= size || strspn(from, "abcdefghijklmnopqrstuvwxyz0123456789-.") < length)
        return false;
    memcpy(out, from, length);
    out[length] = '\0';
    return true;
}

/* Finds the text's only two underscores. Returns false if it has fewer or more. */
static bool find_two(const char *text, const char **out_first, const char **out_second)
{
    *out_first = strchr(text, '_');
    *out_second = *out_first ? strchr(*out_first + 1, '_') : NULL;
    return *out_second && !strchr(*out_second + 1, '_');
}

bool pod_read_folder(const char *folder, struct tenant_name *out)
{
    struct tenant_name name = {0};
    const char *first, *second;
    if (!find_two(folder, &first, &second) || !take(name.namespace, sizeof name.namespace, folder, first) ||
        !take(name.pod, sizeof name.pod, first + 1, second) ||
        !take(name.pod_uid, sizeof name.pod_uid, second + 1, second + strlen(second)))
        return false;
    *out = name;
    return true;
}

bool pod_read_log(const char *file, struct tenant_name *out)
{
    struct tenant_name name = {0};
    const char *first, *second, *dash = strrchr(file, '-');
    if (!find_two(file, &first, &second) || !dash || dash < second || !string_ends(dash, ".log") ||
        !take(name.pod, sizeof name.pod, file, first) ||
        !take(name.namespace, sizeof name.namespace, first + 1, second) ||
        !take(name.container, sizeof name.container, second + 1, dash) ||
        !take(name.container_id, sizeof name.container_id, dash + 1, dash + strlen(dash) - strlen(".log")))
        return false;
    *out = name;
    return true;
}

/* --- names of tenants ----------------------------------------------------------------------------------- */

/* Returns true if a tenant lacks names and must be searched for now: at updates 1, 2, 4 ... MAX_SEARCHES. */
static bool is_due(const struct tenant *tenant, int64_t now_ns)
{
    bool is_named = tenant->name.pod[0] && tenant->name.container[0];
    bool is_round =
        (tenant->update_count & (tenant->update_count - 1)) == 0 && tenant->update_count <= MAX_SEARCHES;
    return tenant->name.pod_uid[0] && !is_named && is_round && tenant->seen_ns == now_ns;
}

/* Returns true if `log` belongs to the tenant `name`: a folder belongs to a pod by its UID, and a
 * link to a container by its id. */
static bool belongs_to(const struct tenant_name *name, const struct tenant_name *log)
{
    return log->pod_uid[0] ? strcmp(name->pod_uid, log->pod_uid) == 0
                           : strcmp(name->container_id, log->container_id) == 0;
}

/* Copies the names from a log to all tenants to which the log belongs and that are due. */
static void copy_names(struct tenants *tenants, int64_t now_ns, const struct tenant_name *log)
{
    for (size_t i = 0; i < tenants->count; i++) {
        struct tenant_name *name = &tenants->list[i].name;
        if (!is_due(&tenants->list[i], now_ns) || !belongs_to(name, log))
            continue;
        string_copy(name->pod, sizeof name->pod, log->pod);
        string_copy(name->namespace, sizeof name->namespace, log->namespace);
        string_copy(name->container, sizeof name->container, log->container);
    }
}

/* Parses the names of all files in a folder with read(), and copies the results to tenants. */
static void read_names(struct tenants *tenants, int64_t now_ns, const char *path,
                       bool (*read)(const char *text, struct tenant_name *out))
{
    struct joule_host *host = tenants->meter->host;
    struct arena arena = {0};
    struct tenant_name log;
    char **names;
    ssize_t count = host->ops->list(host, path, &arena, &names);
    for (ssize_t i = 0; i < count; i++)
        if (read(names[i], &log))
            copy_names(tenants, now_ns, &log);
    arena_free(&arena);
}

void pods_name(struct tenants *tenants, int64_t now_ns)
{
    size_t due = 0;
    for (size_t i = 0; i < tenants->count; i++)
        due += is_due(&tenants->list[i], now_ns);
    if (!due)
        return;
    read_names(tenants, now_ns, "/var/log/pods", pod_read_folder);
    read_names(tenants, now_ns, "/var/log/containers", pod_read_log);
}
