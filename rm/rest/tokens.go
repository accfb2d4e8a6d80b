package rest

import (
	"crypto/hmac"
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
	if err != nil {
		return "", "", err
	}
	if !hmac.Equal(t.Password, b.Password) {
		return "", "", ipc.NewException(ipc.InvalidToken, "token of user %s has a wrong password", b.User)
	}
	return b.User, b.RealUser, nil
}

type delegationToken struct {
	Token   string `yarn:"token"`
	Renewer string `yarn:"renewer"`
}

// routeTokens answers requests for delegation tokens at YARN's own paths, which need Kerberos. Without Kerberos clients get tokens with
// the parameter op.
func (s *server) routeTokens(api *yarnrest.API) {
	refuse := func(c *yarnrest.Call) (yarnrest.Reply, error) {
		return yarnrest.Say(http.StatusForbidden, "Delegation token operations can only be carried out on a Kerberos authenticated "+
			"channel. Expected auth type is kerberos, got type %s", auth.From(c.Context()).Method), nil
	}
	withBody := func(c *yarnrest.Call) (yarnrest.Reply, error) {
		if err := c.Decode(yarnrest.Target{Root: "delegation-token", Value: &delegationToken{}}); err != nil {
			return yarnrest.Reply{}, err
		}
		return refuse(c)
	}
	base := clusterBase + "/delegation-token"
	api.Handle(base, yarnrest.Methods{
		http.MethodPost:   {Handle: withBody, Takes: yarnrest.TakesDocument},
		http.MethodDelete: {Handle: refuse},
	})
	api.Handle(base+"/expiration", yarnrest.Methods{http.MethodPost: {Handle: refuse}})
}
