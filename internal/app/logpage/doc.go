// Package logpage makes a page of HTML out of the log: it puts the steps of each
// handoff together to one row, and hands the rows to package report.
//
// Only steps that count make up a row; what does not count is listed with its reason,
// as "githandoff audit" lists it.
package logpage
