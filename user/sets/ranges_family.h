/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Range arrays of one family. ranges.c includes this once for each, with NUM (the address), RANGE, CUT and FN(name)
 * defined: there is no include guard on purpose.
 */

#define NUM_BITS (8 * (unsigned int)sizeof(NUM))
#define NUM_MAX	 ((NUM) ~(NUM)0)

static bool FN(before)(const RANGE *a, const RANGE *b)
{
	return a->lo < b->lo || (a->lo == b->lo && a->hi < b->hi);
}

/* The k-th byte of a range, lo before hi, the most significant first. */
static unsigned int FN(byte)(const RANGE *range, unsigned int k)
{
	NUM num = k < sizeof(NUM) ? range->lo : range->hi;

	return (unsigned int)(num >> (NUM_BITS - 8 - 8 * (k % sizeof(NUM)))) & 0xff;
}

static bool FN(same_byte)(const RANGE *v, size_t n, unsigned int k)
{
	unsigned int byte = n ? FN(byte)(v, k) : 0;

	for (size_t i = 1; i < n; i++)
		if (FN(byte)(&v[i], k) != byte)
			return false;
	return true;
}

/* American flag sort: by one byte after the other, in place. */
static void FN(sort)(RANGE *v, size_t n, unsigned int k)
{
	size_t at[256], end[256], count[256];

	if (n < 32) {
		for (size_t i = 1; i < n; i++) {
			RANGE range = v[i];
			size_t j = i;

			for (; j && FN(before)(&range, &v[j - 1]); j--)
				v[j] = v[j - 1];
			v[j] = range;
		}
		return;
	}
	while (k < 2 * sizeof(NUM) && FN(same_byte)(v, n, k))
		k++;
	if (k == 2 * sizeof(NUM))
		return;
	memset(count, 0, sizeof(count));
	for (size_t i = 0; i < n; i++)
		count[FN(byte)(&v[i], k)]++;
	for (size_t b = 0, sum = 0; b < 256; b++) {
		at[b] = sum;
		sum += count[b];
		end[b] = sum;
	}
	for (unsigned int b = 0; b < 256; b++) {
		while (at[b] < end[b]) {
			RANGE range = v[at[b]];
			unsigned int to;

			while ((to = FN(byte)(&range, k)) != b) {
				RANGE other = v[at[to]];

				v[at[to]++] = range;
				range = other;
			}
			v[at[b]++] = range;
		}
	}
	for (size_t b = 0; b < 256; b++)
		if (count[b] > 1)
			FN(sort)(v + end[b] - count[b], count[b], k + 1);
}

/* Appends a range that does not begin before the last one; returns the new count. */
static size_t FN(append)(RANGE *v, size_t n, NUM lo, NUM hi)
{
	if (n && (v[n - 1].hi == NUM_MAX || lo <= v[n - 1].hi + 1)) {
		if (hi > v[n - 1].hi)
			v[n - 1].hi = hi;
		return n;
	}
	v[n] = (RANGE){ lo, hi };
	return n + 1;
}

/* Sorts, and puts what overlaps or touches together; returns the new count. */
static size_t FN(normalize)(RANGE *v, size_t n, uint64_t *duplicates)
{
	RANGE last = { 0 };
	size_t i, out = 0;

	for (i = 1; i < n && !FN(before)(&v[i], &v[i - 1]);)
		i++;
	if (i < n)
		FN(sort)(v, n, 0);
	for (i = 0; i < n; i++) {
		RANGE range = v[i];

		if (i && range.lo == last.lo && range.hi == last.hi)
			++*duplicates;
		else
			out = FN(append)(v, out, range.lo, range.hi);
		last = range;
	}
	return out;
}

/* Two normal arrays in one; out has room for both. */
static size_t FN(unite)(RANGE *out, const RANGE *a, size_t na, const RANGE *b, size_t nb)
{
	size_t n = 0, i = 0, j = 0;

	while (i < na || j < nb) {
		const RANGE *next = j == nb || (i < na && a[i].lo < b[j].lo) ? &a[i++] : &b[j++];

		n = FN(append)(out, n, next->lo, next->hi);
	}
	return n;
}

/*
 * Into normal form what was added behind the first *settled ranges, which are; returns the new count. The new ones move
 * out of the way and the old ones behind their place: what is written never overtakes what is read.
 */
static size_t FN(compact)(RANGE *v, size_t n, size_t *settled, uint64_t *duplicates)
{
	size_t head = *settled, tail = n - head;
	RANGE *copy = head && tail ? malloc(tail * sizeof(RANGE)) : NULL;

	if (copy) {
		tail = FN(normalize)(v + head, tail, duplicates);
		memcpy(copy, v + head, tail * sizeof(RANGE));
		memmove(v + tail, v, head * sizeof(RANGE));
		n = FN(unite)(v, v + tail, head, copy, tail);
		free(copy);
	} else if (tail) {
		n = FN(normalize)(v, n, duplicates);
	}
	*settled = n;
	return n;
}

/* One more range. A full array is settled first and grows only where that leaves it more than two thirds full. */
static int FN(push)(RANGE **v, size_t *n, size_t *room, size_t *settled, RANGE range, uint64_t *duplicates)
{
	if (*n == *room) {
		size_t limit = SETTLE_BYTES / sizeof(RANGE), want = 2 * *room + 64;
		RANGE *grown;

		if (*room >= limit) {
			*n = FN(compact)(*v, *n, settled, duplicates);
			want = *room + *room / 2;
		} else if (want > limit) {
			want = limit;
		}
		if (*n > *room / 3 * 2 || *n == *room) {
			grown = realloc(*v, want * sizeof(RANGE));
			if (!grown)
				return -ENOMEM;
			*v = grown;
			*room = want;
		}
	}
	(*v)[(*n)++] = range;
	return 0;
}

/* How many ranges begin at or before num. */
static size_t FN(below)(const RANGE *v, size_t n, NUM num)
{
	size_t below = 0;

	while (n) {
		size_t half = n / 2;

		if (v[below + half].lo <= num) {
			below += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return below;
}

static size_t FN(intersect)(RANGE *out, const RANGE *a, size_t na, const RANGE *b, size_t nb)
{
	size_t n = 0, i = 0, j = 0;

	while (i < na && j < nb) {
		NUM lo = a[i].lo > b[j].lo ? a[i].lo : b[j].lo;
		NUM hi = a[i].hi < b[j].hi ? a[i].hi : b[j].hi;

		if (lo <= hi)
			out[n++] = (RANGE){ lo, hi };
		if (a[i].hi < b[j].hi)
			i++;
		else
			j++;
	}
	return n;
}

static size_t FN(subtract)(RANGE *out, const RANGE *a, size_t na, const RANGE *b, size_t nb)
{
	size_t n = 0, j = 0;

	for (size_t i = 0; i < na; i++) {
		NUM lo = a[i].lo;
		bool left = true;

		while (j < nb && b[j].hi < lo)
			j++;
		if (j == nb) {
			/* Nothing is taken off the rest. */
			memcpy(out + n, a + i, (na - i) * sizeof(RANGE));
			return n + na - i;
		}
		for (; left && j < nb && b[j].lo <= a[i].hi; j++) {
			if (b[j].lo > lo)
				out[n++] = (RANGE){ lo, b[j].lo - 1 };
			left = b[j].hi < a[i].hi;
			if (!left)
				break; /* it may reach into the next range of a, too */
			lo = b[j].hi + 1;
		}
		if (left)
			out[n++] = (RANGE){ lo, a[i].hi };
	}
	return n;
}

static bool FN(meets)(const RANGE *v, size_t n, NUM lo, NUM hi)
{
	size_t below = FN(below)(v, n, hi);

	return below && v[below - 1].hi >= lo;
}

static int FN(covering)(const RANGE *v, size_t n, NUM num)
{
	size_t below = FN(below)(v, n, num);

	if (!below || v[below - 1].hi < num)
		return -1;
	for (unsigned int length = 0; length < NUM_BITS; length++) {
		NUM mask = NUM_MAX >> length;

		if ((num & ~mask) >= v[below - 1].lo && (num | mask) <= v[below - 1].hi)
			return (int)length;
	}
	return (int)NUM_BITS;
}

bool FN(next_prefix)(CUT *cut)
{
	NUM lo = cut->lo, mask;
	unsigned int bits = 0;

	if (cut->done || lo > cut->hi)
		return false;
	/* The most low bits that are clear in lo, and all values of which lie within hi: by halves. */
	for (unsigned int step = NUM_BITS / 2; step; step /= 2) {
		mask = NUM_MAX >> (NUM_BITS - bits - step);
		if (!(lo & mask) && mask <= cut->hi - lo)
			bits += step;
	}
	bits += !lo && cut->hi == NUM_MAX;
	mask = bits ? NUM_MAX >> (NUM_BITS - bits) : 0;
	cut->length = NUM_BITS - bits;
	cut->first = lo;
	cut->done = cut->hi - lo == mask;
	cut->lo = lo + mask + 1;
	return true;
}

/* Gives back what is not used. Failing to make an array smaller is no failure. */
static void FN(trim)(RANGE **v, size_t n, size_t *room)
{
	RANGE *smaller = n < *room ? realloc(*v, (n + !n) * sizeof(RANGE)) : NULL;

	if (smaller) {
		*v = smaller;
		*room = n;
	}
}

/* How the sets of one family become one; out has room for every range that can come out. */
typedef size_t FN(algebra)(RANGE *out, const RANGE *a, size_t na, const RANGE *b, size_t nb);

#undef NUM_BITS
#undef NUM_MAX
#undef NUM
#undef RANGE
#undef CUT
#undef FN
