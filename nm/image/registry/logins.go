package registry

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"oras.land/oras-go/v2/registry/remote/auth"

	"heddle/yarn/pb"
	"heddle/yarn/token"
)

// TokenKind is the kind of tokens that carry a login to a registry (Hadoop's DockerCredentialTokenIdentifier). Hadoop's clients make them
// of a config.json of Docker's.
const TokenKind = "DOCKER_CLIENT_CREDENTIAL_TOKEN"

// MaxConfig bounds a config.json of Docker's, in bytes.
const MaxConfig = 1 << 20

// maxLogins bounds the logins of a file, or of an application.
const maxLogins = 1000

// Logins are names and passwords by registry. Printing them reveals nothing.
type Logins struct {
	by map[string]auth.Credential
}

// String implements fmt.Stringer.
func (l Logins) String() string { return fmt.Sprintf("%d logins", len(l.by)) }

// GoString implements fmt.GoStringer.
func (l Logins) GoString() string { return l.String() }

// configJSON is Docker's config.json, as far as it is used.
type configJSON struct {
	Auths map[string]struct {
		Auth     string `json:"auth"`
		Username string `json:"username"`
		Password string `json:"password"`
		Identity string `json:"identitytoken"`
		Registry string `json:"registrytoken"`
	} `json:"auths"`
}

// ParseConfig reads the logins of a config.json of Docker's. Programs that it names (credsStore, credHelpers) are not run.
func ParseConfig(text []byte) (l Logins, err error) {
	if len(text) > MaxConfig {
		return l, fmt.Errorf("it has more than %d bytes", MaxConfig)
	}
	var c configJSON
	if err := json.Unmarshal(text, &c); err != nil {
		return l, errors.New("it is not the JSON of a config.json of Docker's") // the error might have a password in it
	}
	if len(c.Auths) > maxLogins {
		return l, fmt.Errorf("it has logins to %d registries; at most %d may be there", len(c.Auths), maxLogins)
	}
	for at, a := range c.Auths {
		cred := auth.Credential{Username: a.Username, Password: a.Password, RefreshToken: a.Identity, AccessToken: a.Registry}
		if a.Auth != "" {
			if cred.Username, cred.Password, err = basic(a.Auth); err != nil {
				return Logins{}, fmt.Errorf("auths of %.200q: %w", at, err)
			}
		}
		if cred != auth.EmptyCredential {
			l.set(at, cred)
		}
	}
	return l, nil
}

// basic reads base64 of NAME:PASSWORD.
func basic(text string) (name, password string, err error) {
	plain, err := base64.StdEncoding.DecodeString(text)
	name, password, ok := strings.Cut(strings.TrimRight(string(plain), "\x00"), ":")
	if err != nil || !ok {
		return "", "", errors.New("its auth is not base64 of NAME:PASSWORD")
	}
	return name, password, nil
}

// OfTokens returns the logins among an application's credentials.
func OfTokens(credentials []byte) (l Logins, err error) {
	if len(credentials) == 0 {
		return l, nil
	}
	c, err := token.DecodeCredentials(credentials)
	if err != nil {
		return l, err
	}
	for _, t := range c.Tokens {
		if t.Token.Kind != TokenKind {
			continue
		}
		id := &pb.DockerCredentialTokenIdentifier{}
		if err := proto.Unmarshal(t.Token.Identifier, id); err != nil {
			return Logins{}, fmt.Errorf("token %.200q of kind %s: %w", t.Alias, TokenKind, err)
		}
		name, password, err := basic(string(t.Token.Password))
		if err != nil {
			return Logins{}, fmt.Errorf("token for registry %.200q: %w", id.GetRegistryUrl(), err)
		}
		if len(l.by) < maxLogins {
			l.set(id.GetRegistryUrl(), auth.Credential{Username: name, Password: password})
		}
	}
	return l, nil
}

// hostOf returns the host of a registry as config.json has it: a host, or a URL such as https://index.docker.io/v1/.
func hostOf(at string) string {
	_, rest, ok := strings.Cut(at, "://")
	if !ok {
		rest = at
	}
	rest, _, _ = strings.Cut(rest, "/")
	switch rest {
	case "index.docker.io", "registry-1.docker.io":
		return Hub
	}
	return strings.ToLower(rest)
}

func (l *Logins) set(at string, c auth.Credential) {
	if l.by == nil {
		l.by = map[string]auth.Credential{}
	}
	l.by[hostOf(at)] = c
}

// Over returns these logins, and others for registries that these have none for.
func (l Logins) Over(others Logins) Logins {
	var all Logins
	for _, from := range []Logins{others, l} {
		for at, c := range from.by {
			all.set(at, c)
		}
	}
	return all
}

// of returns the login to a registry; empty if there is none.
func (l Logins) of(host string) auth.Credential { return l.by[hostOf(host)] }

// mark tells logins to one registry apart, and reveals none. "" stands for none: what was pulled so anyone may pull.
func (l Logins) mark(host string) string {
	c := l.of(host)
	if c == auth.EmptyCredential {
		return ""
	}
	text, err := json.Marshal(c)
	if err != nil {
		return "unknown"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
