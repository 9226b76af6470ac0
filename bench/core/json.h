/*
 * json.h - the one door to jansson. Files that read or write JSON include this header only.
 */
#ifndef BENCH_CORE_JSON_H
#define BENCH_CORE_JSON_H

#include <jansson.h>

#endif
