/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same bytes give the same events, however they are cut (T027): every byte boundary, one byte
 * at a time, at random, with small and large staging, with right streams and with damaged ones.
 */
#include "tcp/test-feed.h"
#include "tcp/test-stream.h"
#include "tests/tap.h"

enum {
	MAX_DATA = 2048,
	CAP = 1 << 16,
	STREAMS = 60,
	CUTS = 40,
	DAMAGED = 300,
};

static uint8_t bytes[CAP];
static uint8_t scratch[MAX_DATA];

static void draw(struct rng *rng, struct stream *s, struct stream_params *p, unsigned int pdus,
		 uint32_t max_data)
{
	*p = (struct stream_params){
		.from = rng_below(rng, 2) ? TCP_ROLE_HOST : TCP_ROLE_CONTROLLER,
		.hdgst = rng_below(rng, 2),
		.ddgst = rng_below(rng, 2),
		.pda = (uint8_t)rng_below(rng, 32),
		.ic = true,
		.pdus = pdus,
		.max_data = max_data,
	};
	if (rng_below(rng, 2))
		p->pda = 0;
	*s = (struct stream){ .bytes = bytes, .cap = CAP };
	stream_make(s, rng, p, scratch);
}

static struct feed_params receiver(const struct stream_params *p, uint64_t answers)
{
	return (struct feed_params){
		.role = p->from == TCP_ROLE_HOST ? TCP_ROLE_CONTROLLER : TCP_ROLE_HOST,
		.hdgst = p->hdgst,
		.ddgst = p->ddgst,
		.pda = p->pda,
		.max_data = MAX_DATA,
		.max_icd = MAX_DATA,
		.answers = answers,
	};
}

static const struct feed_cuts whole = { .piece = CAP, .stage = CAP, .seed = 1 };

static struct feed_cuts random_cuts(struct rng *rng)
{
	return (struct feed_cuts){
		.piece = rng_below(rng, 2) ? 0 : rng_between(rng, 1, 400),
		.stage = rng_below(rng, 2) ? 512 : rng_between(rng, 512, 8192),
		.seed = rng_u64(rng),
	};
}

static unsigned int differing(struct rng *rng, const struct feed_params *params, size_t len,
			      const struct feed_result *want, unsigned int cuts)
{
	unsigned int wrong = 0;
	struct feed_result got;

	for (unsigned int i = 0; i < cuts; i++) {
		struct feed_cuts c = random_cuts(rng);

		if (i == 0)
			c.piece = 1;
		feed(params, &c, bytes, len, &got);
		wrong += got.hash != want->hash || got.pdus != want->pdus;
	}
	return wrong;
}

static void right_streams(struct rng *rng)
{
	struct stream_params p;
	struct feed_params params;
	struct feed_result want;
	struct stream s;

	for (int i = 0; i < STREAMS; i++) {
		unsigned int wrong;

		draw(rng, &s, &p, 20, MAX_DATA);
		params = receiver(&p, rng_u64(rng));
		feed(&params, &whole, bytes, s.len, &want);
		wrong = differing(rng, &params, s.len, &want, CUTS);
		ok(!want.failed && want.pdus == s.pdus && want.payloads == s.payloads &&
			   want.bad_digests == 0 && wrong == 0,
		   "stream %d (hdgst %d ddgst %d pda %u): %u PDUs, %u payloads, any cut", i,
		   p.hdgst, p.ddgst, p.pda, want.pdus, want.payloads);
	}
}

/* Two pieces, cut at every boundary. */
static void every_boundary(struct rng *rng)
{
	for (int digests = 0; digests < 4; digests++) {
		struct stream_params p = { .from = TCP_ROLE_HOST,
					   .hdgst = digests & 1,
					   .ddgst = digests & 2,
					   .pda = 3,
					   .ic = true,
					   .pdus = 8,
					   .max_data = 256 };
		struct stream s = { .bytes = bytes, .cap = CAP };
		struct feed_params params;
		struct feed_result want, got;
		unsigned int wrong = 0;

		stream_make(&s, rng, &p, scratch);
		params = receiver(&p, digests);
		feed(&params, &whole, bytes, s.len, &want);
		for (size_t at = 1; at < s.len; at++) {
			struct feed_cuts c = { .piece = at, .stage = CAP, .seed = at };

			feed(&params, &c, bytes, s.len, &got);
			wrong += got.hash != want.hash;
		}
		is_u64(wrong, 0, "T027: hdgst %d ddgst %d: cut after every one of %zu bytes", digests & 1,
		       digests >> 1, s.len);
	}
}

/* One byte changed, or the stream ends early: still the same events, error included. */
static void damaged_streams(struct rng *rng)
{
	unsigned int wrong = 0, failed = 0, bad = 0;
	struct stream_params p;
	struct feed_params params;
	struct feed_result want;
	struct stream s;

	for (int i = 0; i < DAMAGED; i++) {
		draw(rng, &s, &p, 6, 64); /* mostly headers, so that those are hit */
		params = receiver(&p, rng_u64(rng));
		if (rng_below(rng, 4) == 0)
			s.len = rng_between(rng, 1, s.len);
		else
			bytes[rng_below(rng, s.len)] ^= (uint8_t)rng_between(rng, 1, 255);
		feed(&params, &whole, bytes, s.len, &want);
		failed += want.failed;
		bad += want.bad_digests;
		wrong += differing(rng, &params, s.len, &want, 8);
	}
	is_u64(wrong, 0, "T027: %d damaged streams: any cut gives the same events", DAMAGED);
	ok(failed > 40 && bad > 10, "damage was seen: %u fatal errors, %u data digests", failed,
	   bad);
}

int main(void)
{
	struct rng rng;

	rng_init(&rng, 20261130);
	right_streams(&rng);
	every_boundary(&rng);
	damaged_streams(&rng);
	return tap_done();
}
