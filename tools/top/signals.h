/* tools/top/signals.h - signals of a program that has the terminal, read from a descriptor. */
#ifndef TOP_SIGNALS_H
#define TOP_SIGNALS_H

/* Blocks what ends, stops or resizes the program, in threads to come as well. The descriptor, or -1 with
 * errno. */
int signals_open(void);
/* Handles the next one: stops and continues as the shell wants it. The one that ends the program; 0: none. */
int signals_read(int fd);
/* Ends by that signal, so that the parent sees it. The exit status where it is ignored. */
int signals_end(int number);

#endif
