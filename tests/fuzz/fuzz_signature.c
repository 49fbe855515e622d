// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a signature, or as its comment, which is signed then: what says that it is signed is. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/request.h"
#include "fetch/signature.h"
#include "minisign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char list[] = "203.0.113.0/24\n";

static void hold(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char key[64], text[MINISIGN_TEXT], changed[MINISIGN_TEXT], comment[8001];
	static struct fetch_answer answer;
	static struct minisign ours;
	static FILE *file;
	size_t n = size < sizeof(comment) ? size : sizeof(comment) - 1, length;

	if (!file) {
		file = tmpfile();
		hold(file && fputs(list, file) >= 0 && !fflush(file) && !signature_begin());
		minisign_key(&ours, 1);
		minisign_public(&ours, key);
	}
	signature_check(key, (const char *)data, size, fileno(file), &answer);
	hold(answer.outcome == FETCH_FAILED && *answer.why);

	/* As a comment: one line of text. */
	for (size_t i = 0; i < n; i++)
		comment[i] = (char)(data[i] && data[i] != '\n' && data[i] != '\r' ? data[i] : ' ');
	comment[n] = '\0';
	length = minisign_sign(&ours, size & 1, list, strlen(list), comment, text);
	signature_check(key, text, length, fileno(file), &answer);
	hold(answer.outcome == FETCH_SIGNED && strlen(answer.comment) < sizeof(answer.comment));

	/* Written over a good one: behind the first comment nothing may be another. */
	if (!size)
		return 0;
	memcpy(changed, text, length + 1);
	n = strcspn(text, "\n") + data[0] % (length - strcspn(text, "\n"));
	for (size_t i = 0; i < size && n + i < length; i++)
		changed[n + i] = (char)data[i];
	signature_check(key, changed, length, fileno(file), &answer);
	if (answer.outcome == FETCH_SIGNED) {
		/* A newline at the end, and what stands for one. */
		hold(!memcmp(text, changed, length - 1));
	}
	return 0;
}
