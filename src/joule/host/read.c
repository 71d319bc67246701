/* joule/host/read.c - reads small files as text and numbers, and looks up symbols, through a host; see
 * host.h.
 *
 * Note: after a failure the buffer is empty, so a caller that only searches the buffer need not check the
 * result.
 */
#include <string.h>
#include "base/string.h"
#include "joule/host/host.h"

/* PROC_PID_INIT_INO of include/linux/proc_ns.h: 0xEFFFFFFC */
#define ROOT_PID_NAMESPACE "pid:[4026531836]"

bool host_read_text(struct joule_host *host, const char *path, char *buffer, size_t size)
{
    if (host->ops->read_file(host, path, buffer, size) < 0) {
        buffer[0] = '\0';
        return false;
    }
    const char *text = string_trim(buffer);
    memmove(buffer, text, strlen(text) + 1);
    return true;
}

bool host_read_u64(struct joule_host *host, const char *path, uint64_t *out_value)
{
    char text[64];
    return host_read_text(host, path, text, sizeof text) && string_to_u64(text, 10, out_value);
}

bool host_find_symbol(struct joule_host *host, void *library, const char *name, void *out_pointer)
{
    void *symbol = host->ops->library_symbol(host, library, name);
    _Static_assert(sizeof symbol == sizeof(void (*)(void)), "true wherever there is dlsym");
    memcpy(out_pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

bool host_is_in_root_pid_namespace(struct joule_host *host)
{
    char name[64];
    return host->ops->read_link(host, "/proc/self/ns/pid", name, sizeof name) > 0 &&
           strcmp(name, ROOT_PID_NAMESPACE) == 0;
}

void host_close_handle(struct joule_host *host, int handle)
{
    if (handle >= 0)
        host->ops->close_handle(host, handle);
}

/* Returns true if a folder has an entry. A path that ends with a star matches files with this prefix. */
static bool has_entry(struct joule_host *host, char *path, struct arena *arena)
{
    char **names, *slash = strrchr(path, '/');
    bool is_pattern = slash && string_ends(path, "*");
    if (is_pattern) {
        *slash = '\0';
        slash[strlen(slash + 1)] = '\0'; /* removes the star */
    }
    ssize_t count = host->ops->list(host, path, arena, &names);
    for (ssize_t i = 0; i < count; i++)
        if (!is_pattern || string_starts(names[i], slash + 1))
            return true;
    return false;
}

bool host_has_any(struct joule_host *host, const char *folders)
{
    struct arena arena = {0};
    char copy[256], *rest = copy;
    /* the list is too long to check: assume an entry */
    bool has_any = !string_copy(copy, sizeof copy, folders);
    for (char *folder; !has_any && (folder = strsep(&rest, ":")) != NULL;)
        has_any = has_entry(host, folder, &arena);
    arena_free(&arena);
    return has_any;
}
