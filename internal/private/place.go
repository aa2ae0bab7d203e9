package private

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"githandoff/internal/fault"
)

// Data is the directory of this user's keys: $XDG_DATA_HOME/githandoff. It need not
// exist; where it does, it and the directories above it are this user's own.
func Data(getenv func(string) string) (string, error) {
	return place(getenv, "XDG_DATA_HOME", ".local/share")
}

// Config is the directory of this user's trust list: $XDG_CONFIG_HOME/githandoff. It is
// checked like that of Data.
func Config(getenv func(string) string) (string, error) {
	return place(getenv, "XDG_CONFIG_HOME", ".config")
}

func place(getenv func(string) string, name, fallback string) (string, error) {
	home, homeErr := Home(getenv)
	base := getenv(name)
	switch {
	case base == "" && homeErr != nil:
		return "", fault.As(homeErr).WithHints(fault.Fact("set HOME or %s to the absolute path of a directory of this user", name))
	case base == "":
		base = filepath.Join(home, fallback)
	case !filepath.IsAbs(base):
		return "", fault.New(fault.Usage, fault.RelativePath, "$%s is %q: want an absolute path", name, base).
			WithHints(fault.Fact("set %s to an absolute path, or unset it", name))
	}
	base = filepath.Clean(base)
	if err := checkAbove(base, home); err != nil {
		return "", err
	}
	dir := filepath.Join(base, "githandoff")
	return dir, CheckDir(dir)
}

// Home is this user's home directory: $HOME if that is an absolute path, else what the
// user database says.
func Home(getenv func(string) string) (string, error) {
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Clean(home), nil
	}
	uid := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(uid); err == nil && filepath.IsAbs(u.HomeDir) {
		return filepath.Clean(u.HomeDir), nil
	}
	return "", fault.New(fault.Usage, fault.NoHome, "$HOME is not an absolute path, and the user database has no home directory of user %s", uid)
}
