/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/gate.h"

#include "base/util.h"

void gate_init(struct gate *g)
{
	*g = (struct gate){ .arrived = 0 };
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
}

void gate_deinit(struct gate *g)
{
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
}

void gate_arrive(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->arrived++;
	pthread_cond_broadcast(&g->changed);
	while (!g->open)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

void gate_wait(struct gate *g, unsigned int n)
{
	pthread_mutex_lock(&g->lock);
	while (g->arrived < n)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

void gate_open(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

void meeting_init(struct meeting *m, unsigned int members)
{
	*m = (struct meeting){ .members = members };
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
}

void meeting_deinit(struct meeting *m)
{
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
}

static void conclude(struct meeting *m)
{
	m->stopped = m->stop;
	m->most_before = m->most;
	m->stop = false;
	m->most = 0;
	m->here = 0;
	m->round++;
	pthread_cond_broadcast(&m->changed);
}

bool meeting_join(struct meeting *m, bool stop, uint64_t value, uint64_t *ret_most)
{
	uint64_t round;
	bool stopped;

	pthread_mutex_lock(&m->lock);
	round = m->round;
	m->stop = m->stop || stop;
	m->most = MAX(m->most, value);
	if (++m->here == m->members)
		conclude(m);
	/* The next round cannot conclude before this thread joins it: its answer is still there. */
	while (m->round == round)
		pthread_cond_wait(&m->changed, &m->lock);
	stopped = m->stopped;
	*ret_most = m->most_before;
	pthread_mutex_unlock(&m->lock);
	return stopped;
}
