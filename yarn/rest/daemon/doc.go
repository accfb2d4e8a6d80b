// Package daemon serves the pages that all of Hadoop's daemons have, for administrators and their tools: /conf, /jmx,
// /stacks and /logLevel (Hadoop: ConfServlet, JMXJsonServlet, HttpServer2.StackServlet, LogLevel), /logs and /static.
package daemon

import (
	"net/http"

	"heddle/yarn/rest"
)

// Get serves GET and HEAD, and refuses other methods as Jetty's servlets do. Hadoop's clients send OPTIONS first,
// expecting an authentication filter's cookie (PseudoAuthenticator). They continue only after a 200.
func Get(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			h(w, r)
		case http.MethodOptions:
			w.Header().Set("Allow", "GET, HEAD, OPTIONS")
			answer(w, http.StatusOK, rest.TextType, nil)
		default:
			rest.ErrorPage(w, r, http.StatusMethodNotAllowed, "HTTP method "+r.Method+" is not supported by this URL")
		}
	})
}

// answer writes a body. A lost client can't be told about an error.
func answer(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
