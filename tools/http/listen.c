/* tools/http/listen.c - see listen.h. */
#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/string.h"
#include "common/options.h"

#define BACKLOG 128

/* Splits "[::1]:9400" or "127.0.0.1:9400" into address and port. Returns false for other forms. */
static bool split(const char *where, char *out_address, size_t size, const char **out_port)
{
    const char *colon = strrchr(where, ':');
    if (!colon || colon == where)
        return false;
    size_t length = (size_t)(colon - where);
    bool has_brackets = where[0] == '[' && colon[-1] == ']' && length > 2;
    uint64_t port;
    if (length - 2 * has_brackets >= size || (!has_brackets && memchr(where, ':', length)) ||
        !string_to_u64(colon + 1, 10, &port) || port > 65535)
        return false;
    memcpy(out_address, where + has_brackets, length - 2 * has_brackets);
    out_address[length - 2 * has_brackets] = '\0';
    *out_port = colon + 1;
    return true;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->ss_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* Sets address and port to those of the bound socket, because the system may have chosen the port. */
static bool describe(struct listener *listener)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    char host[64], port[8];
    if (getsockname(listener->fd, (struct sockaddr *)&address, &length) != 0 ||
        getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    listener->is_loopback = is_loopback(&address);
    string_print(listener->address, sizeof listener->address, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
                 port);
    return true;
}

static int bind_to(const struct addrinfo *found)
{
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int yes = 1; /* without this option, a restart waits until old connections time out */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int bind_error = errno;
    close(fd);
    errno = bind_error;
    return -1;
}

bool listener_check(const char *subcommand, const char *where)
{
    char address[256];
    const char *port;
    bool is_address = split(where, address, sizeof address, &port);
    if (!is_address)
        complain(subcommand, "--listen takes ADDRESS:PORT, such as 127.0.0.1:9400 or [::1]:9400, not '%s'",
                 where);
    return is_address;
}

bool listener_open(struct listener *listener, const char *subcommand, const char *where)
{
    char address[256];
    const char *port;
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    if (!split(where, address, sizeof address, &port))
        return false;
    int error = getaddrinfo(address, port, &hints, &found);
    if (error) {
        complain(subcommand, "cannot listen on %s: %s", where, gai_strerror(error));
        return false;
    }
    listener->fd = bind_to(found);
    int bind_error = errno;
    freeaddrinfo(found);
    if (listener->fd < 0) {
        complain(subcommand, "cannot listen on %s: %s%s", where, strerror(bind_error),
                 bind_error == EADDRINUSE ? "; choose another port, or 0 for any" : "");
        return false;
    }
    if (!describe(listener)) {
        complain(subcommand, "cannot listen on %s: the address of the socket is unknown", where);
        return false;
    }
    return true;
}
