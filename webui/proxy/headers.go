package proxy

import (
	"net/http"
	"net/url"
	"strings"

	"heddle/yarn/records"
	"heddle/yarn/rest/auth"
)

// passedOn are the headers of a user's request that the proxy sends to the application.
var passedOn = []string{
	"User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Accept-Charset", "Content-Type", "Origin", "Range", "X-Requested-With",
	"Access-Control-Request-Method", "Access-Control-Request-Headers",
}

// handedBack are the headers of an application's answer that the proxy sends to the browser. They describe the answer.
// Others would change what the browser stores or does for this host, which also has the cluster's pages.
var handedBack = []string{
	"Accept-Ranges", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length", "Content-Range",
	"Content-Security-Policy", "Content-Type", "Date", "Etag", "Expires", "Last-Modified", "Pragma", "Retry-After", "Vary",
}

// secrets are parameters of a query that let their holder act for a user.
var secrets = []string{"delegation", "doas", auth.CookieName}

// isSecret reports whether applications must not see a parameter of a query.
func isSecret(part string) bool {
	name, _, _ := strings.Cut(part, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	name = strings.ToLower(strings.TrimSpace(name))
	for _, s := range secrets {
		if name == s {
			return true
		}
	}
	return false
}

// ownCookie reports whether the cluster's own pages use a cookie's name.
func ownCookie(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, approvalCookie) || name == userCookie || name == auth.CookieName || strings.HasPrefix(name, "__")
}

// cookies passes cookies of an application on, restricted to its own pages. It drops those with one of our names. A
// name may not be hidden by blanks, nor be empty, because a browser sends the value of such a cookie as if it were name
// and value.
func cookies(h http.Header, id records.ApplicationID, set []string) {
	for _, line := range set {
		c, err := http.ParseSetCookie(line)
		if err != nil || c.Name == "" || ownCookie(strings.TrimSpace(c.Name)) {
			continue
		}
		c.Domain, c.Path = "", Base+"/"+id.String()+"/"
		if s := c.String(); s != "" {
			h.Add("Set-Cookie", s)
		}
	}
}

// location returns where an application's redirect leads a browser. The proxy itself follows only those of the first page (first). back says that it
// leads to a proxy, which would redirect here again and again.
func location(to *url.URL, tracking string, id records.ApplicationID, given string) (there string, back bool) {
	u, err := to.Parse(given)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	own := Base + "/" + id.String()
	sameHost := u.Host == to.Host && u.Scheme == to.Scheme
	if strings.HasPrefix(u.Path, Base+"/") {
		if sameHost && (u.Path == own || strings.HasPrefix(u.Path, own+"/")) { // the application knows the proxy's path
			return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery, Fragment: u.Fragment}).String(), false
		}
		return "", true
	}
	if !sameHost {
		return u.String(), false
	}
	base, err := target(tracking, "", "")
	if err != nil {
		return "", false
	}
	below, ok := strings.CutPrefix(u.EscapedPath(), strings.TrimSuffix(base.EscapedPath(), "/")+"/")
	if !ok {
		return u.String(), false
	}
	there = own + "/" + below
	if u.RawQuery != "" {
		there += "?" + u.RawQuery
	}
	if u.Fragment != "" {
		there += "#" + u.EscapedFragment()
	}
	return there, false
}
