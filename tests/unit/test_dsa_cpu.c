/*
 * dsa_fwd/cpu and dsa_bwd/cpu: golden vectors, with every choice of `simd` that this processor has.
 */
#include "test_dsa_rig.h"

#define CHOICES 4

static void hold_vector(const struct vector *v)
{
    struct dsa_rig r;

    rig_from_vector(&r, v);
    for (uint32_t choice = 0; choice < CHOICES; choice++) {
        if (!rig_serves(&r, choice))
            continue;
        rig_run(&r, choice, 2);
        rig_hold_vector(&r, v);
    }
    rig_release(&r);
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("dsa_fwd", 14, hold_vector);
    rig_each_vector("dsa_bwd", 15, hold_vector);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
