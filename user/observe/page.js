// SPDX-License-Identifier: GPL-2.0-only
// Reads page.json and shows it. Whatever comes from there goes into the page as text, never as markup.
'use strict';

const by = id => document.getElementById(id);
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const seconds = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat([], { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

let token = sessionStorage.getItem('token') || '';
let last = null, span = 'hour', at = -1, timer = 0, asking = false;

const number = n => n < 10000 ? whole.format(n) : short.format(n);

// Of another day with the date.
function moment(then, now) {
	const at = new Date(then);

	return (at.toDateString() === new Date(now).toDateString() ? seconds : day).format(at);
}

// "3 days", "7 min"
function time(s) {
	for (const [size, unit] of [[86400, 'days'], [3600, 'h'], [60, 'min']])
		if (s >= 2 * size)
			return `${Math.floor(s / size)} ${unit}`;
	return `${Math.max(0, Math.floor(s))} s`;
}

function element(name, text, kind) {
	const made = document.createElement(name);

	if (text !== undefined)
		made.textContent = text;
	if (kind)
		made.className = kind;
	return made;
}

// A cell is a text, or { text, kind, note, warn, share, side }.
function cell(of) {
	const c = typeof of === 'object' ? of : { text: of };
	const td = element('td', c.text, c.kind);

	if (c.title)
		td.title = c.title;
	if (c.note)
		td.append(element('small', c.note));
	if (c.warn)
		td.append(element('small', c.warn, 'degraded'));
	if (c.share !== undefined) {
		const bar = element('span', '', `bar ${c.side || ''}`);

		bar.style.width = `${Math.min(100, 100 * c.share)}%`;
		td.append(bar);
	}
	return td;
}

// Only what has changed is made again: a text that somebody has marked stays marked.
const shown = new Map();
function changed(id, what) {
	const text = JSON.stringify(what);

	if (shown.get(id) === text)
		return false;
	shown.set(id, text);
	return true;
}

// rows: null where they cannot be read.
function table(id, rows, none) {
	const columns = by(id).parentElement.tHead.rows[0].cells.length, some = rows && rows.length;

	if (!changed(id, [rows, none]))
		return;
	by(id).replaceChildren(...(some ? rows : [[rows ? none : 'It cannot be read.']]).map(row => {
		const tr = element('tr');

		tr.append(...row.map(cell));
		if (!some) {
			tr.firstChild.colSpan = columns;
			tr.firstChild.className = 'quiet';
		}
		return tr;
	}));
}

function lists(page) {
	const packets = new Map(page.hour ? page.hour.lists.map(list => [list.name, list]) : []);
	const total = page.hour ? Math.max(1, page.hour.dropped.packets) : 1;
	const row = (name, note, warn, prefixes, age, drops) => [
		{ text: name, note, warn },
		{ text: prefixes === null ? '' : number(prefixes), kind: 'n' },
		{ text: age < 0 ? '–' : time(age), kind: 'n' },
		{ text: drops === null ? '' : number(drops), kind: 'n', share: drops ? drops / total : undefined },
	];
	const feeds = new Map((page.feeds || []).map(feed => [feed.name, feed]));
	const scope = of => of && 'only ' + [of.only.join(', '), of.to.length && `to ${of.to.join(', ')}`,
		of.on.length && `on ${of.on.join(', ')}`].filter(Boolean).join(' ');
	const renewed = feed => feed && feed.age !== null && `its server had it ${time(feed.age)} ago`;
	const rows = (page.lists || []).map(list => {
		const counted = packets.get(list.name), feed = feeds.get(list.name);
		const old = feed && ['old', 'shadow'].includes(feed.state) && `nobody has renewed it for ${time(feed.age)}`;

		packets.delete(list.name);
		feeds.delete(list.name);
		return row(list.name, [{ allow: 'lets through', shadow: 'only counts' }[list.kind], scope(list.scope), !old && renewed(feed)]
			.filter(Boolean).join('; '), [old, list.refused && `next version refused: ${list.refused.why}`]
			.filter(Boolean).join('; '), list.prefixes, list.age,
			list.kind === 'allow' || !page.hour ? null : counted ? counted.packets : 0);
	});

	// Not there yet, or dropped as nobody renewed them.
	for (const [name, feed] of feeds)
		rows.push(row(name, '', feed.state === 'dropped' ? 'dropped, as nobody has renewed it' :
			feed.last || 'not fetched yet', null, -1, null));
	for (const [name, list] of packets)
		rows.push(row(name === 'live' ? 'bans' : name || 'no list named', '', '', null, -1, list.packets));
	table('lists', page.lists && rows, 'No list is loaded.');
}

// Whose an address is, where a table of networks says it.
function whose(entry) {
	const n = entry.network;

	return n ? [n.country, n.asn && `AS${n.asn}`, n.name].filter(Boolean).join(' ') : '';
}

function sources(id, entries, side, none) {
	const error = entry => entry.share_error < 0.0005 ? '' : ` ± ${percent.format(entry.share_error)}`;

	table(id, entries && entries.map(entry => [{ text: entry.name, note: whose(entry) }, { text: number(entry.packets), kind: 'n' },
		{ text: percent.format(entry.share) + error(entry), kind: 'n', share: entry.share, side }]), none);
}

// What a command did begins with its name; of other events it is said what they are.
function said(event) {
	if (event.message.split(' ')[0] === event.event)
		return event.message;
	return { text: event.message, [['refused', 'guard', 'fault'].includes(event.event) ? 'warn' : 'note']: event.event };
}

function tables(page) {
	const now = Date.parse(page.time) / 1000, hour = page.hour || { sources: null };

	lists(page);
	sources('sources', hour.sources, '', 'No sample of a dropped packet.');
	by('inside-card').hidden = !(hour.inside && hour.inside.length);
	sources('inside', hour.inside, '', '');
	sources('passed-sources', page.passing.sources, 'pass', page.passing.why || (page.passing.seconds < 3 ?
		'Sampled from now on.' : 'No sample of a packet that passed.'));
	table('bans', page.bans && page.bans.next.map(ban => [{ text: ban.prefix,
		note: [whose(ban), ban.reason].filter(Boolean).join(': ') }, {
		text: ban.expires ? time(Date.parse(ban.expires) / 1000 - now) : 'no end', kind: 'n' }]), 'Nobody is banned.');
	table('events', page.events.map(event => [{ text: moment(event.time, page.time), kind: 'n when', title: event.time },
		said(event)]), 'Nothing has happened yet.');
	table('interfaces', page.interfaces && page.interfaces.map(i => [{ text: i.name, warn: i.gone ? 'not filtered any more' : '' },
		i.mode + (i.shared ? ', shared' : '') + (i.match === 'source' ? '' : ', ' + i.match) + (i.direction === 'egress' ? ', egress' : '') + (i.moved ? ', in another network namespace' : '')]), 'None is filtered.');
}

// Nothing of it is shown where the detector is off.
function detector(page) {
	const d = page.detector;
	const kind = a => a.kind + (a.what ? `, ${a.service ? `${a.service} ` : ''}${a.what}` : '');

	by('above-tile').hidden = by('attacks-card').hidden = !d;
	if (!d)
		return;
	by('above').textContent = d.in_force ? number(d.above) : '–';
	by('above').title = [d.busiest, ...Object.entries(d.above_of).map(([name, n]) => `${name}: ${number(n)}`),
		d.banned_sources ? `banned by the detector alone: ${number(d.banned_sources)}` : ''].filter(Boolean).join('\n');
	table('attacks', d.attacks.slice().reverse().map(a => [{ text: moment(a.began, page.time), kind: 'n when', title: a.began },
		{ text: kind(a), note: a.ended ? '' : 'not over' }, a.busiest, { text: number(a.above + a.untracked), kind: 'n' }]),
		'None yet.');
}

// Nor of a fleet that was not joined.
function fleet(page) {
	const f = page.fleet;

	by('fleet-tile').hidden = !f;
	if (!f)
		return;
	by('fleet').textContent = !f.runs ? 'nobody' : f.up ? 'up' : 'down';
	by('fleet').title = [f.url, `${f.name}; ${number(f.said)} said, ${number(f.waiting)} wait`, f.why,
		f.refused && `refused: ${f.refused}`].filter(Boolean).join('\n');
}

function head(page) {
	const words = { ok: 'sound', degraded: 'degraded', failing: 'not sound' };

	by('host').textContent = page.host;
	by('version').textContent = `xdp-bloom ${page.version}`;
	document.title = `${page.health.status === 'ok' ? '' : '⚠ '}${page.host}: xdp-bloom`;
	if (changed('health', page.health.status)) {
		by('health').textContent = words[page.health.status];
		by('health').className = `badge ${page.health.status}`;
	}
	if (changed('troubles', page.health.troubles))
		by('troubles').replaceChildren(...page.health.troubles.map(line => element('li', line)));
	by('troubles').hidden = !page.health.troubles.length;
	by('updated').textContent = `as of ${seconds.format(new Date(page.time))}`;
	by('dropped').textContent = page.packets.dropped_per_second === null ? '–' : number(page.packets.dropped_per_second);
	by('passed').textContent = page.packets.passed_per_second === null ? '–' : number(page.packets.passed_per_second);
	by('hour').textContent = page.hour ? short.format(page.hour.dropped.packets) : '–';
	by('hour').title = page.hour ? whole.format(page.hour.dropped.packets) : '';
	by('bans-n').textContent = page.bans ? short.format(page.bans.count) : '–';
}

// --- The chart: a bar a second or a minute; below what was dropped, on it what passed ---------------------------------

const series = page => page && page[span] ? page[span].series : [];

// [second, passed, dropped] as rates; the last minute is not over yet.
function rates(page) {
	const size = span === 'hour' ? 60 : 1, now = Date.parse(page.time) / 1000;

	return series(page).map(([from, passed, dropped]) => {
		const length = Math.max(1, Math.min(size, now - from));

		return { from, passed: passed / length, dropped: dropped / length };
	});
}

// 1, 2 or 5 times a power of ten
function round_up(n) {
	const power = 10 ** Math.floor(Math.log10(Math.max(n, 1)));

	return [1, 2, 5, 10].find(step => step * power >= n) * power;
}

function shape(name, attributes, text) {
	const made = document.createElementNS(by('chart').namespaceURI, name);

	for (const key in attributes)
		made.setAttribute(key, attributes[key]);
	if (text !== undefined)
		made.textContent = text;
	return made;
}

function draw() {
	const svg = by('chart'), width = svg.clientWidth, height = svg.clientHeight;
	const left = 44, top = 8, bottom = height - 20, room = width - left;
	const points = rates(last), format = span === 'hour' ? clock : seconds;
	const most = round_up(Math.max(...points.map(p => p.passed + p.dropped)));
	const step = room / points.length, y = n => bottom - n / most * (bottom - top);
	const ways = { drop: '', pass: '' }, parts = [];
	const time_at = i => format.format(new Date(points[i].from * 1000));

	if (!points.length) {
		svg.replaceChildren();
		by('readout').textContent = 'What was counted cannot be read.';
		return;
	}
	for (const n of [0, most / 2, most]) {
		parts.push(shape('line', { x1: left, x2: width, y1: y(n), y2: y(n) }));
		parts.push(shape('text', { x: left - 8, y: y(n) + 4, 'text-anchor': 'end' }, short.format(n)));
	}
	points.forEach((p, i) => {
		const x = left + i * step, wide = Math.max(1, step - 1), all = p.passed + p.dropped;

		if (p.dropped)
			ways.drop += `M${x} ${y(0)}V${Math.min(y(p.dropped), bottom - 1)}h${wide}V${y(0)}z`;
		if (p.passed)
			ways.pass += `M${x} ${y(p.dropped)}V${Math.min(y(all), y(p.dropped) - 1)}h${wide}V${y(p.dropped)}z`;
	});
	parts.push(shape('path', { class: 'pass', d: ways.pass }), shape('path', { class: 'drop', d: ways.drop }));
	if (at >= 0)
		parts.push(shape('rect', { class: 'at', x: left + at * step, y: top, width: step, height: bottom - top }));
	for (const [i, anchor] of [[0, 'start'], [Math.floor(points.length / 2), 'middle'], [points.length - 1, 'end']])
		parts.push(shape('text', { x: anchor === 'end' ? width : left + i * step, y: height - 4, 'text-anchor': anchor },
			time_at(i)));
	svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
	svg.replaceChildren(...parts);
	svg.setAttribute('aria-label', `Packets a second over the last ${span}: at most ` +
		`${number(Math.max(...points.map(p => p.dropped)))} dropped and ${number(Math.max(...points.map(p => p.passed)))} passed`);
	by('readout').textContent = at < 0 ? '\u00a0' :
		`${time_at(at)}: ${number(points[at].dropped)} dropped, ${number(points[at].passed)} passed a second`;
}

function point_at(i) {
	at = i;
	if (last)
		draw();
}

by('chart').addEventListener('pointermove', event => {
	const box = by('chart').getBoundingClientRect(), n = series(last).length;
	const i = Math.floor((event.clientX - box.left - 44) / (box.width - 44) * n);

	point_at(i >= 0 && i < n ? i : -1);
});
by('chart').addEventListener('pointerleave', () => point_at(-1));
by('chart').addEventListener('blur', () => point_at(-1));
by('chart').addEventListener('keydown', event => {
	const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], n = series(last).length;

	if (step && n)
		point_at(at < 0 ? n - 1 : Math.max(0, Math.min(n - 1, at + step)));
});
for (const name of ['hour', 'minute'])
	by(`span-${name}`).addEventListener('click', () => {
		span = name;
		for (const other of ['hour', 'minute'])
			by(`span-${other}`).setAttribute('aria-pressed', other === span);
		point_at(-1);
	});
new ResizeObserver(() => point_at(at)).observe(by('chart'));

// --- Asking for it, again and again ------------------------------------------------------------------------------------

function stale(why) {
	document.documentElement.classList.add('stale');
	by('updated').textContent = last ? `${why}; what is shown is of ${seconds.format(new Date(last.time))}` : why;
}

function ask_for_token(why) {
	by('ask').hidden = false;
	by('refused').textContent = why;
	stale('a token is needed');
	by('token').focus();
}

by('ask').addEventListener('submit', event => {
	event.preventDefault();
	token = by('token').value;
	by('token').value = '';
	look();
});

async function look() {
	let wait = 5;

	if (asking)
		return;
	asking = true;
	clearTimeout(timer);
	try {
		const answer = await fetch('page.json', { headers: token ? { Authorization: `Bearer ${token}` } : {},
			cache: 'no-store', credentials: 'omit', signal: AbortSignal.timeout(10000) });

		if (answer.status === 401) {
			ask_for_token(token ? 'That is not the token.' : '');
			wait = 0;
		} else if (!answer.ok) {
			stale((await answer.text()).trim());
		} else {
			const page = await answer.json();

			last = page;
			wait = page.every;
			if (token)
				sessionStorage.setItem('token', token);
			by('ask').hidden = true;
			document.documentElement.classList.remove('stale');
			head(page);
			tables(page);
			detector(page);
			fleet(page);
			draw();
		}
	} catch (error) {
		stale('no answer');
	}
	asking = false;
	if (wait && !document.hidden)
		timer = setTimeout(look, 1000 * wait);
}

document.addEventListener('visibilitychange', () => document.hidden ? clearTimeout(timer) : look());
look();
