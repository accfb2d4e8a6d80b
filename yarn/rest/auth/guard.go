package auth

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/yarn/rest"
)

// Guards returns what protects users of a web port whose browsers show hostile pages (rest.Guard and rest.CSRF). role
// is resourcemanager or nodemanager. own are further names of this server. origins, if set, admits pages of other
// origins. Names that aren't this server's are logged once.
func Guards(c *conf.Config, role string, log *logrus.Entry, origins func(string) bool, own ...string) (func(http.Handler) http.Handler, error) {
	g := &rest.Guard{Hosts: map[string]bool{}, Origins: origins, Unknown: func(host string) {
		log.WithField("host", host).Warn("a request for this name gets 421, because it is no name of this server in the configuration. " +
			"If it is an alias of yours, add it to heddle.http.allowed-hosts")
	}}
	if name, err := os.Hostname(); err == nil {
		own = append(own, name)
	}
	own = append(own, c.Strings("heddle.http.allowed-hosts")...)
	for _, prefix := range []string{"yarn.resourcemanager.hostname", conf.WebKey(c, "yarn.resourcemanager."), "yarn.web-proxy.address", "yarn.nodemanager.hostname", conf.WebKey(c, "yarn.nodemanager.")} {
		for _, value := range c.WithPrefix(prefix) {
			own = append(own, value)
		}
	}
	for _, name := range own {
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
		g.Hosts[strings.ToLower(strings.TrimSuffix(name, "."))] = true
	}
	g.AnyHost = g.Hosts["*"]
	csrf, err := csrfFrom(c, "yarn."+role+".webapp.rest-csrf.")
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler {
		if csrf != nil {
			next = csrf.Wrap(next)
		}
		if c.Text("yarn."+role+".webapp.xfs-filter.xframe-options") == "DENY" {
			next = unframed(next)
		}
		return g.Wrap(next)
	}, nil
}

// csrfFrom returns the filter that the configuration describes, or nil.
func csrfFrom(c *conf.Config, prefix string) (*rest.CSRF, error) {
	if !c.Bool(prefix + "enabled") {
		return nil, nil
	}
	f := &rest.CSRF{Header: c.Text(prefix + "custom-header"), Ignored: map[string]bool{}}
	for _, m := range c.Strings(prefix + "methods-to-ignore") {
		f.Ignored[m] = true
	}
	agents := []string{"^Mozilla.*", "^Opera.*"}
	if c.IsSet(prefix + "browser-useragents-regex") {
		agents = c.Strings(prefix + "browser-useragents-regex")
	}
	var patterns []*regexp.Regexp
	for _, a := range agents {
		p, err := regexp.Compile("^(?:" + a + ")$")
		if err != nil {
			return nil, fmt.Errorf("%sbrowser-useragents-regex: %q is not a regular expression: %w", prefix, a, err)
		}
		patterns = append(patterns, p)
	}
	f.Browser = func(agent string) bool {
		return slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(agent) })
	}
	return f, nil
}

// unframed tells browsers to show pages in no frame (Hadoop: XFrameOptionsFilter).
func unframed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Add("Content-Security-Policy", "frame-ancestors 'none'") // which browsers prefer
		next.ServeHTTP(w, r)
	})
}
