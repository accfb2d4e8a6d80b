package rest

import (
	"crypto/hmac"
	"errors"
	"fmt"
	"net/http"

	"heddle/yarn/ipc"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
	"heddle/yarn/token"
)

// Tokens issues and verifies delegation tokens, the same as over RPC.
type Tokens interface {
	NewDelegationToken(owner, realUser, renewer string) (token.Token, error)
	RenewDelegationToken(user string, t token.Token) (until int64, err error)
	CancelDelegationToken(user string, t token.Token) error
	Bearer(identifier []byte) (ipc.Bearer, error)
	// Validity returns a token's identifier, and until when it holds unless it is renewed, in ms since 1970.
	Validity(identifier []byte) (id token.Delegation, renewBy int64, err error)
}

// delegations converts tokens to text for the filter.
type delegations struct{ Tokens }

func (d delegations) Issue(user, realUser, renewer string) (string, error) {
	t, err := d.NewDelegationToken(user, realUser, renewer)
	if err != nil {
		return "", err
	}
	return t.URLString(), nil
}

func (d delegations) Renew(user, text string) (int64, error) {
	t, err := token.ParseURLString(text)
	if err != nil {
		return 0, err
	}
	return d.RenewDelegationToken(user, t)
}

func (d delegations) Cancel(user, text string) error {
	t, err := token.ParseURLString(text)
	if err != nil {
		return err
	}
	return d.CancelDelegationToken(user, t)
}

func (d delegations) Verify(text string) (user, realUser string, err error) {
	t, err := token.ParseURLString(text)
	if err != nil {
		return "", "", err
	}
	b, err := d.Bearer(t.Identifier)
	if err == nil && !hmac.Equal(t.Password, b.Password) {
		err = ipc.NewException(ipc.InvalidToken, "token of user %s has a wrong password", b.User)
	}
	if e := (*ipc.Exception)(nil); errors.As(err, &e) {
		err = fmt.Errorf("%s: %w", e.Class, e) // as a Java exception of another one
	}
	return b.User, b.RealUser, err
}

type delegationToken struct {
	Token   string `yarn:"token,omitempty"`
	Renewer string `yarn:"renewer,omitempty"`
	Owner   string `yarn:"owner,omitempty"`
	Kind    string `yarn:"kind,omitempty"`
	RenewBy int64  `yarn:"expiration-time,omitempty"`
	Max     int64  `yarn:"max-validity,omitempty"`
}

// tokenHeader names the token that a request renews or cancels.
const tokenHeader = "Hadoop-YARN-RM-Delegation-Token"

// routeTokens answers requests for delegation tokens at YARN's own paths, which need Kerberos. Without Kerberos clients get tokens with
// the parameter op.
func (s *server) routeTokens(api *yarnrest.API) {
	t := tokenPaths{s.Tokens, s.tickets}
	base := clusterBase + "/delegation-token"
	api.Handle(base, yarnrest.Methods{
		http.MethodPost:   {Handle: t.get, Takes: yarnrest.TakesDocument},
		http.MethodDelete: {Handle: t.withTicket(t.cancel)},
	})
	api.Handle(base+"/expiration", yarnrest.Methods{http.MethodPost: {Handle: t.withTicket(t.renew)}})
}

// tokenPaths answers at YARN's own paths.
type tokenPaths struct {
	Tokens
	tickets bool // web users have Kerberos tickets
}

// withTicket refuses callers without a Kerberos ticket.
func (p tokenPaths) withTicket(next func(c *yarnrest.Call, id auth.Identity) (yarnrest.Reply, error)) yarnrest.Handler {
	return func(c *yarnrest.Call) (yarnrest.Reply, error) {
		id := auth.From(c.Context())
		switch {
		case p.tickets && id.Method == auth.Bearer:
			return yarnrest.Say(http.StatusForbidden, "Delegation token operations cannot be carried out using delegation token authentication."), nil
		case !p.tickets || id.Method != auth.Kerberos || p.Tokens == nil:
			return yarnrest.Say(http.StatusForbidden, "Delegation token operations can only be carried out on a Kerberos authenticated "+
				"channel. Expected auth type is kerberos, got type %s", id.Method), nil
		}
		return next(c, id)
	}
}

func (p tokenPaths) get(c *yarnrest.Call) (yarnrest.Reply, error) {
	var want delegationToken
	if err := c.Decode(yarnrest.Target{Root: "delegation-token", Value: &want}); err != nil {
		return yarnrest.Reply{}, err
	}
	return p.withTicket(func(_ *yarnrest.Call, caller auth.Identity) (yarnrest.Reply, error) {
		owner, realUser := caller.Owner()
		t, err := p.NewDelegationToken(owner, realUser, want.Renewer)
		if err != nil {
			return yarnrest.Reply{}, err
		}
		id, renewBy, err := p.Validity(t.Identifier)
		if err != nil {
			return yarnrest.Reply{}, err
		}
		return yarnrest.OK("delegation-token", yarnrest.Unwrapped, delegationToken{t.URLString(), id.Renewer, id.Owner, token.KindDelegation, renewBy, id.MaxMS}), nil
	})(c)
}

func (p tokenPaths) renew(c *yarnrest.Call, id auth.Identity) (yarnrest.Reply, error) {
	t, err := named(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	until, err := p.RenewDelegationToken(id.User, t)
	if err != nil {
		return refusedToken(err)
	}
	return yarnrest.OK("delegation-token", yarnrest.Unwrapped, delegationToken{RenewBy: until}), nil
}

func (p tokenPaths) cancel(c *yarnrest.Call, id auth.Identity) (yarnrest.Reply, error) {
	t, err := named(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	canceller, _ := id.Owner()
	if err := p.CancelDelegationToken(canceller, t); err != nil {
		return refusedToken(err)
	}
	return yarnrest.Reply{}, nil
}

// named returns the token that a request is about.
func named(c *yarnrest.Call) (token.Token, error) {
	text := c.Request.Header.Get(tokenHeader)
	if text == "" {
		return token.Token{}, yarnrest.BadRequest("Header '%s' containing encoded token not found", tokenHeader)
	}
	t, err := token.ParseURLString(text)
	if err != nil {
		return t, yarnrest.BadRequest("Could not decode encoded token")
	}
	return t, nil
}

// refusedToken answers with the reason why a token can't be renewed or cancelled.
func refusedToken(err error) (yarnrest.Reply, error) {
	var e *ipc.Exception
	switch {
	case !errors.As(err, &e):
		return yarnrest.Reply{}, err
	case e.Class == ipc.AccessControlException:
		return yarnrest.Say(http.StatusForbidden, "%s", e.Text), nil
	case e.Class == ipc.InvalidToken:
		return yarnrest.Reply{}, yarnrest.BadRequest("%s", e.Text)
	}
	return yarnrest.Reply{}, err
}
