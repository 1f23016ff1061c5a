/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, and the choice among them. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "penstock.h"

const struct cli_command cli_commands[] = {
	{
		.name = "serve",
		.summary = "export files, block devices or memory as NVMe/TCP namespaces",
		.arguments = "[options] NAMESPACE...",
		.description =
			"Serves each NAMESPACE (numbered from 1) as NVMe over TCP until SIGTERM or SIGINT.\n"
			"NAMESPACE is file:/path[,size=10G][,block=512|4096][,ro], memory:4G, null:1T or a bare\n"
			"path; filters go behind it: memory:1G,filter=delay:2ms,filter=error:read:EIO:1%.\n"
			"Prints one line 'ready nqn=... listen=...' when it accepts connections. Listens on\n"
			"loopback unless told otherwise; any other address needs --allow.",
		.options = serve_options,
		.min_arguments = 0,
		.max_arguments = -1,
		.run = cmd_serve,
	},
	{
		.name = "ctl",
		.summary = "look at a running target, and change it",
		.arguments = "[options] SUBCOMMAND",
		.description =
			"Talks to a running 'penstock serve' over its control socket.\n\n"
			"  status                          listeners, subsystems, namespaces, controllers\n"
			"  stats                           counters and latencies\n"
			"  ns add STORE                    serve one namespace more\n"
			"  ns remove|resize|set NSID       stop serving it, take over its size, write access\n"
			"  listener add|remove tcp://ADDR:PORT\n"
			"  subsys add|remove NQN\n"
			"  host allow|deny HOSTNQN|any     who may connect\n"
			"  reload                          read the configuration file again\n"
			"  drain                           end it, in peace",
		.options = ctl_options,
		.min_arguments = 1,
		.max_arguments = 3,
		.run = cmd_ctl,
	},
	{
		.name = "discover",
		.summary = "list the subsystems that a discovery controller knows",
		.arguments = "[options] [tcp://]ADDR[:PORT]",
		.description = "Reads the discovery log of the controller at ADDR (port 8009 if none is given).",
		.options = discover_options,
		.min_arguments = 1,
		.max_arguments = 1,
		.run = cmd_discover,
	},
	{
		.name = "info",
		.summary = "describe a volume",
		.arguments = "[options] URI",
		.description =
			"Opens the volume and says what it is. URI is\n"
			"nvme+tcp://HOST[:PORT]/SUBNQN[/NSID][?queues=4&hdgst=1&ddgst=1&kato=5s] or file:/path.",
		.options = info_options,
		.min_arguments = 1,
		.max_arguments = 1,
		.run = cmd_info,
	},
	{
		.name = "read",
		.summary = "copy from a volume to standard output",
		.arguments = "[options] URI > file",
		.description = "Copies bytes of the volume, all of them or the range asked for, to standard output.",
		.options = read_options,
		.min_arguments = 1,
		.max_arguments = 1,
		.run = cmd_read,
	},
	{
		.name = "write",
		.summary = "copy standard input onto a volume",
		.arguments = "[options] URI < file",
		.description =
			"Copies standard input onto the volume and flushes it. What lies behind is untouched.",
		.options = write_options,
		.min_arguments = 1,
		.max_arguments = 1,
		.run = cmd_write,
	},
	{
		.name = "dataset",
		.summary = "make, fill, list and verify a dataset on a volume",
		.arguments = "create|pack|list|verify URI [FILE...] [options]",
		.description =
			"A dataset is a POSIX tar archive at the start of a volume: a stock host reads it with\n"
			"'tar -tvf /dev/nvme0n1'.\n\n"
			"  create URI --workload NAME --samples N   generated samples with known contents\n"
			"  pack URI FILE...                         real files and directories\n"
			"  list URI                                 names, sizes and places of the samples\n"
			"  verify URI                               read every sample and check its contents",
		.options = dataset_options,
		.min_arguments = 2,
		.max_arguments = -1,
		.run = cmd_dataset,
	},
	{
		.name = "bench",
		.summary = "measure a volume, or how long an accelerator waits for it",
		.arguments = "[options] URI... | compare A.json B.json",
		.description =
			"Without --workload: one pattern of I/O, its rate and latencies. With --workload: an\n"
			"emulated accelerator is fed from the dataset on the volume, and the report says how long\n"
			"it waited and for what. Results are not MLPerf results.\n\n"
			"'bench compare' says what two reports in JSON show of one another: faster, slower, or no\n"
			"difference that is larger than the runs' own; which takes --repeat 3 and more of each.",
		.options = bench_options,
		.min_arguments = 1,
		.max_arguments = -1,
		.run = cmd_bench,
	},
	{
		.name = "sweep",
		.summary = "find the depth beyond which more in flight brings nothing",
		.arguments = "[options] URI...",
		.description =
			"Measures one depth after the other until throughput stops to grow, then around the knee:\n"
			"the smallest depth within 5 % of the best throughput. Prints the curve, and how many\n"
			"accelerators the throughput at the knee would feed with each training workload, which is\n"
			"an estimate.",
		.options = sweep_options,
		.min_arguments = 1,
		.max_arguments = -1,
		.run = cmd_sweep,
	},
	{
		.name = "agent",
		.summary = "make this machine a client of 'bench --clients'",
		.arguments = "--token-file FILE | --allow ADDR [options]",
		.description =
			"Waits for 'penstock bench --clients' on another machine, and runs what it asks for: one\n"
			"measurement at a time, against volumes of NVMe/TCP targets. Whoever may ask decides what\n"
			"this machine loads, so a secret or an address is needed. Prints one line\n"
			"'ready listen=...' when it can be asked.",
		.options = agent_options,
		.min_arguments = 0,
		.max_arguments = 0,
		.run = cmd_agent,
	},
	{
		.name = "doctor",
		.summary = "say what this machine, and the way to a target, can do",
		.arguments = "[options] [URI]",
		.description =
			"Looks at GPUs, NICs, disks, their links and places, and the kernel's settings, and with a\n"
			"URI at the way to that target; says what is right, what is not, why it matters and how it\n"
			"is mended. Changes nothing. What it cannot see it calls unknown. Exit status 1 when a\n"
			"finding failed.",
		.options = doctor_options,
		.min_arguments = 0,
		.max_arguments = 1,
		.run = cmd_doctor,
	},
	{ .name = NULL },
};

static void help(void)
{
	printf("usage: penstock COMMAND [options] [arguments]\n\n"
	       "Flash in other machines, at the speed an accelerator needs.\n\ncommands:\n");
	for (const struct cli_command *c = cli_commands; c->name; c++)
		printf("  %-10s %s\n", c->name, c->summary);
	printf("\n'penstock COMMAND --help' describes one; 'penstock --version' says which this is.\n");
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	int n = cli_parse(c, argc, argv);

	if (n == -2) {
		cli_help(c);
		return CLI_DONE;
	}
	return n < 0 ? CLI_USAGE : c->run(n, argv);
}

static int choose(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";

	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		help();
		return argc > 1 ? CLI_DONE : CLI_USAGE;
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0) {
		printf("penstock %s\n", pst_version());
		return CLI_DONE;
	}
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		if (strcmp(name, c->name) == 0)
			return run(c, argc - 1, argv + 1);
	}
	return cli_usage("no command '%s' ('penstock --help' lists them)", name);
}

int main(int argc, char **argv)
{
	cli_stdio_begin();
	return cli_stdio_end(choose(argc, argv));
}
