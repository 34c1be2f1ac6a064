/* SPDX-License-Identifier: Apache-2.0
 *
 * The lists that the sources use, as in every BSD.
 */
#ifndef INTERLOCK_STUB_SYS_QUEUE_H
#define INTERLOCK_STUB_SYS_QUEUE_H

#define LIST_HEAD(name, type)                                                                                \
    struct name {                                                                                            \
        struct type *lh_first;                                                                               \
    }
#define LIST_HEAD_INITIALIZER(head)                                                                          \
    { NULL }
#define LIST_ENTRY(type)                                                                                     \
    struct {                                                                                                 \
        struct type *le_next, **le_prev;                                                                     \
    }
#define LIST_EMPTY(head) ((head)->lh_first == NULL)
#define LIST_INIT(head) (LIST_FIRST(head) = NULL)
#define LIST_FIRST(head) ((head)->lh_first)
#define LIST_NEXT(element, field) ((element)->field.le_next)
#define LIST_FOREACH(variable, head, field)                                                                  \
    for ((variable) = LIST_FIRST(head); (variable); (variable) = LIST_NEXT(variable, field))
#define LIST_INSERT_HEAD(head, element, field)                                                               \
    do {                                                                                                     \
        if ((LIST_NEXT(element, field) = LIST_FIRST(head)) != NULL)                                          \
            LIST_FIRST(head)->field.le_prev = &LIST_NEXT(element, field);                                    \
        LIST_FIRST(head) = (element);                                                                        \
        (element)->field.le_prev = &LIST_FIRST(head);                                                        \
    } while (0)
#define LIST_REMOVE(element, field)                                                                          \
    do {                                                                                                     \
        if (LIST_NEXT(element, field) != NULL)                                                               \
            LIST_NEXT(element, field)->field.le_prev = (element)->field.le_prev;                             \
        *(element)->field.le_prev = LIST_NEXT(element, field);                                               \
    } while (0)

#define TAILQ_HEAD(name, type)                                                                               \
    struct name {                                                                                            \
        struct type *tqh_first, **tqh_last;                                                                  \
    }
#define TAILQ_HEAD_INITIALIZER(head)                                                                         \
    { NULL, &(head).tqh_first }
#define TAILQ_ENTRY(type)                                                                                    \
    struct {                                                                                                 \
        struct type *tqe_next, **tqe_prev;                                                                   \
    }
#define TAILQ_FIRST(head) ((head)->tqh_first)
#define TAILQ_EMPTY(head) (TAILQ_FIRST(head) == NULL)
#define TAILQ_NEXT(element, field) ((element)->field.tqe_next)
#define TAILQ_LAST(head, name) (*(((struct name *)((head)->tqh_last))->tqh_last))
#define TAILQ_PREV(element, name, field) (*(((struct name *)((element)->field.tqe_prev))->tqh_last))
#define TAILQ_INIT(head)                                                                                     \
    do {                                                                                                     \
        TAILQ_FIRST(head) = NULL;                                                                            \
        (head)->tqh_last = &TAILQ_FIRST(head);                                                               \
    } while (0)
#define TAILQ_FOREACH(variable, head, field)                                                                 \
    for ((variable) = TAILQ_FIRST(head); (variable); (variable) = TAILQ_NEXT(variable, field))
#define TAILQ_FOREACH_SAFE(variable, head, field, next)                                                      \
    for ((variable) = TAILQ_FIRST(head); (variable) && ((next) = TAILQ_NEXT(variable, field), 1);            \
         (variable) = (next))
#define TAILQ_INSERT_HEAD(head, element, field)                                                              \
    do {                                                                                                     \
        if ((TAILQ_NEXT(element, field) = TAILQ_FIRST(head)) != NULL)                                        \
            TAILQ_FIRST(head)->field.tqe_prev = &TAILQ_NEXT(element, field);                                 \
        else                                                                                                 \
            (head)->tqh_last = &TAILQ_NEXT(element, field);                                                  \
        TAILQ_FIRST(head) = (element);                                                                       \
        (element)->field.tqe_prev = &TAILQ_FIRST(head);                                                      \
    } while (0)
#define TAILQ_INSERT_TAIL(head, element, field)                                                              \
    do {                                                                                                     \
        TAILQ_NEXT(element, field) = NULL;                                                                   \
        (element)->field.tqe_prev = (head)->tqh_last;                                                        \
        *(head)->tqh_last = (element);                                                                       \
        (head)->tqh_last = &TAILQ_NEXT(element, field);                                                      \
    } while (0)
#define TAILQ_INSERT_AFTER(head, other, element, field)                                                      \
    do {                                                                                                     \
        if ((TAILQ_NEXT(element, field) = TAILQ_NEXT(other, field)) != NULL)                                 \
            TAILQ_NEXT(element, field)->field.tqe_prev = &TAILQ_NEXT(element, field);                        \
        else                                                                                                 \
            (head)->tqh_last = &TAILQ_NEXT(element, field);                                                  \
        TAILQ_NEXT(other, field) = (element);                                                                \
        (element)->field.tqe_prev = &TAILQ_NEXT(other, field);                                               \
    } while (0)
#define TAILQ_REMOVE(head, element, field)                                                                   \
    do {                                                                                                     \
        if (TAILQ_NEXT(element, field) != NULL)                                                              \
            TAILQ_NEXT(element, field)->field.tqe_prev = (element)->field.tqe_prev;                          \
        else                                                                                                 \
            (head)->tqh_last = (element)->field.tqe_prev;                                                    \
        *(element)->field.tqe_prev = TAILQ_NEXT(element, field);                                             \
    } while (0)
#define TAILQ_CONCAT(head, other, field)                                                                     \
    do {                                                                                                     \
        if (!TAILQ_EMPTY(other)) {                                                                           \
            *(head)->tqh_last = TAILQ_FIRST(other);                                                          \
            TAILQ_FIRST(other)->field.tqe_prev = (head)->tqh_last;                                           \
            (head)->tqh_last = (other)->tqh_last;                                                            \
            TAILQ_INIT(other);                                                                               \
        }                                                                                                    \
    } while (0)

#endif
