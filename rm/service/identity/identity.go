// Package identity says under which names callers are known: with Kerberos tokens have full names, and all else has short ones.
package identity

import (
	"errors"
	"slices"
	"strings"

	"heddle/yarn/ipc"
	"heddle/yarn/kerberos"
)

// Names holds the identities of a ResourceManager's callers.
type Names struct {
	Login    string                                    // the user who runs the ResourceManager
	Kerberos *kerberos.Acceptor                        // checks tickets; nil: the cluster has no Kerberos
	Rules    func(name string) (short string, _ error) // nil: the first part of a name counts
}

// Proven has a port's clients prove by Kerberos who they are, if the cluster has it.
func (n *Names) Proven(cfg ipc.ServerConfig, mode ipc.AuthMode) ipc.ServerConfig {
	if n.Kerberos != nil {
		cfg.Kerberos, cfg.Auth = n.Kerberos, mode
	}
	return cfg
}

// Short returns the short name of a user.
func (n *Names) Short(user string) (string, error) {
	if n.Kerberos != nil && n.Rules != nil {
		short, err := n.Rules(user)
		if err != nil {
			return "", ipc.NewException("java.lang.RuntimeException", "%v", err)
		}
		return short, nil
	}
	if i := strings.IndexAny(user, "/@"); i >= 0 {
		return user[:i], nil
	}
	return user, nil
}

// IsLogin reports whether a name is that of the ResourceManager's own account.
func (n *Names) IsLogin(user string) bool {
	if n.Kerberos != nil {
		return user == n.Kerberos.Principal
	}
	return user == n.Login
}

// Of returns the names of a caller in tokens.
func (n *Names) Of(call *ipc.Call) (user, realUser string) {
	if n.Kerberos != nil {
		return call.FullUser, call.FullRealUser
	}
	return call.User, call.RealUser
}

// ByTicket refuses operations that need a Kerberos ticket to callers with a token. done is what can't be done to a delegation token.
func (n *Names) ByTicket(call *ipc.Call, done string) error {
	if n.Kerberos == nil || call.Auth == ipc.AuthMethodKerberos {
		return nil
	}
	return AsYARN(ipc.NewException(ipc.IOException, "Delegation Token can be %s only with kerberos authentication", done))
}

// AsYARN gives an error the class that RPC's clients get: they try an IOException again for minutes.
func AsYARN(err error) error {
	e := (*ipc.Exception)(nil)
	if !errors.As(err, &e) || !slices.Contains([]string{ipc.IOException, ipc.AccessControlException, ipc.InvalidToken}, e.Class) {
		return err
	}
	return ipc.NewException(ipc.YarnException, "%s: %s", e.Class, e.Text)
}

// IsOn reports whether a caller has proved by Kerberos that its account is one of a host, as that of a NodeManager for its node.
func IsOn(call *ipc.Call, host string) bool {
	name, _, _ := strings.Cut(call.Principal, "@")
	_, of, _ := strings.Cut(name, "/")
	return call.Auth == ipc.AuthMethodKerberos && of != "" && strings.EqualFold(of, host)
}
