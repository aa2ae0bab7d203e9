// Package logpage makes a page of HTML out of the log: it puts the steps of each
// handoff together to one row, and hands the rows to package report.
//
// Only valid steps make up a row; the others are listed with their reasons, as in "githandoff
// audit".
package logpage
