// Package daemon serves the pages that all of Hadoop's daemons have, for administrators and their tools: /conf, /jmx,
// /stacks and /logLevel (Hadoop: ConfServlet, JMXJsonServlet, HttpServer2.StackServlet, LogLevel).
package daemon

import (
	"net/http"

	"heddle/yarn/rest"
)

// get serves GET and HEAD, and refuses other methods as Jetty's servlets do.
func get(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			rest.ErrorPage(w, r, http.StatusMethodNotAllowed, "HTTP method "+r.Method+" is not supported by this URL")
			return
		}
		h(w, r)
	})
}

// answer writes a body. A client that is gone needs none.
func answer(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
