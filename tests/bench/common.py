# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmarks' scripts share: running commands, medians, and how a result is printed."""
import os
import statistics
import subprocess
import sys
import time

median = statistics.median

SETTLE = 40  # looks, at the most


def run(*command, **more):
    """Its output; RuntimeError with what it said where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:8])[:200]}: {done.stderr.strip()[:300]}")
    return done.stdout


def timed(*command, output=subprocess.DEVNULL):
    """Seconds, and the kilobytes that it had at its peak."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=output)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise RuntimeError(f"{' '.join(command[:8])[:200]} failed")
    return seconds, usage.ru_maxrss


def allocated():
    with open('/proc/meminfo', encoding='ascii') as info:
        return sum(int(line.split()[1]) for line in info if line.startswith(('Slab:', 'VmallocUsed:', 'Percpu:')))


def kernel_kilobytes():
    """What the kernel has allocated, slabs and whatever is mapped beside them, once it has let go of what it will."""
    for _ in range(SETTLE):
        before = allocated()
        time.sleep(.05)
        now = allocated()
        if abs(now - before) < 64:
            break
    return now


def available_bytes():
    with open('/proc/meminfo', encoding='ascii') as info:
        return next(int(line.split()[1]) * 1024 for line in info if line.startswith('MemAvailable:'))


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * (len(values) - 1) + .5))]


def result(scenario, subject, entries, ns, p99, ratio, **more):
    fields = [f'scenario={scenario}', f'subject={subject}', f'entries={entries}', f'ns={ns:.2f}', f'p99={p99:.2f}',
              f'ratio={ratio:.2f}']
    fields += [f'{key}={value:.3f}' if isinstance(value, float) else f'{key}={value}' for key, value in more.items()]
    print('RESULT', *fields, flush=True)


def table(head, rows):
    rows = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print('  '.join(cells).rstrip(), flush=True)


def complain(what):
    print(what, file=sys.stderr, flush=True)
