/*
 * The models of dsa_fwd and dsa_bwd: their oracles against the golden vectors, which come from the
 * contract alone, against finite differences, and the bars against deliberately wrong results.
 */
#include "dsa_math.h"
#include "test_dsa_rig.h"

static void hold_vector(const struct vector *v)
{
    struct dsa_rig r;

    rig_from_vector(&r, v);
    rig_oracle(&r, 1 + (int)(v->tensors_nr % 3));
    rig_answer(&r);
    rig_hold_vector(&r, v);
    /* The answers of the file, against the oracle's, to what a file of 14 digits can hold. */
    for (size_t i = 0; i < r.s.nr; i++) {
        const struct op_slice *s = &r.s.item[i];
        const struct vector_tensor *want = vector_tensor_find(v, r.p.spec->tensors[s->tensor].name);

        assert_non_null(want);
        for (int64_t k = 0; k < s->n; k++) {
            const double value = want->value[s->at + k];

            if (!(s->ref[k] == value || fabs(s->ref[k] - value) <= 1e-12 * (1 + fabs(value))))
                fail_msg("%s: %s[%lld] is %.17g, must be %.17g", v->title, want->name,
                         (long long)(s->at + k), s->ref[k], value);
        }
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
