/* Tests connections to services on a real, a recorded and a scripted machine: deadlines, and services that
 * end. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "joule/host/host.h"

#define LONG_NS (60 * NS_PER_S) /* a deadline that no test reaches */

static char root[] = "/tmp/joule-stream-XXXXXX";
static struct sockaddr_un place = {.sun_family = AF_UNIX};
static char address[sizeof place.sun_path + 8];
static int listener;

static int set_up(void **state)
{
    (void)state;
    char folder[64];
    if (!mkdtemp(root))
        return -1;
    snprintf(folder, sizeof folder, "%s/run", root);
    mkdir(folder, 0755);
    snprintf(place.sun_path, sizeof place.sun_path, "%s/service", folder);
    snprintf(address, sizeof address, "unix:%s", place.sun_path);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(listener, (struct sockaddr *)&place, sizeof place) == 0 && listen(listener, 1) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char folder[64];
    close(listener);
    unlink(place.sun_path);
    snprintf(folder, sizeof folder, "%s/run", root);
    return rmdir(folder) == 0 && rmdir(root) == 0 ? 0 : -1;
}

/* Sends and receives some text, then expects no data, and then the end of the connection. */
static void talk(struct joule_host *host, int handle, int server)
{
    char text[16] = "";
    int64_t soon_ns = clock_now_ns() + LONG_NS;
    assert_true(handle >= 0);
    assert_int_equal(host->ops->receive(host, handle, text, sizeof text, 0), -ETIMEDOUT);
    assert_int_equal(host->ops->send(host, handle, "hello", 5, soon_ns), 0);
    assert_int_equal(recv(server, text, sizeof text, 0), 5);
    assert_memory_equal(text, "hello", 5);
    assert_int_equal(send(server, "answer", 6, 0), 6);
    assert_int_equal(host->ops->receive(host, handle, text, 4, soon_ns), 4);
    assert_int_equal(host->ops->receive(host, handle, text + 4, 4, soon_ns), 2);
    assert_memory_equal(text, "answer", 6);
    close(server);
    assert_int_equal(host->ops->receive(host, handle, text, sizeof text, soon_ns), 0);
    int rc = 0; /* over TCP the first send after the end succeeds */
    for (int i = 0; i < 100 && rc == 0; i++)
        rc = host->ops->send(host, handle, "?", 1, soon_ns);
    assert_true(rc < 0); /* the send fails without SIGPIPE */
    host->ops->close_handle(host, handle);
}

static void test_unix_streams_work(void **state)
{
    (void)state;
    struct joule_host *host = host_real();
    int handle = host->ops->open_stream(host, address, 0);
    talk(host, handle, accept(listener, NULL, NULL));
}

static void test_recorded_machine_has_streams_below_its_root_only(void **state)
{
    (void)state;
    struct joule_host *host = host_tree_open(root);
    int handle = host->ops->open_stream(host, "unix:/run/service", 0);
    talk(host, handle, accept(listener, NULL, NULL));
    assert_int_equal(host->ops->open_stream(host, address, 0), -ENOENT); /* the address is outside the root */
    assert_int_equal(host->ops->open_stream(host, "tcp:127.0.0.1:1", 0), -ECONNREFUSED);
    host->ops->close(host);
}

static void test_tcp_streams_work(void **state)
{
    (void)state;
    struct joule_host *host = host_real();
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof any;
    char tcp_address[64];
    int server = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&any, size), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&any, &size), 0);
    snprintf(tcp_address, sizeof tcp_address, "tcp:127.0.0.1:%u", ntohs(any.sin_port));
    assert_int_equal(host->ops->open_stream(host, tcp_address, clock_now_ns() + LONG_NS), -ECONNREFUSED);
    assert_int_equal(listen(server, 1), 0);
    int handle = host->ops->open_stream(host, tcp_address, clock_now_ns() + LONG_NS);
    talk(host, handle, accept(server, NULL, NULL));
    close(server);
}

static void test_missing_services_are_refused(void **state)
{
    (void)state;
    struct joule_host *host = host_real();
    static const char *const nonsense[] = {
        "",      "unix:",           "tcp:",       "tcp:1.2.3.4",         "tcp:[::1]",
        "tcp:x", "tcp:1.2.3.4:0",   "tcp:::1:80", "tcp:127.0.0.1:70000", "file:/x",
        "/run",  "tcp:localhost:80"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        assert_int_equal(host->ops->open_stream(host, nonsense[i], 0), -EINVAL);
    assert_int_equal(host->ops->open_stream(host, "unix:/nonexistent/socket", 0), -ENOENT);
    char deep[256] = "unix:/";
    memset(deep + strlen(deep), 'x', 200);
    assert_int_equal(host->ops->open_stream(host, deep, 0), -ENAMETOOLONG);
}

/* A service that does not accept connections does not block the caller. */
static void test_full_queue_does_not_block(void **state)
{
    (void)state;
    struct joule_host *host = host_real();
    int handles[64], count = 0, last = 0;
    while (count < 64 && (last = host->ops->open_stream(host, address, 0)) >= 0)
        handles[count++] = last;
    assert_true(count > 0 && count < 64);
    assert_int_equal(last, -EAGAIN);
    /* A service that does not read does not block the caller, either. */
    char bytes[4096] = "";
    int rc = 0;
    for (int i = 0; i < 4096 && rc == 0; i++)
        rc = host->ops->send(host, handles[0], bytes, sizeof bytes, 0);
    assert_int_equal(rc, -ETIMEDOUT);
    for (int i = 0; i < count; i++) {
        host->ops->close_handle(host, handles[i]);
        close(accept(listener, NULL, NULL));
    }
}

static ssize_t echo(void *context, const void *request, size_t length, void *reply, size_t size)
{
    assert_true(length <= size);
    *(int *)context += length > 0;
    if (length == 3 && memcmp(request, "bye", 3) == 0)
        return -ECONNRESET;
    memcpy(reply, request ? request : "", length);
    return (ssize_t)length;
}

static void test_scripted_services_answer(void **state)
{
    (void)state;
    struct joule_host *host = host_script_open();
    const struct host_ops *ops = host->ops;
    int asked = 0;
    char text[8];
    assert_int_equal(ops->open_stream(host, "unix:/run/service", 0), -ENOENT);
    assert_int_equal(ops->open_stream(host, "tcp:127.0.0.1:1", 0), -ECONNREFUSED);
    assert_true(host_script_service(host, "unix:/run/service", echo, &asked));
    int first = ops->open_stream(host, "unix:/run/service", 0);
    int second = ops->open_stream(host, "unix:/run/service", 0);
    assert_true(first >= 0 && second >= 0 && first != second);
    assert_int_equal(ops->send(host, first, "abc", 3, 0), 0);
    assert_int_equal(ops->receive(host, first, text, 2, 0), 2);
    assert_int_equal(ops->send(host, first, "de", 2, 0), 0);
    assert_int_equal(ops->receive(host, first, text, sizeof text, 0), 3);
    assert_memory_equal(text, "cde", 3);
    assert_int_equal(ops->receive(host, first, text, sizeof text, 0), -ETIMEDOUT);
    assert_int_equal(ops->send(host, second, "bye", 3, 0), -ECONNRESET);
    assert_int_equal(asked, 3);
    host_script_service(host, "unix:/run/service", NULL, NULL);
    assert_int_equal(ops->receive(host, first, text, sizeof text, 0), 0);
    assert_int_equal(ops->send(host, first, "abc", 3, 0), -ECONNRESET);
    ops->close_handle(host, first);
    host_script_error(host, "unix:/run/service", EACCES);
    assert_int_equal(ops->open_stream(host, "unix:/run/service", 0), -EACCES);
    ops->close(host); /* one connection is still open */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unix_streams_work),
        cmocka_unit_test(test_recorded_machine_has_streams_below_its_root_only),
        cmocka_unit_test(test_tcp_streams_work),
        cmocka_unit_test(test_missing_services_are_refused),
        cmocka_unit_test(test_full_queue_does_not_block),
        cmocka_unit_test(test_scripted_services_answer),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
