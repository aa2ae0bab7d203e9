// Package bench compares githandoff with the git commands that a user would run
// instead: whole processes on both sides, in the same run, in the same repository or
// against the same hub.
//
//	make bench                              a table in Markdown
//	make bench BENCH=Emit                   a part of it
//	make bench RECORD=1                     writes the ratios down
//	make bench GITHANDOFF_BENCH_BIG=1       curves up to 100,000 handoffs: an hour
//	go test ./internal/bench -run '^$' -bench Link -benchtime 1x -rtt 300ms
//	                                        over a link of 300 ms, by HTTP and ssh
//
// Each benchmark alternates the two sides, so that a slow moment of the machine
// slows both, and reports medians:
//
//	ratio         ours divided by theirs
//	fastest-ratio the same of the fastest run of each: what a busy machine blurs least
//	ours-ms       of one process of githandoff, from start to end
//	theirs-ms     of the command or script that it is compared with
//	ours-git      git processes, on both ends, of one run; theirs-git likewise
//	ours-direct   of them those that no git process started; theirs-direct likewise
//	ours-trips    of them those that speak to a hub; theirs-trips likewise
//	ours-MiB      largest resident set of one process of one run; theirs-MiB likewise
//
// history.tsv holds earlier results, the ratios of which "make bench" prints in its last
// column; with RECORD=1 it adds its own. TestCounts holds the counts of the most used
// commands to testdata/counts.txt.
//
// The clock does not run while a benchmark prepares a run, such as a handoff to take or a
// commit to push. No benchmark fails because a command took long: docs/benchmarks.md says
// which times are acceptable, with the figures of a quiet machine.
package bench
