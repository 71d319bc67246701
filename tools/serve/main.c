/* tools/serve/main.c - joule-serve, which `joule serve` becomes: options, the meter, start and end.
 *
 * Newcomers: the signals that end it are blocked before the meter's threads exist, so that only the server's loop sees them.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "common/options.h"
#include "common/output.h"
#include "joule/attribute/attribute_process.h"
#include "serve.h"

#define DEFAULT_ADDRESS "127.0.0.1:9400"
#define WAIT_S          2.0 /* for slow sources, before the first answer */

const char tool_name[] = "joule";

static void block_signals(void)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void announce(const struct listener *listener, const struct serve_settings *settings)
{
    if (!listener->is_loopback)
        complain(SERVE,
                 "warning: %s can be reached from other machines%s; readings of power tell what a machine "
                 "computes. "
                 "Let a proxy do TLS: docs/exporter.md",
                 listener->address,
                 settings->token[0] ? "" : ", by everybody: set a token with --token-file");
    complain(SERVE, "listening on http://%s/ and http://%s/metrics", listener->address, listener->address);
}

static int serve(const joule_options *options, struct serve_settings *settings)
{
    struct listener listener;
    joule_meter *meter;
    joule_error error;
    if (!token_load(settings) || !listener_open(&listener, settings->listen))
        return EXIT_OWN_FAILURE;
    block_signals();
    int code = EXIT_OWN_FAILURE;
    joule_status status = joule_open(options, &meter, &error);
    if (status == JOULE_OK) {
        announce(&listener, settings);
        code = server_run(meter, settings, &listener);
        joule_close(meter);
    } else {
        complain(SERVE, "%s", error.message);
        code = status == JOULE_INVALID ? EXIT_USAGE : code;
    }
    close(listener.fd);
    return code;
}

int main(int argc, char **argv)
{
    static char name[] = SERVE;
    struct serve_settings settings = {.listen = DEFAULT_ADDRESS};
    joule_options options = {
        .struct_size = sizeof options, .flags = JOULE_OPEN_NO_SESSION | JOULE_OPEN_DEVICES, .wait_s = WAIT_S};
    const struct option table[] = {{.name = "listen",
                                    .kind = OPTION_TEXT,
                                    .value = &settings.listen,
                                    .argument = "ADDRESS",
                                    .help = "ADDRESS:PORT to answer at (" DEFAULT_ADDRESS "; port 0: any)"},
                                   {.name = "token-file",
                                    .kind = OPTION_TEXT,
                                    .value = &settings.token_file,
                                    .argument = "FILE",
                                    .help = "only who sends this bearer token gets readings"},
                                   {.name = "period",
                                    .kind = OPTION_TIME,
                                    .value = &options.period_s,
                                    .argument = "TIME",
                                    .help = "mean time between readings (100 ms)"},
                                   {.name = "tenants",
                                    .kind = OPTION_FLAG,
                                    .value = &settings.shares_out,
                                    .help = "tell jobs, containers, services and users apart"},
                                   {.name = "processes",
                                    .kind = OPTION_COUNT,
                                    .value = &settings.process_count,
                                    .argument = "N",
                                    .help = "tell the N processes apart that use most, at most 64"},
                                   {.name = "sources",
                                    .kind = OPTION_TEXT,
                                    .value = &options.sources,
                                    .argument = "LIST",
                                    .help = "only these sources (\"a,b\"), or all but some (\"-a\")"},
                                   {.name = "root",
                                    .kind = OPTION_TEXT,
                                    .value = &options.root,
                                    .argument = "DIR",
                                    .help = "serve the recorded machine below DIR"},
                                   {0}};
    const struct command_text text = {
        .usage = "joule serve [--listen ADDRESS] [OPTIONS]",
        .summary = "Answers Prometheus, and shows what this machine uses on a page, until it is ended.",
        .notes = "Pages: / /metrics /healthz /api/devices /api/history. The token may also be in "
                 "JOULE_SERVE_TOKEN.\n"};
    output_guard_streams();
    argv[0] = name;
    int first = options_read(table, &text, argc, argv);
    if (first <= OPTIONS_HELP)
        return first == OPTIONS_HELP ? output_end(SERVE, 0) : EXIT_USAGE;
    if (first < argc) {
        complain(SERVE, "unexpected '%s'; see joule serve --help", argv[first]);
        return EXIT_USAGE;
    }
    if (settings.process_count > PROCESSES_MOST) {
        complain(SERVE, "--processes %u: at most %d can be told apart", settings.process_count,
                 PROCESSES_MOST);
        return EXIT_USAGE;
    }
    return listener_check(settings.listen) ? serve(&options, &settings) : EXIT_USAGE;
}
