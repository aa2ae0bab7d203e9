// Package pin trusts keys and retires them. It finds the key named by an argument and its agent
// or person; internal/sign keeps the list.
package pin

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/team"
	"githandoff/internal/untrusted"
)

// Handler changes one list of trusted keys.
type Handler struct {
	Keystore sign.Keystore
	Trust    *sign.Trust
	Path     string // path of the list; if "", Retire finds the lists that have the key
	Now      func() time.Time

	// Read reads the file of a key; "-" is standard input.
	Read func(name string) ([]byte, error)
	// Published finds a key published by its owner; without a repository it returns missing.
	Published func(ctx context.Context, kid sign.KID, missing error) (sign.PublicKey, error)
}

// Added is a key that was added to a list.
type Added struct {
	Key   sign.Key
	Own   bool     // it is one of the keystore's
	Inert []string // agents, roles and principals for which it was added, and which the user's own list does not give it
}

// Add trusts the key named by arg, or widens its trust, as e says.
func (h *Handler) Add(ctx context.Context, arg string, e sign.TrustEntry) (Added, error) {
	for i, given := range e.Principals {
		if e.Principals[i] = handoff.Principal(given); !obo.IsPrincipal(e.Principals[i]) {
			return Added{}, usage("--principal %s: want user:MAIL", untrusted.Line(given))
		}
	}
	public, name, err := h.find(ctx, arg)
	if err != nil {
		return Added{}, err
	}
	e.KID, e.Key = public.KID(), public.Text()
	before, err := sign.LoadTrust(h.Path, "")
	if err != nil {
		return Added{}, err
	}
	if k, known := before.Lookup(e.KID); !known || k.List() != "" {
		if err := fill(&e, name); err != nil {
			return Added{}, err
		}
	}
	if _, known := h.Trust.Lookup(e.KID); !known {
		if err := public.Revoked(h.Now()); err != nil {
			return Added{}, err
		}
	}
	if err := h.Trust.Add(h.Path, e); err != nil {
		return Added{}, err
	}
	key, _ := h.Trust.Lookup(e.KID)
	inert := slices.DeleteFunc(slices.Concat(e.Agents, e.Roles, e.Principals), func(word string) bool {
		now := key.Entry()
		return slices.Contains(slices.Concat(now.Agents, now.Roles, now.Principals), word)
	})
	return Added{Key: key, Own: name != "", Inert: inert}, nil
}

// find finds the key named by an argument, and its name if it is one of the keystore's. A name
// wins over a file of that name: a file from the repository must not stand in for a key.
func (h *Handler) find(ctx context.Context, arg string) (public sign.PublicKey, name string, err error) {
	if kid := sign.FromFingerprint(arg); sign.CheckKID(kid) == nil {
		return h.byID(ctx, kid)
	}
	if arg != "-" && !strings.ContainsRune(arg, filepath.Separator) {
		public, err = h.Keystore.Public(arg)
		if err == nil {
			return public, arg, nil
		}
		if code := fault.CodeOf(err); code != fault.NotFound && code != fault.Usage {
			return public, "", err
		}
	}
	b, err := h.Read(arg)
	if fault.Is(err, fault.NoSuchFile) && errors.Is(err, fs.ErrNotExist) {
		return public, "", fault.New(fault.NotFound, fault.NoKey, "%s is neither a key here nor a file", untrusted.Line(arg)).
			WithHints(append(h.Keystore.Near(arg),
				fault.Run("githandoff", "key", "show").Because("lists the keys that are here"),
				exported())...)
	}
	if err != nil {
		return public, "", err
	}
	public, err = sign.ParsePublic(b)
	if err != nil {
		refused := fault.As(fault.About(untrusted.Line(arg), err))
		return public, "", refused.WithHints(append(refused.Hints, exported())...)
	}
	return public, "", nil
}

// exported is the hint for an argument that is no file, or a file without a public key.
func exported() fault.Hint {
	return fault.See("key export").Because("the owner of a key exports or publishes it")
}

func (h *Handler) byID(ctx context.Context, kid sign.KID) (public sign.PublicKey, name string, err error) {
	infos, err := h.Keystore.List()
	if err != nil {
		return public, "", err
	}
	for _, info := range infos {
		if info.Err == nil && info.Public.KID() == kid {
			return info.Public, info.Name, nil
		}
	}
	if public, err = Pinned(h.Trust, kid); fault.Is(err, fault.NoKey) {
		public, err = h.Published(ctx, kid, err)
	}
	return public, "", err
}

// Pinned returns the key trusted here under an id or a fingerprint.
func Pinned(trust *sign.Trust, kid string) (sign.PublicKey, error) {
	k, ok := trust.Lookup(sign.FromFingerprint(kid))
	if !ok {
		return sign.PublicKey{}, fault.New(fault.NotFound, fault.NoKey, "no key %q is here", kid).
			WithHints(fault.Run("githandoff", "key", "show").Because("lists the keys whose private half is here"),
				fault.Run("githandoff", "trust", "list").Because("lists the keys that are trusted here"))
	}
	return k.Public()
}

// fill completes the entry of a key new in its file. An existing key keeps its entry.
func fill(e *sign.TrustEntry, name string) error {
	root := slices.Contains(e.Roles, sign.RoleRoot)
	switch {
	case root && len(e.Principals) == 0 && strings.Contains(name, "@"):
		e.Principals = []string{"user:" + name}
	case root || len(e.Agents) > 0:
	case handoff.CheckAgent(name) == nil:
		e.Agents = []string{name}
	case name != "":
		return usage("%s is not an agent's name: name the owner of the key", untrusted.Line(name)).WithHints(fault.See("trust add").Because("--agent names the agent of the key"))
	default:
		return usage("name the owner of the key").WithHints(fault.See("trust add").Because("--agent names the agent of the key"))
	}
	if len(e.Roles) == 0 {
		e.Roles = []string{sign.RoleSender, sign.RoleRecipient}
	}
	return nil
}

// Compared are the last characters of a fingerprint that a person must confirm. For OpenPGP they
// are 64 bits. Eight characters, 32 bits, do not suffice: another key that ends with them is found
// in minutes.
const Compared = 16

// Confirm trusts a published key under its claimed name, if typed has the last characters of its
// fingerprint, whatever blanks and case.
func (h *Handler) Confirm(public sign.PublicKey, typed string) (name string, err error) {
	plain := func(s string) string { return strings.ToUpper(strings.Join(strings.Fields(s), "")) }
	want := plain(sign.Fingerprint(public.KID()))
	if len(want) <= Compared || plain(typed) != want[len(want)-Compared:] {
		return "", fault.New(fault.Denied, fault.UntrustedKey, "the last %d characters of the fingerprint differ: the key is not its owner's, or they were mistyped", Compared).
			WithHints(fault.Run("githandoff", "trust", "review").Because("shows it again"))
	}
	name, _ = team.Claimed(public)
	entry := sign.TrustEntry{KID: public.KID(), Key: public.Text(), Agents: []string{name}, Roles: []string{sign.RoleSender, sign.RoleRecipient}}
	return name, h.Trust.Add(h.Path, entry)
}

// Retire ends the trust in the key named by arg. Entries of the lanes already in repo still count;
// repo is nil outside of a repository.
func (h *Handler) Retire(ctx context.Context, repo *refs.Repo, arg string) (key sign.Key, err error) {
	kid, err := h.trusted(arg)
	if err != nil {
		return key, err
	}
	var seen map[string]string
	if repo != nil {
		if seen, err = lifecycle.Seen(ctx, repo); err != nil {
			return key, err
		}
	}
	if err := h.Trust.Retire(h.Path, kid, h.Now(), seen); err != nil {
		return key, err
	}
	key, _ = h.Trust.Lookup(kid)
	return key, nil
}

// trusted finds the key to retire: by its id, by its name in the keystore, or by the agent or
// person whose only key it is. A retired key never comes back. So a name with a second meaning is
// refused: another key has it as well, or the key also acts under another name.
func (h *Handler) trusted(arg string) (kid sign.KID, err error) {
	if kid := sign.FromFingerprint(arg); sign.CheckKID(kid) == nil {
		return kid, nil
	}
	own, err := h.Keystore.Public(arg)
	if code := fault.CodeOf(err); err != nil && code != fault.NotFound && code != fault.Usage {
		return "", err
	}
	stored := err == nil
	var found []sign.TrustEntry
	exact := true
	for _, e := range h.Trust.Entries() {
		names := append(slices.Clone(e.Agents), e.Principals...)
		mine := stored && e.KID == own.KID()
		if e.Retired != "" || !mine && !e.IsFor(arg) && !slices.Contains(e.Principals, arg) {
			continue
		}
		found = append(found, e)
		exact = mine || !stored && len(names) == 1
	}
	list := fault.Run("githandoff", "trust", "list").Because("lists the keys by their ids")
	switch {
	case len(found) == 1 && exact:
		return found[0].KID, nil
	case len(found) > 0:
		return "", fault.New(fault.Usage, fault.Ambiguous, "%s may mean another key: name the key by its id", untrusted.Line(arg)).
			WithHints(append(idsOf(found), list)...)
	}
	refusal := usage("%s is neither a key id nor the name of a key trusted here", untrusted.Line(arg))
	if _, near := sign.NearestAgent(h.Trust, arg); near != "" {
		return "", refusal.WithHints(fault.Instead(arg, near), list)
	}
	return "", refusal.WithHints(list)
}

// idsOf returns the hints to retire keys by their ids.
func idsOf(keys []sign.TrustEntry) (hints []fault.Hint) {
	for _, e := range keys[:min(len(keys), fault.MaxHints-1)] {
		names := append(slices.Clone(e.Agents), e.Principals...)
		hints = append(hints, fault.Run("githandoff", "trust", "remove", e.KID).Because("the key of %s", untrusted.Line(strings.Join(names, ", "))))
	}
	return hints
}

func usage(format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, fault.BadUsage, format, args...)
}
