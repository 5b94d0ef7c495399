/* What a library of hexrun shows to others: the functions of hexrun.h, and nothing else. A shared library is compiled
 * with -fvisibility=hidden and, for Windows, with HEXRUN_BUILDING. Who uses it defines nothing. */
#ifndef HEXRUN_EXPORT_H
#define HEXRUN_EXPORT_H

#if defined(_WIN32) && defined(HEXRUN_BUILDING)
#define HEXRUN_API __declspec(dllexport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define HEXRUN_API __attribute__((visibility("default")))
#else
#define HEXRUN_API
#endif

#endif
