# SPDX-License-Identifier: Apache-2.0
"""What works on the target during a soak: our client with contents checked, a stock host in a guest, and an
administrator who changes the target under them."""
import json
import os
import random
import re
import signal
import subprocess
import threading
import time

INTEROP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'interop'))
GUEST_NAMES = ('ios', 'bytes', 'rounds')
# What the guest's kernel must not say: that an I/O failed, or that something is wrong with itself.
KERNEL_FAULTS = re.compile(r'I/O error|critical .* error|Call Trace|BUG:|WARNING:|Oops|hung task|blocked for more')
# Nor of the namespaces that it uses: those that come after them go while it reads their partitions.
PASSING_DISK = re.compile(r'nvme\d+n([5-9]|\d\d)\b')


class Bench:
    """`penstock bench --verify`: writes and reads at random, each read compared with what was acknowledged last, and
    everything that was written once more at the end."""

    def __init__(self, name, addr, nqn, nsid, query, seconds, rate, block, env=None, **more):
        self.name, self.env = name, {**os.environ, **(env or {})}
        uri = 'nvme+tcp://%s:%d/%s/%d?%s' % (addr[0], addr[1], nqn, nsid, query)
        self.command = [os.environ['PENSTOCK'], 'bench', uri, '--io', 'mixed', '--read-percent', '60', '--verify',
                        '--block-size', block, '--time', '%ds' % seconds, '--warmup', '0s', '--rate', str(rate),
                        '--output-format', 'json', '--label', name]
        for option, value in more.items():
            self.command += ['--' + option, str(value)]
        self.process = None

    def start(self, folder):
        self.out, self.err = (os.path.join(folder, '%s.%s' % (self.name, x)) for x in ('json', 'err'))
        with open(self.out, 'wb') as out, open(self.err, 'wb') as err:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=self.env)
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def end(self, within):
        """(row, faults): what it did, in numbers, and what was wrong, in words."""
        try:
            status = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None, ['%s did not end within %d s of when it should have' % (self.name, within)]
        with open(self.err, encoding='utf-8', errors='replace') as f:
            said = f.read().strip()
        try:
            with open(self.out, encoding='utf-8') as f:
                d = json.load(f)
        except ValueError:
            return None, ['%s ended with %d and no report: %s' % (self.name, status, said)]
        faults = []
        if status or d['errors'] or d['verify']['failed']:
            faults.append('%s ended with %d, %d errors (%s), %d mismatches: %s' % (
                self.name, status, d['errors'], d.get('first_error', ''), d['verify']['failed'],
                '; '.join(d['verify']['failures'][:5]) or said[-500:]))
        if d['verify']['samples'] == 0:
            faults.append('%s compared nothing' % self.name)
        return {'ops': d['ops'], 'bytes': d['bytes'], 'compared': d['verify']['samples'],
                'mismatches': d['verify']['failed'], 'errors': d['errors'], 'retries': d['retries'],
                'reconnects': d['reconnects']}, faults

    def interrupt(self):
        """Before its time: it reports what it did so far."""
        if self.alive():
            self.process.send_signal(signal.SIGINT)

    def kill(self):
        if self.process and self.alive():
            self.process.kill()
            self.process.wait()


class Guest:
    """A stock Linux host in a guest with a software CPU: tests/interop."""

    def __init__(self, folder):
        self.name, self.dir = 'guest', os.path.join(folder, 'guest')
        # The image is kept from run to run.
        self.image = os.path.join(os.environ['INTEROP_DIR'], 'image')
        self.vm, self.env = os.path.join(INTEROP, 'vmkit', 'vm.sh'), {**os.environ, 'VMKIT_IMAGE': self.image}
        self.up = False

    @staticmethod
    def lacking():
        """What this machine lacks for one, or None."""
        line = '. "$1/lib.sh"; lacking'
        said = subprocess.run(['bash', '-c', line, 'lacking', INTEROP], capture_output=True, check=False).stdout
        return said.decode().strip() or None

    def _run(self, *words, within=120):
        run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                             env={**self.env, 'VMKIT_EXEC_TIMEOUT': str(within)}, check=False)
        return run.returncode, run.stdout.decode(errors='replace')

    def start(self, seconds, plain, digest):
        """plain, digest: (port, NQN) of each subsystem. Returns what went wrong, or None."""
        made, said = self._run(os.path.join(INTEROP, 'vmkit', 'mkinitramfs.sh'), '-o', self.image)
        if made:
            return 'no guest image: ' + said
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'guest.sh')
        status, said = self._run(self.vm, 'start', '--ready', '180', '--timeout', str(int(seconds) + 900), '--smp', '1',
                                 '--dir', self.dir, '--env', 'EXPECT=.', '--add', script,
                                 os.path.join(INTEROP, 'vmkit', 'idle.sh'))
        if status:
            return 'the guest did not start: ' + said
        self.up = True
        status, said = self._run(self.vm, 'exec', self.dir, '/vmkit/guest.sh start 10.0.2.2 %d %s %d %s' % (plain + digest))
        return 'the guest did not begin: ' + said if status else None

    def pid(self):
        with open(os.path.join(self.dir, 'qemu.pid'), encoding='ascii') as f:
            return int(f.read())

    def end(self):
        """As Bench.end()."""
        status, said = self._run(self.vm, 'exec', self.dir, '/vmkit/guest.sh stop', within=500)
        found = dict(re.findall(r'^(%s) (\d+)$' % '|'.join(GUEST_NAMES), said, re.M))
        faults = ['guest: ' + said.strip()[-3000:]] if status or len(found) < len(GUEST_NAMES) else []
        n = {k: int(found.get(k, 0)) for k in GUEST_NAMES}
        if not faults and not (n['rounds'] and n['bytes']):
            faults.append('the guest did nothing')
        status, said = self._run(self.vm, 'stop', self.dir)
        self.up = False
        if status:
            faults.append('the guest ended with %d: %s' % (status, said[-1000:]))
        with open(os.path.join(self.dir, 'console.log'), encoding='utf-8', errors='replace') as f:
            lines = f.read().splitlines()
        faults += ['the guest: ' + line for line in lines
                   if KERNEL_FAULTS.search(line) and not PASSING_DISK.search(line)][:10]
        reconnects = sum('Successfully reconnected' in line for line in lines)
        return {'ops': n['ios'], 'bytes': n['bytes'], 'compared': n['rounds'], 'mismatches': int(bool(faults)),
                'errors': 0, 'retries': 0, 'reconnects': reconnects}, faults

    def kill(self):
        if self.up:
            self._run(self.vm, 'kill', self.dir)


class Admin(threading.Thread):
    """Changes the target every few seconds: a namespace that comes, is written and read by processes of their own, and
    goes; one that grows and shrinks under the hosts; the listener that all the others use, which goes away and comes
    back; all connections at once."""

    def __init__(self, target, listener, direct, nqn, resized, proxy, seed, pause):
        super().__init__(daemon=True)
        self.target, self.address, self.direct, self.nqn = target, 'tcp://%s:%d' % listener, direct, nqn
        self.resized, self.proxy, self.pause = resized, proxy, pause
        self.rng = random.Random(seed)
        self.counts = dict.fromkeys(('copy', 'resize', 'listener', 'storm'), 0)
        self.copied, self.faults = 0, []
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(self.rng.uniform(self.pause / 2, self.pause * 1.5)):
            what = self.rng.choices(('copy', 'resize', 'listener', 'storm'), (6, 2, 1, 1))[0]
            what = what if self.copied else 'copy'
            try:
                getattr(self, what)()
                self.counts[what] += 1
            except Exception as e:  # pylint: disable=broad-except
                self.faults.append('%s: %s' % (what, e))
                return

    def stop(self):
        self.over.set()
        self.join(60)
        if self.is_alive():
            self.faults.append('a change does not end')

    def copy(self):
        """Digests now and then; an offset and a length that are no multiples of a block."""
        offset, data = self.rng.randrange(1 << 20), os.urandom(self.rng.randrange(1, 2 << 20))
        store = self.rng.choice(('memory:4M', 'file:%s/copy.img,size=4M' % self.target.dir))
        # Nobody harms these connections; but the machine may be busy.
        query = '?connect_timeout=60s' + self.rng.choice(('', '&hdgst=1&ddgst=1'))
        uri = 'nvme+tcp://%s:%d/%s/9%s' % (*self.direct, self.nqn, query)
        self.target.ctl('ns.add', store=store, nqn=self.nqn, nsid=9)
        for _ in range(2):
            self._penstock('write', uri, '--offset', str(offset), given=data)
            back = self._penstock('read', uri, '--offset', str(offset), '--length', str(len(data)))
            if back != data:
                raise ValueError('%d bytes written at %d to %s%s read back differently' % (
                    len(data), offset, store, query))
            data = data[::-1]
            self.copied += 2 * len(data)
        self.target.ctl('ns.remove', nqn=self.nqn, nsid=9)

    def resize(self):
        path, nsid, small, large = self.resized
        os.truncate(path, self.rng.choice((small, large)))
        self.target.ctl('ns.resize', nqn=self.nqn, nsid=nsid)

    def listener(self):
        """Its connections end; hosts are refused for a while."""
        self.target.ctl('listener.remove', address=self.address)
        time.sleep(self.rng.uniform(0.2, 2.0))
        self.target.ctl('listener.add', address=self.address)

    def storm(self):
        self.proxy.storm()

    def _penstock(self, command, *words, given=None):
        run = subprocess.run([os.environ['PENSTOCK'], command, *words], input=given, capture_output=True, timeout=120,
                             check=False)
        if run.returncode:
            raise ValueError('penstock %s ended with %d: %s' % (command, run.returncode, run.stderr.decode()))
        return run.stdout
