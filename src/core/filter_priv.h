/* What the files of the filter share: filter_compile.c makes nodes, filter.c walks them,
 * filter_ops.c knows the operators. For nobody else. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_FILTER_PRIV_H
#define OUTRIDER_CORE_FILTER_PRIV_H

#include "core/filter.h"

/* The keys that mean something. From WORD_EQ on: operators. */
enum filter_word {
    WORD_NONE,
    WORD_NOT,
    WORD_OR,
    WORD_AND,
    WORD_EQ,
    WORD_NEQ,
    WORD_GT,
    WORD_GTE,
    WORD_LT,
    WORD_LTE,
    WORD_IN,
    WORD_NIN,
    WORD_STARTS_WITH,
    WORD_ENDS_WITH,
    WORD_EXIST,
};

/* One value of the filter. */
struct node {
    struct str key; /* decoded; of a member */
    union {
        struct str text;   /* of a string: decoded; of a number: as written */
        struct node *kids; /* members sorted by key, no key twice; or elements in order */
    };
    uint32_t n;         /* kids */
    uint32_t slot;      /* of an object: where the values for its members begin in eval.slots */
    uint8_t type;       /* enum json_type */
    uint8_t word;       /* enum filter_word of key */
    bool has_operators; /* among the members */
};

struct filter {
    struct arena arena; /* all nodes and text */
    struct node root;
    uint32_t slots;
};

enum { DOC_ID, DOC_TOPIC, DOC_TIME, DOC_METADATA, DOC_DATA, DOC_COUNT };

/* One evaluation. A node's slots are in use by one call at most: calls nest downwards only. */
struct eval {
    const struct filter_input *in;
    struct json *slots;
    struct json doc[DOC_COUNT]; /* JSON_NONE: not asked for yet */
    struct arena arena;         /* their text */
    uint64_t left;              /* work */
    bool over;                  /* it ran out: everything says false from here on */
};

/* The event itself as a value. */
#define DOCUMENT ((struct json){JSON_OBJECT, STR_NULL})

/* false: no work left. */
static inline bool eval_charge(struct eval *ev, uint64_t cost)
{
    if (ev->over || cost > ev->left) {
        ev->over = true;
        return false;
    }
    ev->left -= cost;
    return true;
}

static inline bool type_is_scalar(unsigned type)
{
    return type != JSON_ARRAY && type != JSON_OBJECT;
}

const struct node *node_member(const struct node *object, struct str key); /* NULL: none such */
/* Puts the values of v for each member of f into f's slots (JSON_NONE: v has none, of a repeated
 * key the last) and returns how many members of v are not in f. */
size_t eval_locate(struct eval *ev, struct json v, const struct node *f);
/* Equality of scalars, as a literal in a filter means it. */
bool eval_same(struct eval *ev, struct json v, const struct node *f);
/* Whether every operator among f's members holds for v as a whole. */
bool eval_operators(struct eval *ev, struct json v, const struct node *f);

#endif
