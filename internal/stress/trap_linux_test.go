package stress

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The processes that can die at a point, or get an error from a system call.
const (
	tool = "githandoff"
	git  = "git" // at the hub as well, if the hub is a path
	both = "both"
)

// point is a system call with which a process is about to change a file, to execute git, or to end.
type point struct {
	by   string // tool or git
	call string
	path string // or the program; "" for none
	// The command and the directory of a git that is about to start.
	command, dir string
}

func (p point) String() string { return fmt.Sprintf("%s: %s %s", p.by, p.call, p.path) }

// verdict decides about a process at a point. The zero value lets it continue.
type verdict struct {
	dies string        // tool, git or both
	err  syscall.Errno // the error with which the call fails without being made
}

// trapped runs a command. It stops the command and all its children before each point until spring has decided
// about the point. It returns once the last of these processes has ended.
//
// This is seccomp's user notification (seccomp_unotify(2)): the kernel reports the calls of all processes in the
// order in which they happened. githandoff has no code for it.
func trapped(t testing.TB, cmd *exec.Cmd, spring func(n int, p point) verdict) (gittest.Result, []point) {
	t.Helper()
	ours, theirs, err := socketpair()
	require.NoError(t, err)
	defer ours.Close()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Args = append([]string{self, cmd.Path}, cmd.Args[1:]...)
	cmd.Env = append(slices.Clip(cmd.Env), bait+"=1")
	cmd.Path = self

	w := warden{spring: spring}
	done := make(chan error, 1)
	r := gittest.Finish(t, cmd, func() {
		_ = theirs.Close()
		w.tool = cmd.Process.Pid
		go func() { done <- w.watch(ours) }()
	})
	require.NoError(t, <-done)
	return r, w.points
}

func socketpair() (ours, theirs *os.File, err error) {
	fd, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd[0]), "ours"), os.NewFile(uintptr(fd[1]), "theirs"), nil
}

// warden answers for the processes of one command.
type warden struct {
	tool   int
	spring func(int, point) verdict
	points []point
}

// notice and answer are struct seccomp_notif and seccomp_notif_resp.
type notice struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type answer struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

const (
	receive = 0xc0502100 // SECCOMP_IOCTL_NOTIF_RECV
	send    = 0xc0182101 // SECCOMP_IOCTL_NOTIF_SEND
)

func ioctl(fd int, request uintptr, p unsafe.Pointer) error {
	for {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(p)); errno == 0 {
			return nil
		} else if errno != unix.EINTR {
			return errno
		}
	}
}

func (w *warden) watch(from *os.File) error {
	listener, err := receiveFD(int(from.Fd()))
	if err != nil {
		return err
	}
	defer os.NewFile(uintptr(listener), "listener").Close()
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && err != unix.EINTR {
			return err
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			if poll[0].Revents&unix.POLLHUP != 0 {
				return nil // the last process has ended
			}
			continue
		}
		var n notice
		if err := ioctl(listener, receive, unsafe.Pointer(&n)); err == unix.ENOENT {
			continue // the process died meanwhile
		} else if err != nil {
			return err
		}
		a := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if p, ok := w.point(&n); ok {
			w.points = append(w.points, p)
			v := w.spring(len(w.points), p)
			if w.kill(v.dies, p, int(n.pid)) {
				continue
			}
			if v.err != 0 {
				a.flags, a.err = 0, -int32(v.err)
			}
		}
		if err := ioctl(listener, send, unsafe.Pointer(&a)); err != nil && err != unix.ENOENT {
			return err
		}
	}
}

// kill kills the processes that who names. It reports whether the process that waits for an answer is among
// them.
func (w *warden) kill(who string, p point, pid int) (waiting bool) {
	if who == tool || who == both {
		_ = unix.Kill(w.tool, unix.SIGKILL)
		waiting = p.by == tool
	}
	if (who == git || who == both) && p.by == git {
		_ = unix.Kill(pid, unix.SIGKILL)
		waiting = true
	}
	return waiting
}

// point describes the call that a process is about to make. It returns false if the call is no point.
func (w *warden) point(n *notice) (point, bool) {
	proc := "/proc/" + strconv.Itoa(int(n.pid))
	p := point{by: git, call: callName(int(n.nr))}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", w.tool, n.pid)); err == nil {
		p.by = tool
	}
	switch int(n.nr) {
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_FTRUNCATE:
		fd := fmt.Sprintf("%s/fd/%d", proc, n.args[0])
		info, err := os.Stat(fd)
		if err != nil || !info.Mode().IsRegular() {
			return p, false
		}
		p.path, _ = os.Readlink(fd) // for an event counter this is anon_inode:[eventfd]
		return p, filepath.IsAbs(p.path)
	case unix.SYS_EXIT_GROUP:
		return p, p.by == git
	case unix.SYS_EXECVE:
		p.path = word(proc, n.args[0])
		p.command = word(proc, pointer(proc, n.args[1]+8))
		p.dir, _ = os.Readlink(proc + "/cwd")
		return p, p.by == git && strings.HasPrefix(filepath.Base(p.path), "git")
	case unix.SYS_OPENAT, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT:
		p.path = word(proc, n.args[1])
	default:
		p.path = word(proc, n.args[0])
	}
	return p, !strings.HasPrefix(p.path, "/dev/")
}

// word reads a string out of the memory of a process.
func word(proc string, at uint64) string {
	s, _, _ := bytes.Cut(memory(proc, at, 256), []byte{0})
	return string(s)
}

// pointer reads an address out of the memory of a process.
func pointer(proc string, at uint64) uint64 {
	var address [8]byte
	copy(address[:], memory(proc, at, len(address)))
	return binary.NativeEndian.Uint64(address[:])
}

func memory(proc string, at uint64, size int) []byte {
	mem, err := os.Open(proc + "/mem")
	if err != nil {
		return nil
	}
	defer mem.Close()
	b := make([]byte, size)
	n, _ := mem.ReadAt(b, int64(at))
	return b[:n]
}

// calls are the system calls of all architectures that are points. oldCalls adds those that only some
// architectures have.
var calls = map[int]string{
	unix.SYS_UNLINKAT: "unlink", unix.SYS_MKDIRAT: "mkdir", unix.SYS_LINKAT: "link",
	unix.SYS_RENAMEAT: "rename", unix.SYS_RENAMEAT2: "rename", unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "write",
	unix.SYS_FTRUNCATE: "truncate", unix.SYS_EXECVE: "exec", unix.SYS_EXIT_GROUP: "exit", unix.SYS_OPENAT: "create",
}

func callName(nr int) string {
	if name := calls[nr]; name != "" {
		return name
	}
	return oldCalls[nr]
}

// filter returns the seccomp program. It asks about each call of calls, but about an open only if it may create
// or truncate the file.
func filter() []unix.SockFilter {
	const (
		load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		jump = unix.BPF_JMP | unix.BPF_K
		ret  = unix.BPF_RET | unix.BPF_K

		number, argument, size = 0, 16, 8 // in struct seccomp_data

		making = unix.O_CREAT | unix.O_TRUNC
	)
	ask := unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF}
	allow := unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW}
	program := []unix.SockFilter{{Code: load, K: number}}
	for _, list := range []map[int]string{calls, oldCalls} {
		for nr := range list {
			flags := -1
			switch {
			case nr == unix.SYS_OPENAT:
				flags = 2
			case list[nr] == "create":
				flags = 1
			}
			if flags < 0 {
				program = append(program, unix.SockFilter{Code: jump | unix.BPF_JEQ, K: uint32(nr), Jf: 1}, ask)
				continue
			}
			program = append(program,
				unix.SockFilter{Code: jump | unix.BPF_JEQ, K: uint32(nr), Jf: 4},
				unix.SockFilter{Code: load, K: uint32(argument + size*flags)},
				unix.SockFilter{Code: jump | unix.BPF_JSET, K: making, Jf: 1}, ask, allow)
		}
	}
	return append(program, allow)
}

// bait is the environment variable that makes this test binary a trapped githandoff.
const bait = "STRESS_TRAP"

// TestMain runs githandoff instead of the tests if one of the variables asks for it.
func TestMain(m *testing.M) {
	if os.Getenv(bait) != "" {
		fmt.Fprintln(os.Stderr, "trap:", becomeTrapped())
		os.Exit(70)
	}
	if at := os.Getenv(clockVariable); at != "" {
		os.Exit(runAtClock(at))
	}
	os.Exit(m.Run())
}

// becomeTrapped installs the filter for this thread, passes its listener to the parent, and executes the program
// of the arguments.
func becomeTrapped() error {
	runtime.LockOSThread()
	program := filter()
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	// If the listener is gone, no call of the filter works any more, not even the one that ends the process.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, bait+"=") })
	const parent = 3
	unix.CloseOnExec(parent)
	listener, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	if err := unix.Sendmsg(parent, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return err
	}
	return syscall.Exec(os.Args[1], os.Args[1:], env)
}

func receiveFD(from int) (int, error) {
	b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(from, b, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) == 0 {
		return -1, fmt.Errorf("no listener came: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return -1, err
	}
	return fds[0], nil
}
