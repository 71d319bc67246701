/* tools/top/signals.h - signals of a program that has the terminal, read from a descriptor. */
#ifndef TOP_SIGNALS_H
#define TOP_SIGNALS_H

/* Blocks the signals that end, stop or resize the program, also in future threads. Returns the descriptor, or
 * -1 with errno. */
int signals_open(void);
/* Handles the next signal; stops and continues on job control signals. Returns the signal that ends the
 * program; 0: none. */
int signals_read(int fd);
/* Ends the program by the signal `number`, so that its parent sees this signal. If the signal is ignored,
 * returns the exit status to end with. */
int signals_end(int number);

#endif
