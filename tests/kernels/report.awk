# SPDX-License-Identifier: GPL-2.0-only
# From a machine's console to KTAP: a line for each "# run:", with what became of it.
#   release, first   kernels are numbered on: the name, if it did not start, and the number of lines before
#   brief            each test's lines go, when it has ended, into a file whose name begins so; that name is printed. Of its
#                    cases those are there that were skipped, and, if one failed, all of them.

function ended(result, says,    file) {
	done++
	if (brief) {
		file = brief "." done
		printf "%s%s %s: %s\n", result == "ok" ? skipped : cases, result, name, says >file
		close(file)
		print file
	} else {
		printf "%s %d %s %s: %s\n", result, first + done, kernel ? kernel : release, name, says
	}
	fflush()
	name = totals = cases = skipped = reason = ""
}

function died(    i) {
	if (brief && late) {
		ended("ok", "# SKIP no time in " late)
		return
	}
	for (i = lines > 12 ? lines - 11 : 1; i <= lines; i++)
		if (brief)
			cases = cases "# " last[i] "\n"
		else
			print "# " last[i]
	lines = 0
	ended("not ok", kernel ? "the machine ended before" : "no machine")
}

function number(what) {
	return match(totals, what ":[0-9]+") ? substr(totals, RSTART + 5, RLENGTH - 5) + 0 : 0
}

/^# kernel: / { kernel = $3 }
/^# late: / { late = $3 " s" }
/^# run: / {
	if (name)
		died()
	words = split($0, word, /[ \/]/)
	name = word[words]
	next
}
/^  # Totals: / { totals = $0 }
/^  1\.\.0 # SKIP / { reason = substr($0, 8) }
/^  / {
	if (!brief)
		print "  " $0
	cases = cases "  " $0 "\n"
	if (/^  ok .* # SKIP /)
		skipped = skipped "  " $0 "\n"
	next
}
/^# [0-9]+ s$/ { took = $2 }
/^(not )?ok / {
	says = number("pass") ? number("pass") " passed, " : ""
	if (number("fail"))
		says = says number("fail") " failed, "
	if (number("skip"))
		says = says number("skip") " skipped, "
	says = says took " s"
	if (/# SKIP/ && reason)
		says = says " " reason
	else if (index($0, "#"))
		says = says " " substr($0, index($0, "#"))
	ended(/^not/ ? "not ok" : "ok", says)
}
{ last[++lines] = $0 }

END {
	if (name)
		died()
}
