package openid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Login holds a program's proof of its user.
type Login struct {
	Token   string    // for Authorization: Bearer
	User    string    // the name that the provider has
	Ends    time.Time // of Token
	Refresh string    // for Renew; "" if the provider gives none
}

// Device lets the user of a program without a browser sign in with any browser (RFC 8628). show tells the user which address to open, and the code
// to enter there.
func (c *Client) Device(ctx context.Context, show func(address, code string)) (Login, error) {
	p, err := c.provider(ctx)
	if err != nil {
		return Login{}, err
	}
	o := c.programs(p)
	if o.Endpoint.DeviceAuthURL == "" {
		return Login{}, fmt.Errorf("the OpenID provider %s has no device authorization: take a token from it in another way", c.Issuer)
	}
	ctx = oidc.ClientContext(ctx, c.web)
	begun, err := o.DeviceAuth(ctx)
	if err != nil {
		return Login{}, fmt.Errorf("the OpenID provider %s begins no login: %w", c.Issuer, err)
	}
	address := begun.VerificationURIComplete
	if address == "" {
		address = begun.VerificationURI
	}
	show(address, begun.UserCode)
	token, err := o.DeviceAccessToken(ctx, begun)
	if err != nil {
		return Login{}, fmt.Errorf("the OpenID provider %s: %w", c.Issuer, err)
	}
	return c.login(ctx, p, token)
}

// Renew continues a login whose token ends.
func (c *Client) Renew(ctx context.Context, refresh string) (Login, error) {
	p, err := c.provider(ctx)
	if err != nil {
		return Login{}, err
	}
	ctx = oidc.ClientContext(ctx, c.web)
	token, err := c.programs(p).TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return Login{}, fmt.Errorf("the OpenID provider %s doesn't renew the login: %w", c.Issuer, err)
	}
	return c.login(ctx, p, token)
}

// programs describes this cluster to the provider for programs.
func (c *Client) programs(p *provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, Endpoint: p.endpoint,
		Scopes: append([]string{oidc.ScopeOpenID}, c.Scopes...),
	}
}

func (c *Client) login(ctx context.Context, p *provider, token *oauth2.Token) (Login, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Login{}, errors.New("the OpenID provider has sent no id_token")
	}
	id, err := p.verifier.Verify(ctx, raw)
	if err != nil {
		return Login{}, fmt.Errorf("the provider's token isn't taken: %w", err)
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return Login{}, fmt.Errorf("the token's claims: %w", err)
	}
	user, err := c.user(claims) // in the token itself, as ResourceManagers don't ask further
	return Login{Token: raw, User: user, Ends: id.Expiry, Refresh: token.RefreshToken}, err
}
