package openid

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// attempt holds a login from its beginning to its end. The browser keeps it in a cookie, so that any member can end it.
type attempt struct {
	State, Nonce, Verifier string
	Back                   string // path to go to afterwards
	Ends                   int64  // ms since 1970
}

const (
	cookiePrefix = "heddle.openid." // and the first letters of the state: a browser may sign in in two tabs
	validity     = 10 * time.Minute // of an attempt
	longestBack  = 2048             // bytes of a path to go back to
	letters      = 8                // of the state, in the name of the cookie
)

// Begin sends a browser to the provider. back is the path of this server to return to; what is no such path counts as the first page.
func (c *Client) Begin(w http.ResponseWriter, r *http.Request, back string) error {
	p, err := c.provider(r.Context())
	if err != nil {
		return err
	}
	secrets := c.Secrets()
	if len(secrets) == 0 {
		return errors.New("this ResourceManager has no secret to sign cookies with yet: try again in a second")
	}
	a := attempt{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Back: within(back),
		Ends: c.Now().Add(validity).UnixMilli(),
	}
	http.SetCookie(w, c.cookie(r, a.State, seal(secrets[0], a), int(validity.Seconds())))
	to := c.config(p, r).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to, http.StatusFound)
	return nil
}

// Finish ends a login at CallbackPath. It returns who has signed in, and the path to go back to. The person may see the error.
func (c *Client) Finish(w http.ResponseWriter, r *http.Request) (user, back string, err error) {
	query := r.URL.Query()
	state := query.Get("state")
	a, err := c.attemptOf(r, state)
	if err != nil {
		return "", "", err
	}
	http.SetCookie(w, c.cookie(r, state, "", -1)) // an attempt counts once in a browser, and a code once at the provider
	if said := query.Get("error"); said != "" {
		return "", a.Back, fmt.Errorf("the OpenID provider says %.100q: %.500s", said, query.Get("error_description"))
	}
	p, err := c.provider(r.Context())
	if err != nil {
		return "", a.Back, err
	}
	ctx := oidc.ClientContext(r.Context(), c.web)
	token, err := c.config(p, r).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return "", a.Back, fmt.Errorf("the OpenID provider %s doesn't take the code that it has given: %w", c.Issuer, err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return "", a.Back, fmt.Errorf("the OpenID provider %s has sent no id_token", c.Issuer)
	}
	id, err := p.verifier.Verify(ctx, raw)
	if err != nil {
		return "", a.Back, fmt.Errorf("the provider's token isn't taken: %w", err)
	}
	if id.Nonce != a.Nonce {
		return "", a.Back, errors.New("the provider's token is for another login: sign in again")
	}
	claims, err := c.claims(ctx, p, id, token)
	if err != nil {
		return "", a.Back, err
	}
	user, err = c.user(claims)
	return user, a.Back, err
}

// claims returns what the provider says of a user: in the token, or when it is asked, as many put only what they must into tokens.
func (c *Client) claims(ctx context.Context, p *provider, id *oidc.IDToken, token *oauth2.Token) (claims map[string]any, err error) {
	if err := id.Claims(&claims); err != nil {
		return nil, fmt.Errorf("the token's claims: %w", err)
	}
	if claims[c.UserClaim] != nil || p.UserInfoEndpoint() == "" {
		return claims, nil
	}
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, fmt.Errorf("the OpenID provider %s doesn't say who has signed in: %w", c.Issuer, err)
	}
	if info.Subject != id.Subject {
		return nil, errors.New("the OpenID provider speaks of another user than its token")
	}
	claims = nil
	return claims, info.Claims(&claims)
}

// config describes this cluster to the provider, as a request's browser sees it.
func (c *Client) config(p *provider, r *http.Request) *oauth2.Config {
	redirect := c.Redirect
	if redirect == "" {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		redirect = scheme + "://" + r.Host + CallbackPath
	}
	return &oauth2.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, Endpoint: p.endpoint, RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, c.Scopes...),
	}
}

// within returns a path of this server, whatever a link says.
func within(back string) string {
	if !strings.HasPrefix(back, "/") || strings.HasPrefix(back, "//") || len(back) > longestBack || strings.HasPrefix(back, "/openid/") ||
		strings.ContainsFunc(back, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) {
		return "/cluster"
	}
	return back
}

func (c *Client) cookie(r *http.Request, state, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookiePrefix + state[:min(letters, len(state))], Value: value, Path: "/openid", MaxAge: age,
		Secure: r.TLS != nil || strings.HasPrefix(c.Redirect, "https:"), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// attemptOf returns the attempt that a browser ends.
func (c *Client) attemptOf(r *http.Request, state string) (a attempt, err error) {
	again := errors.New("this browser has begun no login here, or too long ago: sign in again")
	if len(state) < letters || strings.ContainsFunc(state[:letters], func(r rune) bool { return r <= ' ' || r > '~' }) {
		return a, again
	}
	kept, err := r.Cookie(cookiePrefix + state[:letters])
	if err != nil {
		return a, again
	}
	a, ok := open(c.Secrets(), kept.Value)
	if !ok || !hmac.Equal([]byte(a.State), []byte(state)) || c.Now().UnixMilli() > a.Ends {
		return attempt{}, again
	}
	return a, nil
}

// seal returns an attempt as text that only those who know the secret can make.
func seal(secret []byte, a attempt) string {
	b, _ := json.Marshal(a) // strings and a number: never fails
	text := base64.RawURLEncoding.EncodeToString(b)
	return text + "." + signature(secret, text)
}

// open reads a sealed attempt. Any of the secrets may have sealed it.
func open(secrets [][]byte, sealed string) (a attempt, ok bool) {
	text, given, _ := strings.Cut(sealed, ".")
	for _, s := range secrets {
		if hmac.Equal([]byte(signature(s, text)), []byte(given)) {
			b, err := base64.RawURLEncoding.DecodeString(text)
			return a, err == nil && json.Unmarshal(b, &a) == nil
		}
	}
	return a, false
}

// signature signs for this purpose alone: the same secrets sign the cookies of those who have signed in.
func signature(secret []byte, text string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("heddle.openid\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
