package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"heddle/internal/userfiles"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
	"heddle/yarn/rest/daemon"
	"heddle/yarn/rest/metrics2"
)

// pages returns the handler of the web port, with everything that it serves.
func (s *server) pages(api *yarnrest.API, mux *daemon.Mux) http.Handler {
	mux.Handle("/conf", daemon.Conf(s.Conf))
	mux.Handle("/jmx", daemon.JMX(s.beans))
	mux.Handle("/stacks", daemon.Stacks())
	mux.Handle("/logLevel", daemon.LogLevel(s.Log.Logger, s.mayChangeLog))
	metrics := promhttp.HandlerFor(s.collectors(), promhttp.HandlerOpts{})
	mux.Handle("/metrics", metrics)
	if s.Conf.Bool("hadoop.prometheus.endpoint.enabled") {
		mux.Handle("/prom", metrics2.Prometheus(s.beans))
	}
	mux.Handle("/isActive", daemon.Get(s.isActive))
	daemon.Common(mux)
	mux.Handle("/logs/", s.logs())
	pages := s.Pages
	if pages == nil {
		pages = http.HandlerFunc(s.plainPage)
	}
	mux.Handle("/cluster", pages)
	mux.Handle("/cluster/", pages)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			yarnrest.ErrorPage(w, r, http.StatusNotFound, "Not Found")
			return
		}
		// as in YARN, the redirect keeps the query
		u := url.URL{Path: "/cluster", RawQuery: r.URL.RawQuery}
		w.Header().Set("Content-Type", yarnrest.TextType)
		w.Header().Set("Location", yarnrest.Self(r)+u.String())
		w.WriteHeader(http.StatusFound)
	})
	// paths of these are passed on unchanged, where a ServeMux would clean them
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/ws/"):
			api.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/proxy/") && s.Proxy != nil:
			s.Proxy.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "//"): // a ServeMux would redirect it
			yarnrest.ErrorPage(w, r, http.StatusNotFound, "Not Found")
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// isActive lets the filters of ApplicationMasters find the leading ResourceManager (Hadoop: IsActiveServlet).
func (s *server) isActive(w http.ResponseWriter, r *http.Request) {
	if s.Backend.Leader() == nil {
		yarnrest.ErrorPage(w, r, http.StatusMethodNotAllowed, "I am not Active!")
		return
	}
	w.Header().Set("Content-Type", yarnrest.TextType)
	_, _ = fmt.Fprint(w, "I am Active!")
}

func (s *server) mayChangeLog(r *http.Request) error {
	if user := auth.From(r.Context()).User; !s.Access.Admin(user) {
		return fmt.Errorf("user %s is not authorized to change log levels", user)
	}
	return nil
}

// logs serves the folder hadoop.log.dir, which has this daemon's logs if its output goes there.
func (s *server) logs() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := auth.From(r.Context()).User; s.Access.Enabled && !s.Access.Admin(user) {
			yarnrest.ErrorPage(w, r, http.StatusForbidden, "User "+user+" is unauthorized to access this page.")
			return
		}
		if name := strings.TrimPrefix(r.URL.Path, "/logs/"); name != "" && s.LogDir != "" {
			daemon.ServeLogs(w, r, s.LogDir)
			return
		}
		yarnrest.Page(w, http.StatusOK, "Directory: /logs/", s.logList())
	})
}

// logList lists the folder. A missing folder is empty.
func (s *server) logList() string {
	entries, _ := userfiles.ReadDir(s.LogDir)
	if list := daemon.LogList(entries); list != "" {
		return list
	}
	return "<p>This daemon logs to its standard error stream.</p>"
}

// plainPage replaces missing web pages.
func (s *server) plainPage(w http.ResponseWriter, r *http.Request) {
	if id, ok := strings.CutPrefix(r.URL.Path, "/cluster/app/"); ok {
		yarnrest.Page(w, http.StatusOK, "Application "+id, `<p>See <a href="/ws/v1/cluster/apps/`+url.PathEscape(id)+`">REST</a>.</p>`)
		return
	}
	yarnrest.Page(w, http.StatusOK, "All Applications", `<p>See <a href="/ws/v1/cluster/apps">REST</a>.</p>`)
}
