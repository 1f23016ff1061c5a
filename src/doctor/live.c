/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only the running kernel can be asked: is io_uring to be had and with what, how are the NICs
 * set (ethtool's ioctl, which reads for anyone), and which CUDA does libcuda speak.
 */
#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doctor/gather.h"

/* ---- io_uring ------------------------------------------------------------------------------ */

static void append(char *text, size_t n, const char *word)
{
	size_t len = strlen(text);

	snprintf(text + len, n - len, "%s%s", len ? ", " : "", word);
}

/* What Penstock makes use of, or could, with the release that brought it. */
static void features(struct io_uring *ring, struct doctor_system *s)
{
	static const struct {
		int op;
		const char *name;
	} ops[] = {
		{ IORING_OP_ACCEPT, "accept (5.5)" },
		{ IORING_OP_SHUTDOWN, "shutdown (5.11)" },
		{ IORING_OP_SEND_ZC, "zero-copy send (6.0)" },
	};
	struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
	char *have = s->uring_features, *lacks = s->uring_lacks;

	append(ring->features & IORING_FEAT_EXT_ARG ? have : lacks, DOCTOR_TEXT_SIZE, "timed waits (5.11)");
	for (size_t i = 0; probe && i < ARRAY_SIZE(ops); i++)
		append(io_uring_opcode_supported(probe, ops[i].op) ? have : lacks, DOCTOR_TEXT_SIZE, ops[i].name);
	if (probe)
		io_uring_free_probe(probe);
}

static void uring(struct doctor_system *s)
{
	struct io_uring ring;
	int rc = io_uring_queue_init(8, &ring, 0);

	s->uring_error = -rc;
	if (rc < 0)
		return;
	features(&ring, s);
	io_uring_queue_exit(&ring);
}

/* ---- NICs ---------------------------------------------------------------------------------- */

static bool ask(int fd, const char *name, void *request)
{
	struct ifreq r = { .ifr_data = request };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%.15s", name);
	return ioctl(fd, SIOCETHTOOL, &r) == 0;
}

static void nic(int fd, struct doctor_nic *n)
{
	struct ethtool_coalesce coalesce = { .cmd = ETHTOOL_GCOALESCE };
	struct ethtool_pauseparam pause = { .cmd = ETHTOOL_GPAUSEPARAM };
	struct ethtool_ringparam ring = { .cmd = ETHTOOL_GRINGPARAM };
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };

	if (ask(fd, n->name, &coalesce)) {
		n->adaptive = coalesce.use_adaptive_rx_coalesce != 0;
		n->rx_usecs = coalesce.rx_coalesce_usecs;
	}
	if (ask(fd, n->name, &pause)) {
		n->pause_rx = pause.rx_pause != 0;
		n->pause_tx = pause.tx_pause != 0;
	}
	if (ask(fd, n->name, &ring) && ring.rx_max_pending > 0) {
		n->ring = ring.rx_pending;
		n->ring_max = ring.rx_max_pending;
	}
	if (ask(fd, n->name, &channels)) {
		n->channels = (doctor_number)channels.combined_count + channels.rx_count;
		n->channels_max = (doctor_number)channels.max_combined + channels.max_rx;
	}
}

static void nics(struct doctor_facts *f)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	for (size_t i = 0; i < f->nic_count; i++)
		nic(fd, &f->nics[i]);
	close(fd);
}

/* ---- libcuda ------------------------------------------------------------------------------- */

/* cuDriverGetVersion() is the one call that needs no cuInit(), and so wakes no GPU. */
static void cuda(struct doctor_nvidia *n)
{
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL), *symbol;
	int (*version)(int *v), v = 0;

	if (!lib)
		return;
	n->libcuda = 1;
	symbol = dlsym(lib, "cuDriverGetVersion");
	/* ISO C has no cast from an object's address to a function's; POSIX has the copy. */
	memcpy(&version, &symbol, sizeof(version));
	if (symbol && version(&v) == 0 && v > 0)
		n->cuda_version = v;
	dlclose(lib);
}

void gather_live(struct doctor_facts *f)
{
	uring(&f->system);
	nics(f);
	cuda(&f->nvidia);
}
