/* offload_server.c - computes products and sums of matrices for clients, one after the other.
 *
 *     cc -O3 offload_server.c matrix.c wire.c $(pkg-config --cflags --libs joule) -lm -o offload_server
 */
#define PROGRAM "offload_server"
#include "matrix.h"
#include "wire.h"
#include "../support/support.h"
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <joule/joule.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

static const char USAGE[] = "usage: offload_server [OPTION...]\n"
                            "\n"
                            "Computes products and sums of matrices for `offload`. There is no encryption "
                            "and no password: use it only in\n"
                            "a network that you trust.\n"
                            "\n"
                            "  -a, --address ADDRESS   listen on this IPv4 address (127.0.0.1)\n"
                            "  -p, --port PORT         listen on this port (0: any; it is printed)\n"
                            "  -1, --once              end after one client\n"
                            "  -i, --idle SECONDS      end after SECONDS without a client (600)\n"
                            "      --help              print this text\n";

enum { MAX_IDLE_S = 1000000, REQUEST_S = 60 /* longest transfer of a request or an answer */ };

struct options {
    const char *address;
    int port;
    bool is_once;
    double idle_s;
};

static struct options parse_options(int argc, char **argv)
{
    static const struct option known[] = {{"address", 1, NULL, 'a'}, {"port", 1, NULL, 'p'},
                                          {"once", 0, NULL, '1'},    {"idle", 1, NULL, 'i'},
                                          {"help", 0, NULL, 'h'},    {0}};
    struct options options = {.address = "127.0.0.1", .idle_s = 600};
    for (int option; (option = getopt_long(argc, argv, "a:p:1i:", known, NULL)) != -1;) {
        if (option == 'a')
            options.address = optarg;
        else if (option == 'p')
            options.port = (int)parse_count("port", optarg, 0, 65535);
        else if (option == '1')
            options.is_once = true;
        else if (option == 'i')
            options.idle_s = parse_number("idle time", optarg, 0.1, MAX_IDLE_S);
        else if (option == 'h')
            exit(fputs(USAGE, stdout) < 0);
        else
            fail_usage(USAGE);
    }
    if (optind != argc)
        fail_usage(USAGE);
    return options;
}

/* Returns a listening socket, and prints its address. -1: an error was printed. */
static int open_socket(const struct options *options)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options->port)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    if (inet_pton(AF_INET, options->address, &address.sin_addr) != 1) {
        fprintf(stderr, PROGRAM ": cannot listen on '%s': it is not an IPv4 address\n", options->address);
    } else if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
               bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 8) != 0 ||
               getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        fprintf(stderr, PROGRAM ": cannot listen on %s:%d: %s\n", options->address, options->port,
                strerror(errno));
    } else {
        printf("listening on %s:%d\n", options->address, ntohs(address.sin_port));
        fflush(stdout);
        return listener;
    }
    if (listener >= 0)
        close(listener);
    return -1;
}

/* Receives the matrices of a request, computes and answers. `matrices` has room for three. */
static bool answer(struct wire *wire, struct wire_header request, float *matrices)
{
    size_t count = (size_t)request.size * request.size, size_bytes = count * sizeof *matrices;
    if (!wire_receive(wire, matrices, 2 * size_bytes))
        return false;
    joule_region region = joule_begin(joule_tag("server"));
    matrix_compute((enum operation)request.code, request.size, matrices, matrices + count,
                   matrices + 2 * count);
    joule_end(&region);
    wire_set_deadline(wire, REQUEST_S);
    return wire_send_header(wire, (struct wire_header){WIRE_OK, request.size}) &&
           wire_send(wire, matrices + 2 * count, size_bytes);
}

/* Answers the requests of one client until it closes the connection. Prints why it ends early. */
static void serve(struct wire *wire)
{
    struct wire_header request;
    bool is_sound = true;
    while (is_sound) {
        wire_set_deadline(wire, REQUEST_S);
        if (!wire_receive_header(wire, &request)) {
            if (errno != 0)
                fprintf(stderr, PROGRAM ": cannot receive a request: %s\n", wire_error());
            return;
        }
        if ((request.code != PRODUCT && request.code != SUM) || request.size < 1 || request.size > MAX_SIZE) {
            fprintf(stderr, PROGRAM ": cannot answer operation %u of size %u: not supported\n", request.code,
                    request.size);
            wire_send_header(wire, (struct wire_header){WIRE_REFUSED, 0});
            return;
        }
        float *matrices = malloc(3 * (size_t)request.size * request.size * sizeof *matrices);
        if (matrices)
            is_sound = answer(wire, request, matrices);
        else
            is_sound = wire_send_header(wire, (struct wire_header){WIRE_NO_MEMORY, 0}) && false;
        if (!is_sound)
            fprintf(stderr, PROGRAM ": cannot answer a request: %s\n",
                    matrices ? wire_error() : "out of memory");
        free(matrices);
    }
}

int main(int argc, char **argv)
{
    struct options options = parse_options(argc, argv);
    catch_interrupts();
    struct pollfd listener = {.fd = open_socket(&options), .events = POLLIN};
    if (listener.fd < 0)
        return EXIT_FAILURE;
    struct wire wire = {.is_interrupted = &is_interrupted};
    double idle_since_s = now_s();
    bool is_over = false;
    while (!is_over && !atomic_load(&is_interrupted) && now_s() - idle_since_s < options.idle_s) {
        if (poll(&listener, 1, 100) <= 0 || (wire.socket = accept(listener.fd, NULL, NULL)) < 0)
            continue;
        int yes = 1;
        setsockopt(wire.socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        serve(&wire);
        close(wire.socket);
        is_over = options.is_once;
        idle_since_s = now_s();
    }
    close(listener.fd);
    return finish(EXIT_SUCCESS);
}
