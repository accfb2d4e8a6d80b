// Package auth identifies web users as Hadoop's simple authentication does: by the parameter user.name, and afterwards
// by the signed cookie that the first answer sets.
package auth

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"heddle/yarn/rest"
)

// Identity says who makes a request.
type Identity struct {
	User   string // "" if unknown
	Real   string // who acts for User; "" if it is User
	Method string // YARN's name of the method of authentication: SIMPLE, simple, TOKEN or null
}

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
	// Anonymous admits requests without a user.
	Anonymous bool
	// Static is the user of anonymous requests; "" stands for nobody.
	Static string
	// Delegation selects the mode that ResourceManagers use unless another one is configured: requests may act for
	// somebody else (doAs).
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

// kind is the type of the mode's cookies. Cookies of other modes don't count.
func (f *Filter) kind() string {
	if f.Delegation {
		return "simple-dt"
	}
	return "simple"
}

func (f *Filter) method() string {
	if f.Delegation {
		return "SIMPLE"
	}
	return "simple"
}

// Wrap identifies who makes a request, and passes it on with that identity or refuses it.
func (f *Filter) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
			if name, named := query.first(func(key string) bool { return key == "user.name" }); named {
				if name == "" || strings.Contains(name, "&") {
					rest.ErrorPage(w, r, http.StatusBadRequest,
						"java.lang.IllegalArgumentException: userName is NULL, empty or contains a '&'")
					return
				}
				short, err := f.short(name)
				if err != nil {
					rest.ErrorPage(w, r, http.StatusForbidden, "java.lang.IllegalArgumentException: Illegal principal name "+name+": "+err.Error())
					return
				}
				t, known = f.newToken(short), true
				f.setCookie(w.Header(), r, t)
			}
		}
		if !known && !f.Anonymous {
			f.refuse(w, r, bad)
			return
		}
		id := Identity{User: f.Static, Method: Unnamed}
		if known {
			id = Identity{User: t.user, Method: f.method()}
			if as, ok := query.first(isDoAs); ok && as != "" && f.Delegation {
				if short, err := f.short(as); err == nil {
					as = short
				}
				if err := f.actFor(r, id.User, as); err != nil {
					remoteException(w, rest.AuthorizationException, err)
					return
				}
				id.User, id.Real = as, id.User
			}
		}
		if f.operate(w, r, query, id, known) {
			return
		}
		next.ServeHTTP(w, r.WithContext(With(r.Context(), id)))
	})
}

// refuse answers that the client must authenticate. bad, if not nil, says what is wrong with its cookie.
func (f *Filter) refuse(w http.ResponseWriter, r *http.Request, bad error) {
	message := "Authentication required"
	if bad != nil {
		message = bad.Error()
	}
	f.dropCookie(w.Header())
	w.Header().Set("WWW-Authenticate", "PseudoAuth")
	rest.ErrorPage(w, r, http.StatusUnauthorized, message)
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
