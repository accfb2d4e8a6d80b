// Package systemcredentials holds the credentials that the ResourceManager has got for applications that came without a token for HDFS, or that
// outlive theirs (Hadoop: NMContext.getSystemCredentialsForApps, yarn.resourcemanager.proxy-user-privileges.enabled). The node's own work for
// these applications uses them, which is localizing and log aggregation; their containers don't get them.
package systemcredentials

import (
	"fmt"
	"slices"
	"sync"

	"heddle/nm/application"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Held are the credentials that the node has. The zero value has none. It is safe for concurrent use.
type Held struct {
	mu sync.Mutex
	of map[records.ApplicationID]*token.Credentials
}

// Set replaces all credentials by those of a heartbeat's reply, unless it brings none: ResourceManagers send them after a change alone. Those
// that can't be read are left out, and named in the error.
func (h *Held) Set(all []*pb.SystemCredentialsForApps) error {
	if len(all) == 0 {
		return nil
	}
	of, err := make(map[records.ApplicationID]*token.Credentials, len(all)), error(nil)
	for _, m := range all {
		app := records.ApplicationIDFrom(m.GetAppId())
		c, wrong := token.DecodeCredentials(m.GetCredentialsForApp())
		if wrong != nil {
			err = fmt.Errorf("the ResourceManager's credentials for %v: %w", app, wrong)
			continue
		}
		of[app] = c
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of = of
	return err
}

// For returns the credentials with which to work for an application whose container brought its own. Tokens of the ResourceManager's come
// first, and stand for the container's of the same service.
func (h *Held) For(app records.ApplicationID, own []byte) []byte {
	h.mu.Lock()
	system := h.of[app]
	h.mu.Unlock()
	if system == nil {
		return own
	}
	both := &token.Credentials{}
	for i, t := range system.Tokens {
		both.SetToken(fmt.Sprintf("system %d", i), t.Token) // which no alias of the container's replaces
	}
	if c, err := token.DecodeCredentials(own); err == nil {
		both.Secrets = c.Secrets
		for _, t := range c.Tokens {
			if !slices.ContainsFunc(system.Tokens, func(s token.NamedToken) bool {
				return s.Token.Kind == t.Token.Kind && s.Token.Service == t.Token.Service
			}) {
				both.Tokens = append(both.Tokens, t)
			}
		}
	}
	encoded, err := both.Encode(token.FormatWritable)
	if err != nil {
		return own // can't be: both were decoded
	}
	return encoded
}

// OfUser returns the tokens of those applications that are a user's, as For does; the newest application's first: an old one's may have been cancelled.
func (h *Held) OfUser(user string, apps []application.Info) (tokens []token.Token) {
	apps = slices.SortedFunc(slices.Values(apps), func(a, b application.Info) int { return b.ID.Compare(a.ID) })
	for _, app := range apps {
		if app.User != user {
			continue
		}
		c, err := token.DecodeCredentials(h.For(app.ID, app.Tokens))
		if err != nil {
			continue // it has none
		}
		for _, t := range c.Tokens {
			tokens = append(tokens, t.Token)
		}
	}
	return tokens
}
