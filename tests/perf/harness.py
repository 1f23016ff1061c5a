# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder have in common: a target of one's own, bench against it, and what processes cost.

The target has CPU 0 (or those it is told), clients have CPU 1. What is run inherits this program's scheduling: on a
machine where others work too, `chrt -f 10 PROGRAM` keeps them off, at a price. The kernel takes 5 % of that away again,
in pauses of 50 ms that show in p99, and ends that spin keep kernel threads off their CPUs as well, such as the one that
ext4 finishes direct writes with.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

NQN = 'nqn.2026-11.io.penstock:perf'
TICK = os.sysconf('SC_CLK_TCK')
MAX_QUEUES = 64     # of one controller, that a target grants


def pinned(cpu, command):
    return ['taskset', '-c', str(cpu)] + command


def run(command, **kw):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **kw)
    if p.returncode != 0:
        sys.exit('%s: %s: status %d\n%s%s' % (os.path.basename(sys.argv[0]), ' '.join(command), p.returncode, p.stdout,
                                              p.stderr))
    return p.stdout


def cpu_seconds(pid):
    with open('/proc/%d/stat' % pid) as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_bytes(pid):
    with open('/proc/%d/status' % pid) as f:
        for line in f:
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) * 1024
    return 0


def median(values):
    values = sorted(values)
    n = len(values)
    return (values[(n - 1) // 2] + values[n // 2]) / 2


class Target:
    """A `penstock serve`; as a context manager it ends with its block."""

    def __init__(self, build, store, cpus='0', spin=None, options=()):
        self.program = os.path.join(build, 'src/cli/penstock')
        self.dir = tempfile.mkdtemp(prefix='penstock-perf.')
        self.socket = os.path.join(self.dir, 'control')
        self.process = subprocess.Popen(
            [self.program, 'serve', '--listen', 'tcp://127.0.0.1:0', '--nqn', NQN, '--cores', cpus,
             '--log-level', 'error', '--control', self.socket] + (['--spin', spin] if spin else []) +
            list(options) + [store], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith('ready '):
            sys.exit('%s: the target does not start' % os.path.basename(sys.argv[0]))
        self.pid = self.process.pid
        self.port = int(line.strip().rsplit(':', 1)[1])

    def uri(self, port=None):
        return 'nvme+tcp://127.0.0.1:%d/%s' % (port or self.port, NQN)

    def command(self, io, size, depth, seconds, uris=1, queues=1, threads=1, spin=None, cpus='1', extra=(), port=None):
        return pinned(cpus, [self.program, 'bench'] + [self.uri(port)] * uris + [
            '--io', io, '--block-size', size, '--depth', str(depth), '--queues', str(queues), '--threads',
            str(threads), '--time', seconds, '--warmup', '200ms', '--output-format', 'json'] +
            (['--spin', spin] if spin else []) + list(extra))

    def bench(self, *args, **kw):
        """One measurement; what bench reports, and what the target used of the CPU meanwhile."""
        before, begin = cpu_seconds(self.pid), time.monotonic()
        d = json.loads(run(self.command(*args, **kw)))
        passed = time.monotonic() - begin
        cpu = d['cpu_seconds_per_gigabyte']
        if d['ops'] == 0:
            sys.exit('%s: nothing moved in %s: this machine is too busy' % (os.path.basename(sys.argv[0]), args[3]))
        gigabytes = d['bytes'] / 1e9
        used = cpu_seconds(self.pid) - before
        return {'iops': d['iops'], 'bytes_per_second': d['bytes_per_second'], 'p50_us': d['latency_us']['p50'],
                'p99_us': d['latency_us']['p99'], 'target_cores': used / passed,
                'client_cores': (cpu['client_user'] + cpu['client_system']) * gigabytes / d['seconds'],
                'target_cpu_seconds_per_gb': used / passed * d['seconds'] / gigabytes,
                'client_cpu_seconds_per_gb': cpu['client_user'] + cpu['client_system']}

    def fill(self):
        """Memory that was never written is no memory yet."""
        self.bench('write', '1M', 16, '1s')

    def status(self):
        return json.loads(run([self.program, 'ctl', '--socket', self.socket, 'status', '-o', 'json']))

    def reads_by_controller(self):
        return {c['cntlid']: c['io']['reads'] for c in self.status()['controllers'] if not c['discovery']}

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        os.rmdir(self.dir)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
