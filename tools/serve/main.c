/* tools/serve/main.c - the program joule-serve, which `joule serve` starts: reads options, opens the meter
 * and runs the server.
 *
 * Note: SIGINT and SIGTERM are blocked before the meter starts threads, so that only the server's loop
 * receives them.
 */
#include <signal.h>
#include <joule/joule.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/options.h"
#include "common/output.h"
#include "common/secret.h"
#include "joule/attribute/attribute_process.h"
#include "privileges.h"
#include "serve.h"

#define DEFAULT_ADDRESS "127.0.0.1:9400"
#define WAIT_S          2.0 /* maximum wait for slow sources before the first answer */

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

void serve_announce(const struct listener *listener, const struct serve_settings *settings)
{
    const char *scheme = settings->tls_cert ? "https" : "http";
    if (!listener->is_loopback && !(settings->tls_cert && settings->auth))
        complain(SERVE,
                 "warning: %s can be reached from other machines%s%s; power readings reveal what a machine "
                 "computes",
                 listener->address, settings->auth ? "" : ", by everyone: use --auth-file or --token-file",
                 settings->tls_cert ? "" : ", unencrypted: use --tls-cert and --tls-key");
    complain(SERVE, "listening on %s://%s/ and %s://%s/metrics", scheme, listener->address, scheme,
             listener->address);
}

/* Reads the token, the users' passwords, the certificate and the key, before privileges are dropped. */
static bool load(struct serve_settings *settings)
{
    if (!auth_open(settings->token_file, settings->auth_file, &settings->auth))
        return false;
    if (!settings->tls_cert_file)
        return true;
    settings->tls_cert = secret_read(SERVE, settings->tls_cert_file, "the certificate", true);
    settings->tls_key =
        settings->tls_cert ? secret_read(SERVE, settings->tls_key_file, "the private key", false) : NULL;
    return settings->tls_key;
}

static void unload(struct serve_settings *settings)
{
    auth_close(settings->auth);
    secret_free(settings->tls_cert);
    secret_free(settings->tls_key);
}

/* Returns the name of a source that needs root for each reading, because it runs a program or reads other
 * users' files. Returns NULL if there is none. */
static const char *find_root_source(joule_meter *meter, const struct serve_settings *settings)
{
    for (size_t i = 0; i < joule_domain_count(meter); i++) {
        joule_domain domain = {.struct_size = sizeof domain};
        if (joule_domain_get(meter, i, &domain) == JOULE_OK && strcmp(domain.source, "ipmi") == 0)
            return "ipmi";
        if (strcmp(domain.source, "redfish") == 0)
            return "redfish (unless its configuration allows the new user)";
    }
    for (size_t i = 0; i < joule_device_count(meter) && (settings->has_tenants || settings->process_count);
         i++) {
        joule_device device = {.struct_size = sizeof device};
        if (joule_device_get(meter, i, &device) == JOULE_OK &&
            (strcmp(device.vendor, "amd") == 0 || strcmp(device.vendor, "intel") == 0))
            return "GPU time of other users' processes";
    }
    return NULL;
}

/* Drops privileges. Prints a warning if a source can then no longer be read. Returns false after a message if
 * privileges cannot be dropped. */
static bool drop_rights(joule_meter *meter, const struct serve_settings *settings)
{
    bool was_root = geteuid() == 0;
    if (!privileges_drop(settings->user))
        return false;
    const char *lost = was_root && geteuid() != 0 ? find_root_source(meter, settings) : NULL;
    if (lost)
        complain(SERVE, "warning: cannot read without root: %s; --user root keeps the rights of root", lost);
    return true;
}

/* Opens the meter and serves until a signal. Returns the exit status. With a recorded machine (--root), the
 * user changes only if --user is given. */
static int measure(const joule_options *options, struct serve_settings *settings,
                   const struct listener *listener)
{
    joule_meter *meter;
    joule_error error;
    joule_status status = joule_open(options, &meter, &error);
    if (status != JOULE_OK) {
        complain(SERVE, "%s", error.message);
        return status == JOULE_INVALID ? EXIT_USAGE : EXIT_OWN_FAILURE;
    }
    int code = EXIT_OWN_FAILURE;
    if ((options->root && !settings->user) || drop_rights(meter, settings)) {
        host_names_read(&settings->names, listener, &settings->allowed_hosts);
        code = server_run(meter, settings, listener);
    }
    joule_close(meter);
    return code;
}

static int serve(const joule_options *options, struct serve_settings *settings)
{
    struct listener listener = {.fd = -1};
    int code = EXIT_OWN_FAILURE;
    if (load(settings) && listener_open(&listener, SERVE, settings->listen)) {
        block_signals();
        code = measure(options, settings, &listener);
    }
    if (listener.fd >= 0)
        close(listener.fd);
    unload(settings);
    return code;
}

static bool check_settings(const struct serve_settings *settings)
{
    if (settings->process_count > MAX_PICKED_PROCESSES)
        complain(SERVE, "--processes takes at most %d, not %u", MAX_PICKED_PROCESSES,
                 settings->process_count);
    else if (!settings->tls_cert_file != !settings->tls_key_file)
        complain(SERVE, "--tls-cert and --tls-key must be given together");
    else
        return listener_check(SERVE, settings->listen);
    return false;
}

int main(int argc, char **argv)
{
    static char name[] = SERVE;
    struct serve_settings settings = {.listen = DEFAULT_ADDRESS};
    joule_options options = {
        .struct_size = sizeof options, .flags = JOULE_OPEN_NO_SESSION | JOULE_OPEN_DEVICES, .wait_s = WAIT_S};
    const struct option table[] = {
        {.name = "listen",
         .kind = OPTION_TEXT,
         .value = &settings.listen,
         .argument = "ADDRESS",
         .help = "ADDRESS:PORT to listen on (default " DEFAULT_ADDRESS "; port 0: any)"},
        {.name = "token-file",
         .kind = OPTION_TEXT,
         .value = &settings.token_file,
         .argument = "FILE",
         .help = "require the bearer token in FILE for readings"},
        {.name = "auth-file",
         .kind = OPTION_TEXT,
         .value = &settings.auth_file,
         .argument = "FILE",
         .help = "require a user of FILE for readings (lines NAME: HASH, as htpasswd -B writes)"},
        {.name = "tls-cert",
         .kind = OPTION_TEXT,
         .value = &settings.tls_cert_file,
         .argument = "FILE",
         .help = "use TLS with the certificate in FILE (PEM)"},
        {.name = "tls-key",
         .kind = OPTION_TEXT,
         .value = &settings.tls_key_file,
         .argument = "FILE",
         .help = "private key of the certificate (PEM)"},
        {.name = "allow-host",
         .kind = OPTION_LIST,
         .value = &settings.allowed_hosts,
         .argument = "NAME",
         .help = "also answer requests for this host name; may be repeated"},
        {.name = "user",
         .kind = OPTION_TEXT,
         .value = &settings.user,
         .argument = "NAME",
         .help = "when started as root: user to become (default: joule, else nobody)"},
        {.name = "period",
         .kind = OPTION_TIME,
         .value = &options.period_s,
         .argument = "TIME",
         .help = "mean time between readings (default 100ms)"},
        {.name = "tenants",
         .kind = OPTION_FLAG,
         .value = &settings.has_tenants,
         .help = "attribute energy to jobs, containers, services and users"},
        {.name = "processes",
         .kind = OPTION_COUNT,
         .value = &settings.process_count,
         .argument = "N",
         .help = "attribute energy to the N (up to 64) processes that use most energy"},
        {.name = "sources",
         .kind = OPTION_TEXT,
         .value = &options.sources,
         .argument = "LIST",
         .help = "use only these sources (\"a,b\"), or all except some (\"-a\")"},
        {.name = "root",
         .kind = OPTION_TEXT,
         .value = &options.root,
         .argument = "DIR",
         .help = "serve the machine recorded in DIR instead of this one"},
        {0}};
    const struct command_text text = {
        .usage = "joule serve [--listen ADDRESS] [OPTIONS]",
        .summary = "Serves the power and energy of this machine to Prometheus and as a web page, until it is "
                   "stopped.",
        .notes = "Paths: / /metrics /healthz /api/devices /api/history /events\n"
                 "The environment variable JOULE_SERVE_TOKEN can contain the token, instead of a file.\n"};
    output_guard_streams();
    argv[0] = name;
    int first = options_read(table, &text, argc, argv);
    if (first <= OPTIONS_HELP)
        return first == OPTIONS_HELP ? output_end(SERVE, 0) : EXIT_USAGE;
    if (first < argc) {
        complain(SERVE, "unexpected argument '%s'; see joule serve --help", argv[first]);
        return EXIT_USAGE;
    }
    return check_settings(&settings) ? serve(&options, &settings) : EXIT_USAGE;
}
