/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive, circular, doubly linked list. Membership costs no allocation, and an element can
 * leave without knowing its list. A removed element points to itself, so removing it twice is
 * harmless and list_is_linked() can be asked at any time after list_init().
 *
 * Ownership: the list owns nothing. Thread: none of this locks.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"

struct list {
	struct list *next;
	struct list *prev;
};

/* For a list or an element with static storage: `struct list l = LIST_INIT(l);` */
#define LIST_INIT(name) { &(name), &(name) }

/* Makes `l` an empty list, or an element that is in none. Both need it before their first use. */
static inline void list_init(struct list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

/* Whether an element is in some list. */
static inline bool list_is_linked(const struct list *entry)
{
	return entry->next != entry;
}

static inline void list_insert_between_(struct list *entry, struct list *prev, struct list *next)
{
	next->prev = entry;
	entry->next = next;
	entry->prev = prev;
	prev->next = entry;
}

/* The element must be in no list. */
static inline void list_add_tail(struct list *head, struct list *entry)
{
	list_insert_between_(entry, head->prev, head);
}

/* The element must be in no list. */
static inline void list_add_head(struct list *head, struct list *entry)
{
	list_insert_between_(entry, head, head->next);
}

/* Puts `entry`, which is in no list, right before `at`. */
static inline void list_add_before(struct list *at, struct list *entry)
{
	list_insert_between_(entry, at->prev, at);
}

/* Takes an element out of whatever list it is in; without effect if it is in none. */
static inline void list_del(struct list *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	list_init(entry);
}

/* Moves all elements of `from` to the end of `to`, in order; `from` is empty afterwards. */
static inline void list_splice_tail(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	from->prev->next = to;
	to->prev->next = from->next;
	to->prev = from->prev;
	list_init(from);
}

/* Takes out and returns the first element, or NULL. */
static inline struct list *list_pop(struct list *head)
{
	struct list *first = head->next;

	if (first == head)
		return NULL;
	list_del(first);
	return first;
}

/* Number of elements; walks the list, so for tests and reports. */
static inline size_t list_count(const struct list *head)
{
	size_t n = 0;

	for (const struct list *l = head->next; l != head; l = l->next)
		n++;
	return n;
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)

/* First or last object, or NULL if the list is empty. */
#define list_first_entry(head, type, member)                                                       \
	(list_empty(head) ? NULL : container_of((head)->next, type, member))
#define list_last_entry(head, type, member)                                                        \
	(list_empty(head) ? NULL : container_of((head)->prev, type, member))

#define LIST_POP_ENTRY_(head, type, member, e)                                                     \
	__extension__({                                                                            \
		struct list *e = list_pop(head);                                                   \
		e ? container_of(e, type, member) : NULL;                                          \
	})

/* Takes out and returns the first object, or NULL if the list is empty. */
#define list_pop_entry(head, type, member)                                                         \
	LIST_POP_ENTRY_(head, type, member, UTIL_PASTE(le_, __COUNTER__))

/* The loop body may not remove `pos`. */
#define list_for_each_entry(pos, head, member)                                                     \
	for (pos = container_of((head)->next, __typeof__(*pos), member); &pos->member != (head);   \
	     pos = container_of(pos->member.next, __typeof__(*pos), member))

/* The loop body may remove and free `pos`, but not `tmp`, the element after it. */
#define list_for_each_entry_safe(pos, tmp, head, member)                                           \
	for (pos = container_of((head)->next, __typeof__(*pos), member),                           \
	    tmp = container_of(pos->member.next, __typeof__(*pos), member);                        \
	     &pos->member != (head);                                                               \
	     pos = tmp, tmp = container_of(tmp->member.next, __typeof__(*tmp), member))

#endif
