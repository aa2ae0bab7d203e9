package refs

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/gitobj"
)

// tables are the refs of a repository at one moment: a stack of files, which git never changes. A
// later file overrides an earlier one. git writes a new list of files for each transaction, and
// removes the files that it merged into another one.
type tables []*table // newest first

// withTables reads the tables of a directory; ok is false where git has to be asked.
func withTables(dir string, format gitobj.Format, read func(tables) error) (ok bool) {
	for range glances {
		stack, err := openTables(dir, format)
		if err == nil {
			err = read(stack)
		}
		stack.close()
		if !errors.Is(err, fs.ErrNotExist) { // otherwise git merged a file of the stack meanwhile
			return err == nil
		}
	}
	return false
}

func openTables(dir string, format gitobj.Format) (stack tables, err error) {
	list, err := ReadFile(filepath.Join(dir, "tables.list"), "")
	if err != nil {
		return nil, err
	}
	for name := range strings.Lines(list) {
		t, err := openTable(filepath.Join(dir, filepath.Base(strings.TrimSuffix(name, "\n"))), format)
		if err != nil {
			return stack, err
		}
		stack = slices.Insert(stack, 0, t)
	}
	return stack, nil
}

func (stack tables) close() {
	for _, t := range stack {
		_ = t.f.Close()
	}
}

// find returns a ref. If there is none, it has neither object nor target.
func (stack tables) find(name string) (found tableRef, err error) {
	for _, t := range stack {
		there := false
		err := t.from(name, func(ref tableRef) bool {
			if ref.name == name {
				found, there = ref, true
			}
			return false
		})
		if err != nil || there {
			return found, err
		}
	}
	return tableRef{}, nil
}

// below visits the refs whose names begin with a prefix, in no order.
func (stack tables) below(prefix string, visit func(tableRef)) error {
	seen := map[string]bool{}
	for _, t := range stack {
		err := t.from(prefix, func(ref tableRef) bool {
			if !strings.HasPrefix(ref.name, prefix) {
				return false
			}
			if !seen[ref.name] && (ref.oid != "" || ref.target != "") {
				visit(ref)
			}
			seen[ref.name] = true
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// table is a file of refs sorted by name, in blocks (reftable.adoc of git's technical
// documentation). A block index may follow them.
type table struct {
	f     *os.File
	block int64  // distance between two blocks in bytes; 0 if blocks are not aligned
	head  int64  // size of the file header in bytes
	id    uint64 // size of an object id in bytes
	index int64  // offset of the block index; 0 if there is none
	end   int64  // offset of the end of the blocks
}

// tableRef is a ref in a table: it leads to an object or to another ref, or it was deleted.
type tableRef struct{ name, oid, target string }

var errTable = errors.New("not a table of refs")

func openTable(path string, format gitobj.Format) (*table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t := &table{f: f, id: uint64(format.Digits() / 2)}
	if err := t.readEnds(format); err != nil {
		_ = f.Close()
		return nil, err
	}
	return t, nil
}

// readEnds reads the header, and the footer, which repeats it and says where the parts of the file
// begin.
func (t *table) readEnds(format gitobj.Format) error {
	info, err := t.f.Stat()
	if err != nil {
		return err
	}
	head, err := t.bytes(0, 28)
	if err != nil {
		return err
	}
	switch version := string(head[:5]); {
	case version == "REFT\x01" && format == gitobj.SHA1, version == "REFT\x02" && format == gitobj.SHA1 && string(head[24:]) == "sha1",
		version == "REFT\x02" && format == gitobj.SHA256 && string(head[24:]) == "s256":
		t.head = map[byte]int64{1: 24, 2: 28}[head[4]]
	default:
		return errTable
	}
	t.block = int64(binary.BigEndian.Uint32(head[4:]) & 0xffffff)
	const positions, sum = 5 * 8, 4
	length := t.head + positions + sum
	foot, err := t.bytes(info.Size()-length, length)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(foot, head[:t.head]) || crc32.ChecksumIEEE(foot[:length-sum]) != binary.BigEndian.Uint32(foot[length-sum:]) {
		return errTable
	}
	at := func(n int64) int64 { return int64(binary.BigEndian.Uint64(foot[t.head+8*n:])) }
	t.index, t.end = at(0), info.Size()-length
	return nil
}

func (t *table) bytes(at, n int64) ([]byte, error) {
	b := make([]byte, max(n, 0))
	if _, err := t.f.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("%w: %w", errTable, err)
	}
	return b, nil
}

// from visits the refs from the first one that is not before name, in their order, as long as visit
// returns true.
func (t *table) from(name string, visit func(tableRef) bool) error {
	at, err := t.blockOf(name)
	for more := true; err == nil && more && at < t.end; {
		var b tableBlock
		if b, err = t.readBlock(at); err != nil || b.kind != 'r' {
			return err // no ref blocks follow
		}
		err = t.records(b, func(rec tableRecord) bool {
			if rec.name >= name {
				more = visit(rec.tableRef)
			}
			return more
		})
		at = b.next
	}
	return err
}

// blockOf returns the offset of the block in which a ref is, if there is such a ref: the first one of the
// file, or the one that the index leads to, over one level or more. The top level may have several
// blocks, one behind the other.
func (t *table) blockOf(name string) (int64, error) {
	if t.index == 0 {
		return 0, nil
	}
	for at, top := t.index, true; at < t.end; {
		b, err := t.readBlock(at)
		switch {
		case err != nil:
			return 0, err
		case b.kind == 'r' && !top:
			return at, nil
		case b.kind != 'i' && top:
			return t.end, nil // all refs sort before name
		case b.kind != 'i':
			return 0, errTable
		}
		next := int64(-1)
		err = t.records(b, func(rec tableRecord) bool {
			if rec.name >= name { // rec.name is the last name in the block at rec.at
				next = rec.at
			}
			return next < 0
		})
		switch {
		case err != nil:
			return 0, err
		case next < 0 && top:
			at = b.next
		case next < 0 || next >= at: // a block stands before its index
			return 0, errTable
		default:
			at, top = next, false
		}
	}
	return t.end, nil
}

// tableBlock is a block of records. The first one of a file has the header in it.
type tableBlock struct {
	kind byte // 'r' for refs, 'i' for the index
	body []byte
	next int64 // offset of the next block
}

func (t *table) readBlock(at int64) (b tableBlock, err error) {
	head := at
	if at == 0 {
		head = t.head
	}
	const kindAndLength = 4
	if head+kindAndLength > t.end {
		return tableBlock{next: t.end}, nil // the file has no refs
	}
	start, err := t.bytes(head, kindAndLength)
	if err != nil {
		return b, err
	}
	end := at + int64(binary.BigEndian.Uint32(start)&0xffffff) // the length in the file includes the header
	if b.kind = start[0]; b.kind != 'r' && b.kind != 'i' {
		return b, nil
	}
	if end < head+kindAndLength+2 || end > t.end {
		return b, errTable
	}
	body, err := t.bytes(head+kindAndLength, end-head-kindAndLength)
	if err != nil {
		return b, err
	}
	restarts := 2 + 3*int(binary.BigEndian.Uint16(body[len(body)-2:])) // size of the restart table in bytes
	if restarts > len(body) {
		return b, errTable
	}
	b.body, b.next = body[:len(body)-restarts], end
	if t.block > end-at && end < t.end { // zeros may pad the block
		fill, err := t.bytes(end, 1)
		if err != nil {
			return b, err
		}
		if fill[0] == 0 {
			b.next = at + t.block
		}
	}
	return b, nil
}

// tableRecord is one of a block: a ref, or the last name of another block and where that one begins.
type tableRecord struct {
	tableRef
	at int64
}

// records visits the records of a block, as long as visit returns true. A name is written without
// the beginning that it shares with the one before.
func (t *table) records(b tableBlock, visit func(tableRecord) bool) error {
	d := decoder{rest: b.body}
	for name := ""; len(d.rest) > 0 && d.err == nil; {
		shared, suffix := d.number(), d.number()
		kind := suffix & 7
		if shared > uint64(len(name)) {
			return errTable
		}
		rec := tableRecord{}
		rec.name = name[:shared] + string(d.take(suffix>>3))
		name = rec.name
		if b.kind == 'i' {
			rec.at = int64(d.number())
		} else {
			d.number() // update index of the transaction that wrote the ref
			switch kind {
			case 0: // the ref was deleted
			case 1:
				rec.oid = hex.EncodeToString(d.take(t.id))
			case 2:
				rec.oid = hex.EncodeToString(d.take(t.id))
				d.take(t.id) // peeled object of a tag
			case 3:
				rec.target = string(d.take(d.number()))
			default:
				return errTable
			}
		}
		if d.err == nil && !visit(rec) {
			return nil
		}
	}
	return d.err
}

// decoder reads numbers and bytes.
type decoder struct {
	rest []byte
	err  error
}

// number reads a number of variable length, in which git adds one to each part but the last.
func (d *decoder) number() (n uint64) {
	for first := true; ; first = false {
		b := d.take(1)
		if d.err != nil || n >= 1<<56 {
			d.err = errTable
			return 0
		}
		if !first {
			n++
		}
		n = n<<7 | uint64(b[0]&0x7f)
		if b[0] < 0x80 {
			return n
		}
	}
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.err, d.rest = errTable, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// tipInTables is tipInFiles for refs in tables.
func tipInTables(r *Repo, name string) (oid string, ok bool) {
	ok = withTables(filepath.Join(r.CommonDir, "reftable"), r.Format, func(stack tables) error {
		ref, err := stack.find(name)
		if ref.target != "" {
			err = errTable // the ref is symbolic
		}
		oid = ref.oid
		return err
	})
	return oid, ok && (oid == "" || isTip(r, oid))
}

// listInTables is listInFiles for refs in tables.
func listInTables(r *Repo, wanted []pattern) (list []Ref, ok bool) {
	ok = withTables(filepath.Join(r.CommonDir, "reftable"), r.Format, func(stack tables) error {
		list = nil
		symbolic := false
		for _, p := range wanted {
			err := stack.below(p.place, func(ref tableRef) {
				if p.matches(ref.name) {
					symbolic = symbolic || ref.target != ""
					list = append(list, Ref{Name: ref.name, OID: ref.oid})
				}
			})
			if err != nil || symbolic {
				return cmp.Or(err, errTable)
			}
		}
		return nil
	})
	return inOrderOnce(list), ok
}

// ownInTables reads a ref of one worktree, such as HEAD; ok is false where git has to be asked.
func ownInTables(r *Repo, name string) (ref tableRef, ok bool) {
	ok = withTables(filepath.Join(r.GitDir, "reftable"), r.Format, func(stack tables) (err error) {
		ref, err = stack.find(name)
		return err
	})
	return ref, ok
}

// headInTables reads HEAD of a worktree; ok is false where git has to be asked.
func headInTables(r *Repo) (ok bool) {
	head, ok := ownInTables(r, "HEAD")
	if !ok {
		return false
	}
	if head.oid != "" {
		r.Head = head.oid
		return isTip(r, head.oid)
	}
	branch, ok := strings.CutPrefix(head.target, branches)
	if !ok {
		return false
	}
	tip, ok := tipInTables(r, head.target)
	if r.Head = tip; tip != "" {
		r.Branch = branch
	}
	return ok
}
