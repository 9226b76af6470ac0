/*
 * cpu_plain.c - bsa_fwd/cpu with what every processor of its kind has.
 */
#define DSA_CPU_VECTOR 16
#include "cpu_body.h"

BSA_CPU_VARIANT(bsa_variant_plain, );
