package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	yarnrest "heddle/yarn/rest"
)

// own are the paths that every member answers itself (Hadoop: RMWebAppFilter).
var own = []string{"/conf", "/stacks", "/logLevel", "/logs", "/isActive", "/jmx", "/prom", "/metrics", "/proxy", "/static", "/cluster/static"}

// answersItself reports whether a path describes this member, or doesn't depend on who leads.
func answersItself(path string) bool {
	switch path = strings.TrimRight(path, "/"); path {
	case clusterBase, clusterBase + "/info", heddleBase + "/members", heddleBase + "/configuration", heddleBase + "/events", "/cluster/cluster":
		return true
	}
	return slices.ContainsFunc(own, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// standby redirects requests to the leader.
func (s *server) standby(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Backend.Leader() == nil && !answersItself(r.URL.Path) {
			s.sendOn(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Seconds that a client waits between attempts to find a leader. They double with each attempt, up to the last.
const (
	firstRetry = 1
	lastRetry  = 64
	retryKey   = "nextRefreshInterval"
)

// sendOn redirects to the leader, or makes the client try again later if there is none.
func (s *server) sendOn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", yarnrest.TextType)
	if id := s.Backend.LeaderID(); id != "" && id != s.Backend.ID() {
		if address, err := s.Backend.WebAddressOf(id); err == nil {
			w.Header().Set("Location", s.View.URL(address)+r.URL.RequestURI())
			w.WriteHeader(http.StatusTemporaryRedirect)
			_, _ = fmt.Fprintf(w, "This is standby RM. The redirect url is: %s\n", r.URL.RequestURI())
			return
		}
	}
	wait := firstRetry
	if n, err := strconv.Atoi(r.URL.Query().Get(retryKey)); err == nil && n > 0 {
		wait = min(n, lastRetry)
	}
	u := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath}
	q := r.URL.Query()
	q.Set(retryKey, strconv.Itoa(min(2*wait, lastRetry)))
	u.RawQuery = q.Encode()
	w.Header().Set("Refresh", fmt.Sprintf("%d;url=%s", wait, u.RequestURI()))
	w.Header().Set("Retry-After", strconv.Itoa(wait))
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintf(w, "Can not find any active RM. Will retry in next %d seconds.\n", wait)
}
