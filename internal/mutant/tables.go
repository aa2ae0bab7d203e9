package main

// ofTables are the guards of refs that git keeps in tables.
var ofTables = []mutant{
	without("a later table hides a ref of an earlier one", "internal/refs/reftable.go",
		`			seen[ref.name] = true`, ``, inRefs+"TestTables$"),
	without("a table is of the repository's format", "internal/refs/reftable.go",
		`version == "REFT\x02" && format == gitobj.SHA256`, `version == "REFT\x02"`, inRefs+"TestTableIsWhole"),
	without("the footer of a table is checked", "internal/refs/reftable.go",
		` || crc32.ChecksumIEEE(foot[:length-sum]) != binary.BigEndian.Uint32(foot[length-sum:])`, ` || crc32.ChecksumIEEE(foot) == 0`, inRefs+"TestTableIsWhole"),
	without("git is asked for a ref to another ref in a table", "internal/refs/reftable.go",
		`		if ref.target != "" {
			err = errTable // the ref is symbolic
		}
`, ``, inRefs+"TestTablesOfARepository"),
	without("tables that git merged are looked for again", "internal/refs/reftable.go",
		`if !errors.Is(err, fs.ErrNotExist) {`, `if !errors.Is(err, fs.ErrNotExist) || true {`, inRefs+"TestTablesMerged"),
	without("a ref beside HEAD is looked for in the tables of its worktree", "internal/refs/discover.go",
		`return ref.oid != "" || ref.target != ""`, `return ref.name == ""`, inRefs+"TestTablesOfARepository"),
}
