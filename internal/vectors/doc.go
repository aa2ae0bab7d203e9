// Package vectors makes testdata/vectors, by which another implementation of the
// format can be checked, and holds the reader of this one to them.
//
//	go test ./internal/vectors            reads them
//	go test ./internal/vectors -update    makes them anew
//
// Keys, ids and nonces are derived from names, so that making them anew changes
// nothing but what changed in the format.
package vectors
