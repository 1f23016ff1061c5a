# SPDX-License-Identifier: Apache-2.0
"""What processes hold, sampled and judged: resident memory and descriptors.

Flat means: after the first part of the run, in which caches fill and pools are touched for the first time, the median
of the last third is not above that of the first third by more than an allowance. Medians, because a reconnect holds
two sets of buffers and descriptors for a moment, and a leak does not go away.
"""
import os
import statistics
import time

MIB = 1 << 20
WARM = 0.15  # of the run is not judged


class Samples:
    """Of one process."""

    def __init__(self, name, pid):
        self.name, self.pid = name, pid
        self.when, self.rss, self.fds = [], [], []

    def take(self):
        """False: the process is gone."""
        try:
            with open('/proc/%d/status' % self.pid, encoding='ascii') as f:
                rss = [int(line.split()[1]) << 10 for line in f if line.startswith('VmRSS:')]
            fds = len(os.listdir('/proc/%d/fd' % self.pid))
        except OSError:
            return False
        if not rss:  # a zombie
            return False
        self.when.append(time.monotonic())
        self.rss.append(rss[0])
        self.fds.append(fds)
        return True

    def thirds(self, what):
        """(first, last): medians after the warm part."""
        kept = what[int(len(what) * WARM):]
        third = max(1, len(kept) // 3)
        return (statistics.median(kept[:third]), statistics.median(kept[-third:])) if kept else (0, 0)

    def grown(self):
        """What is not flat, in words; none: all is."""
        said = []
        seconds = self.when[-1] - self.when[0] if self.when else 0
        first, last = self.thirds(self.rss)
        # A short run is still filling what it sizes by use; a long one must not grow.
        most = max(first * 0.03, (2 if seconds > 600 else 8) * MIB)
        if last - first > most:
            said.append('%s: resident memory grew from %.1f to %.1f MiB' % (self.name, first / MIB, last / MIB))
        first, last = self.thirds(self.fds)
        if last - first > 2:
            said.append('%s: descriptors grew from %d to %d' % (self.name, first, last))
        if len(self.rss) < 5:
            said.append('%s: only %d samples' % (self.name, len(self.rss)))
        return said

    def row(self):
        if not self.rss:
            return '%-14s no samples' % self.name
        rss, fds = self.thirds(self.rss), self.thirds(self.fds)
        return '%-14s %7.1f %7.1f %7.1f %7.1f %7.1f   %5d %5d %5d %5d %5d   %5d' % (
            self.name, self.rss[0] / MIB, rss[0] / MIB, rss[1] / MIB, self.rss[-1] / MIB, max(self.rss) / MIB,
            self.fds[0], fds[0], fds[1], self.fds[-1], max(self.fds), len(self.rss))


HEAD = '%-14s %39s   %29s   %5s\n%-14s %7s %7s %7s %7s %7s   %5s %5s %5s %5s %5s' % (
    'process', 'resident memory, MiB', 'descriptors', 'count',
    '', 'first', '1st 3rd', 'last 3rd', 'last', 'most', 'first', '1/3', '3/3', 'last', 'most')
