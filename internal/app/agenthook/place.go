package agenthook

import (
	"path/filepath"
	"slices"

	"githandoff/internal/agents"
	"githandoff/internal/refs"
)

// Place is a directory whose worktree judges a call, or a part of it.
type Place struct {
	Dir  string
	Call *agents.Call
}

// Places lists the places of a call: the session's directory dir for all of it, and each other
// work tree with a file of a tool call for the file. A client may work outside of the repository
// and still name a file in it. The work trees are found from files alone, so a call within one
// work tree costs nothing more. vars are the environment: if it names the repository, there is no
// other.
//
// A call that cannot be read concerns dir, the directory that it says the session works in, and all
// work trees around them, the outermost first: an agent can make a repository within a work tree.
func Places(call *agents.Call, dir string, vars []string) []Place {
	places := []Place{{dir, call}}
	if call.Event != agents.BeforeTool {
		return places
	}
	real := refs.RealPath(dir)
	here, _ := refs.Locate(real, vars) // here.Top is empty if the files do not show it
	if call.Unread != nil {
		var all []Place
		for _, top := range slices.Backward(refs.Enclosing(filepath.Join(real, "file"), vars)) {
			if top != here.Top {
				all = append(all, Place{top, call})
			}
		}
		all = append(all, places...)
		if filepath.IsAbs(call.Dir) && filepath.Clean(call.Dir) != filepath.Clean(dir) {
			all = append(all, Places(call, call.Dir, vars)...)
		}
		return all
	}
	files := map[string][]string{}
	var tops []string
	for _, file := range call.Files() {
		for _, top := range refs.Enclosing(file, vars) {
			if top != here.Top {
				tops, files[top] = append(tops, top), append(files[top], file)
			}
		}
	}
	slices.Sort(tops)
	for _, top := range slices.Compact(tops) {
		places = append(places, Place{top, call.Writing(files[top])})
	}
	return places
}
