// Package report writes one page of HTML about the log: agents' lanes over time, chains, what
// is stuck, what is wrong, totals, and a table of every handoff.
//
// The package is pure: rows come in, bytes go out. It reads no file, no clock and no
// repository.
//
// # What the page may do
//
// The page is one file. It requests nothing from anywhere, and a Content Security Policy in
// its head has the browser enforce this: scripts and styles run only if their SHA-256 is that
// of a file embedded in this package, and everything else is forbidden, style attributes
// included. So lengths stand in attributes of SVG.
//
// Agents, tasks, reasons and results are text of others. html/template escapes them,
// for the place in which they stand; the script of the page reads them from a block of
// JSON and puts them into the page as text nodes alone.
package report
