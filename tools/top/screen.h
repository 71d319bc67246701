/* tools/top/screen.h - the terminal, by ncurses: styles, keys, size.
 *
 * The terminal is restored even if a vendor's library crashes or exits in one of the meter's threads.
 *
 * Note: only this file uses ncurses. It handles only signals of crashes; signals.c handles the others.
 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include <joule/base.h>
#include "frame.h"

/* Takes over the terminal of standard input and output. Returns JOULE_UNSUPPORTED with a message if there
 * is no terminal, or if the terminal cannot place a cursor. */
joule_status screen_open(joule_error *out_error);
/* Returns true if the locale's character set is UTF-8. May be called before screen_open. */
bool screen_has_utf8(void);
/* Returns the width in columns of a page for --once: that of the terminal, or 100 if standard output is no
 * terminal. */
int screen_once_width(void);
void screen_size(int *out_width, int *out_height);
/* Shows a frame; only differences are sent to the terminal. */
void screen_show(const struct frame *frame);
/* Returns the next pressed key (a character or an enum ui_key); 0: none. */
int screen_key(void);
/* screen_resized: call after the terminal's size has changed. screen_leave restores the terminal, for example
 * for the shell of a stopped program; screen_return shows the page again. */
void screen_resized(void);
void screen_leave(void);
void screen_return(void);
void screen_close(void);

#endif
