// Package sign makes and checks signatures over bytes, keeps private keys, and holds the
// list of trusted public keys with their roles and limits.
//
// # Names of keys
//
// A [KID] is "openpgp:" + 40 lower-case hex digits (the fingerprint of a v4
// primary key) or "ssh:SHA256:" + 43 characters of unpadded base64 (as
// ssh-keygen -l prints it).
//
// # Signatures
//
// There are two kinds, both detached and over exactly the bytes given, and of
// each only one spelling is written or accepted:
//
//	-----BEGIN PGP SIGNATURE-----        -----BEGIN SSH SIGNATURE-----
//	                                     base64, lines of 70
//	base64, lines of 64                  -----END SSH SIGNATURE-----
//	=crc24 in base64
//	-----END PGP SIGNATURE-----
//
// Lines end in LF, the last one too. There are no headers, nothing stands before or after, and
// decoding and encoding again gives the same bytes. gpg and ssh-keygen write them so, and git
// verify-commit accepts such text in the gpgsig header of a commit, further lines indented by
// a space.
//
// OpenPGP (RFC 9580): exactly one signature packet of version 4, type 0x00 (binary), SHA-256,
// SHA-384 or SHA-512, EdDSA over Ed25519 (algorithm 22), ECDSA over a NIST curve, or RSA of at
// least 2,048 bits. One creation time and one issuer fingerprint under the signature; outside
// of it nothing but the issuer's short id. No expiry, no critical notation. The signer is the
// pinned primary key or a subkey it bound for signing, valid by its own word at the time in
// the signature. Ours use SHA-512.
//
// SSHSIG (OpenSSH's PROTOCOL.sshsig): version 1, empty reserved field, SHA-256 or SHA-512,
// Ed25519, ECDSA, RSA of at least 2,048 bits with rsa-sha2, or a touched security key of the
// first two kinds; no certificates. The namespace is "git" for commits, "obo@githandoff" for
// tokens, "trust@githandoff" for lists of keys, and must be the one the reader expects. Ours
// use SHA-512.
//
// Looser forms are refused although stock tools accept them: two packets in one armor,
// text-mode signatures, bytes after the packet, a second block. Each of these lets two
// readers see two signers.
//
// # Private keys
//
// A [Keystore] is a directory of NAME.asc files, armored OpenPGP private keys. The directory
// and the files must belong to the effective user and be closed to all others, and must not be
// symbolic links. Files appear complete or not at all. [OpenSigner] also finds keys in the
// environment, in SSH key files, behind ssh-agent and behind gpg. Agents' keys have no
// passphrase; a person's is asked for only if the keystore has a way to ask.
//
// # Sealed texts
//
// [Seal] encrypts to OpenPGP keys, in one spelling (RFC 9580), binary and without armor: 1 to
// 16 session keys (packet 1, version 3), one for the encryption subkey of each recipient, and
// then exactly one packet 18, version 1: encrypted data with a modification detection code.
// Nothing stands between or after. Inside is one literal packet; [Unseal] also reads one
// compressed once, as gpg writes it, up to the caller's limit. gpg --decrypt opens it. The
// sender is not named inside: the signature over the sealed bytes names it.
//
// # Trust
//
// A [Trust] is read from two JSON files, the repository's and the user's. They must belong to
// the effective user, not be writable by others, and not be symbolic links:
//
//	{
//	  "schema": "githandoff-trust/1",
//	  "keys": [
//	    {
//	      "kid": "ssh:SHA256:…",
//	      "key": "ssh-ed25519 AAAA…\n",        armored block or key line
//	      "agents": ["fixer"],                 whose names it acts under
//	      "roles": ["sender", "recipient"],    or "root"
//	      "principals": ["user:alice@example.com"],
//	      "max_scope": ["repo.write:src/*"],   absent: no limit
//	      "from": "2026-01-01T00:00:00Z",      valid from then on,
//	      "until": "2027-01-01T00:00:00Z",     before then,
//	      "retired": "2026-06-01T00:00:00Z",   and not from then on
//	      "comment": "…"
//	    }
//	  ]
//	}
//
// All members of a key but the first two may be absent. A key in both files may do only
// what both allow; if the texts of the key differ, both must agree to each signature. A
// writer holds an exclusive flock on trust.lock in the same directory, and replaces the
// file by renaming.
//
// A removed key stays, with the time: its earlier signatures are still valid.
//
// # The list of a team
//
// A [Team] is a list published by a root key for those who pinned it: a JSON file like a trust
// file, with the schema githandoff-team/2 and, besides the keys,
//
//	"home": "git+https://example.com/acme/client",   where it is published
//	"serial": 7,                                     higher in each later one
//	"at": "2026-11-20T22:00:00Z",
//	"signer": "openpgp:…",
//
// and a detached signature over exactly its bytes, as SSHSIG in the namespace
// "trust@githandoff". [Trust.OpenTeam] verifies it, [Trust.Adopt] remembers it beside the
// repository's trust file. Each root has a list of its own, and signs no entry of another
// root: so no entry gets wider on its way from one list to the next. Its keys count within the
// limits of their signer, never as signers of lists. It only shortens the time of a key pinned
// here as well, and only if the key is within the signer's limits and no root as wide as the
// signer.
//
// # Verification
//
// Verification comes in two steps. [Trust.Verify] finds the signer among the pinned keys;
// [Key.MayAct] and [Key.ValidAt] decide whether it was entitled at a time.
package sign
