/* tools/http/host_names.c - see host_names.h. */
#include "http/host_names.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/string.h"

void host_names_read(struct host_names *names, const struct listener *listener,
                     const struct option_list *allowed)
{
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME};
    *names = (struct host_names){.allowed = allowed};
    if (gethostname(names->machine, sizeof names->machine - 1) != 0)
        names->machine[0] = '\0';
    if (listener->is_loopback || !names->machine[0] || getaddrinfo(names->machine, NULL, &hints, &found) != 0)
        return;
    if (found->ai_canonname)
        string_copy(names->canonical, sizeof names->canonical, found->ai_canonname);
    freeaddrinfo(found);
}

/* Removes brackets, port and final dot: "[::1]:9400" becomes "::1", and "Node.:80" becomes "Node". Returns
 * false if `host` has another form. */
static bool strip(const char *host, char *out, size_t size)
{
    bool has_brackets = host[0] == '[';
    const char *end = has_brackets ? strchr(host, ']') : host + strcspn(host, ":");
    if (!end)
        return false;
    const char *port = end + has_brackets; /* empty, or ":" and digits */
    if (*port && (*port != ':' || port[1 + strspn(port + 1, "0123456789")]))
        return false;
    host += has_brackets;
    size_t length = (size_t)(end - host);
    if (length && !has_brackets && host[length - 1] == '.')
        length--;
    if (length == 0 || length >= size)
        return false;
    memcpy(out, host, length);
    out[length] = '\0';
    return true;
}

/* Parses an IPv6 or IPv4 address; IPv4 becomes IPv4-mapped IPv6. Returns false if `text` is neither. */
static bool read_address(const char *text, struct in6_addr *out)
{
    struct in_addr ipv4;
    if (inet_pton(AF_INET6, text, out) == 1)
        return true;
    if (inet_pton(AF_INET, text, &ipv4) != 1)
        return false;
    *out = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(out->s6_addr + 12, &ipv4, sizeof ipv4);
    return true;
}

static bool is_own_address(const struct in6_addr *address, int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t length = sizeof own;
    struct in6_addr local;
    if (IN6_IS_ADDR_LOOPBACK(address) || (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127))
        return true;
    char text[INET6_ADDRSTRLEN] = "";
    if (getsockname(fd, (struct sockaddr *)&own, &length) != 0)
        return false;
    if (own.ss_family == AF_INET)
        inet_ntop(AF_INET, &((struct sockaddr_in *)&own)->sin_addr, text, sizeof text);
    else if (own.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&own)->sin6_addr, text, sizeof text);
    return read_address(text, &local) && memcmp(&local, address, sizeof local) == 0;
}

static bool is_loopback_name(const char *name)
{
    static const char suffix[] = ".localhost";
    size_t length = strlen(name);
    return strcasecmp(name, "localhost") == 0 ||
           (length >= sizeof suffix && strcasecmp(name + length - (sizeof suffix - 1), suffix) == 0);
}

/* Returns true if `name` equals the machine's whole name, or the first label of that name. */
static bool is_name_of(const char *name, const char *machine)
{
    size_t label = strcspn(machine, ".");
    return *machine && (strcasecmp(name, machine) == 0 ||
                        (strlen(name) == label && strncasecmp(name, machine, label) == 0));
}

bool host_names_contain(const struct host_names *names, const char *host, int fd)
{
    char name[256], allowed[256];
    struct in6_addr address;
    if (!strip(host, name, sizeof name))
        return false;
    for (size_t i = 0; i < names->allowed->count; i++)
        if (strcasecmp(names->allowed->items[i], name) == 0 ||
            (strip(names->allowed->items[i], allowed, sizeof allowed) && strcasecmp(allowed, name) == 0))
            return true;
    if (read_address(name, &address))
        return is_own_address(&address, fd);
    return is_loopback_name(name) || is_name_of(name, names->machine) || is_name_of(name, names->canonical);
}
