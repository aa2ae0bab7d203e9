package cli

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"githandoff/internal/app/initrepo"
	"githandoff/internal/cli/output"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/team"
	"githandoff/internal/untrusted"
	"githandoff/internal/work"
	"githandoff/internal/workcopy"
	"githandoff/internal/workspace"
)

// app carries the global flags and opens what a command needs.
type app struct {
	Env
	output.Printer

	input   *input // standard input; an interruption ends a read
	hook    bool   // git runs this program as a hook: it asks nobody anything
	offline bool   // an agent chooses the repository: git runs no program that it names
	repo    *refs.Repo

	patience *output.Patience // tells a terminal why the command waits
	noHelp   error            // why --help has no page

	tools bool // the reader is an agent with the tools of MCP, and without a shell
}

// in returns a copy of a for a directory. The two share no open repository.
func (a *app) in(dir string) *app {
	w := *a
	w.Dir, w.Key, w.repo = dir, a.KeyAnywhere(), nil
	return &w
}

// quiet returns a copy of a for the hooks of an agent in a directory, which prints nothing.
func (a *app) quiet(dir string) *app {
	w := a.in(dir)
	w.hook, w.Quiet = true, true
	return w
}

func (a *app) close() {
	if a.repo != nil {
		a.repo.Close()
	}
}

// openRepo discovers the repository once.
func (a *app) openRepo(ctx context.Context) (*refs.Repo, error) { return a.openBy(ctx, refs.Open) }

// openBy is openRepo for a command that reads (refs.Open), or one that is sure to write (refs.OpenToWrite).
func (a *app) openBy(ctx context.Context, open func(context.Context, *gitexec.Runner) (*refs.Repo, error)) (*refs.Repo, error) {
	if a.repo != nil {
		return a.repo, nil
	}
	run := &gitexec.Runner{Dir: a.Dir, Env: gitexec.Environ(a.Vars)}
	if a.offline {
		run.Env = gitexec.Offline(run.Env)
	}
	if !a.Quiet {
		run.Remote = asks(a.patience)
	}
	if a.Dir != "" {
		if info, err := os.Stat(a.Dir); err != nil || !info.IsDir() {
			return nil, usage("-C %s: no such directory", untrusted.Line(a.Dir))
		}
	}
	repo, err := open(ctx, run)
	if err != nil {
		return nil, err
	}
	if dir := a.Getenv("GIT_DIR"); repo.Bare && filepath.IsAbs(dir) {
		a.GitDir = dir
	}
	a.repo = repo
	return repo, nil
}

// identity returns the acting agent: from --as, $GITHANDOFF_AGENT, init in this worktree, or
// handoff.agent, in this order.
func (a *app) identity(repo *refs.Repo) (string, error) {
	name, from := a.As, "--as"
	if name == "" {
		name, from = a.Getenv("GITHANDOFF_AGENT"), "$GITHANDOFF_AGENT"
	}
	if name == "" {
		from = repo.OwnWorktree("agent")
		var err error
		if name, err = workspace.AgentOf(repo); err != nil {
			return "", err
		}
	}
	if name == "" {
		name, from = repo.Config.Get("handoff.agent"), "handoff.agent"
	}
	if name == "" {
		return "", fault.New(fault.Usage, fault.NoIdentity, "this worktree has no agent yet").
			WithHints(fault.Run("githandoff", "init", "--as", initrepo.SuggestedName(repo)).Because("gives it one; the name is yours to choose"))
	}
	if handoff.CheckAgent(name) != nil && !strings.Contains(name, "@") {
		return "", usage("%s: %v", from, handoff.CheckAgent(name)).WithHints(initrepo.BadName(name))
	}
	return name, nil
}

func (a *app) keystore() sign.Keystore {
	ks := sign.NewKeystore(a.Getenv)
	if a.attended() { // an agent or a hook would wait for ever
		ks.Passphrase = func(kid sign.KID) ([]byte, error) { return askHidden("passphrase of " + kid + ": ") }
	}
	return ks
}

// attended reports whether somebody sits at standard input, and no hook of
// somebody else's git command runs.
func (a *app) attended() bool {
	in, ok := a.Stdin.(*os.File)
	if !ok || a.hook {
		return false
	}
	return term.IsTerminal(int(in.Fd()))
}

// trustFile is the name of the trust list of a repository.
const trustFile = "trust.json"

func (a *app) loadTrust(repo *refs.Repo) (*sign.Trust, error) {
	user, err := sign.UserTrustPath(a.Getenv)
	if err != nil {
		return nil, err
	}
	trust, err := sign.LoadTrust(repo.Own(trustFile), user)
	if err != nil {
		return nil, err
	}
	trust.SharedRead = repo.Store.SharedRead()
	return trust, nil
}

// userTrust loads the list of this user alone. It needs no repository.
func userTrust(getenv func(string) string) (trust *sign.Trust, path string, err error) {
	if path, err = sign.UserTrustPath(getenv); err != nil {
		return nil, "", err
	}
	trust, err = sign.LoadTrust("", path)
	return trust, path, err
}

func (a *app) signerOptions(ctx context.Context, repo *refs.Repo, agent string) sign.Options {
	key := sign.KeyIn(a.Dir, a.Key)
	if key == "" && a.Getenv(gitexec.KeyVariable) == "" {
		key = workspace.KeyOf(repo, agent)
	}
	program := repo.Config.Get("gpg.program")
	if a.offline && program != "" {
		program = "" // gpg, if the user names none
		if values, _ := refs.UserValues(ctx, repo, "gpg.program"); len(values) > 0 {
			program = values[len(values)-1]
		}
	}
	opts := sign.Options{
		Key: key, Env: a.Getenv(gitexec.KeyVariable), Agent: agent, Keystore: a.keystore(), Runner: repo.Runner,
		GPGProgram: program, SSHAuthSock: a.Getenv("SSH_AUTH_SOCK"),
	}
	if !a.Quiet {
		opts.Waiting = func(program string) func() { return a.patience.At("waiting for", program) }
	}
	return opts
}

// need says how much of a workspace a command uses.
type need int

const (
	reads need = iota // reads handoffs, signs nothing, needs no agent
	looks             // needs an agent and its key, but most runs move no ref
	signs             // needs an agent and its key, and moves refs
)

// workspace opens the workspace of the acting agent.
func (a *app) workspace(ctx context.Context, n need) (*workspace.Workspace, error) {
	open := refs.Open
	if n == signs {
		open = refs.OpenToWrite
	}
	repo, err := a.openBy(ctx, open)
	if err != nil {
		return nil, err
	}
	if !a.offline { // without a fetch, a broken worktree is in nobody's way
		if err := (&workcopy.Handler{Repo: repo}).Mend(); err != nil {
			a.Warn(err)
		}
	}
	agent, err := a.identity(repo)
	if err != nil && (n != reads || a.As != "") { // nobody has the name that --as gives
		return nil, err
	}
	local := &lifecycle.LocalHome{Repo: repo, RepoID: repo.Config.Get("handoff.repoid")}
	for _, p := range repo.Paths() {
		local.Paths = append(local.Paths, crossrepo.FileID(p))
	}
	ws := &workspace.Workspace{
		Homes:  workspace.Homes{Repo: repo, Aliases: crossrepo.Aliases{Repo: repo}, Local: local, OnWarn: a.Warn},
		Claims: work.ClaimsOf(repo),
		Agent:  agent,
	}
	if ws.Engine, err = openEngine(ctx, a, ws, n); err != nil {
		return nil, err
	}
	if err := ws.Claims.Upgrade(ctx); err != nil {
		a.Warn(err)
	}
	a.shortenIDs(ctx, ws)
	if err := team.New(ws).Witness(ctx, nil); err != nil {
		a.Warn(err)
	}
	if n != reads {
		if err := ws.RecoverLocal(ctx); err != nil {
			a.Warn(err)
		}
	}
	if n == signs {
		warnOfFetches(a, repo)
	}
	return ws, nil
}

// warnOfFetches says where an ordinary fetch would copy or delete handoffs. init keeps them out of
// it, and a remote or refspec may have been added since.
func warnOfFetches(a *app, repo *refs.Repo) {
	for _, remote := range repo.Config.Subsections("remote", "fetch") {
		for _, problem := range gitconfig.Of(repo).CopiesHandoffs(remote) {
			a.Warn(problem)
			a.Hint(problem.Hints...)
		}
	}
}

// openEngine makes the state machine of a workspace, with its trust list, and with the key of its agent unless
// the command only reads.
func openEngine(ctx context.Context, a *app, ws *workspace.Workspace, n need) (*lifecycle.Engine, error) {
	repo, agent := ws.Repo, ws.Agent
	trust, err := a.loadTrust(repo)
	if err != nil {
		return nil, err
	}
	own, err := workspace.AgentOf(repo)
	s := lifecycle.Setup{
		Repo: repo, Trust: trust, Actor: agent, Guest: err == nil && own != "" && own != agent, Now: a.Now, Random: a.Random,
		Intents: lifecycle.Intents{Dir: repo.Own("intents")}, Used: lifecycle.UsedTokens{Path: repo.Own("used")},
		Ahead:  lifecycle.Ahead{Path: repo.Own("ahead")},
		HomeOf: ws.Home, Alias: ws.Aliases.NameOf,
		Published: func(kid sign.KID) (sign.PublicKey, bool) { return team.New(ws).LocalCopy(ctx, kid) },
	}
	if !a.Quiet {
		s.Walked = func() { a.patience.Count("reading the log, entries") }
	}
	if agent != "" {
		s.Opener = func(ctx context.Context) (sign.Signer, error) {
			return sign.OpenSigner(ctx, a.signerOptions(ctx, repo, agent))
		}
	}
	if n == reads {
		return lifecycle.New(s), nil
	}
	if repo.Config.Get("handoff.repoid") == "" {
		f := fault.New(fault.Usage, fault.NoIdentity, "githandoff is not set up in this repository")
		if strings.Contains(agent, "@") { // init sets a person up only on request: it makes a root key
			return nil, f.WithHints(fault.Run("githandoff", "init", "--as", initrepo.SuggestedName(repo)).Because("sets this repository up; the name is yours to choose"))
		}
		return nil, f.WithHints(fault.Run("githandoff", "init", "--as", agent).Because("sets this repository up"))
	}
	if s.Signer, err = s.Opener(ctx); err != nil {
		return nil, err
	}
	if key, ok := trust.Lookup(s.Signer.KID()); ok {
		s.Actor = key.ActsAs(agent) // a commit has one of the names of its signing key
	}
	return lifecycle.New(s), nil
}

// shortenIDs lets hints show a person the shortest ends of ids. Looking for them costs a
// list of refs, which only an error with such a hint pays. Programs get whole ids.
func (a *app) shortenIDs(ctx context.Context, ws *workspace.Workspace) {
	if !a.Terminal() {
		return
	}
	a.Invocation.Ends = func(ids []handoff.ID) handoff.Ends {
		ends, err := ws.Ends(context.WithoutCancel(ctx), ids...)
		if err != nil {
			return nil // hints then have whole ids
		}
		return ends
	}
}

// asks shows that git talks to another repository.
func asks(p *output.Patience) func(args []string) func() {
	return func(args []string) func() {
		verb := "reading from"
		if slices.Contains(args, "push") {
			verb = "writing to"
		}
		where := "another repository"
		if i := slices.Index(args, "--"); i >= 0 && i+1 < len(args) {
			where = placeOf(args[i+1])
		}
		return p.At(verb, where)
	}
}

// placeOf returns an address without what it may hold of a password.
func placeOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return untrusted.Line(u.Host + u.Path)
	}
	_, after, found := strings.Cut(address, "@")
	if found {
		address = after
	}
	return untrusted.Line(address)
}
