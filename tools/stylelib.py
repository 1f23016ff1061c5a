# SPDX-License-Identifier: Apache-2.0
"""What the tools/check-* scripts share: which files there are, TAP, C without comments and strings.

Each check is a function from a source tree to a list of (rule, complaints); a rule without complaints
holds. Each script also checks itself: `--self-test` builds a small tree that breaks a rule on purpose
and expects the complaint, so that a check that has stopped seeing anything does not pass for ever.
"""
import os
import re
import subprocess
import sys
import tempfile

TEXT = re.compile(r'\.(c|h|py|sh|md|build|yaml|yml|json|txt|in|1|service|options)$')


def git(root, *args):
    """What git says below root. A hook's GIT_DIR and GIT_INDEX_FILE mean another tree, perhaps: not asked."""
    env = {k: v for k, v in os.environ.items() if not k.startswith('GIT_')}
    return subprocess.run(['git', '-C', root, *args], capture_output=True, check=True, env=env).stdout.decode()


def source_files(root):
    """Paths below root, relative: what git tracks, or all but builds where there is no git."""
    try:
        names = [n for n in git(root, 'ls-files', '-z').split('\0') if n]
        top = git(root, 'rev-parse', '--show-toplevel').strip()
        if names and os.path.realpath(top) == os.path.realpath(root):
            return sorted(n for n in names if os.path.isfile(os.path.join(root, n)))
    except (OSError, subprocess.CalledProcessError):
        pass
    names = []
    for at, dirs, files in os.walk(root):
        dirs[:] = [d for d in dirs if d not in ('.git', '__pycache__', 'out') and not d.startswith('build')]
        names += [os.path.relpath(os.path.join(at, f), root) for f in files]
    return sorted(names)


def read(root, name):
    """A file as text; bytes that are no UTF-8 stay apart from all that are."""
    with open(os.path.join(root, name), encoding='utf-8', errors='surrogateescape', newline='') as f:
        return f.read()


def is_c(name):
    return name.endswith(('.c', '.h'))


def is_test(name):
    """Whether a C file is a test beside the code."""
    return os.path.basename(name).startswith('test-')


def room_of(name):
    """The room that a file of src/ belongs to, or None."""
    parts = name.split('/')
    return parts[1] if len(parts) > 2 and parts[0] == 'src' else None


_C_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def c_code(text):
    """C with comments and the insides of strings blanked; line numbers stay."""
    return _C_NOISE.sub(lambda m: re.sub(r'[^\n]', ' ', m.group()), text)


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


def report(results):
    """Prints TAP; returns the exit status."""
    failed = 0
    for n, (rule, complaints) in enumerate(results, 1):
        print('%sok %d - %s' % ('not ' if complaints else '', n, rule))
        for c in complaints:
            print('# ' + c)
        failed += bool(complaints)
    print('1..%d' % len(results))
    return 1 if failed or not results else 0


def self_test(check, good, plants):
    """TAP results of a check of the check.

    good: {name: text}, a tree that breaks no rule. plants: (what, {name: text or None}, wanted): each
    changes the good tree, after which some complaint must contain `wanted`; with wanted None there
    must be none.
    """
    results = []
    for what, change, wanted in [('a tree that keeps the rules', {}, None)] + plants:
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**good, **change}.items():
                if text is None:
                    continue
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, 'w', encoding='utf-8', errors='surrogateescape', newline='') as f:
                    f.write(text)
            complaints = [c for _, found in check(root) for c in found]
        if wanted is None:
            results.append(('takes ' + what, complaints))
        elif not any(wanted in c for c in complaints):
            results.append(('catches ' + what, ['no complaint with "%s" in %r' % (wanted, complaints)]))
        else:
            results.append(('catches ' + what, []))
    return results


def main(check, good, plants, usage):
    """Command line of every check: [--self-test] [ROOT]."""
    sys.stdout.reconfigure(errors='backslashreplace')
    args = sys.argv[1:]
    if args == ['--self-test']:
        sys.exit(report(self_test(check, good, plants)))
    if len(args) > 1 or any(a.startswith('-') for a in args):
        print(usage.strip(), file=sys.stderr)
        sys.exit(2)
    root = args[0] if args else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    sys.exit(report(check(os.path.normpath(root))))
