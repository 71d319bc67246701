/* offload.c - computes the product or the sum of two matrices here, on a GPU, and on a server.
 *
 * Each phase is a region: initialise, local, gpu, send, wait, receive, check, and initialise again. README.md
 * explains what is seen.
 *
 *     cc -O3 offload.c matrix.c wire.c ../support/gpu.c $(pkg-config --cflags --libs joule) -lm -o offload
 */
#define PROGRAM "offload"
#include "matrix.h"
#include "wire.h"
#include "../support/support.h"
#include "../support/gpu.h"
#include <errno.h>
#include <getopt.h>
#include <joule/joule.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char USAGE[] =
    "usage: offload [OPTION...] product|sum\n"
    "\n"
    "Computes the product or the sum of two matrices, and checks the results.\n"
    "\n"
    "  -w, --where PLACE         local, gpu, remote or all (all: without gpu if there is none)\n"
    "  -S, --server HOST:PORT    use this offload_server (start one on this machine for this run)\n"
    "  -n, --size ROWS           compute with matrices of ROWS rows and columns (512)\n"
    "  -p, --pause SECONDS       sleep between the phases (0)\n"
    "  -s, --seed NUMBER         use other matrices (1)\n"
    "      --help                print this text\n";

enum { MAX_PAUSE_S = 3600, TRANSFER_S = 60, WAIT_S = 3600 };

struct options {
    enum operation operation;
    bool is_local, is_gpu, is_remote;
    bool is_gpu_optional;
    const char *server; /* HOST:PORT; NULL: start one */
    size_t size;
    double pause_s;
    uint64_t seed;
};

/* The matrices: a and b are the input, c is the result. */
struct work {
    const struct options *options;
    size_t count; /* elements of a matrix */
    float *a, *b, *c;
    struct wire wire; /* to the server */
};

static void parse_place(struct options *options, const char *text)
{
    bool is_all = strcmp(text, "all") == 0;
    options->is_local = is_all || strcmp(text, "local") == 0;
    options->is_gpu = is_all || strcmp(text, "gpu") == 0;
    options->is_remote = is_all || strcmp(text, "remote") == 0;
    options->is_gpu_optional = is_all;
    if (!options->is_local && !options->is_gpu && !options->is_remote)
        fail_usage(USAGE);
}

static struct options parse_options(int argc, char **argv)
{
    static const struct option known[] = {{"where", 1, NULL, 'w'},
                                          {"server", 1, NULL, 'S'},
                                          {"size", 1, NULL, 'n'},
                                          {"pause", 1, NULL, 'p'},
                                          {"seed", 1, NULL, 's'},
                                          {"help", 0, NULL, 'h'},
                                          {0}};
    struct options options = {.size = 512, .seed = 1};
    parse_place(&options, "all");
    for (int option; (option = getopt_long(argc, argv, "w:S:n:p:s:", known, NULL)) != -1;) {
        if (option == 'w')
            parse_place(&options, optarg);
        else if (option == 'S')
            options.server = optarg;
        else if (option == 'n')
            options.size = (size_t)parse_count("size", optarg, 1, MAX_SIZE);
        else if (option == 'p')
            options.pause_s = parse_number("pause", optarg, 0, MAX_PAUSE_S);
        else if (option == 's')
            options.seed = (uint64_t)parse_count("seed", optarg, 0, 1L << 52);
        else if (option == 'h')
            exit(fputs(USAGE, stdout) < 0);
        else
            fail_usage(USAGE);
    }
    if (optind != argc - 1)
        fail_usage(USAGE);
    options.operation = strcmp(argv[optind], "product") == 0 ? PRODUCT : SUM;
    if (options.operation == SUM && strcmp(argv[optind], "sum") != 0)
        fail_usage(USAGE);
    return options;
}

/* --- phases --- */

/* Ends a phase: prints its duration, and sleeps for the pause between phases. Does not change errno. */
static void end_phase(joule_region *region, const char *name, double pause_s)
{
    int error = errno;
    joule_end(region);
    printf("%-10s %10.3f ms\n", name, 1e-6 * (double)(region->end_ns - region->begin_ns));
    fflush(stdout);
    sleep_s(pause_s);
    errno = error;
}

static void initialise(struct work *work)
{
    joule_region region = joule_begin(joule_tag("initialise"));
    fill_random(work->a, work->count, work->options->seed);
    fill_random(work->b, work->count, work->options->seed + 1);
    end_phase(&region, "initialise", work->options->pause_s);
}

static void compute_locally(struct work *work)
{
    joule_region region = joule_begin(joule_tag("local"));
    matrix_compute(work->options->operation, work->options->size, work->a, work->b, work->c);
    end_phase(&region, "local", work->options->pause_s);
}

/* Returns whether it succeeded. If there is no GPU, it says so, and fails only if the user asked for one. */
static bool compute_on_gpu(struct work *work, bool *out_is_done)
{
    const char *reason;
    struct gpu *gpu = gpu_open(0, &reason);
    *out_is_done = false;
    if (!gpu) {
        if (work->options->is_gpu_optional)
            printf("gpu: not used: %s\n", reason);
        else
            fprintf(stderr, PROGRAM ": cannot use a GPU: %s\n", reason);
        return work->options->is_gpu_optional;
    }
    joule_region region = joule_begin(joule_tag("gpu"));
    *out_is_done =
        gpu_matrix(gpu, work->options->operation == PRODUCT, work->options->size, work->a, work->b, work->c);
    end_phase(&region, "gpu", work->options->pause_s);
    gpu_close(gpu);
    if (!*out_is_done)
        fputs(PROGRAM ": cannot compute on the GPU: the driver reports an error\n", stderr);
    return *out_is_done;
}

/* Send, wait and receive have no pause between them: the server would compute in it. */
static bool compute_remotely(struct work *work)
{
    size_t size_bytes = work->count * sizeof *work->a;
    struct wire_header answer, request = {work->options->operation, (uint32_t)work->options->size};
    joule_region region = joule_begin(joule_tag("send"));
    wire_set_deadline(&work->wire, TRANSFER_S);
    bool is_sound = wire_send_header(&work->wire, request) && wire_send(&work->wire, work->a, size_bytes) &&
                    wire_send(&work->wire, work->b, size_bytes);
    end_phase(&region, "send", 0);
    if (is_sound) {
        region = joule_begin(joule_tag("wait"));
        wire_set_deadline(&work->wire, WAIT_S);
        is_sound = wire_wait(&work->wire);
        end_phase(&region, "wait", 0);
    }
    if (is_sound) {
        region = joule_begin(joule_tag("receive"));
        wire_set_deadline(&work->wire, TRANSFER_S);
        is_sound = wire_receive_header(&work->wire, &answer) &&
                   (answer.code != WIRE_OK || wire_receive(&work->wire, work->c, size_bytes));
        end_phase(&region, "receive", work->options->pause_s);
    }
    if (!is_sound)
        fprintf(stderr, PROGRAM ": cannot use the server: %s\n", wire_error());
    else if (answer.code != WIRE_OK)
        fprintf(stderr, PROGRAM ": cannot use the server: it %s\n",
                answer.code == WIRE_NO_MEMORY ? "is out of memory" : "refused the request");
    return is_sound && answer.code == WIRE_OK;
}

static bool check(struct work *work, const char *place)
{
    joule_region region = joule_begin(joule_tag("check"));
    const struct options *options = work->options;
    bool is_right =
        matrix_check(options->operation, options->size, work->a, work->b, work->c, options->seed + 2);
    unsigned long long sum = checksum(work->c, work->count * sizeof *work->c);
    end_phase(&region, "check", options->pause_s);
    printf("  result of %s: %s, checksum %016llx\n", place, is_right ? "right" : "WRONG", sum);
    memset(work->c, 0, work->count * sizeof *work->c);
    return is_right;
}

/* --- the server --- */

/* Connects to HOST:PORT. Returns whether it succeeded; otherwise an error was printed. */
static bool connect_to(const char *server, struct wire *wire)
{
    char host[256];
    const char *colon = strrchr(server, ':');
    struct addrinfo *addresses = NULL, hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    if (!colon || snprintf(host, sizeof host, "%.*s", (int)(colon - server), server) >= (int)sizeof host) {
        fprintf(stderr, PROGRAM ": cannot use the server '%s': it must be HOST:PORT\n", server);
        return false;
    }
    int code = getaddrinfo(host, colon + 1, &hints, &addresses);
    wire->socket = -1;
    errno = 0;
    for (struct addrinfo *address = addresses; code == 0 && address && wire->socket < 0;
         address = address->ai_next) {
        int yes = 1,
            fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
        if (fd >= 0 && connect(fd, address->ai_addr, address->ai_addrlen) == 0) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            wire->socket = fd;
        } else if (fd >= 0) {
            close(fd);
        }
    }
    if (wire->socket < 0)
        fprintf(stderr, PROGRAM ": cannot connect to %s: %s\n", server,
                code ? gai_strerror(code) : strerror(errno));
    if (addresses)
        freeaddrinfo(addresses);
    return wire->socket >= 0;
}

/* Starts the offload_server that is in this program's folder. Writes its HOST:PORT to `out_server`. Returns
 * its process, or -1 after an error, which was printed. */
static pid_t start_server(char out_server[64])
{
    extern char **environ;
    char path[4096], line[128] = "";
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/'), *suffix = slash ? strrchr(slash, '.') : NULL;
    snprintf(slash ? slash + 1 : path, 32, "offload_server%s", suffix ? suffix : "");
    char *arguments[] = {path, "--once", "--idle", "30", NULL};
    int ends[2];
    pid_t process = -1;
    posix_spawn_file_actions_t actions;
    if (pipe(ends) != 0) {
        perror(PROGRAM ": cannot start offload_server");
        return -1;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    int code = posix_spawn(&process, path, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    if (code == 0 && output && fgets(line, sizeof line, output) &&
        sscanf(line, "listening on %63s", out_server) == 1) {
        fclose(output);
        return process;
    }
    fprintf(stderr, PROGRAM ": cannot start %s: %s\n", path, code ? strerror(code) : "it did not listen");
    if (output)
        fclose(output);
    if (code == 0) {
        kill(process, SIGTERM);
        waitpid(process, NULL, 0);
    }
    return -1;
}

static bool run(struct work *work)
{
    const struct options *options = work->options;
    bool is_right = true, is_done = false;
    initialise(work);
    if (options->is_local && !atomic_load(&is_interrupted)) {
        compute_locally(work);
        is_right = check(work, "local") && is_right;
    }
    if (options->is_gpu && is_right && !atomic_load(&is_interrupted)) {
        is_right = compute_on_gpu(work, &is_done);
        if (is_done)
            is_right = check(work, "gpu") && is_right;
    }
    if (options->is_remote && is_right && !atomic_load(&is_interrupted))
        is_right = compute_remotely(work) && check(work, "remote");
    if (is_right && !atomic_load(&is_interrupted))
        initialise(work);
    return is_right;
}

int main(int argc, char **argv)
{
    struct options options = parse_options(argc, argv);
    struct work work = {.options = &options, .count = options.size * options.size};
    char own_server[64];
    pid_t server = -1;
    catch_interrupts();
    if (options.is_remote) {
        /* The connection is open before the first phase, so that phases contain only their own work. */
        if (!options.server && (server = start_server(own_server)) < 0)
            return EXIT_FAILURE;
        work.wire.is_interrupted = &is_interrupted;
        if (!connect_to(options.server ? options.server : own_server, &work.wire)) {
            if (server > 0)
                kill(server, SIGTERM);
            return EXIT_FAILURE;
        }
    }
    work.a = allocate(work.count * sizeof *work.a);
    work.b = allocate(work.count * sizeof *work.b);
    work.c = allocate(work.count * sizeof *work.c);
    bool is_right = run(&work);
    if (options.is_remote)
        close(work.wire.socket);
    if (server > 0)
        waitpid(server, NULL, 0);
    free(work.a);
    free(work.b);
    free(work.c);
    return finish(is_right ? EXIT_SUCCESS : EXIT_FAILURE);
}
