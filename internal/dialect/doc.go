// Package dialect reads and writes the formats in which other systems hand work
// over, and drafts of our own.
//
// # What a dialect is
//
// Each format but "githandoff" is one JSON object, found as said below, of at most 131,072
// bytes, without duplicate members, without members differing from known ones in case alone,
// and without numbers a binary64 does not keep to the last digit. A byte order mark before it
// is passed over. null stands for an absent member where a member may be absent. Each format
// copies some members into an envelope (→), and keeps all the others in origin.extra.
//
//	kelos       version              the number 1, which is also meant when absent
//	            summary              → summary; required, ≤ 4,096 bytes
//	            detail               → detail; ≤ 65,536 bytes
//	            data                 → data; strings; with detail ≤ 65,536 bytes
//
//	vox         version              "1.0"; required, as are the next six
//	            session_id           → source.session
//	            source_agent         → source.agent
//	            target_agent         → target.agent; with a / : or @ in it, it names a
//	                                 repository: → target.repo if it is a repo id, and
//	                                 nobody is chosen yet
//	            goal                 → goal; ≤ 4,096 bytes
//	            completed_steps      → completed_steps
//	            pending_blockers     → pending_blockers
//	            relevant_files       → relevant_files; ≤ 5 relative paths
//	            cryptographic_obo_token   see [DecodeToken]
//
//	metadata    status               → status; required; in any case, and - or a space
//	                                 may stand for _; needs_review for one that the
//	                                 envelope does not have
//	            agent                → source.agent
//	            output_type          → target.request
//	            skills_invoked       → skills.invoked
//	            library_skills_read  → skills.library_read
//	            source_files_verified     → files_verified, those that are paths in
//	                                 the repository, with ":from-to" or without
//	            blocked_reason       → blocked_reason; "unknown" if blocked and absent;
//	                                 the known ones may be spelled as a status may
//	            attempted            → attempted; "unknown" if blocked and absent
//	            questions            → questions; texts, or objects with question,
//	                                 options (texts, or objects with label) and
//	                                 category; other forms are kept only
//	            handoff.next_agent   → target.agent
//	            handoff.context      → goal; also the question of a needs_clarification
//	                                 without questions; ≤ 4,096 bytes
//	            timestamp, feature_directory
//
//	ho          handoff_id           → task; required, ≤ 128 printable ASCII
//	            source.agent, .phase → source; agent required
//	            target.agent         → target.agent; required, may be null
//	            target.reason        → target.reason and goal; ≤ 4,096 bytes
//	            context.artifacts, .decisions, .relevant_memories
//	                                 → context.artifacts, .decisions, .memories
//	            expectations.deliverables, .constraints, .acceptance_criteria
//	                                 → the same
//	            rollback.on_failure, .checkpoint_id
//	                                 → rollback.on_failure, .checkpoint
//
//	gsd         version              a text; required
//	            next_action          → goal; ≤ 4,096 bytes
//	            context_notes        → summary, or detail if it is over 4,096 bytes
//	            phase, phase_name    → source.phase
//	            phase, plan, task    → task, with slashes between them
//	            completed_tasks      → completed_steps
//	            remaining_tasks      → expectations.deliverables
//	            blockers, human_actions_pending   → pending_blockers
//	            decisions            → context.decisions
//	            uncommitted_files    a warning if there are any
//
// An agent's name invalid here is taken in lower case, with dashes for white space, if it is
// valid then. Otherwise it is kept, and nobody is chosen; only one in rollback.on_failure is
// refused. Who wrote a document need not be who sends it: see [SentBy]. A metadata block
// without handoff.context gets a summary of its output_type and status.
//
// "githandoff" is an envelope of which any member but schema may be missing and
// whose form need not be canonical.
//
// # Where the object is
//
// A document is a JSON file, or the inside of the last fenced code block of a Markdown file
// whose first label is json, in any case: at most three spaces, three or more backticks or
// tildes, the label; closed by at least as many of the same character. Where there is none,
// one inside a longer fence labelled markdown counts. The text around the block may become the
// detail of the handoff: see [Draft.TakeAround]. A kelos document may also lie in a log, in
// the last complete pair of lines:
//
//	---KELOS_HANDOFF_START---
//	---KELOS_HANDOFF_END---
//
// A later start without an end means the log was cut off, and the handoff that counts is
// missing. A log without such lines may have the last message of an agent among its outputs:
// see [Log.Response].
//
// # What is kept beyond the envelope
//
// origin.format is the name of the format. origin.extra holds the document's content without a
// place in the envelope, as edits to the document [Export] makes of the envelope:
//
//   - A key beginning with "/" is the JSON pointer (RFC 6901) of a member, its
//     value that member's value. A pointer goes through objects only: a member of
//     an array is kept with its whole array. It is one level deep, or two where
//     the table above knows the object (context, expectations, handoff, rollback,
//     source, target).
//   - The key "absent" is a sorted array of the pointers of the members Export
//     would write and the document does not have.
//
// origin.extra is itself absent if it would be empty. For instance
//
//	{"summary": "Found it", "data": {"line": "142"}, "cost": 0.25}
//
// read as kelos, becomes an envelope with summary, data, and
//
//	"origin": {"extra": {"/cost": 0.25, "absent": ["/version"]}, "format": "kelos"}
//
// Export applies the edits of its own format, in the order of their pointers. An
// edit of a member in the table above is left out, with a warning, if reading it
// would no longer give what the envelope says: somebody chose another target
// since, for instance. So the same value comes back, and nothing stale does.
//
// JSON Schemas of all formats are in docs/schema.
package dialect
