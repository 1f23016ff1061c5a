# SPDX-License-Identifier: Apache-2.0
"""Tests by name: a row is a fault that happened to somebody, a case one way to provoke it. TAP comes out.

    @row('T023', 'a PDU of a type that does not exist')
    def t023(t):
        for kind in (8, 0xAC):
            with t.case('type 0x%02x' % kind):
                ...

A case that raises is a check that failed; the rows go on. What is to be looked at after each row (is the peer
still well?) is given to run() as `between`.
"""
import sys
import time
import traceback

import wire


class Tap:
    def __init__(self):
        self.count, self.failures = 0, 0

    def line(self, good, name, said=()):
        self.count += 1
        self.failures += not good
        print('%sok %d - %s' % ('' if good else 'not ', self.count, name))
        for text in said:
            for line in str(text).splitlines():
                print('# ' + line)
        sys.stdout.flush()

    def skip(self, name, why):
        self.count += 1
        print('ok %d - %s # SKIP %s' % (self.count, name, why))

    def done(self):
        print('1..%d' % self.count, flush=True)
        return 1 if self.failures else 0


class Case:
    """quiet: says something only if it fails."""

    def __init__(self, row, name, quiet=False):
        self.row, self.name, self.quiet = row, '%s %s' % (row.ident, name), quiet
        self.wires = []

    def __enter__(self):
        self.row.cases.append(self)
        return self

    def __exit__(self, kind, error, trace):
        said = []
        good = error is None or not isinstance(error, Exception)
        if not good:
            said = self.explain(error, trace)
        for w in self.wires:
            w.close()
        self.row.cases.pop()
        if not good or (error is None and not self.quiet):
            self.row.tap.line(good, self.name, said)
        return not good

    def explain(self, error, trace):
        said = [str(error) or type(error).__name__]
        if not isinstance(error, wire.Failed):
            said += [line for text in traceback.format_exception(error) for line in text.splitlines()]
        else:
            at = [f for f in traceback.extract_tb(trace) if 'rows' in f.filename or 'self-test' in f.filename]
            said += ['at %s:%d: %s' % (f.filename.rsplit('/', 1)[-1], f.lineno, f.line) for f in at[-2:]]
        for w in self.wires[-3:]:
            said += w.told()
        return said


class Row:
    """What a row's function is given. env: what the program offers to all rows."""

    def __init__(self, tap, ident, env):
        self.tap, self.ident, self.env = tap, ident, env
        self.cases = []

    def case(self, name, quiet=False):
        return Case(self, name, quiet)

    def keep(self, w):
        """A wire (or what has a close and a told) of the present case: closed at its end, shown if it fails."""
        self.cases[-1].wires.append(w)
        return w

    def skip(self, name, why):
        self.tap.skip('%s %s' % (self.ident, name), why)


class Book:
    """The rows of a program, in order."""

    def __init__(self):
        self.rows = []

    def row(self, ident, title, **more):
        def add(function):
            self.rows.append((ident, title, function, more))
            return function
        return add

    def run(self, env, wanted=(), between=None):
        """The Tap. wanted: identifiers; none: all."""
        tap = Tap()
        for ident, title, function, more in self.rows:
            if wanted and ident not in wanted:
                continue
            began = time.monotonic()
            print('# %s: %s' % (ident, title), flush=True)
            r = Row(tap, ident, env)
            before = between.before(r, more) if between else None
            with r.case('runs to its end', quiet=True):
                function(r)
            if between:
                between.after(r, more, before)
            print('# %s took %.2f s' % (ident, time.monotonic() - began))
        return tap
