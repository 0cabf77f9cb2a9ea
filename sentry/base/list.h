/*
 * list.h - the intrusive doubly linked list of this code base.
 *
 * A head is a node that points to itself when empty. The list owns nothing.
 */
#ifndef CLOCHE_LIST_H
#define CLOCHE_LIST_H

#include "base.h"

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_add_tail(struct list *head, struct list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

static inline void list_add(struct list *head, struct list *n)
{
	list_add_tail(head->next, n);
}

/* Leaves n self-linked, so that deleting twice is harmless. */
static inline void list_del(struct list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

#define list_entry(p, type, member) container_of(p, type, member)
#define list_for_each(p, head) \
	for (struct list *p = (head)->next; p != (head); p = p->next)
#define list_for_each_safe(p, head)                                           \
	for (struct list *p = (head)->next, *p##_next = p->next; p != (head); \
	     p = p##_next, p##_next = p->next)

#endif
