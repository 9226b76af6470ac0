/*
 * validate.c - the one judge of what a legal problem is, compiled into bench and every library.
 *
 * Order: the struct itself, each tensor by itself, parameters, rules that need no dimension,
 * shapes, memory, all other rules, pointers, and only then what is legal but not served: a problem
 * that is both invalid and unsupported is invalid.
 */
#include "bind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int check_problem(const struct sab_op_spec *op, const struct sab_problem *problem,
                         struct sab_message *msg)
{
    if (!problem)
        return sab_say(msg, SAB_INVALID, "the problem is missing");
    if (problem->struct_size < sizeof(*problem))
        return sab_say(msg, SAB_INVALID, "the problem has struct size %u, expected %zu",
                       problem->struct_size, sizeof(*problem));
    if (problem->tensors_nr < op->tensors_nr || (op->tensors_nr > 0 && !problem->tensors))
        return sab_say(msg, SAB_INVALID, "the problem has %u tensors, %s has %u",
                       problem->tensors ? problem->tensors_nr : 0, op->name, op->tensors_nr);
    if (problem->params_nr < op->params_nr || (op->params_nr > 0 && !problem->params))
        return sab_say(msg, SAB_INVALID, "the problem has %u parameters, %s has %u",
                       problem->params ? problem->params_nr : 0, op->name, op->params_nr);
    for (uint32_t i = op->tensors_nr; i < problem->tensors_nr; i++)
        if (problem->tensors && problem->tensors[i].dtype != SAB_NONE)
            return sab_say(msg, SAB_UNSUPPORTED, "tensor %u of the problem is not known to this %s",
                           i, op->name);
    return SAB_OK;
}

static int check_tensor(const struct sab_tensor_spec *spec, const struct sab_tensor *t,
                        struct sab_message *msg)
{
    if (t->dtype == SAB_NONE)
        return spec->optional ? SAB_OK : sab_say(msg, SAB_INVALID, "'%s' is missing", spec->name);
    if (t->dtype < 0 || t->dtype >= SAB_DTYPE_NR)
        return sab_say(msg, SAB_INVALID, "'%s' has dtype %d, expected one of %s", spec->name,
                       t->dtype, spec->dtypes);
    if (t->role != spec->role)
        return sab_say(msg, SAB_INVALID, "'%s' has role %d, expected %d", spec->name, t->role,
                       spec->role);
    if (t->rank < 0 || t->rank > SAB_MAX_RANK)
        return sab_say(msg, SAB_INVALID, "'%s' has rank %d, expected %s", spec->name, t->rank,
                       spec->shape);
    for (int32_t d = 0; d < t->rank; d++)
        if (t->shape[d] < 0)
            return sab_say(msg, SAB_INVALID,
                           "'%s' has size %lld in dimension %d, expected none below 0", spec->name,
                           (long long)t->shape[d], d);
    if (t->alignment < 0 || (t->alignment > 0 && t->alignment % spec->alignment != 0))
        return sab_say(msg, SAB_INVALID, "'%s' is aligned to %d bytes, expected %d", spec->name,
                       t->alignment, spec->alignment);
    return SAB_OK;
}

static int check_memory(const struct sab_binding *b, enum sab_device want, struct sab_message *msg)
{
    int32_t memory = want == SAB_DEVICE_CUDA ? SAB_MEMORY_DEVICE : SAB_MEMORY_HOST;
    int32_t device = want == SAB_DEVICE_CUDA ? b->problem->device : 0;

    for (uint32_t i = 0; i < b->op->tensors_nr; i++) {
        const struct sab_tensor *t = sab_bind_tensor(b, i);

        if (t && t->memory != memory)
            return sab_say(msg, SAB_INVALID, "'%s' lies in %s memory, expected %s memory",
                           b->op->tensors[i].name, t->memory == SAB_MEMORY_HOST ? "host" : "device",
                           memory == SAB_MEMORY_HOST ? "host" : "device");
        if (t && t->device != device)
            return sab_say(msg, SAB_INVALID, "'%s' lies on device %d, expected device %d",
                           b->op->tensors[i].name, t->device, device);
    }
    return SAB_OK;
}

static int count_words(const char *words)
{
    const char *token;
    size_t at = 0;
    int nr = 0;

    while (sab_next_token(words, strlen(words), &at, &token) > 0)
        nr++;
    return nr;
}

static int check_param(const struct sab_param_spec *spec, const union sab_value *value,
                       struct sab_message *msg)
{
    if (spec->kind == SAB_FLAG && value->i != 0 && value->i != 1)
        return sab_say(msg, SAB_INVALID, "'%s' is %lld, expected 0 or 1", spec->name,
                       (long long)value->i);
    if (spec->kind == SAB_WORD && (value->i < 0 || value->i >= count_words(spec->words)))
        return sab_say(msg, SAB_INVALID, "'%s' is %lld, expected the place of one of: %s",
                       spec->name, (long long)value->i, spec->words);
    /* Kernels take reals in single precision, so they must be finite there. */
    if (spec->kind == SAB_REAL && !isfinite((float)value->f))
        return sab_say(msg, SAB_INVALID, "'%s' is %g, expected a finite number", spec->name,
                       value->f);
    return SAB_OK;
}

/* ", given a = 1, b = 2" from what the last evaluation looked at. */
static const char *show_seen(const struct sab_binding *b, char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < b->seen_nr && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%.*s = %lld", i ? ", " : ", given ",
                               (int)b->seen[i].len, b->seen[i].name, (long long)b->seen[i].value);
    return text;
}

static int refuse(struct sab_binding *b, const struct sab_rule_spec *rule, struct sab_message *msg)
{
    int32_t param = sab_param_find(b->op, rule->subject);
    char given[256];

    if (param >= 0 && b->op->params[param].kind == SAB_REAL)
        return sab_say(msg, rule->status, "'%s' %s, given %g", rule->subject, rule->right,
                       b->problem->params[param].f);
    return sab_say(msg, rule->status, "'%s' %s%s", rule->subject, rule->right,
                   show_seen(b, given, sizeof(given)));
}

/* `early`: dimensions are not bound yet, and a rule that asks for one has its turn later. */
static int check_rules(struct sab_binding *b, int status, int early, struct sab_message *msg)
{
    for (uint32_t i = 0; i < b->op->rules_nr; i++) {
        const struct sab_rule_spec *rule = &b->op->rules[i];
        struct sab_expr_value value;
        int result;

        if (rule->status != status)
            continue;
        result = sab_bind_eval(b, rule->condition, strlen(rule->condition), &value);
        if (result != SAB_EXPR_OK && early)
            continue;
        if (result != SAB_EXPR_OK)
            return sab_say(msg, SAB_INVALID, "'%s' %s; the rule meets %s", rule->subject,
                           rule->right, sab_expr_error(result));
        if (!sab_expr_true(&value))
            return refuse(b, rule, msg);
    }
    return SAB_OK;
}

static int check_invalid(struct sab_binding *b, enum sab_device want, struct sab_message *msg)
{
    int status = SAB_OK;

    for (uint32_t i = 0; i < b->op->tensors_nr && status == SAB_OK; i++)
        status = check_tensor(&b->op->tensors[i], &b->problem->tensors[i], msg);
    for (uint32_t i = 0; i < b->op->params_nr && status == SAB_OK; i++)
        status = check_param(&b->op->params[i], &b->problem->params[i], msg);
    if (status == SAB_OK)
        status = check_rules(b, SAB_INVALID, 1, msg);
    if (status == SAB_OK)
        status = sab_check_shapes(b, msg);
    if (status == SAB_OK)
        status = check_memory(b, want, msg);
    if (status == SAB_OK)
        status = check_rules(b, SAB_INVALID, 0, msg);
    return status;
}

int sab_validate(const struct sab_op_spec *op, const struct sab_problem *problem,
                 enum sab_device want, unsigned flags, struct sab_message *msg)
{
    struct sab_binding b;
    int status;

    if (msg && msg->text && msg->size > 0)
        msg->text[0] = '\0';
    if (!op)
        return sab_say(msg, SAB_INVALID, "the operator is not known");
    if ((status = check_problem(op, problem, msg)) != SAB_OK)
        return status;
    sab_bind_init(&b, op, problem, op->params_nr);
    if ((status = check_invalid(&b, want, msg)) != SAB_OK)
        return status;
    if ((flags & SAB_VALIDATE_POINTERS) != 0 && (status = sab_check_pointers(&b, msg)) != SAB_OK)
        return status;
    return check_rules(&b, SAB_UNSUPPORTED, 0, msg);
}

int64_t sab_dimension(const struct sab_op_spec *op, const struct sab_problem *problem,
                      const char *expression)
{
    struct sab_binding b;
    uint32_t place;
    int64_t n = -1;

    sab_bind_init(&b, op, problem, op->params_nr);
    if (!sab_bind_symbols(&b, &place) ||
        sab_bind_integer(&b, expression, strlen(expression), &n) != SAB_EXPR_OK)
        return -1;
    return n;
}

int sab_default(const struct sab_op_spec *op, const struct sab_problem *problem, uint32_t param,
                union sab_value *value, struct sab_message *msg)
{
    const struct sab_param_spec *spec;
    struct sab_expr_value result;
    struct sab_binding b;
    uint32_t place;
    int status;

    if (param >= op->params_nr)
        return sab_say(msg, SAB_INVALID, "%s has no parameter %u", op->name, param);
    spec = &op->params[param];
    if (spec->initial[0] == '\0')
        return sab_say(msg, SAB_INVALID, "'%s' has no default, expected one of: %s", spec->name,
                       spec->words);
    sab_bind_init(&b, op, problem, param);
    /* A shape that cannot be bound matters only to a default that asks for it. */
    sab_bind_symbols(&b, &place);
    status = sab_bind_eval(&b, spec->initial, strlen(spec->initial), &result);
    if (status == SAB_EXPR_OK && spec->kind == SAB_REAL)
        value->f = sab_expr_real(&result);
    else if (status == SAB_EXPR_OK)
        status = sab_expr_integer(&result, &value->i);
    if (status != SAB_EXPR_OK)
        return sab_say(msg, SAB_INVALID, "'%s' has the default %s, which meets %s", spec->name,
                       spec->initial, sab_expr_error(status));
    return SAB_OK;
}
