package main

// ofInvites are the guards of invitations.
var ofInvites = []mutant{
	{
		"a guard takes only lists that a root of its own signed", "internal/guard/listed.go",
		`team, err := trust.OpenTeam(files[0], files[1], g.Verifier.Keys.Now())`, `team, err := sign.ParseTeam(files[0])`, "./internal/guard -run TestTakeLists",
	},
	{
		"a guard takes only lists of its hub", "internal/guard/listed.go",
		`if err != nil || !g.Home.Is(team.Home) {`, `if err != nil {`, "./internal/guard -run TestTakeLists",
	},
	{
		"a list makes nobody a root at a hub", "internal/sign/lists.go",
		`return slices.Contains(e.Roles, RoleRoot) && (p == nil || p.list != "")`, `return false && p == nil`, "./internal/guard -run TestTakeLists",
	},
	{
		"no key invites for longer than the hub trusts it", "internal/guard/invites.go",
		`if err := offeredUntil(key, o.Inviter); err != nil {`, `if err := offeredUntil(key, o.Inviter); err != nil && false {`, inScript + "join_guarded_team",
	},
	{
		"an end that is none is no limit", "internal/guard/invites.go",
		`err == nil && !then.After(here)`, `(err == nil || true) && !then.After(here)`, inScript + "join_guarded_team",
	},
	{
		"an offer is by who has the code", "internal/invite/sides.go",
		`if err := r.Offer.proven(c.offerKey()); err != nil {`, `if err := r.Offer.proven(c.offerKey()); err != nil && false {`, "./internal/invite -run TestAnyOrder",
	},
	{
		"an answer is by who has the code", "internal/invite/sides.go",
		`if err := r.Answer.proven(key); err != nil {`, `if err := r.Answer.proven(key); err != nil && false {`, "./internal/invite -run TestAnyOrder",
	},
	{
		"a MAC is over the document", "internal/invite/record.go",
		`mac(key, []byte(p.Document))`, `mac(key, nil)`, "./internal/invite -run TestInviteAndJoin",
	},
	{
		"a code names no URL that nobody can read from it", "internal/invite/code.go",
		`if strings.ContainsFunc(url, Forbidden) {`, `if false && strings.ContainsFunc(url, Forbidden) {`, inScript + "join_path",
	},
	{
		"each direction has its own key", "internal/invite/code.go",
		`return c.derive("answer", sha256.Size)`, `return c.derive("offer", sha256.Size)`, "./internal/invite -run TestRefused",
	},
	{
		"a key that is offered or answers signs its document", "internal/invite/record.go",
		`return check(*key, []byte(p.Document), []byte(p.Signature))`, "_ = key\n\treturn nil", "./internal/invite -run TestRefused",
	},
	{
		"a document of an invitation is of that one", "internal/invite/record.go",
		`if *of != id {`, `if *of != id && false {`, "./internal/invite -run TestRefused",
	},
	{
		"nobody joins too late", "internal/invite/sides.go",
		`if err := c.Current(now); err != nil {`, `if err := c.Current(now); err != nil && false {`, "./internal/invite -run TestAnyOrder",
	},
	{
		"nobody is pinned too late", "internal/invite/sides.go",
		`if err := current(p.Expires, now); err != nil {`, `if err := current(p.Expires, now); err != nil && false {`, "./internal/invite -run TestRefused",
	},
	{
		"an invitation of two agents makes no root", "internal/invite/sides.go",
		`if c.Kind != Team && (`, `if c.Kind == "" && (`, "./internal/invite -run TestRefused",
	},
	{
		"the joiner has the name that was invited", "internal/invite/sides.go",
		`if p.Agent != "" && a.Agent != p.Agent {`, `if false {`, "./internal/invite -run TestRefused",
	},
	{
		"a code is bound as a whole", "internal/invite/code.go",
		`salt := append([]byte(c.Kind), c.told()...)`, `salt := []byte(nil)`, "./internal/invite -run TestCode_isBoundAsAWhole",
	},
	{
		"what is remembered is not the code", "internal/invite/sides.go",
		`Key: hex.EncodeToString(c.answerKey()),`, `Key: hex.EncodeToString(c.Secret[:]),`, "./internal/invite -run TestNoSecretLeaves",
	},
	{
		"a code that was cut is none", "internal/invite/code.go",
		`if c.String() != typed ||`, `if false ||`, "./internal/invite -run TestCode_damaged",
	},
	{
		"nobody joins under the name of another key: inviter", "internal/app/join/handler.go",
		`if k.Agent == "" { // who was free`, `if false { // who was free`, "./internal/cli -run TestScript/join_names",
	},
	{
		"nobody joins under the name of another key: joiner", "internal/app/join/answer.go",
		`if h.taken(asked, o, place) {`, `if false {`, "./internal/cli -run TestScript/join_names",
	},
	{
		"nobody joins under the name of another key: a retired one", "internal/app/join/handler.go",
		`return e.KID != kid && slices.Contains(e.Agents, agent)`, `return e.KID != kid && e.Retired == "" && slices.Contains(e.Agents, agent)`, "./internal/cli -run TestScript/join_mixed",
	},
	{
		"an inviter takes no name of another key", "internal/app/join/grant.go",
		`if slices.Contains(old.Agents, name) || slices.Contains(old.Principals, name) {`, `if false {`, "./internal/cli -run TestScript/join_mixed",
	},
	{
		"an invitation gives a known key what it says and no more", "internal/sign/entry.go",
		`!now && (!before || moved)`, `!now && !before && moved`, "./internal/sign -run TestMixes",
	},
	{
		"who joins with a known key is asked for by both entries", "internal/app/join/handler.go",
		`if err := h.apart(e); err != nil {`, `if err := h.apart(e); err != nil && false {`, "./internal/cli -run TestScript/join_mixed",
	},
	{
		"a guard takes invitations of an inviter under its names there", "internal/guard/invites.go",
		`{o.Inviter.Agents, has.Agents}, `, ``, "./internal/cli -run TestScript/join_guarded",
	},
	{
		"a guard takes invitations of a root within its scopes there", "internal/guard/invites.go",
		`len(offered.MaxScope) == 0 || !obo.CoversAll(limit, offered.MaxScope)`, `false && !obo.CoversAll(limit, offered.MaxScope)`, "./internal/cli -run TestScript/join_guarded_team",
	},
	{
		"a person compares 64 bits of a fingerprint", "internal/app/pin/pin.go",
		`const Compared = 16`, `const Compared = 8`, "./internal/cli -run TestScript/trust_review",
	},
	{
		"who joined a team is listed by its root, whoever synced", "internal/app/join/handler.go",
		`k.Unlisted = err == nil && k.Kind == invite.Team`, `k.Unlisted = false`, "./internal/cli -run TestScript/join_team",
	},
	{
		"an invitation that is over is not used again", "internal/app/join/handler.go",
		`if k.Over {
		return nil, h.erase`, `if false {
		return nil, h.erase`, "./internal/cli -run TestScript/join_kept_by_hub",
	},
	{
		"an invitation expires whatever the hub has of it", "internal/app/join/handler.go",
		`case !h.Now().Before(k.Expires):`, `case fault.Is(err, fault.Expired):`, "./internal/cli -run TestScript/join_kept_by_hub",
	},
	{
		"an invitation that nobody can join with leaves the prefix", "internal/cli/join.go",
		`there := *alias //`, `_ = crossrepo.Aliases{Repo: repo}.SetPrefix(ctx, alias, cmp.Or(code.Prefix, crossrepo.UsualPrefix))
	there := *alias //`, "./internal/cli -run TestScript/prefix_team",
	},
	{
		"an invitation whose inviter cannot be pinned leaves the clone", "internal/app/join/answer.go",
		`if err := h.mayPin(pinned); err != nil {`, `if err := h.mayPin(pinned); err != nil && false {`, "./internal/cli -run TestScript/prefix_team",
	},
	{
		"an invitation names an agent", "internal/invite/sides.go",
		`if err := handoff.CheckAgent(o.Agent); err != nil {`, `if err := handoff.CheckAgent(o.Agent); err != nil && false {`, "./internal/invite -run TestRefused",
	},
	{
		"a key that is pinned again keeps what its owner said", "internal/sign/change.go",
		`whole, err := before.With(public)`, `_ = before
		whole, err := public.With(public)`, "./internal/sign -run TestAddForgetsNoStatement",
	},
	{
		"a guarded hub takes invitations of its own keys", "internal/guard/invites.go",
		`return pj.inviter(offer)`, "_ = offer\n\t\treturn nil", "./internal/cli -run TestScript/join_guarded",
	},
	{
		"a guarded hub takes one answer to an invitation", "internal/guard/invites.go",
		`if before.Answer != nil || answer == nil ||`, `if`, "./internal/cli -run TestScript/join_guarded",
	},
	{
		"a key that is reviewed is the one that its owner names", "internal/app/pin/pin.go",
		`plain(typed) != want[len(want)-Compared:]`, `plain(typed) == "0"`, "./internal/cli -run TestScript/trust_review",
	},
}
