package fault

// A reason is one of the words below, and never changes its meaning. The comment of each is
// its line in docs/reasons.md: the exit codes, the commands or checks giving the word, and the
// cause. Reasons of verification are in the order of its checks.

// Reasons of verification: a handoff, a step, a list of keys or a token is not
// believed. A guard gives the same words for a push. "obo check" exits 7 with any of
// them, because a claim that is not believed allows nothing.
const (
	// InvalidID (2, 4, 6, names): an id is not spelled as ids are.
	InvalidID Reason = "invalid_id"
	// InvalidPath (2, 4, 6, names): a path or ref name leads out of where it may be.
	InvalidPath Reason = "invalid_path"
	// TooLarge (4, 6, 3, sizes): a limit of size or number is exceeded; nothing is cut.
	TooLarge Reason = "too_large"
	// MalformedObject (4, 6, structure): a commit, tree or blob is not of our form.
	MalformedObject Reason = "malformed_object"
	// Rollback (4, structure): a log or list lost entries this clone has seen, or has two
	// histories.
	Rollback Reason = "rollback"
	// Unsigned (4, signature): there is no signature.
	Unsigned Reason = "unsigned"
	// SignatureInvalid (4, signature): the signature does not fit the bytes, or the named key.
	SignatureInvalid Reason = "signature_invalid"
	// UntrustedKey (4, signature): the key is not pinned here, or not for the role or agent.
	UntrustedKey Reason = "untrusted_key"
	// UntrustedRoot (4, signature): the key is not pinned here as a root of the principal.
	UntrustedRoot Reason = "untrusted_root"
	// KeyExpired (4, signature): the key was not valid any more.
	KeyExpired Reason = "key_expired"
	// KeyRevoked (4, signature): the key was retired or revoked.
	KeyRevoked Reason = "key_revoked"
	// NotYetValid (4, signature): the key, token or entry is of a time yet to come.
	NotYetValid Reason = "not_yet_valid"
	// DigestMismatch (4, content): the content is not what the signed digest says.
	DigestMismatch Reason = "digest_mismatch"
	// Malformed (2, 4, 6, content): a document or record is not of its form.
	Malformed Reason = "malformed"
	// NonCanonical (4, 6, content): a document has another spelling than its one canonical form.
	NonCanonical Reason = "non_canonical"
	// AudienceMismatch (4, content): it is for another repository, agent or key.
	AudienceMismatch Reason = "audience_mismatch"
	// HandoffMismatch (4, content): parts of one record speak of different handoffs.
	HandoffMismatch Reason = "handoff_mismatch"
	// DepthInvalid (4, token): the chain of tokens is longer than it may be.
	DepthInvalid Reason = "depth_invalid"
	// ParHashMismatch (4, token): a token does not name the one above it.
	ParHashMismatch Reason = "par_hash_mismatch"
	// IssuerNotHolder (4, token): the issuer of a token does not hold the one above it.
	IssuerNotHolder Reason = "issuer_not_holder"
	// PrincipalAltered (4, token): a token acts for another person than the one above it.
	PrincipalAltered Reason = "principal_altered"
	// PrincipalMismatch (4, token): the record names another person than its token.
	PrincipalMismatch Reason = "principal_mismatch"
	// NotNarrower (4, token): a token allows more than the one above it.
	NotNarrower Reason = "not_narrower"
	// Expired (4, 7, token): the token, handoff or lease is over.
	Expired Reason = "expired"
	// StatusUnknown (4, revocation): the home, which knows whether the token was revoked,
	// could not be reached.
	StatusUnknown Reason = "status_unknown"
	// Revoked (4, revocation): the authority was taken back.
	Revoked Reason = "revoked"
	// HolderBindingFailed (4, binding): the key is not one named by the token.
	HolderBindingFailed Reason = "holder_binding_failed"
	// Disputed (4, claim): an entry of the log does not count: its key may not take the step,
	// or not at its time.
	Disputed Reason = "disputed"
	// Replayed (4, 5, replay): the id, token or digest has its receipt already.
	Replayed Reason = "replayed"
	// Lost (4, log): a handoff is gone without a receipt.
	Lost Reason = "lost"
	// Unlogged (4, log): a handoff is open, but no log mentions it.
	Unlogged Reason = "unlogged"
)

// Refusals by the content policy and the team's policy.
const (
	// OutOfScope (7, scope): the token does not allow it.
	OutOfScope Reason = "scope"
	// SecretFound (7, content policy): a text looks like a secret; it is named and not printed.
	SecretFound Reason = "secret_found"
	// TranscriptFound (7, content policy): a text is a raw conversation.
	TranscriptFound Reason = "transcript_found"
	// Capability (7, team policy): the sender does not produce, or the receiver does not
	// accept, this kind of work.
	Capability Reason = "capability"
	// SkillMissing (7, team policy): a mandatory skill was not used.
	SkillMissing Reason = "skill"
	// Sealed (7, content policy): the content of a sealed handoff would appear in the open log.
	Sealed Reason = "sealed"
	// CannotSeal (7, content policy): no key of the receiver can decrypt a sealed handoff.
	CannotSeal Reason = "cannot_seal"
	// ChainTooLong (7, content policy): the chain of parents has reached its limit.
	ChainTooLong Reason = "chain_too_long"
	// SnapshotLimit (7, snapshot): a snapshot would have more files, bytes or commits than it may.
	SnapshotLimit Reason = "snapshot_limit"
	// CannotTravel (7, snapshot): the work tree holds something a snapshot cannot carry.
	CannotTravel Reason = "cannot_travel"
	// InvalidPolicy (6, team policy): the policy file is not of its form.
	InvalidPolicy Reason = "invalid_policy"
)

// The command line asks for something impossible.
const (
	// BadUsage (2, command line): flags or arguments are missing, wrong or contradict each other.
	BadUsage Reason = "usage"
	// AmbiguousID (2, 7, command line): the argument means more than one handoff.
	AmbiguousID Reason = "ambiguous_id"
	// Ambiguous (2, command line): the name means more than one key.
	Ambiguous Reason = "ambiguous"
	// InvalidTarget (2, command line): the target is no agent, agent@alias or @alias.
	InvalidTarget Reason = "invalid_target"
	// InvalidInvite (2, command line): the text is not a complete invitation code.
	InvalidInvite Reason = "invalid_invite"
	// NoIdentity (2, 7, set-up): this worktree has no agent, or a person acts where an agent is needed.
	NoIdentity Reason = "no_identity"
	// NoClient (3, set-up): no coding agent was run by this user, or none of the given name is
	// known.
	NoClient Reason = "no_client"
	// NoAgent (2, command line): the handoff is for nobody yet, and the command needs an agent.
	NoAgent Reason = "no_agent"
	// UnknownFormat (2, command line): no such format.
	UnknownFormat Reason = "unknown_format"
	// UnknownHook (2, command line): no such hook.
	UnknownHook Reason = "unknown_hook"
	// BadURL (2, command line): the text cannot be the URL of a repository.
	BadURL Reason = "bad_url"
	// RepoKnown (2, alias): the repository, or the alias, is known here already, as another one.
	RepoKnown Reason = "repo_known"
	// PushURL (2, alias): the remote pushes to another place than it fetches from.
	PushURL Reason = "push_url"
	// MirrorRemote (2, alias): the remote is a mirror, and a push there wipes handoffs.
	MirrorRemote Reason = "mirror_remote"
	// BareRepository (2, set-up): the command needs a work tree.
	BareRepository Reason = "bare_repository"
	// NotBare (2, set-up): the command is for the bare repository of a hub.
	NotBare Reason = "not_bare"
	// HooksShared (2, set-up): the hooks directory is shared by other repositories.
	HooksShared Reason = "hooks_shared"
)

// The requested thing does not exist.
const (
	// NothingPending (3, look-up): nothing waits.
	NothingPending Reason = "nothing_pending"
	// NothingLeft (3, capture): no agent left the expected handoff.
	NothingLeft Reason = "nothing_left"
	// NothingHeld (3, 7, look-up): this worktree holds no handoff.
	NothingHeld Reason = "nothing_held"
	// UnknownHandoff (3, look-up): no such handoff is known here.
	UnknownHandoff Reason = "not_found"
	// Erased (3, look-up): the handoff has ended, and its content is gone.
	Erased Reason = "erased"
	// NoSuchKey (3, look-up): the data of the handoff has no such key.
	NoSuchKey Reason = "no_such_key"
	// NoKey (3, look-up): no such signing key is here, trusted or published.
	NoKey Reason = "no_key"
	// NoToken (3, look-up): the handoff carries no token.
	NoToken Reason = "no_token"
	// NoCheckpoint (3, look-up): the handoff has no checkpoint here.
	NoCheckpoint Reason = "no_checkpoint"
	// NoSnapshot (3, look-up): the handoff carries no snapshot, or the snapshot is gone.
	NoSnapshot Reason = "no_snapshot"
	// NoSuchCommit (3, look-up): the name is not a commit of this repository.
	NoSuchCommit Reason = "no_such_commit"
	// NoSuchFile (3, look-up): the file cannot be opened.
	NoSuchFile Reason = "no_such_file"
	// NoSuchCommand (126, 127, look-up): the command given to capture or hold cannot be started; the codes are those of shells.
	NoSuchCommand Reason = "no_such_command"
	// UnknownAlias (2, 3, look-up): no repository has this alias here; 2 if a setting names it.
	UnknownAlias Reason = "unknown_alias"
	// UnknownHome (3, look-up): no alias leads to the repository.
	UnknownHome Reason = "unknown_home"
	// UnknownAgent (3, look-up): no agent of this name is known here, and nothing waits for
	// it.
	UnknownAgent Reason = "unknown_agent"
	// NoInvite (3, look-up): the hub, or this clone, has no such invitation: it was used, withdrawn, or never made.
	NoInvite Reason = "no_invite"
)

// Somebody else was there first.
const (
	// Claimed (5, state): another agent holds the handoff.
	Claimed Reason = "claimed"
	// NotHolder (5, 7, state): the caller does not hold the handoff, or no longer.
	NotHolder Reason = "not_holder"
	// NotHeld (5, state): nobody holds the handoff.
	NotHeld Reason = "not_held"
	// NotSender (5, state): somebody else sent it, and only that key can deliver it.
	NotSender Reason = "not_sender"
	// Routed (5, state): the decision was made for another agent.
	Routed Reason = "routed"
	// Offered (5, state): the same handoff is open already, without the authority asked for.
	Offered Reason = "offered"
	// Undelivered (5, state): the handoff is still in the outbox.
	Undelivered Reason = "undelivered"
	// Unfinished (5, state): the offer of the handoff was cut off before it was logged.
	Unfinished Reason = "unfinished"
	// Stale (4, 5, guard): a ref has moved meanwhile; a client looks again, and decides again.
	Stale Reason = "stale"
	// InviteUsed (5, state): somebody else joined with this invitation.
	InviteUsed Reason = "invite_used"
	// NameTaken (5, set-up): another key is trusted here under the agent's name.
	NameTaken Reason = "name_taken"
	// WorktreeTaken (5, set-up): the worktree belongs to another agent.
	WorktreeTaken Reason = "worktree_taken"
	// Edited (5, set-up): a file was edited by somebody else, and is left alone.
	Edited Reason = "edited"
	// WorkChanged (5, snapshot): a file changed while its snapshot was taken.
	WorkChanged Reason = "work_changed"
	// WorkTreeTaken (5, snapshot): the work tree or directory holds something that would be lost.
	WorkTreeTaken Reason = "would_lose"
	// DoesNotFit (5, snapshot): changes do not fit the files here.
	DoesNotFit Reason = "does_not_fit"
	// BranchExists (5, state): a branch of this name exists.
	BranchExists Reason = "branch_exists"
)

// The input cannot be understood.
const (
	// UnknownSchema (6, document): the document is of another version.
	UnknownSchema Reason = "unknown_schema"
	// HasDetail (6, document): the text around a document is asked for as the detail, and the document has one.
	HasDetail Reason = "detail"
	// NoValue (6, template): the template asks for a value not given.
	NoValue Reason = "no_value"
	// NotAFile (6, draft): the draft is not a regular file.
	NotAFile Reason = "not_a_file"
	// NotOwnFile (6, draft): the draft belongs to another user.
	NotOwnFile Reason = "not_own_file"
)

// git, a hub, a signer or the disk does not do its part. Unsent handoffs and steps stay
// queued.
const (
	// RemoteUnavailable (8, hub): the hub cannot be reached or read.
	RemoteUnavailable Reason = "remote_unavailable"
	// HubRefused (8, hub): the hub does not take the push.
	HubRefused Reason = "hub_refused"
	// HubKeepsRefs (8, hub): the hub deletes no refs, so no handoff could end there.
	HubKeepsRefs Reason = "hub_keeps_refs"
	// HubLocked (8, hub): a lock is in the way at the hub.
	HubLocked Reason = "hub_locked"
	// NoAtomicPush (8, hub): the hub does not take atomic pushes.
	NoAtomicPush Reason = "no_atomic_push"
	// ReadOnly (8, hub, disk): the hub or the repository is read-only for this user.
	ReadOnly Reason = "read_only"
	// Busy (8, disk): others changed the same thing too often.
	Busy Reason = "busy"
	// Locked (8, disk): a lock of git is in the way.
	Locked Reason = "locked"
	// DiskFull (8, disk): there is no space left.
	DiskFull Reason = "disk_full"
	// GitFailed (8, git): git cannot be run, or ends without an answer.
	GitFailed Reason = "git_failed"
	// GitRefused (8, git): git does not update the refs, or does not take the value of a setting.
	GitRefused Reason = "git_refused"
	// ConfigUnwritable (8, git): a setting cannot be written.
	ConfigUnwritable Reason = "config"
	// MissingObject (8, git): an object is missing in this repository, or its file is damaged.
	MissingObject Reason = "missing_object"
	// GitTooOld (8, git): the git in PATH is older than githandoff can work with.
	GitTooOld Reason = "git_too_old"
	// NotARepository (2, git): this is not a git repository, or git or githandoff does not
	// trust it.
	NotARepository Reason = "not_a_repository"
	// ObjectFormat (8, git): the repository has object names of another kind.
	ObjectFormat Reason = "object_format"
	// SignerUnavailable (8, signer): gpg or ssh-agent does not answer.
	SignerUnavailable Reason = "signer_unavailable"
	// KeyLocked (8, signer): the key needs a passphrase, or is not in its agent.
	KeyLocked Reason = "key_locked"
	// HooksOff (8, set-up): core.hooksPath, or the usual directory, is not a directory, so git runs no hooks.
	HooksOff Reason = "hooks_off"
	// Unwritable (8, disk): a file cannot be written, or its disk fails.
	Unwritable Reason = "unwritable"
	// Unreadable (8, trust): this user cannot read the trust list of a hub, or the program cannot find its own file.
	Unreadable Reason = "unreadable"
	// Late (8, hook): a hook did not end in its time.
	Late Reason = "late"
)

// The rest.
const (
	// NoHome (2, set-up): this user has no home directory, and nothing else says where its files are.
	NoHome Reason = "no_home"
	// RelativePath (2, set-up): a variable for a place holds no absolute path.
	RelativePath Reason = "relative_path"
	// PublicKey (2, signer): a public key was named where a secret one signs.
	PublicKey Reason = "public_key"
	// UnsafeFile (4, 8, trust): a file or directory of keys, trust or state belongs to others, or is open to them.
	UnsafeFile Reason = "unsafe_file"
	// InviteForged (4, join): the hub's record of an invitation was not made with its code.
	InviteForged Reason = "invite_forged"
	// Refused (4, resume): every waiting handoff was refused.
	Refused Reason = "refused"
	// AuditFailed (4, audit): the log and the inboxes contradict each other.
	AuditFailed Reason = "audit"
	// Unswept (4, audit): a handoff still has its inbox ref after its receipt.
	Unswept Reason = "unswept"
	// ProblemsFound (1, doctor): doctor found problems.
	ProblemsFound Reason = "problems_found"
	// Problem (1, doctor): one of them.
	Problem Reason = "problem"
	// Failed (1, all): any other failure.
	Failed Reason = "failed"
	// Output (1, output): standard output cannot be written; the work is done.
	Output Reason = "output"
	// HookEdited (1, set-up): the hook was edited, and is left alone.
	HookEdited Reason = "hook_edited"
	// HookManager (1, set-up): another program manages this hook.
	HookManager Reason = "hook_manager"
	// HookBackupExists (1, set-up): the place for the former hook is taken.
	HookBackupExists Reason = "hook_backup_exists"
	// HookNotAFile (1, set-up): the hook is not a regular file.
	HookNotAFile Reason = "hook_not_a_file"
	// Crashed (70, all): a bug in githandoff.
	Crashed Reason = "bug"
	// WasInterrupted (130, all): the command was interrupted.
	WasInterrupted Reason = "interrupted"
)

// Denials returns the reasons with which verification denies, in the order of its
// checks.
func Denials() []Reason {
	return []Reason{
		InvalidID, InvalidPath, TooLarge, MalformedObject, Rollback, Unsigned, SignatureInvalid, UntrustedKey,
		UntrustedRoot, KeyExpired, KeyRevoked, NotYetValid, DigestMismatch, Malformed, NonCanonical,
		AudienceMismatch, HandoffMismatch, DepthInvalid, ParHashMismatch, IssuerNotHolder, PrincipalAltered,
		PrincipalMismatch, NotNarrower, Expired, StatusUnknown, Revoked, HolderBindingFailed, Disputed, Replayed,
		Lost, Unlogged,
	}
}

// PolicyDenials returns the reasons with which a guard refuses content and scope.
func PolicyDenials() []Reason { return []Reason{OutOfScope, SecretFound, TranscriptFound} }
