/* bench/main.c - entry point of joule-bench: `joule bench`, `joule compare` and `joule history`. The name of
 * the program, which `joule` sets, chooses the subcommand. */
#include <string.h>
#include <unistd.h>
#include "base/string.h"
#include "commands.h"
#include "common/options.h"
#include "common/output.h"

const char tool_name[] = "joule";

int main(int argc, char **argv)
{
    static char bench[] = "bench", compare[] = "compare", history[] = "history";
    output_guard_streams();
    if (argc < 1)
        return EXIT_USAGE;
    argv[0] = string_ends(argv[0], "-compare") ? compare : string_ends(argv[0], "-history") ? history : bench;
    const char *subcommand = argv[0];
    int code = subcommand == history ? history_main(argc, argv) : measure_main(argc, argv);
    code = output_end(subcommand, code);
    _exit(code); /* the kernel ends the meter's threads faster */
}
