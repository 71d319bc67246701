/* joule/attribute/attribute_cgroup.c - see attribute_cgroup.h.
 *
 * Note: moving a process into a cgroup may wait 10 ms for the kernel's other CPUs, but creating a process
 * there costs nothing. So clone3 is tried before fork. No function here kills a process, because the
 * processes belong to the user.
 */
#include "joule/attribute/attribute_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/string.h"

#define PREFIX           "joule-"
#define MAX_DEPTH        8  /* levels of cgroups below the command's own */
#define REMOVE_TRIES     16 /* processes may fork while they are moved */
#define MOUNTINFO_SIZE   65536
#define CGROUP_SIZE      4096
#define PROCS_PIECE_SIZE 1024

/* --- finding the cgroup --------------------------------------------------------------------------------- */

/* Returns the byte that "\ooo" (three octal digits) at `text` encodes; 0 for other text. */
static unsigned char escaped_byte(const char *text)
{
    unsigned code = 0;
    if (*text++ != '\\')
        return 0;
    for (int i = 0; i < 3; i++) {
        if (text[i] < '0' || text[i] > '7')
            return 0;
        code = 8 * code + (unsigned)(text[i] - '0');
    }
    return (unsigned char)(code < 256 ? code : 0);
}

/* Returns the next field of a line of mountinfo, with its escapes decoded in place; NULL at the end. Advances
 * *rest. */
static char *next_field(char **rest)
{
    char *field = strsep(rest, " ");
    char *to = field;
    for (const char *from = field; from && *from; to++) {
        unsigned char byte = escaped_byte(from);
        *to = byte ? (char)byte : *from;
        from += byte ? 4 : 1;
    }
    if (field)
        *to = 0;
    return field;
}

/* Parses the line "ID PARENT MAJ:MIN ROOT MOUNTPOINT OPTIONS [TAGS...] - TYPE SOURCE SUPEROPTIONS" in place.
 * Returns true if its type is cgroup2. *out_root and *out_point point into the line. */
static bool is_cgroup2_mount(char *line, const char **out_root, const char **out_point)
{
    for (int skip = 0; skip < 3; skip++)
        next_field(&line);
    *out_root = next_field(&line);
    *out_point = next_field(&line);
    for (const char *tag = next_field(&line); tag; tag = next_field(&line))
        if (strcmp(tag, "-") == 0)
            break;
    const char *type = next_field(&line);
    return type && strcmp(type, "cgroup2") == 0;
}

/* Returns the part of `path` after `root`; NULL if `path` is not below `root`. */
static const char *path_below(const char *path, const char *root)
{
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    bool is_below = strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
    return is_below && !strstr(path, "/..") ? path + length : NULL;
}

/* Copies the path in the v2 hierarchy from the line "0::PATH". Returns false if there is no such line or it
 * does not fit. */
static bool own_path(const char *self_cgroup, char *out_path, size_t size)
{
    const char *line = string_starts(self_cgroup, "0::") ? self_cgroup : strstr(self_cgroup, "\n0::");
    if (!line)
        return false;
    line = strstr(line, "::") + 2;
    size_t length = strcspn(line, "\n");
    struct text path;
    text_init(&path, out_path, size);
    text_add_bytes(&path, line, length);
    return path.length < size && out_path[0] == '/';
}

bool cgroup_locate(const char *mountinfo, const char *self_cgroup, char *out_path, size_t size)
{
    char path[CGROUP_SIZE], line[CGROUP_SIZE];
    if (!own_path(self_cgroup, path, sizeof path))
        return false;
    for (const char *at = mountinfo; *at; at += *at == '\n') {
        struct text copy;
        size_t length = strcspn(at, "\n");
        text_init(&copy, line, sizeof line);
        text_add_bytes(&copy, at, length);
        at += length;
        if (length >= sizeof line)
            continue;
        const char *root, *point, *below;
        if (!is_cgroup2_mount(line, &root, &point) || !(below = path_below(path, root)))
            continue;
        struct text out;
        text_init(&out, out_path, size);
        text_add(&out, point);
        text_add(&out, strcmp(below, "/") == 0 ? "" : below);
        return out.length < size;
    }
    return false;
}

/* Finds the folder of this process's cgroup (see cgroup_locate). */
static bool find_own(struct joule_host *host, char *out_path, size_t size)
{
    char self[CGROUP_SIZE];
    char *mountinfo = malloc(MOUNTINFO_SIZE);
    bool found = mountinfo && host->ops->read_file(host, "/proc/self/cgroup", self, sizeof self) > 0 &&
                 host->ops->read_file(host, "/proc/self/mountinfo", mountinfo, MOUNTINFO_SIZE) > 0 &&
                 cgroup_locate(mountinfo, self, out_path, size);
    free(mountinfo);
    return found;
}

/* --- walking -------------------------------------------------------------------------------------------- */

typedef void (*process_fn)(pid_t pid, void *context);

/* Calls each(pid) for the processes of one cgroup, without those of cgroups below it. */
static void each_process_of(int folder, process_fn each, void *context)
{
    int fd = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    char piece[PROCS_PIECE_SIZE];
    long pid = 0;
    for (ssize_t n; fd >= 0 && (n = read(fd, piece, sizeof piece)) > 0;) {
        for (const char *c = piece; c < piece + n; c++) {
            if (*c >= '0' && *c <= '9') {
                pid = pid * 10 + (*c - '0');
                continue;
            }
            if (pid > 0) /* 0: the process is in a PID namespace that is not visible here */
                each((pid_t)pid, context);
            pid = 0;
        }
    }
    if (fd >= 0)
        close(fd);
}

/* Opens a folder, not through a symbolic link. Returns its descriptor, or -1 with errno. */
static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Calls each(parent, name) for the folders in `folder` whose name starts with `prefix`. */
static void each_child(int folder, const char *prefix,
                       void (*each)(int folder, const char *name, void *context), void *context)
{
    int fd = open_folder(folder, ".");
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && string_starts(entry->d_name, prefix))
            each(folder, entry->d_name, context);
    closedir(dir);
}

/* State of each_process. */
struct walk {
    process_fn each;
    void *context;
    int depth;
};

static void walk_child(int parent, const char *name, void *context);

/* Calls walk.each(pid) for the processes of a cgroup and of cgroups below it, up to MAX_DEPTH levels. */
static void each_process(int folder, struct walk walk)
{
    each_process_of(folder, walk.each, walk.context);
    if (walk.depth++ < MAX_DEPTH)
        each_child(folder, "", walk_child, &walk);
}

static void walk_child(int parent, const char *name, void *context)
{
    int folder = open_folder(parent, name);
    if (folder < 0)
        return;
    each_process(folder, *(struct walk *)context);
    close(folder);
}

/* --- removing ------------------------------------------------------------------------------------------- */

/* Removes the cgroup `name` and the cgroups inside it, if they are empty. Cgroups with processes belong to
 * the user and stay. context: the depth, an int. */
static void remove_empty(int parent, const char *name, void *context)
{
    int depth = *(int *)context + 1;
    int folder = depth < MAX_DEPTH ? open_folder(parent, name) : -1;
    if (folder >= 0) {
        each_child(folder, "", remove_empty, &depth);
        close(folder);
    }
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* Moves a process into a cgroup. Returns false on an error. */
static bool move_process(int folder, pid_t pid)
{
    int procs = openat(folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    bool moved = procs >= 0 && dprintf(procs, "%d", pid) > 0;
    if (procs >= 0)
        close(procs);
    return moved;
}

static void move_out(pid_t pid, void *context)
{
    move_process(*(const int *)context, pid);
}

/* Moves all processes out of a cgroup and removes it. `folder`: its descriptor. */
static void remove_cgroup(int parent, const char *name, int folder)
{
    for (int tries = 0; tries < REMOVE_TRIES && unlinkat(parent, name, AT_REMOVEDIR) != 0; tries++) {
        if (errno != EBUSY && errno != ENOTEMPTY)
            return;
        int depth = 0;
        each_child(folder, "", remove_empty, &depth);
        each_process_of(folder, move_out, &parent);
    }
}

/* Removes the cgroup `name` if no process has locked it. A locked cgroup has a living owner, possibly in
 * another container. */
static void remove_stale(int parent, const char *name, void *context)
{
    (void)context;
    int folder = open_folder(parent, name);
    if (folder < 0)
        return;
    if (flock(folder, LOCK_EX | LOCK_NB) == 0)
        remove_cgroup(parent, name, folder);
    close(folder);
}

/* --- opening and spawning ------------------------------------------------------------------------------- */

static void close_files(struct cgroup *cgroup)
{
    int *const files[] = {&cgroup->usage, &cgroup->folder, &cgroup->parent};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (*files[i] >= 0)
            close(*files[i]);
        *files[i] = -1;
    }
}

/* Creates, locks and opens the command's cgroup. Returns false, with the cgroup removed, if its CPU time
 * cannot be read. */
static bool make(struct cgroup *cgroup)
{
    snprintf(cgroup->name, sizeof cgroup->name, PREFIX "%d", getpid());
    if (mkdirat(cgroup->parent, cgroup->name, 0755) != 0)
        return false;
    cgroup->folder = open_folder(cgroup->parent, cgroup->name);
    if (cgroup->folder >= 0 && flock(cgroup->folder, LOCK_EX | LOCK_NB) == 0)
        cgroup->usage = openat(cgroup->folder, "cpu.stat", O_RDONLY | O_CLOEXEC);
    /* The CPU time can be read. Whether processes may be moved into the cgroup is known only after a fork. */
    bool works = cgroup->usage >= 0 && !isnan(cgroup_cpu_s(cgroup));
    if (!works)
        unlinkat(cgroup->parent, cgroup->name, AT_REMOVEDIR);
    return works;
}

bool cgroup_open(struct cgroup *cgroup, struct joule_host *host)
{
    *cgroup = (struct cgroup){.parent = -1, .folder = -1, .usage = -1};
    char path[CGROUP_SIZE];
    if (!find_own(host, path, sizeof path))
        return false;
    cgroup->parent = open_folder(AT_FDCWD, path);
    if (cgroup->parent < 0)
        return false;
    struct stat info;
    if (fstat(cgroup->parent, &info) == 0 && info.st_nlink > 2) /* the parent contains folders */
        each_child(cgroup->parent, PREFIX, remove_stale, NULL);
    if (make(cgroup))
        return true;
    close_files(cgroup);
    return false;
}

/* Arguments of move_and_be. */
struct mover {
    const struct cgroup *cgroup;
    spawn_fn be;
    void *context;
    bool is_inside;
};

/* Runs in the child, on its parent's memory: moves the child into the cgroup, then calls be(). If the move
 * fails, the child ends. */
static void move_and_be(void *context)
{
    struct mover *mover = context;
    int procs = openat(mover->cgroup->folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    mover->is_inside = procs >= 0 && write(procs, "0", 1) == 1; /* 0 means the writing process */
    if (mover->is_inside)
        mover->be(mover->context);
    spawn_end(0);
}

pid_t cgroup_spawn(const struct cgroup *cgroup, spawn_fn be, void *context, bool *out_is_inside)
{
    struct mover mover = {cgroup, be, context, true};
    pid_t pid = spawn(cgroup->folder, be, context);
    if (pid < 0 && errno != EAGAIN && errno != ENOMEM)
        pid = spawn(-1, move_and_be, &mover);
    *out_is_inside = mover.is_inside;
    return pid;
}

double cgroup_cpu_s(const struct cgroup *cgroup)
{
    char text[1024];
    ssize_t length = pread(cgroup->usage, text, sizeof text - 1, 0);
    if (length <= 0)
        return NAN;
    text[length] = 0;
    const char *line = strstr(text, "usage_usec ");
    double usage_us;
    return line && string_scan_double(line + strlen("usage_usec "), &usage_us) ? usage_us * 1e-6 : NAN;
}

/* The list that cgroup_alive fills. */
struct pid_list {
    pid_t *pids;
    size_t size, count;
};

static void add_pid(pid_t pid, void *context)
{
    struct pid_list *list = context;
    if (list->count < list->size)
        list->pids[list->count] = pid;
    list->count++;
}

size_t cgroup_alive(const struct cgroup *cgroup, pid_t *out_pids, size_t size)
{
    struct pid_list list = {.pids = out_pids, .size = size};
    each_process(cgroup->folder, (struct walk){.each = add_pid, .context = &list});
    return list.count;
}

void cgroup_close(struct cgroup *cgroup)
{
    if (cgroup->folder >= 0)
        remove_cgroup(cgroup->parent, cgroup->name, cgroup->folder);
    close_files(cgroup);
}
