/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: what is taken, what it becomes, and what is refused (with a sentence). */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>

#include "io/addr.h"
#include "tests/tap.h"

static void takes(const char *text, const char *want)
{
	char out[IO_ADDR_TEXT] = "";
	struct err err = ERR_NULL;
	struct io_addr a;
	int r = io_addr_parse(text, 4420, false, &a, &err);

	if (r == 0)
		io_addr_format(&a, out);
	else
		diag("%s", err.text);
	is_str(out, want, "C013: '%s' is %s", text, want);
}

static void refuses(const char *text)
{
	struct err err = ERR_NULL;
	struct io_addr a = { .len = 77 };
	int r = io_addr_parse(text, 4420, false, &a, &err);

	ok(r == -EINVAL && err.code == EINVAL && err.text[0] && a.len == 77, "C013: '%s' is refused: %s",
	   text, err.text);
}

static struct io_addr parse(const char *text)
{
	struct io_addr a = { .len = 0 };

	if (io_addr_parse(text, 4420, true, &a, NULL) < 0)
		diag("cannot parse %s", text);
	return a;
}

static void test_texts(void)
{
	takes("tcp://10.0.0.1:4421", "10.0.0.1:4421");
	takes("10.0.0.1:1", "10.0.0.1:1");
	takes("10.0.0.1", "10.0.0.1:4420");
	takes("[::1]:65535", "[::1]:65535");
	takes("[::1]", "[::1]:4420");
	takes("::1", "[::1]:4420");
	takes("tcp://2001:db8:1111:2222:3333:4444:5555:6666",
	      "[2001:db8:1111:2222:3333:4444:5555:6666]:4420");
	takes("[2001:db8:1111:2222:3333:4444:5555:6666]:8009",
	      "[2001:db8:1111:2222:3333:4444:5555:6666]:8009");
	takes("::ffff:127.0.0.1", "[::ffff:127.0.0.1]:4420");
	takes("[fe80::1%lo]:4420", "[fe80::1%lo]:4420");
	takes("fe80::1%1", "[fe80::1%lo]:4420");
	takes("[fe80::1%4000000000]:1", "[fe80::1%4000000000]:1");
}

static void test_refusals(void)
{
	static const char *const bad[] = {
		"",
		":4420",
		"tcp://",
		"tcp://:1",
		"10.0.0.1:",
		"10.0.0.1:0",
		"10.0.0.1:-0",
		"10.0.0.1:-1",
		"10.0.0.1:65536",
		"10.0.0.1:4420x",
		"10.0.0.1:04420",
		"10.0.0.1: 1",
		"10.0.0.1:+1",
		"[::1",
		"[::1]4420",
		"[::1]:",
		"[::1]:0",
		"[]:4420",
		"[10.0.0.1]:1",
		"::1::2",
		"127.1:4420",
		"10.0.0",
		"0x7f.1",
		"1",
		"300.1.1.1",
		"fe80::1%",
		"fe80::1%nope",
		"fe80::1%-1",
		"fe80::1%4294967296",
		"1:2:3",
		"999999999999999999:1",
	};
	char host[400];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuses(bad[i]);
	memset(host, 'a', sizeof(host));
	host[sizeof(host) - 1] = '\0';
	refuses(host);
}

static void test_names(void)
{
	struct err err = ERR_NULL;
	struct io_addr a;
	int r = io_addr_parse("localhost:4420", 0, false, &a, &err);

	if (r == -ENOENT)
		tap_skip("this machine does not know localhost (/etc/hosts)");
	else
		ok(r == 0 && io_addr_is_loopback(&a) && io_addr_port(&a) == 4420, "localhost resolves");
	r = io_addr_parse("no-such-host.invalid:4420", 0, false, &a, &err);
	ok(r == -ENOENT && strstr(err.text, "no-such-host.invalid"),
	   "an unknown name is -ENOENT: %s", err.text);
}

static void test_questions(void)
{
	struct io_addr a = parse("10.0.0.1:0"), b;
	char out[IO_ADDR_TEXT];

	is_u64(io_addr_port(&a), 0, "port 0 where it is allowed");
	io_addr_set_port(&a, 99);
	is_u64(io_addr_port(&a), 99, "port set, IPv4");
	a = parse("::1");
	io_addr_set_port(&a, 98);
	is_u64(io_addr_port(&a), 98, "port set, IPv6");
	io_addr_host(&a, out);
	is_str(out, "::1", "host alone has no brackets");

	a = parse("127.8.8.8");
	ok(io_addr_is_loopback(&a) && !io_addr_is_v6(&a) && !io_addr_is_any(&a), "127.8.8.8");
	a = parse("::ffff:127.0.0.1");
	ok(io_addr_is_loopback(&a) && io_addr_is_v6(&a), "mapped loopback");
	a = parse("::ffff:128.0.0.1");
	ok(!io_addr_is_loopback(&a), "mapped other");
	a = parse("0.0.0.0");
	ok(io_addr_is_any(&a) && !io_addr_is_loopback(&a), "any, IPv4");
	a = parse("::");
	ok(io_addr_is_any(&a) && !io_addr_is_loopback(&a), "any, IPv6");
	a = parse("::ffff:0.0.0.0");
	ok(io_addr_is_any(&a), "any, mapped");

	a = parse("fe80::1%1"), b = parse("fe80::1");
	ok(!io_addr_equal(&a, &b), "the scope is part of an address");
	b = parse("[fe80::1%lo]:4420");
	ok(io_addr_equal(&a, &b), "equal whatever the spelling");
	io_addr_set_port(&b, 1);
	ok(!io_addr_equal(&a, &b), "the port is part of an address");
	a = parse("127.0.0.1"), b = parse("::ffff:127.0.0.1");
	ok(!io_addr_equal(&a, &b), "a mapped address is not the IPv4 address");
}

int main(void)
{
	test_texts();
	test_refusals();
	test_names();
	test_questions();
	return tap_done();
}
