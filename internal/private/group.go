package private

import (
	"bufio"
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

// ownGroup reports whether a group is this user's alone. Debian, Ubuntu and Fedora give
// each user such a group and a umask of 002, so that what an agent makes may be written
// by its group. The superuser's group is never one: it has other members on many systems.
func ownGroup(gid uint32) bool {
	if os.Geteuid() == 0 || int(gid) != os.Getegid() {
		return false
	}
	me, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		return false
	}
	groups, err := os.Open("/etc/group")
	if err != nil {
		return false
	}
	defer groups.Close()
	users, err := os.Open("/etc/passwd")
	if err != nil {
		return false
	}
	defer users.Close()
	return aloneInGroup(groups, users, me.Username, gid)
}

// aloneInGroup reads group(5) and passwd(5). A group that the first does not know
// belongs to a directory service, and nobody here can say who is in it.
func aloneInGroup(groups, users io.Reader, name string, gid uint32) bool {
	id := strconv.FormatUint(uint64(gid), 10)
	known := false
	for fields := range database(groups, 4) {
		if fields[2] != id {
			continue
		}
		known = true
		others := func(member string) bool { return member != "" && member != name }
		if slices.ContainsFunc(strings.Split(fields[3], ","), others) {
			return false
		}
	}
	for fields := range database(users, 7) {
		if fields[3] == id && fields[0] != name {
			return false
		}
	}
	return known
}

// database yields the lines of a file of the user database that have n fields.
func database(r io.Reader, n int) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if f := strings.Split(lines.Text(), ":"); len(f) == n && !yield(f) {
				return
			}
		}
	}
}
