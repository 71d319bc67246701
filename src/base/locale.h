/* base/locale.h - the C library's numbers as text, in the C locale.
 *
 * Owns the one thing about locales that systems name differently; what a number looks like is string.h's.
 * Newcomers: neither function changes the locale that the program or another thread has set.
 */
#ifndef BASE_LOCALE_H
#define BASE_LOCALE_H

#include <stdarg.h>
#include <stddef.h>

/* As vsnprintf and strtod. */
int locale_print(char *buffer, size_t size, const char *format, va_list arguments);
double locale_scan(const char *string);

#endif
