/* SPDX-License-Identifier: GPL-2.0-only */
/* What somebody may have meant who mistyped a name. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#define NEAREST_MAX 64 /* a longer name is nobody's slip */

struct nearest {
	const char *word; /* what was typed */
	char name[NEAREST_MAX];
	unsigned int slips;
	char text[NEAREST_MAX + 32];
};

/* One of the names that there are. */
void nearest_try(struct nearest *n, const char *name);
/* What is typed in the place of one that there is: "ban" for "add". `also`: such words, with blanks between; or NULL.
 */
void nearest_try_also(struct nearest *n, const char *also, const char *name);
/* " (did you mean 'NAME'?)", or this if none of them is near. */
const char *nearest_text(struct nearest *n, const char *otherwise);

#endif
