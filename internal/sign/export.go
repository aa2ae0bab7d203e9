package sign

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"githandoff/internal/durable"
	"githandoff/internal/private"
)

// Export writes into dir the files stock tools need to agree with this Trust:
//
//	allowed_signers  the SSH keys, for gpg.ssh.allowedSignersFile and ssh-keygen -Y verify:
//	                 agents (else principals, else the KID) as principals, all our namespaces,
//	                 validity; UTC times need OpenSSH 9.1
//	pubring.gpg      the OpenPGP keys as packets one after the other, for gpg --import
//	                 and gpgv --keyring
//
// gpg knows no time limit on trust: retired keys are left out of pubring.gpg.
func (t *Trust) Export(dir string) error {
	if err := private.MakeDir(dir); err != nil {
		return err
	}
	var signers, ring bytes.Buffer
	for _, k := range KeysOf(t) {
		public, err := k.Public()
		if err != nil {
			return err
		}
		switch {
		case public.IsSSH():
			signers.WriteString(allowedSigner(k, public))
		case k.Entry().Retired == "":
			ring.Write(public.raw)
		}
	}
	if err := durable.WriteFile(filepath.Join(dir, "allowed_signers"), signers.Bytes(), 0o644); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, "pubring.gpg"), ring.Bytes(), 0o644)
}

// allowedSigner returns one line as ssh-keygen(1) describes it under ALLOWED SIGNERS.
func allowedSigner(k Key, public PublicKey) string {
	e := k.Entry()
	names := e.Agents
	if len(names) == 0 {
		names = e.Principals
	}
	if len(names) == 0 {
		names = []string{e.KID}
	}
	line := fmt.Sprintf("%s namespaces=%q", strings.Join(names, ","), strings.Join([]string{NamespaceGit, namespaceOBO, NamespaceTrust, NamespaceInvite}, ","))
	from, until, retired := k.window()
	if until.IsZero() || !retired.IsZero() && retired.Before(until) {
		until = retired
	}
	const layout = "20060102150405Z"
	if !from.IsZero() {
		line += fmt.Sprintf(",valid-after=%q", from.UTC().Format(layout))
	}
	if !until.IsZero() {
		line += fmt.Sprintf(",valid-before=%q", until.UTC().Format(layout))
	}
	return line + " " + public.text
}
