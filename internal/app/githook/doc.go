// Package githook reads commits for the hooks of a clone: the target of a handoff, by the
// trailers and the reflog; and the claim that it was made under, in its message.
//
// A commit hands work over by the trailers Handoff-To, Handoff-Task, Handoff-Goal,
// Handoff-Summary, Handoff-Status and Handoff-Snapshot. Only a commit that the user of this
// repository has just made counts (own), and its id derives from the parts that a rebase,
// a cherry-pick or an amend keeps ([Commit.ID]). No authority comes from the text of a
// commit.
package githook
