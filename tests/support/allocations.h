/* support/allocations.h - counts memory allocations, and makes one of them fail.
 *
 * Calls of malloc, calloc, realloc and aligned_alloc by the library and the test are counted, those by the C
 * library are not. Note: a test that uses this file must be in the list in tests/CMakeLists.txt. The linker
 * then replaces the C library's functions. */
#ifndef SUPPORT_ALLOCATIONS_H
#define SUPPORT_ALLOCATIONS_H

/* Number of allocations so far, by all threads. */
extern _Atomic unsigned allocations;
/* Number of the allocation that fails, in the count of `allocations`; 0: none fails. */
extern _Atomic unsigned failing_allocation;

#endif
