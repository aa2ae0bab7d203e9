package gitexec

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// LocalTimeout bounds a command which works on this machine only.
	LocalTimeout = 2 * time.Minute
	// RemoteTimeout bounds one fetch or push, and so the time for which a command waits for a
	// silent hub.
	RemoteTimeout = 5 * time.Minute
	// SignerTimeout bounds one call of a signing program.
	SignerTimeout = 30 * time.Second

	// finishTime is the time left to a Cmd with Finish after ctx is cancelled.
	finishTime = 3 * time.Second
	// killTime is the time left to a process that was told to end. Then it is killed.
	killTime = 2 * time.Second
	// EndTime is how long Run takes to return after ctx is cancelled, at most.
	EndTime = finishTime + killTime

	maxStderr = 16 << 10 // the end is kept: git says last what went wrong
)

// Runner starts processes in one directory with one environment. It is safe
// for concurrent use.
type Runner struct {
	Dir string   // working directory; empty for the current one
	Env []string // complete environment, as made by Environ

	// Remote is called for each git which talks to another repository, and the returned function
	// when the git has ended. It may be nil.
	Remote func(args []string) (ended func())

	// NoHooks names the hooks that the configuration defines, by hook.<name>.event. git 2.54 and
	// later would run them wherever core.hooksPath leads. Set it before the first git that moves a
	// ref, touches a work tree or pushes.
	NoHooks []string

	// Limit ends each process of Run that takes longer, whatever its Timeout; 0 is no limit.
	Limit time.Duration

	started atomic.Int64
	once    sync.Once
	git     string
}

// Cmd is one process to run to its end.
type Cmd struct {
	Name      string // program; empty for git
	Args      []string
	Stdin     io.Reader
	Env       []string      // added to the runner's
	Timeout   time.Duration // time limit; 0 for LocalTimeout
	MaxOutput int64         // limit of stdout in bytes; 0 for 64 MiB
	// Finish lets the process end by itself when ctx is cancelled: an interrupt must not leave a
	// ref transaction half done. Run waits for it no longer than a person is patient with a
	// hanging hub.
	Finish bool

	// MaxFile bounds each file that the process and its children write, in bytes: a larger pack
	// ends the receiving git. 0 is no bound.
	MaxFile int64
	// MaxMemory bounds the memory that the process, and each of its children, asks for, in bytes. Linux
	// does not count mapped packs; other systems may ignore the bound. 0 is no bound.
	MaxMemory int64
	// OnPacket gets the packets received by a git from another repository, apart from the pack,
	// while they come in. When it returns true, the git is ended. It may be nil.
	OnPacket func(packet string) (enough bool)
	// Warned gets what a git that succeeded wrote to stderr. It may be nil.
	Warned func(stderr string)
	// Binary is for a git whose output is no text.
	Binary bool
	// Bulk is for a process of Start with megabytes of output, whose reader may block.
	Bulk bool
}

func (c Cmd) isGit() bool { return c.Name == "" || c.Name == "git" }

// Started returns the number of processes started so far.
func (r *Runner) Started() int64 { return r.started.Load() }

// gitSettings precede every git command.
var gitSettings = []string{
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.warnAmbiguousRefs=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "advice.detachedHead=false",
	// It may be a program, named by the repository.
	"-c", "core.fsmonitor=false",
	// A checkout would move the HEAD of each submodule, and overwrite the files ignored in it.
	"-c", "submodule.recurse=false",
	// A blob larger than any of ours goes through git in pieces.
	"-c", "core.bigFileThreshold=1m",
}

// MaxAlloc returns the variable which bounds a single allocation of git: a huge object, packed
// small by a hub, ends git instead of filling the memory.
func MaxAlloc(mebibytes int) string { return fmt.Sprintf("GIT_ALLOC_LIMIT=%dm", mebibytes) }

// TimeFor returns how long Run lets c run.
func (r *Runner) TimeFor(c Cmd) time.Duration {
	timeout := cmp.Or(c.Timeout, LocalTimeout)
	if r.Limit > 0 {
		return min(timeout, r.Limit)
	}
	return timeout
}

// Run runs c to its end and returns its standard output. Output written before a failure is
// returned with the error, which is an *Error. Output of git that ends in the middle of a line is a
// failure: more would have followed. When ctx ends, so do the process and its children.
func (r *Runner) Run(ctx context.Context, c Cmd) ([]byte, error) {
	caller := ctx
	if c.Finish {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, r.TimeFor(c))
	defer cancel()
	if c.Finish {
		stop := context.AfterFunc(caller, func() { time.AfterFunc(finishTime, cancel) })
		defer stop()
	}

	cmd := r.command(ctx, c)
	limit := cmp.Or(c.MaxOutput, 64<<20)
	stdout := &limited{max: limit}
	stderr := &tail{max: maxStderr}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, stdout, stderr
	talks := func(arg string) bool { return arg == "fetch" || arg == "push" || arg == "ls-remote" }
	if r.Remote != nil && slices.ContainsFunc(c.Args, talks) {
		defer r.Remote(c.Args)()
	}
	err := run(cmd, c, cancel)
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // a child, such as ssh, may have ignored the SIGTERM
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		// It ended well, but another process holds its stderr, as an ssh of before 8.5 with a
		// shared connection does. All output of git is here.
		err = nil
	}
	if stdout.over { // then err is that of the copy, or of a process that lost its pipe
		err = fmt.Errorf("more than %d bytes of %w", limit, errOutput)
	}
	if err == nil && c.isGit() && !c.Binary && cutOff(stdout.buf.Bytes()) {
		err, stderr = ErrCutOff, &tail{}
	}
	if err != nil {
		return stdout.buf.Bytes(), failure(ctx, c, cmd, err, stderr)
	}
	if c.Warned != nil {
		c.Warned(string(stderr.buf))
	}
	return stdout.buf.Bytes(), nil
}

func (r *Runner) command(ctx context.Context, c Cmd) *exec.Cmd {
	name, args := c.Name, c.Args
	if name == "" {
		r.once.Do(func() { // if git is not in $PATH, starting it reports that
			r.git = "git"
			if path, err := exec.LookPath(r.git); err == nil {
				r.git = path
			}
		})
		name = r.git
		args = slices.Concat(gitSettings, r.withoutHooks(), args)
	}
	if c.MaxFile > 0 || c.MaxMemory > 0 {
		name, args = bounded(c, name, args)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.Dir
	cmd.Env = r.Env
	if len(c.Env) > 0 {
		cmd.Env = slices.Concat(r.Env, c.Env)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killTime
	r.started.Add(1)
	return cmd
}

// withoutHooks returns the options that switch off the hooks of the configuration. "-c" would end
// a name at its first "=". [Environ] sets the variable to 0, which is false.
func (r *Runner) withoutHooks() (options []string) {
	for _, name := range r.NoHooks {
		options = append(options, "--config-env=hook."+name+".enabled=GIT_TERMINAL_PROMPT")
	}
	return options
}

// failure is the error of a process that did not start, or ended badly.
func failure(ctx context.Context, c Cmd, cmd *exec.Cmd, err error, stderr *tail) error {
	program := c.Name
	if c.isGit() {
		program = "git"
		args := c.Args
		for len(args) > 1 && strings.HasPrefix(args[0], "-") { // skip options before the subcommand
			if args[0] == "-c" {
				args = args[1:]
			}
			args = args[1:]
		}
		if len(args) > 0 {
			program += " " + args[0]
		}
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	code, said := -1, string(stderr.buf)
	if cmd.ProcessState != nil {
		code = cmd.ProcessState.ExitCode()
		if code < 0 {
			said = withoutAdvice(said) // a signal is the reason
		}
	}
	return &Error{Program: program, Dir: cmd.Dir, Code: code, Stderr: strings.TrimSpace(said), Err: err}
}

// Process is a running git, used through its standard input and output.
type Process struct {
	In  io.WriteCloser
	Out io.ReadCloser

	cmd    *exec.Cmd
	ctx    context.Context
	spec   Cmd
	stderr *tail
	done   func()
}

// Err returns the context's error, if the process was told to end before it was closed; else nil.
func (p *Process) Err() error { return p.ctx.Err() }

// Start starts c and returns without waiting. The process is killed when ctx
// ends, unless c.Finish is set; Close must be called in any case.
func (r *Runner) Start(ctx context.Context, c Cmd) (*Process, error) {
	done := func() {}
	if c.Finish {
		ctx = context.WithoutCancel(ctx)
	} else {
		ctx, done = context.WithCancel(ctx)
	}
	cmd := r.command(ctx, c)
	p := &Process{cmd: cmd, ctx: ctx, spec: c, stderr: &tail{max: maxStderr}, done: done}
	cmd.Stderr = p.stderr
	in, err := cmd.StdinPipe()
	started := func() {}
	if err == nil {
		p.In = in
		if c.Bulk {
			p.Out, started, err = bulkOut(cmd)
		} else {
			p.Out, err = cmd.StdoutPipe()
		}
	}
	if err == nil {
		err = cmd.Start()
		started()
	}
	if err != nil {
		if p.Out != nil {
			_ = p.Out.Close()
		}
		err = failure(ctx, c, cmd, err, p.stderr) // before done, whose cancellation would become the reason
		done()
		return nil, err
	}
	return p, nil
}

// Close closes the process's input, waits for it to end, and returns an *Error
// if it ended badly.
func (p *Process) Close() error {
	_ = p.In.Close()
	_, _ = io.Copy(io.Discard, p.Out)
	err := p.cmd.Wait()
	_ = p.Out.Close()
	defer p.done()
	if err != nil {
		return failure(p.ctx, p.spec, p.cmd, err, p.stderr)
	}
	return nil
}

// Leave closes the process's input and does not wait: it has answered everything, and ends by
// itself. A caller which lives on leaves no zombie.
func (p *Process) Leave() {
	_ = p.In.Close()
	go func() { _ = p.Close() }()
}

// Kill ends the process at once.
func (p *Process) Kill() {
	p.done()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.Close()
}

// limited keeps the first max bytes. The buffer is not embedded: io.Copy would
// find its ReadFrom and pass the limit by.
type limited struct {
	buf  bytes.Buffer
	max  int64
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	if int64(l.buf.Len())+int64(len(b)) > l.max {
		l.over = true
		return 0, errOutput
	}
	return l.buf.Write(b)
}

// tail keeps the last max bytes.
type tail struct {
	buf []byte
	max int
}

func (t *tail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b...)
	t.buf = slices.Delete(t.buf, 0, max(0, len(t.buf)-t.max))
	return len(b), nil
}

// bulkOut makes the pipe for the output of a command with Bulk. Go's scheduler watches the pipes
// of os/exec, and is woken by each 4 KiB written by git, even while nobody reads. It does not
// watch a blocking pipe. started is called when the command was started, or could not be.
func bulkOut(cmd *exec.Cmd) (out io.ReadCloser, started func(), err error) {
	var p [2]int
	syscall.ForkLock.RLock() // a process started by another goroutine must not inherit the pipe
	err = syscall.Pipe(p[:])
	if err == nil {
		syscall.CloseOnExec(p[0])
		syscall.CloseOnExec(p[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, func() {}, os.NewSyscallError("pipe", err)
	}
	w := os.NewFile(uintptr(p[1]), "|1")
	cmd.Stdout = w
	return os.NewFile(uintptr(p[0]), "|0"), func() { _ = w.Close() }, nil
}
