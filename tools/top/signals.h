/* tools/top/signals.h - signals of a program that uses the whole terminal, read from a descriptor. */
#ifndef TOP_SIGNALS_H
#define TOP_SIGNALS_H

/* Blocks the signals that end, stop or resize the program, also in future threads. Returns the descriptor, or
 * -1 with errno. */
int signals_open(void);
/* Handles the next signal. Stops and continues the program on job control signals. Returns the signal if it
 * must end the program, else 0. */
int signals_read(int fd);
/* Ends the program by the signal `number`, so that the parent process sees this signal. If the signal is
 * ignored, returns the exit status with which to end. */
int signals_end(int number);

#endif
