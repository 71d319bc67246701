/* tools/forge/interrupt.c - see interrupt.h. */
#include "interrupt.h"

#include <stddef.h>

volatile sig_atomic_t interrupted_by;

static void on_interrupt(int signal_number)
{
    interrupted_by = signal_number;
}

void interrupt_handle(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int interrupt_exit_code(int code)
{
    return interrupted_by ? 128 + interrupted_by : code;
}
