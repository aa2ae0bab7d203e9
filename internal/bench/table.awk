# Turns what "go test -bench" prints into one Markdown table, and what is wrong
# into an error. The last column is the ratio of the last run that is written down in
# history, a file of lines "row ratio ours-ms theirs-ms when"; with record=1 this run is
# added to it.
BEGIN {
	while ((getline line < history) > 0) {
		split(line, h, "\t")
		before[h[1]] = h[2]
	}
	close(history)
}
/^Benchmark/ && NF > 2 {
	split("", v)
	for (i = 3; i < NF; i += 2) v[$(i + 1)] = $i
	if (!("ratio" in v)) { # figures of its own: no row for the table
		print > "/dev/stderr"
		next
	}
	if (!head++) {
		print "| what | ours, ms | git, ms | ratio | of the fastest | µs each | ours, MiB | git, MiB | git processes | git's own | trips | git's own | before |"
		print "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
	}
	sub(/^Benchmark/, "", $1)
	sub(/-[0-9]+$/, "", $1)
	gsub(/_/, " ", $1)
	n = match($1, /\/[0-9]+/) ? substr($1, RSTART + 1, RLENGTH - 1) : 0
	printf "| %s | %.1f | %.1f | **%.2f** | %.2f | %s | %.0f | %.0f | %d | %d | %d | %d | %s |\n", $1, \
		v["ours-ms"], v["theirs-ms"], v["ratio"], v["fastest-ratio"], n ? sprintf("%.1f", v["ours-ms"] * 1000 / n) : "", \
		v["ours-MiB"], v["theirs-MiB"], v["ours-git"], v["theirs-git"], v["ours-trips"], v["theirs-trips"], before[$1]
	if (record) printf "%s\t%.2f\t%.1f\t%.1f\t%s\n", $1, v["ratio"], v["ours-ms"], v["theirs-ms"], when >> history
	fflush()
	next
}
/^(goos|goarch|pkg|PASS|ok)/ { next }
/^cpu: / { print substr($0, 6) "\n"; next }
/^(FAIL|--- FAIL|panic)/ { failed = 1 }
{ print > "/dev/stderr" }
END { exit failed }
