// SPDX-License-Identifier: GPL-2.0-only
#include "observe/senders_json.h"

static int all_classes(const struct senders *senders, struct sender_class is[LIMITED])
{
	int err = 0;

	for (enum packet_class class = 0; class < LIMITED && !err; class ++)
		err = senders_class(senders, class, &is[class]);
	return err;
}

static json_t *busiest_json(const struct sender_class *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->n; i++) {
		char text[PREFIX_TEXT_MAX];

		json_array_append_new(array, json_pack("{s:s, s:I, s:b}", "source",
						       source_key_text(text, c->busiest[i].key, c->busiest[i].kind),
						       "second", (json_int_t)c->busiest[i].peak, "above",
						       (double)c->busiest[i].peak > c->proposed / 2));
	}
	return array;
}

/* Nothing of them is known by packets alone; of the others null says that nobody sent any. */
static json_t *unknown_json(void)
{
	json_t *array = json_array();

	for (enum packet_class class = LIMITED_ALONE; class < LIMITED; class ++)
		json_array_append_new(array, json_string(limit_names[class]));
	return array;
}

int senders_json(const struct senders *senders, uint64_t one_in, json_t **object)
{
	json_t *classes = json_object();
	struct sender_class is[LIMITED];
	int err = all_classes(senders, is);

	for (enum packet_class class = 0; class < LIMITED && !err; class ++) {
		const struct sender_class *c = &is[class];

		json_object_set_new(classes, limit_names[class],
				    !c->sources ? json_null()
						: json_pack("{s:I, s:I, s:I, s:I, s:f, s:I, s:o}", "sources",
							    (json_int_t)c->sources, "median", (json_int_t)c->median,
							    "p99", (json_int_t)c->most99, "p999",
							    (json_int_t)c->most999, "proposed", c->proposed, "above",
							    (json_int_t)c->above, "busiest", busiest_json(c)));
	}
	if (err) {
		json_decref(classes);
		return err;
	}
	*object = json_pack("{s:I, s:o, s:o}", "one_in", (json_int_t)(one_in * senders_share(senders)), "classes",
			    classes, "unknown", unknown_json());
	return 0;
}
