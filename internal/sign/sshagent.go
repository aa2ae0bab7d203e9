package sign

import (
	"context"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// agentSigner signs through ssh-agent, over a new connection each time, to notice an agent
// restarted or locked meanwhile.
type agentSigner struct {
	identity
	socket  string
	waiting func() (done func())
}

func (s *agentSigner) Sign(ctx context.Context, namespace string, message []byte) ([]byte, error) {
	defer s.waiting()()
	var armored []byte
	err := withAgentKey(ctx, s.socket, s.public.kid, func(key ssh.Signer) (err error) {
		armored, err = signSSH(key, namespace, message)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := Verify(s.public, namespace, message, armored); err != nil {
		return nil, fmt.Errorf("read the answer of ssh-agent: %w", err)
	}
	return armored, nil
}

func (o Options) fromAgent(ctx context.Context, kid KID) (Signer, error) {
	s := &agentSigner{socket: o.SSHAuthSock, waiting: o.waitingFor("ssh-agent")}
	err := withAgentKey(ctx, s.socket, kid, func(key ssh.Signer) error {
		plain, err := ssh.ParsePublicKey(key.PublicKey().Marshal()) // parse it again: the agent's type wraps it
		if err != nil {
			return badKey("read a key of ssh-agent: %w", err)
		}
		s.public, err = newSSHPublic(plain)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// withAgentKey talks to ssh-agent about one key, for as long as a signer may
// take: the agent may be waiting for somebody to confirm or to touch a token.
func withAgentKey(ctx context.Context, socket string, kid KID, use func(ssh.Signer) error) error {
	if socket == "" {
		return fault.New(fault.Unavailable, fault.KeyLocked, "ssh-agent does not hold key %s: $SSH_AUTH_SOCK is not set", kid).
			WithHints(fault.Fact("start this where ssh-agent runs, or start one: eval \"$(ssh-agent)\""))
	}
	ctx, cancel := context.WithTimeout(ctx, gitexec.SignerTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fault.New(fault.Unavailable, fault.SignerUnavailable, "connect to ssh-agent: %w", err).
			WithHints(fault.Run("ssh-add", "-l").Because("says whether an agent answers at $SSH_AUTH_SOCK"))
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	keys, err := agent.NewClient(conn).Signers()
	if err != nil {
		return agentFailed(err)
	}
	for _, key := range keys {
		if sshKID(key.PublicKey()) != kid {
			continue
		}
		err := use(key)
		if err != nil && fault.As(err) == nil {
			return agentFailed(err).WithHints(fault.Fact("somebody may have to confirm each use of the key, or to touch a token"))
		}
		return err
	}
	return notInAgent(kid)
}

func agentFailed(err error) *fault.Error {
	return fault.New(fault.Unavailable, fault.SignerUnavailable, "talk to ssh-agent: %w", err)
}

func notInAgent(kid KID) error {
	return fault.New(fault.Unavailable, fault.KeyLocked, "ssh-agent does not hold key %s", kid).
		WithHints(fault.Run("ssh-add", "-l").Because("lists its keys; ssh-add with the file of a key adds one"))
}
