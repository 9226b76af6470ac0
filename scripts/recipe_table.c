/*
 * recipe_table.c - prints bench/model/recipe_table.h.
 *
 *   cc -std=c17 -O2 scripts/recipe_table.c -lm -o recipe_table && ./recipe_table > recipe_table.h
 *
 * Entry i is x with Phi(x) = (4096 + 2i + 1) / 8192: the middle of the i-th of the 2048 equally
 * probable classes of the upper half of N(0,1). Found by bisection on erfc in double, rounded once
 * to float.
 */
#include <math.h>
#include <stdio.h>

#define HALF 2048

static double quantile_upper(double tail)
{
    double low = 0.0, high = 8.0;

    for (int step = 0; step < 200; step++) {
        const double middle = 0.5 * (low + high);

        if (0.5 * erfc(middle * 0.70710678118654752440) > tail)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static const char head[] =
    "/*\n"
    " * recipe_table.h - the inverse distribution of N(0,1), as data. Printed by\n"
    " * scripts/recipe_table.c, which says how.\n"
    " *\n"
    " * 4096 equally probable classes, symmetric about 0: class 2048 + i holds entry i, class 2047 "
    "- i\n"
    " * its negative; entry i is x with Phi(x) = (4096 + 2i + 1) / 8192. Mean 0, mean square "
    "0.99968,\n"
    " * largest 3.67. Host and device each need a copy of their own: recipe_normal() picks.\n"
    " */\n"
    "#ifndef BENCH_MODEL_RECIPE_TABLE_H\n"
    "#define BENCH_MODEL_RECIPE_TABLE_H\n\n"
    "#define RECIPE_TABLE_HALF 2048\n\n"
    "/* clang-format off */\n"
    "#define RECIPE_TABLE_VALUES \\\n";

static const char tail[] =
    "\n"
    "static const float recipe_table_host[RECIPE_TABLE_HALF] = {RECIPE_TABLE_VALUES};\n"
    "#ifdef __CUDACC__\n"
    "static __device__ const float recipe_table_device[RECIPE_TABLE_HALF] = "
    "{RECIPE_TABLE_VALUES};\n"
    "#endif\n"
    "/* clang-format on */\n\n"
    "#endif\n";

int main(void)
{
    double square = 0.0;

    fputs(head, stdout);
    for (int i = 0; i < HALF; i++) {
        const double p = (4096.0 + 2.0 * i + 1.0) / 8192.0;
        const float x = (float)quantile_upper(1.0 - p);

        square += (double)x * x;
        printf("%s%af%s", i % 6 == 0 ? "  " : " ", (double)x,
               i == HALF - 1 ? "\n"
               : i % 6 == 5  ? ", \\\n"
                             : ",");
    }
    fputs(tail, stdout);
    fprintf(stderr, "mean square %.5f\n", square / HALF);
    return 0;
}
