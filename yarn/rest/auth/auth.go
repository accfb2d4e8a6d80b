// Package auth identifies web users as Hadoop's filters do: by a Kerberos ticket (SPNEGO) or, on clusters without Kerberos, by the parameter user.name,
// and afterwards by the signed cookie that the first answer sets. Unlike Hadoop's they also let people sign in at an OpenID provider.
package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"heddle/yarn/kerberos/spnego"
	"heddle/yarn/rest"
)

// Identity says who makes a request.
type Identity struct {
	User   string // "" if unknown
	Real   string // the user that acts for User; "" if it is User
	Method string // YARN's name of the method of authentication: KERBEROS, SIMPLE, simple, TOKEN or null
	// Full is the full name of the user that Kerberos identified, which is Real or User; "" without Kerberos.
	Full string
}

// Owner returns who owns what a request makes, and who makes it for the owner, by their full names; "" if it is the owner.
func (id Identity) Owner() (owner, realUser string) {
	switch {
	case id.Full == "":
		return id.User, id.Real
	case id.Real != "":
		return id.User, id.Full
	}
	return id.Full, ""
}

// Kerberos is YARN's name of the method of requests that a Kerberos ticket identifies, and Bearer of those that a delegation token does.
const (
	Kerberos = "KERBEROS"
	Bearer   = "TOKEN"
)

// OpenID is our name of the method of requests of those who have signed in at an OpenID provider, on clusters without Kerberos.
const OpenID = "OPENID"

// Unnamed is YARN's name of the method of requests that don't say who makes them.
const Unnamed = "null"

type contextKey struct{}

// From returns the identity that the Filter found.
func From(ctx context.Context) Identity {
	id, _ := ctx.Value(contextKey{}).(Identity)
	return id
}

// With returns a context with an identity.
func With(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// Filter identifies who makes a request. Don't change it once it is in use.
type Filter struct {
	// Tickets checks Kerberos tickets; nil takes the parameter user.name instead.
	Tickets *Tickets
	// SignIn knows people by an OpenID provider, beside tickets or instead of the parameter user.name; nil: there is none.
	SignIn SignIn
	// Open are the paths that need no proof, where one is asked for.
	Open map[string]bool
	// Nobody believes no request's claim of its user: all callers are anonymous.
	Nobody bool
	// Anonymous admits requests without a user, without Kerberos.
	Anonymous bool
	// Static is the user of anonymous requests; "" stands for none.
	Static string
	// Delegation selects the mode that ResourceManagers use unless another one is configured: requests may act for
	// another (doAs).
	Delegation bool
	// Delegations issues and checks the tokens of the delegation mode; nil means no tokens.
	Delegations Delegations
	// MayActFor decides on doAs. The client sees its error.
	MayActFor func(ctx context.Context, realUser, user string, from netip.Addr) error
	// Short makes the names of users short; nil leaves them as they are.
	Short func(name string) (string, error)
	// Secrets returns the keys of cookies: the first one signs, all verify. Without secrets there are no cookies.
	Secrets func() [][]byte
	// Validity is how long a cookie is valid.
	Validity                 time.Duration
	CookiePath, CookieDomain string
	Now                      func() time.Time
}

// Proves reports whether users must prove who they are.
func (f *Filter) Proves() bool { return f.Tickets != nil || f.SignIn != nil }

func (f *Filter) short(name string) (string, error) {
	if f.Short == nil {
		return name, nil
	}
	return f.Short(name)
}

func (f *Filter) secrets() [][]byte {
	if f.Secrets == nil {
		return nil
	}
	return f.Secrets()
}

// kind returns the type of the mode's cookies. Cookies of other modes don't count.
func (f *Filter) kind() string {
	kind := "simple"
	switch {
	case f.Tickets != nil:
		kind = "kerberos"
	case f.SignIn != nil:
		kind = "openid" // what others believe of users' names counts nothing
	}
	if f.Delegation {
		kind += "-dt"
	}
	return kind
}

func (f *Filter) method() string {
	switch {
	case f.Tickets != nil:
		return Kerberos
	case f.SignIn != nil:
		return OpenID
	case f.Delegation:
		return "SIMPLE"
	}
	return "simple"
}

// Wrap identifies who makes a request, and passes it on with that identity or refuses it.
func (f *Filter) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.Nobody {
			next.ServeHTTP(w, r.WithContext(With(r.Context(), Identity{User: f.Static, Method: Unnamed})))
			return
		}
		if f.signsIn(w, r) {
			return
		}
		query := parameters(r.URL.RawQuery)
		if id, borne, err := f.bearer(r, query); borne {
			if err != nil {
				remoteException(w, rest.AuthenticationException, err)
			} else {
				next.ServeHTTP(w, r.WithContext(With(r.Context(), id)))
			}
			return
		}
		t, known, bad := f.fromCookie(r)
		if !known {
			var err error
			if t, known, err = f.identify(w, r, query); err != nil {
				f.reject(w, r, err)
				return
			}
		}
		if !known && !f.mayBeUnknown(r) && !f.cancels(r, query) {
			if f.Tickets != nil && f.operation(r, query) != "" {
				f.challengeAlone(w)
			} else {
				f.refuse(w, r, bad)
			}
			return
		}
		id, err := f.identity(r, query, t, known)
		if err != nil {
			remoteException(w, rest.AuthorizationException, err)
			return
		}
		if f.operate(w, r, query, id, known) {
			return
		}
		next.ServeHTTP(w, r.WithContext(With(r.Context(), id)))
	})
}

// wrong is a request that names its user in a way that can't be taken.
type wrong struct {
	status int
	text   string
}

func (e *wrong) Error() string { return e.text }

// identify finds the user of a request without a cookie, and sets one. known is false if the request doesn't say it. Its error is a *wrong.
func (f *Filter) identify(w http.ResponseWriter, r *http.Request, query pairs) (t token, known bool, err error) {
	if raw, sent := bearerToken(r); sent && f.SignIn != nil {
		return f.byBearer(r, raw) // each request brings it, so there is no cookie
	}
	switch {
	case f.Tickets != nil:
		t, known, err = f.byTicket(w, r)
	case f.SignIn == nil:
		t, known, err = f.byName(query)
	}
	if known && err == nil {
		f.setCookie(w.Header(), r, t)
	}
	return t, known, err
}

func (f *Filter) byName(query pairs) (t token, known bool, err error) {
	name, named := query.first(is("user.name"))
	switch {
	case !named:
		return token{}, false, nil
	case name == "" || strings.Contains(name, "&"):
		return token{}, false, &wrong{http.StatusBadRequest, "java.lang.IllegalArgumentException: userName is NULL, empty or contains a '&'"}
	}
	short, err := f.short(name)
	if err != nil {
		return token{}, false, &wrong{http.StatusForbidden, "java.lang.IllegalArgumentException: Illegal principal name " + name + ": " + err.Error()}
	}
	return f.newToken(short, short), true, nil
}

// mayBeUnknown reports whether a request may have no user.
func (f *Filter) mayBeUnknown(r *http.Request) bool {
	if f.Proves() {
		return f.Open[r.URL.Path]
	}
	return f.Anonymous
}

// identity returns the caller of a request, and the user that it acts for (doAs).
func (f *Filter) identity(r *http.Request, query pairs, t token, known bool) (Identity, error) {
	if !known {
		return Identity{User: f.Static, Method: Unnamed}, nil
	}
	id := Identity{User: t.user, Method: f.method()}
	if f.Tickets != nil {
		id.Full = t.name
	}
	as, ok := query.first(isDoAs)
	switch {
	case !ok || !f.Delegation:
		return id, nil
	case as == "": // a gateway that has lost its user's name must not act with rights of its own
		return id, errors.New("java.lang.IllegalArgumentException: Null user")
	}
	if short, err := f.short(as); err == nil {
		as = short
	}
	if err := f.actFor(r, id.User, as); err != nil {
		return id, fullNamed(err, id)
	}
	id.User, id.Real = as, id.User
	return id, nil
}

// fullNamed names a caller that may not act for others by the full name, as Hadoop does.
func fullNamed(err error, id Identity) error {
	if id.Full == "" || id.Full == id.User {
		return err
	}
	return errors.New(strings.Replace(err.Error(), ": "+id.User+" ", ": "+id.Full+" ", 1))
}

func (f *Filter) scheme() string {
	switch {
	case f.Tickets != nil:
		return spnego.Scheme
	case f.SignIn != nil:
		return bearerScheme
	}
	return "PseudoAuth"
}

// refuse answers that the client must authenticate. bad, if not nil, says what is wrong with its cookie.
func (f *Filter) refuse(w http.ResponseWriter, r *http.Request, bad error) {
	message := "Authentication required"
	if bad != nil {
		message = bad.Error()
	}
	f.dropCookie(w.Header(), r)
	w.Header().Set("WWW-Authenticate", f.scheme())
	switch person := (bad == nil || bad == expired) && ofBrowser(r); {
	case person && f.Tickets != nil:
		ticketPage(w, f.loginLink(r))
		return
	case f.SignIn != nil && f.Tickets == nil && ofBrowser(r):
		f.begin(w, r, r.URL.RequestURI())
		return
	}
	rest.ErrorPage(w, r, http.StatusUnauthorized, message)
}

// challengeAlone answers, as Hadoop does, a request for a token without an identity.
func (f *Filter) challengeAlone(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", f.scheme())
	w.Header().Set("Content-Type", rest.TextType)
	w.WriteHeader(http.StatusUnauthorized)
}

// reject answers a request whose proof of its user isn't taken.
func (f *Filter) reject(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusForbidden
	if e := (*wrong)(nil); errors.As(err, &e) {
		status = e.status
	}
	if f.Proves() {
		f.dropCookie(w.Header(), r)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", bearerScheme+` error="invalid_token"`)
	}
	rest.ErrorPage(w, r, status, err.Error())
}

func (f *Filter) actFor(r *http.Request, realUser, user string) error {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	from, _ := netip.ParseAddr(host)
	return f.MayActFor(r.Context(), realUser, user, from)
}

// pairs are the parameters of a query in their order. Unlike url.Values they keep malformed ones.
type pairs []struct{ key, value string }

func parameters(raw string) (out pairs) {
	unescape := func(s string) string {
		if u, err := url.QueryUnescape(s); err == nil {
			return u
		}
		return s
	}
	for part := range strings.SplitSeq(raw, "&") {
		key, value, _ := strings.Cut(part, "=")
		out = append(out, struct{ key, value string }{unescape(key), unescape(value)})
	}
	return out
}

// first returns the first value of a parameter.
func (p pairs) first(is func(key string) bool) (value string, ok bool) {
	for _, kv := range p {
		if is(kv.key) {
			return kv.value, true
		}
	}
	return "", false
}

func isDoAs(key string) bool { return strings.EqualFold(key, "doAs") }
