package auth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"heddle/conf"
	"heddle/yarn/rest"
	"heddle/yarn/rest/auth/openid"
)

// SignIn knows people and programs by an OpenID provider (openid.Client).
type SignIn interface {
	// Begin sends a browser to the provider; back is the path to return to.
	Begin(w http.ResponseWriter, r *http.Request, back string) error
	// Finish returns who has signed in, by the name that the provider has, and the path to return to.
	Finish(w http.ResponseWriter, r *http.Request) (user, back string, err error)
	// Bearer returns the user of a token of the provider's, by the name that the provider has.
	Bearer(ctx context.Context, raw string) (user string, err error)
}

const bearerScheme = "Bearer"

// signInFrom returns a client of the configuration's OpenID provider; nil if there is none. Only ResourceManagers have one: people sign in there, and
// read logs there.
func (f *Filter) signInFrom(c *conf.Config, d Daemon) (SignIn, error) {
	if d.Role != "resourcemanager" {
		return nil, nil
	}
	s, ok, err := openid.FromConf(c)
	if err != nil || !ok {
		return nil, err
	}
	s.Secrets, s.Now = f.secrets, func() time.Time { return f.Now() }
	return openid.New(s), nil
}

// signsIn serves the paths by which people sign in. done is false for other paths.
func (f *Filter) signsIn(w http.ResponseWriter, r *http.Request) (done bool) {
	if f.SignIn == nil || r.Method != http.MethodGet {
		return false
	}
	switch r.URL.Path {
	case openid.LoginPath:
		f.begin(w, r, r.URL.Query().Get("to"))
	case openid.CallbackPath:
		f.finish(w, r)
	default:
		return false
	}
	return true
}

func (f *Filter) begin(w http.ResponseWriter, r *http.Request, back string) {
	if err := f.SignIn.Begin(w, r, back); err != nil {
		rest.ErrorPage(w, r, http.StatusServiceUnavailable, err.Error())
	}
}

func (f *Filter) finish(w http.ResponseWriter, r *http.Request) {
	name, back, err := f.SignIn.Finish(w, r)
	if err != nil {
		rest.ErrorPage(w, r, http.StatusForbidden, err.Error())
		return
	}
	t, err := f.named(name)
	if err != nil {
		rest.ErrorPage(w, r, http.StatusForbidden, err.Error())
		return
	}
	f.setCookie(w.Header(), r, t)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, back, http.StatusFound)
}

// named returns the token of a user whom the provider names.
func (f *Filter) named(name string) (token, error) {
	short, err := f.short(name)
	if err != nil {
		return token{}, &wrong{http.StatusForbidden, fmt.Sprintf("hadoop.security.auth_to_local has no rule for %s, as the OpenID provider names this user: %v", name, err)}
	}
	return f.newToken(short, name), nil
}

// byBearer identifies a program by a token of the provider's.
func (f *Filter) byBearer(r *http.Request, raw string) (t token, known bool, err error) {
	name, err := f.SignIn.Bearer(r.Context(), raw)
	if err != nil {
		return token{}, false, &wrong{http.StatusUnauthorized, err.Error()}
	}
	t, err = f.named(name)
	return t, err == nil, err
}

// bearerToken returns the token of a request's header.
func bearerToken(r *http.Request) (raw string, sent bool) {
	scheme, raw, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(raw), strings.EqualFold(scheme, bearerScheme)
}

// loginLink returns where a browser signs in, and comes back to its page; "" if it can't.
func (f *Filter) loginLink(r *http.Request) string {
	if f.SignIn == nil {
		return ""
	}
	return openid.LoginPath + "?to=" + url.QueryEscape(r.URL.RequestURI())
}
