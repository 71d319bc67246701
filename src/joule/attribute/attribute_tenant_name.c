/* joule/attribute/attribute_tenant_name.c - parses the paths of cgroups, see attribute_tenant.h.
 *
 * Recognised names:
 *   /slurm/uid_1000/job_42/step_0, /system.slice/slurmstepd.scope/job_42/step_0    Slurm, cgroup v1 and v2
 *   /docker/ID, /system.slice/docker-ID.scope, /machine.slice/libpod-ID.scope      Docker, Podman
 *   /kubepods/burstable/podUID/ID, /kubepods.slice/kubepods-podU_I_D.slice/crio-ID.scope  Kubernetes
 *   /system.slice/NAME.service, /user.slice/user-1000.slice                        systemd
 * Note: cgroups contain the UID of a pod and the ID of a container; attribute_pod.c finds their names.
 */
#include <string.h>
#include "base/string.h"
#include "joule/attribute/attribute_tenant.h"

#define MIN_ID_LENGTH 12
#define MAX_ID_LENGTH 64

/* One level of a path, without terminator. */
struct word {
    const char *text;
    size_t length;
};

/* Sets *out to the text between prefix and suffix. Returns false if the word does not begin and end with
 * them, or has nothing between them. */
static bool between(struct word word, const char *prefix, const char *suffix, struct word *out)
{
    size_t before = strlen(prefix), after = strlen(suffix);
    if (word.length <= before + after || strncmp(word.text, prefix, before) != 0 ||
        strncmp(word.text + word.length - after, suffix, after) != 0)
        return false;
    *out = (struct word){word.text + before, word.length - before - after};
    return true;
}

/* Returns true if a word is not empty and has only these letters. */
static bool consists_of(struct word word, const char *letters)
{
    for (size_t i = 0; i < word.length; i++)
        if (!strchr(letters, word.text[i]))
            return false;
    return word.length > 0;
}

/* Returns true if a word can be the id of a container, complete or shortened. */
static bool is_id(struct word word)
{
    return word.length >= MIN_ID_LENGTH && word.length <= MAX_ID_LENGTH &&
           consists_of(word, "0123456789abcdef");
}

/* Copies a word with a terminator, truncated to `size`. */
static void copy(char *out, size_t size, struct word word)
{
    struct text text;
    text_init(&text, out, size);
    text_add_bytes(&text, word.text, word.length);
}

/* Reads the UID of a pod into name->pod_uid, if the word contains one. systemd writes the UID's dashes as
 * underscores, because a dash separates levels of slices. */
static void read_pod(struct word word, struct tenant_name *name)
{
    struct word uid;
    size_t at = 0;
    if (between(word, "kubepods", ".slice", &uid)) {
        while (at + 4 < uid.length && strncmp(uid.text + at, "-pod", 4) != 0)
            at++;
        uid = (struct word){uid.text + at + 4, at + 4 < uid.length ? uid.length - at - 4 : 0};
    } else if (!between(word, "pod", "", &uid)) {
        return;
    }
    if (!consists_of(uid, "0123456789abcdef-_"))
        return;
    copy(name->pod_uid, sizeof name->pod_uid, uid);
    for (char *c = name->pod_uid; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

/* Reads the id of a container into name->container_id. Returns false if the word is not the id of a
 * container. parent: the level above. */
static bool read_container(struct word word, struct word parent, struct tenant_name *name)
{
    static const char *const prefixes[] = {"docker-", "libpod-", "cri-containerd-", "crio-", "containerd-"};
    struct word id = word;
    bool is_container =
        is_id(word) && (name->pod_uid[0] || (parent.length == 6 && strncmp(parent.text, "docker", 6) == 0));
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !is_container; i++)
        is_container =
            (between(word, prefixes[i], ".scope", &id) || between(word, prefixes[i], "", &id)) && is_id(id);
    if (is_container)
        copy(name->container_id, sizeof name->container_id, id);
    return is_container;
}

/* Reads one level of a path into *name. Returns the kind of tenant, in static storage, or NULL if the level
 * is not a tenant. */
static const char *read_kind(struct word word, struct word parent, struct tenant_name *name)
{
    struct word found;
    if (between(word, "uid_", "", &found) && consists_of(found, "0123456789"))
        copy(name->user, sizeof name->user, found);
    if (between(word, "job_", "", &found) && consists_of(found, "0123456789")) {
        copy(name->slurm_job, sizeof name->slurm_job, found);
        return "slurm";
    }
    read_pod(word, name);
    if (read_container(word, parent, name))
        return "container";
    if (between(word, "user-", ".slice", &found) && consists_of(found, "0123456789")) {
        copy(name->user, sizeof name->user, found);
        return "user";
    }
    if (between(word, "", ".service", &found)) {
        copy(name->unit, sizeof name->unit, word);
        return "service";
    }
    return NULL;
}

bool tenant_name_read(const char *path, struct tenant_name *out_name)
{
    struct word parent = {"", 0};
    *out_name = (struct tenant_name){0};
    while (*path) {
        path += strspn(path, "/");
        struct word word = {path, strcspn(path, "/")};
        const char *kind = word.length ? read_kind(word, parent, out_name) : NULL;
        path += word.length;
        if (kind)
            string_copy(out_name->kind, sizeof out_name->kind, kind);
        if (kind)
            return !path[strspn(path, "/")]; /* a cgroup below a tenant is not a tenant */
        parent = word;
    }
    return false;
}
