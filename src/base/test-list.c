/* SPDX-License-Identifier: Apache-2.0 */
/* The list by hand, then against an array that is told to do the same. */
#include "base/list.h"

#include "base/rng.h"
#include "tests/tap.h"

struct item {
	int value;
	struct list link;
};

enum { ITEMS = 32 };

static void test_empty(void)
{
	struct list head = LIST_INIT(head);
	struct item *i, *tmp;
	int visits = 0;

	ok(list_empty(&head), "a new list is empty");
	ok(!list_first_entry(&head, struct item, link), "no first entry");
	ok(!list_last_entry(&head, struct item, link), "no last entry");
	ok(!list_pop_entry(&head, struct item, link), "nothing to pop");
	list_for_each_entry(i, &head, link)
		visits++;
	list_for_each_entry_safe(i, tmp, &head, link)
		visits++;
	is_i64(visits, 0, "nothing to visit");
}

static void test_order(void)
{
	struct list head;
	struct item a = { .value = 1 }, b = { .value = 2 }, c = { .value = 3 };
	struct item *i;
	int digits = 0;

	list_init(&head);
	list_init(&b.link);
	ok(!list_is_linked(&b.link), "an element in no list");
	list_add_tail(&head, &b.link);
	list_add_head(&head, &a.link);
	list_add_tail(&head, &c.link);
	ok(list_is_linked(&b.link), "an element in a list");
	list_for_each_entry(i, &head, link)
		digits = digits * 10 + i->value;
	is_i64(digits, 123, "head and tail");
	ok(list_first_entry(&head, struct item, link) == &a, "first entry");
	ok(list_last_entry(&head, struct item, link) == &c, "last entry");
	list_del(&b.link);
	list_del(&b.link);
	is_u64(list_count(&head), 2, "removing twice removes once");
	list_add_before(&c.link, &b.link);
	ok(list_pop_entry(&head, struct item, link) == &a, "pops the first");
	ok(!list_is_linked(&a.link), "what was popped is in no list");
	ok(list_pop_entry(&head, struct item, link) == &b, "then the one put before the last");
}

static void test_free_while_walking(void)
{
	struct list head = LIST_INIT(head);
	struct item *i, *tmp;
	int sum = 0;

	for (int v = 1; v <= 10; v++) {
		i = calloc(1, sizeof(*i));
		i->value = v;
		list_add_tail(&head, &i->link);
	}
	list_for_each_entry_safe(i, tmp, &head, link) {
		sum += i->value;
		list_del(&i->link);
		free(i);
	}
	is_i64(sum, 55, "every element is seen when each is freed on the way");
	ok(list_empty(&head), "and none is left");
}

static void test_splice(void)
{
	struct list to = LIST_INIT(to), from = LIST_INIT(from);
	struct item items[4] = { { 1 }, { 2 }, { 3 }, { 4 } };
	struct item *i;
	int digits = 0;

	list_splice_tail(&to, &from);
	ok(list_empty(&to), "nothing and nothing");
	list_add_tail(&from, &items[0].link);
	list_add_tail(&from, &items[1].link);
	list_splice_tail(&to, &from);
	list_add_tail(&from, &items[2].link);
	list_add_tail(&from, &items[3].link);
	list_splice_tail(&to, &from);
	list_splice_tail(&to, &from);
	list_for_each_entry(i, &to, link)
		digits = digits * 10 + i->value;
	is_i64(digits, 1234, "in order, behind what was there");
	ok(list_empty(&from), "the source is empty");
}

/* The same list as an array of item numbers. */
struct model {
	int at[ITEMS];
	int count;
};

static void model_insert(struct model *m, int where, int value)
{
	memmove(m->at + where + 1, m->at + where, (size_t)(m->count - where) * sizeof(m->at[0]));
	m->at[where] = value;
	m->count++;
}

static int model_remove(struct model *m, int value)
{
	int where = 0;

	while (m->at[where] != value)
		where++;
	m->count--;
	memmove(m->at + where, m->at + where + 1, (size_t)(m->count - where) * sizeof(m->at[0]));
	return where;
}

static bool model_agrees(const struct model *m, const struct list *head)
{
	const struct item *i;
	int n = 0;

	list_for_each_entry(i, head, link) {
		if (n >= m->count || m->at[n] != i->value)
			return false;
		/* Links back must agree with links forth. */
		if (i->link.next->prev != &i->link)
			return false;
		n++;
	}
	return n == m->count;
}

static void test_against_model(void)
{
	struct item items[ITEMS];
	struct list head = LIST_INIT(head);
	struct model m = { .count = 0 };
	struct rng r;
	int bad = 0;

	for (int i = 0; i < ITEMS; i++) {
		items[i].value = i;
		list_init(&items[i].link);
	}
	rng_init(&r, 7);
	for (int step = 0; step < 20000; step++) {
		struct item *i = &items[rng_below(&r, ITEMS)];

		if (list_is_linked(&i->link)) {
			list_del(&i->link);
			model_remove(&m, i->value);
		} else if (rng_chance_ppm(&r, 500000)) {
			list_add_head(&head, &i->link);
			model_insert(&m, 0, i->value);
		} else {
			list_add_tail(&head, &i->link);
			model_insert(&m, m.count, i->value);
		}
		bad += !model_agrees(&m, &head);
	}
	is_i64(bad, 0, "agrees with an array over 20000 random steps");
}

int main(void)
{
	test_empty();
	test_order();
	test_free_while_walking();
	test_splice();
	test_against_model();
	return tap_done();
}
