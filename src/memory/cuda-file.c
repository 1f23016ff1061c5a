/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/cuda-file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/alloc.h"
#include "memory/cuda-impl.h"

#define LIBRARY "libcufile.so.0"

enum { THREADS = 8 };

/* ---- cuFile, from its documented ABI --------------------------------------------------------- */

struct cufile_error {
	int error; /* 0, or 5001 and up */
	int cuda;
};

struct cufile_properties {
	struct {
		unsigned int major, minor; /* of nvidia-fs; 0.0: it is not loaded */
		size_t poll_threshold, max_direct_io;
		unsigned int status; /* kinds of file systems, a bit each */
		unsigned int control;
	} nvfs;
	unsigned int features;
	unsigned int more[32]; /* limits, and what later versions add */
};

enum {
	CONTROL_ALLOW_COMPAT = 1u << 1,
	PARAM_ALLOW_COMPAT = 1,
	PARAM_FORCE_COMPAT = 2,
	HANDLE_FD = 1,
};

struct cufile_descr {
	int type;
	union {
		int fd;
		void *handle;
	} handle;
	const void *ops;
};

struct cufile_api {
	struct cufile_error (*driver_open)(void);
	struct cufile_error (*properties)(struct cufile_properties *p);
	struct cufile_error (*handle_register)(void **handle, struct cufile_descr *d);
	void (*handle_deregister)(void *handle);
	struct cufile_error (*buf_register)(const void *base, size_t length, int flags);
	struct cufile_error (*buf_deregister)(const void *base);
	ssize_t (*read)(void *handle, void *base, size_t n, off_t file_offset, off_t base_offset);
	ssize_t (*write)(void *handle, const void *base, size_t n, off_t file_offset, off_t base_offset);
	struct cufile_error (*set_bool)(int parameter, bool value); /* NULL: older than 1.14 */
};

static const struct {
	const char *name;
	size_t offset;
} symbols[] = {
	{ "cuFileDriverOpen", offsetof(struct cufile_api, driver_open) },
	{ "cuFileDriverGetProperties", offsetof(struct cufile_api, properties) },
	{ "cuFileHandleRegister", offsetof(struct cufile_api, handle_register) },
	{ "cuFileHandleDeregister", offsetof(struct cufile_api, handle_deregister) },
	{ "cuFileBufRegister", offsetof(struct cufile_api, buf_register) },
	{ "cuFileBufDeregister", offsetof(struct cufile_api, buf_deregister) },
	{ "cuFileRead", offsetof(struct cufile_api, read) },
	{ "cuFileWrite", offsetof(struct cufile_api, write) },
	{ "cuFileSetParameterBool", offsetof(struct cufile_api, set_bool) },
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cufile_api api;
static bool usable;
static struct err why_not = ERR_NULL;

static const char *meaning(int error)
{
	switch (error) {
	case 5007:
		return ": the platform is not supported";
	case 5008:
		return ": the file system or its device is not supported";
	case 5009:
		return ": the GPU is not supported";
	case 5010:
		return ": nvidia-fs is not loaded or refuses";
	default:
		return "";
	}
}

static bool resolve(void *library)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *at = dlsym(library, symbols[i].name);

		if (!at && symbols[i].offset != offsetof(struct cufile_api, set_bool)) {
			err_set(&why_not, ENODEV, "%s has no %s", LIBRARY, symbols[i].name);
			return false;
		}
		memcpy((uint8_t *)&api + symbols[i].offset, &at, sizeof(at));
	}
	return true;
}

static void load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	struct cufile_properties p = { .features = 0 };
	struct cufile_error e;

	if (!library) {
		err_set(&why_not, ENODEV, "cuFile (%s) is not installed: it comes with CUDA's GPUDirect Storage",
			LIBRARY);
		return;
	}
	if (!resolve(library))
		return;
	if (api.set_bool) {
		(void)api.set_bool(PARAM_ALLOW_COMPAT, false);
		(void)api.set_bool(PARAM_FORCE_COMPAT, false);
	}
	e = api.driver_open();
	if (e.error != 0) {
		err_set(&why_not, EOPNOTSUPP,
			"cuFile does not start without its compatibility mode (error %d%s): it takes the nvidia-fs "
			"module, or PCI peer-to-peer DMA of the kernel",
			e.error, meaning(e.error));
		return;
	}
	e = api.properties(&p);
	if (e.error != 0 || (p.nvfs.control & CONTROL_ALLOW_COMPAT)) {
		err_set(&why_not, EOPNOTSUPP,
			"cuFile's compatibility mode is on, in which data goes through host memory unsaid; set "
			"\"allow_compat_mode\": false in cufile.json (nvidia-fs %u.%u)",
			p.nvfs.major, p.nvfs.minor);
		return;
	}
	usable = true;
}

/* ---- files --------------------------------------------------------------------------------- */

struct mem_gds_file {
	int fd;
	void *handle;
	unsigned int threads;
	pthread_t thread[THREADS];
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more;
	struct list jobs;
	bool ending;
};

static int step(const struct mem_gds_file *f, const struct mem_gds_job *job, uint64_t moved)
{
	void *base = (void *)(uintptr_t)job->base; /* NOLINT: an address of the device */
	size_t n = job->length - moved;
	ssize_t r;

	errno = 0;
	if (job->write)
		r = api.write(f->handle, base, n, (off_t)(job->offset + moved),
			      (off_t)(job->skip + moved));
	else
		r = api.read(f->handle, base, n, (off_t)(job->offset + moved),
			     (off_t)(job->skip + moved));
	if (r == -1)
		return errno ? -errno : -EIO;
	/* Below that: one of cuFile's own errors. No bytes: the file has been cut short. */
	return r <= 0 || (size_t)r > n ? -EIO : (int)r;
}

static int run(const struct mem_gds_file *f, const struct mem_gds_job *job)
{
	struct cuda *c = cuda_of(job->dev);
	uint64_t moved = 0;
	int rc = 0;

	if (!cuda_enter(c))
		return -EIO;
	while (rc >= 0 && moved < job->length) {
		rc = step(f, job, moved);
		moved += rc > 0 ? (uint64_t)rc : 0;
	}
	cuda_leave(c);
	return rc < 0 ? rc : 0;
}

static void *thread_main(void *arg)
{
	struct mem_gds_file *f = arg;
	struct mem_gds_job *job;

	pthread_mutex_lock(&f->lock);
	while (!f->ending) {
		job = list_pop_entry(&f->jobs, struct mem_gds_job, link);
		if (!job) {
			pthread_cond_wait(&f->more, &f->lock);
			continue;
		}
		pthread_mutex_unlock(&f->lock);
		job->result = run(f, job);
		job->done(job);
		pthread_mutex_lock(&f->lock);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

void mem_gds_submit(struct mem_gds_file *f, struct mem_gds_job *job)
{
	pthread_mutex_lock(&f->lock);
	list_add_tail(&f->jobs, &job->link);
	pthread_cond_signal(&f->more);
	pthread_mutex_unlock(&f->lock);
}

static int start(struct mem_gds_file *f, const char *path, bool read_only, struct err *err)
{
	struct cufile_descr d = { .type = HANDLE_FD };
	struct cufile_error e;
	int rc;

	f->fd = open(path, (read_only ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC);
	if (f->fd < 0)
		return err_set(err, errno, "%s: cannot be opened for direct I/O, which cuFile takes: %s", path,
			       strerror(errno));
	d.handle.fd = f->fd;
	e = api.handle_register(&f->handle, &d);
	if (e.error != 0) {
		f->handle = NULL;
		return err_set(err, EOPNOTSUPP,
			       "cuFile does not take this file without its compatibility mode (error %d%s)", e.error,
			       meaning(e.error));
	}
	for (; f->threads < THREADS; f->threads++) {
		rc = pthread_create(&f->thread[f->threads], NULL, thread_main, f);
		if (rc != 0)
			return err_set(err, rc, "no thread for cuFile: %s", strerror(rc));
	}
	return 0;
}

int mem_gds_open(const char *path, bool read_only, struct mem_gds_file **ret_file, struct err *err)
{
	struct mem_gds_file *f;
	int rc;

	pthread_once(&once, load);
	if (!usable) {
		*err = why_not;
		return -err->code;
	}
	f = mem_zalloc(sizeof(*f));
	if (!f)
		return err_set(err, ENOMEM, "out of memory");
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->more, NULL);
	list_init(&f->jobs);
	rc = start(f, path, read_only, err);
	if (rc < 0) {
		mem_gds_close(f);
		return rc;
	}
	*ret_file = f;
	return 0;
}

struct mem_gds_file *mem_gds_close(struct mem_gds_file *f)
{
	if (!f)
		return NULL;
	pthread_mutex_lock(&f->lock);
	f->ending = true;
	pthread_cond_broadcast(&f->more);
	pthread_mutex_unlock(&f->lock);
	while (f->threads > 0)
		pthread_join(f->thread[--f->threads], NULL);
	if (f->handle)
		api.handle_deregister(f->handle);
	if (f->fd >= 0)
		close(f->fd);
	pthread_cond_destroy(&f->more);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
	return NULL;
}

/* ---- memory -------------------------------------------------------------------------------- */

int mem_gds_register(struct mem_device *dev, uint64_t addr, uint64_t length)
{
	struct cufile_error e = { .error = 0 };

	if (!cuda_enter(cuda_of(dev)))
		return -EIO;
	e = api.buf_register((void *)(uintptr_t)addr, length, 0); /* NOLINT: an address of the device */
	cuda_leave(cuda_of(dev));
	return e.error == 0 ? 0 : -EIO;
}

void mem_gds_unregister(struct mem_device *dev, uint64_t addr)
{
	if (!cuda_enter(cuda_of(dev)))
		return;
	(void)api.buf_deregister((void *)(uintptr_t)addr); /* NOLINT: an address of the device */
	cuda_leave(cuda_of(dev));
}
