/* tools/joule/subcommands.c - the table of subcommands. Each subcommand has a separate file. */
#include <stddef.h>
#include "joule_commands.h"
#include "companion.h"

const char subcommand_hint[] = "To measure a command: joule run --";

const struct subcommand subcommands[] = {
    {"run", run_main, "run a command and report the energy that it used"},
    {"record", record_main, "run a command and store every reading in a file"},
    {"report", report_main, "print the report of a record"},
    {"plot", companion_main, "draw the power over time of a record"},
    {"devices", devices_main, "list what can be measured on this machine"},
    {"doctor", doctor_main, "list what would improve measurements on this machine"},
    {"calibrate", calibrate_main, "measure this machine's CPU for the predictions of joulec"},
    {"bench", companion_bench_main, "repeat a command until its mean energy is known, and store the runs"},
    {"compare", companion_bench_main, "compare the energy, time and power of commands"},
    {"history", companion_bench_main, "list the runs that bench and compare stored"},
    {"top", companion_main, "show the power of devices and processes live"},
    {"serve", companion_main, "serve measurements to Prometheus and as a web page"},
    {NULL, NULL, NULL},
};
