/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window into something longer; the idea is in window.h.
 */
#include "target/window.h"

#include <string.h>

#include "base/check.h"
#include "base/util.h"
#include "target/req.h"

void tgt_window_init(struct tgt_window *w, struct tgt_req *req, uint64_t offset, uint64_t len)
{
	*w = (struct tgt_window){
		.req = req,
		.from = offset,
		.to = u64_add_saturated(offset, len),
	};
}

static void store(struct tgt_window *w, const uint8_t *p, size_t n)
{
	const struct tgt_buf *buf = &w->req->buf;

	while (n > 0) {
		const struct iovec *v = &buf->iov[w->iov_i];
		size_t some = MIN(n, v->iov_len - w->iov_off);

		INVARIANT(w->iov_i < buf->niov);
		if (p) {
			memcpy((uint8_t *)v->iov_base + w->iov_off, p, some);
			p += some;
		} else {
			memset((uint8_t *)v->iov_base + w->iov_off, 0, some);
		}
		n -= some;
		w->iov_off += some;
		if (w->iov_off == v->iov_len) {
			w->iov_i++;
			w->iov_off = 0;
		}
	}
}

void tgt_window_put(struct tgt_window *w, const void *p, uint64_t n)
{
	uint64_t begin = MAX(w->at, w->from);
	uint64_t end = MIN(w->at + n, w->to);

	if (begin < end)
		store(w, p ? (const uint8_t *)p + (begin - w->at) : NULL, (size_t)(end - begin));
	w->at += n;
}

uint64_t tgt_window_end(struct tgt_window *w)
{
	const struct tgt_buf *buf = &w->req->buf;
	uint64_t whole = w->at;

	for (; w->iov_i < buf->niov; w->iov_i++, w->iov_off = 0)
		memset((uint8_t *)buf->iov[w->iov_i].iov_base + w->iov_off, 0,
		       buf->iov[w->iov_i].iov_len - w->iov_off);
	return whole;
}
