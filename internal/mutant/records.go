package main

// ofRecords are the guards of what a record says, and of where it is said.
var ofRecords = []mutant{
	{
		"results are logged only where it is known that nothing is sealed", "internal/crossrepo/seal.go",
		`	if !sealed || err != nil {
		return false, err`, `	if !sealed || err != nil {
		return false, nil`, "./internal/cli -run TestScript/seal_unreadable",
	},
	{
		"progress is told only where it is known that nothing is sealed", "internal/crossrepo/seal.go",
		`		return tellsAll(p.ID)
	}
	return err`, `		return tellsAll(p.ID)
	}
	return nil`, "./internal/cli -run TestScript/seal_unreadable",
	},
	{
		"a copy that lacks the payload is brought up to date before anything is logged", "internal/crossrepo/seal.go",
		`|| data == "" ||`, `|| true ||`, "./internal/cli -run TestScript/seal_unreadable",
	},
}
