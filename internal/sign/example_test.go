package sign_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"githandoff/internal/sign"
)

// An agent gets a key and signs with it. Its signature counts after the key was pinned.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	now := time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)
	ks := sign.Keystore{Dir: filepath.Join(dir, "keys"), Now: func() time.Time { return now }}
	signer, err := ks.Generate("investigator", "investigator", nil, now, rand.Reader)
	if err != nil {
		panic(err)
	}
	message := []byte("offered ho_01 to fixer\n")
	armored, err := signer.Sign(context.Background(), sign.NamespaceGit, message)
	if err != nil {
		panic(err)
	}

	path := filepath.Join(dir, "trust.json")
	trust, err := sign.LoadTrust(path, "")
	if err != nil {
		panic(err)
	}
	_, err = trust.Verify(sign.NamespaceGit, message, armored)
	fmt.Println("before:", err != nil)

	if err := trust.Add(path, sign.TrustEntry{
		KID: signer.KID(), Key: signer.Public().Text(),
		Agents: []string{"investigator"}, Roles: []string{sign.RoleSender},
	}); err != nil {
		panic(err)
	}
	key, err := trust.Verify(sign.NamespaceGit, message, armored)
	fmt.Println("signature:", err)
	fmt.Println("as sender:", key.MayAct(sign.RoleSender, "investigator", now))
	fmt.Println("as root:", key.MayAct(sign.RoleRoot, "", now) == nil)
	// Output:
	// before: true
	// signature: <nil>
	// as sender: <nil>
	// as root: false
}
