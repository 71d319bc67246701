/* tools/forge/interrupt.h - ends long work after SIGINT or SIGTERM, so that results so far can be printed. */
#ifndef FORGE_INTERRUPT_H
#define FORGE_INTERRUPT_H

#include <signal.h>

/* The signal that arrived after interrupt_handle; 0: none. */
extern volatile sig_atomic_t interrupted_by;

/* Makes SIGINT and SIGTERM set interrupted_by. A second signal ends the program at once. System calls such as
 * read() return EINTR. */
void interrupt_handle(void);
/* Returns the exit code: 128 plus the signal that arrived, or `code` if there was none. */
int interrupt_exit_code(int code);

#endif
