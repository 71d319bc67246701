/* base/locale.h - prints and scans numbers in the C locale, whatever locale the program has set.
 *
 * Note: neither function changes the locale of the program or of other threads.
 */
#ifndef BASE_LOCALE_H
#define BASE_LOCALE_H

#include <stdarg.h>
#include <stddef.h>

/* Like vsnprintf, in the C locale. */
int locale_print(char *buffer, size_t size, const char *format, va_list arguments);
/* Like strtod without an end pointer, in the C locale. */
double locale_scan(const char *string);

#endif
