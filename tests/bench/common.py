# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmarks' scripts share: running commands, medians, and how a result is printed."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

median = statistics.median

SETTLE = 40  # looks, at the most

bloom = os.environ.get('XDP_BLOOM', 'build/xdp-bloom')


def workplace(name):
    """A directory of its own to work in, pins and a state of its own; all but the pins go with what is returned."""
    work = tempfile.TemporaryDirectory()
    os.chdir(work.name)
    os.environ['XDP_BLOOM_BPFFS'] = f'/sys/fs/bpf/bench-{name}'
    os.environ['XDP_BLOOM_STATE'] = f'{work.name}/state'
    return work


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


def write_ipset(hosts, entries):
    """A file `ipset` that ipset restore takes: those hosts, of so many entries."""
    with open('ipset', 'w', encoding='ascii') as out:
        out.write(f'create bench hash:ip maxelem {2 * entries} hashsize {entries // 2}\n')
        out.writelines(f'add bench {host}\n' for host in hosts)


def write_nft(hosts):
    """A file `nft` that nft -f takes."""
    with open('nft', 'w', encoding='ascii') as out:
        out.write('table inet bench {\nset banned {\ntype ipv4_addr\nelements = {\n')
        out.writelines(f'{host},\n' for host in hosts)
        out.write('}\n}\n}\n')


def nft_element(verb, *hosts):
    return 'nft', verb, 'element', 'inet', 'bench', 'banned', '{ ' + ', '.join(hosts) + ' }'


def succeeds(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def nft_agrees(host, there):
    """Whether it is there as it should be. 'nft get' reads the whole set; what must fail changes nothing, and is quick."""
    return not succeeds(*nft_element('create' if there else 'delete', host))


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
