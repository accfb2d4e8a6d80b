// Package audit logs who has changed what by REST, and what was refused, in the format of YARN's audit log (Hadoop: RMAuditLogger): pairs KEY=value, separated by tabs.
package audit

import (
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/sirupsen/logrus"

	"heddle/yarn/rest/auth"
)

// target is YARN's name of the service behind the paths.
const target = "RMWebService"

// operations are YARN's names of what requests do, by their paths; the first that matches counts.
var operations = []struct {
	path *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^/ws/v1/cluster/apps/[^/]+/state/?$`), "Kill Application Request"},
	{regexp.MustCompile(`^/ws/v1/cluster/apps/[^/]+/queue/?$`), "Move Application Request"},
	{regexp.MustCompile(`^/ws/v1/cluster/apps/[^/]+/priority/?$`), "Update Application Priority Request"},
	{regexp.MustCompile(`^/ws/v1/cluster/apps/[^/]+/timeout/?$`), "Update Application Timeouts"},
	{regexp.MustCompile(`^/ws/v1/cluster/apps/new-application/?$`), "Get New Application Request"},
	{regexp.MustCompile(`^/ws/v1/cluster/apps/?$`), "Submit Application Request"},
	{regexp.MustCompile(`^/ws/v1/cluster/scheduler-conf`), "Update Scheduler Configuration"},
	{regexp.MustCompile(`^/ws/v1/heddle/containers/[^/]+/suspend/?$`), "Suspend Container Request"},
	{regexp.MustCompile(`^/ws/v1/heddle/containers/[^/]+/resume/?$`), "Resume Container Request"},
	{regexp.MustCompile(`^/ws/v1/heddle/members/[^/]+/lead/?$`), "transitionToActive"},
}

var (
	appID       = regexp.MustCompile(`\bapplication_\d+_\d+\b`)
	containerID = regexp.MustCompile(`\bcontainer_(?:e\d+_)?\d+_\d+_\d+_\d+\b`)
)

// Wrap logs each request that may change something below /ws/, with its outcome. Wrap it around what is behind the filter that identifies callers.
func Wrap(next http.Handler, log *logrus.Entry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions || !strings.HasPrefix(r.URL.Path, "/ws/") {
			next.ServeHTTP(w, r)
			return
		}
		noted := &status{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(noted, r)
		if noted.code >= 300 && noted.code < 400 {
			return // the leader logs it
		}
		entry := log.WithField("audit", true)
		if line, ok := lineOf(r, noted.code); ok {
			entry.Info(line)
		} else {
			entry.Warn(line)
		}
	})
}

// lineOf is the line of a request that was answered with a status, and whether that is success.
func lineOf(r *http.Request, code int) (line string, ok bool) {
	pairs := [][2]string{{"USER", auth.From(r.Context()).User}}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		pairs = append(pairs, [2]string{"IP", host})
	}
	pairs = append(pairs, [2]string{"OPERATION", operation(r)}, [2]string{"TARGET", target})
	if ok = code < 400; ok {
		pairs = append(pairs, [2]string{"RESULT", "SUCCESS"})
	} else {
		pairs = append(pairs, [2]string{"RESULT", "FAILURE"}, [2]string{"DESCRIPTION", http.StatusText(code)}, [2]string{"PERMISSIONS", ""})
	}
	for key, id := range map[string]*regexp.Regexp{"APPID": appID, "CONTAINERID": containerID} {
		if text := id.FindString(r.URL.Path); text != "" {
			pairs = append(pairs, [2]string{key, text})
		}
	}
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(p[0] + "=" + plain(p[1]))
	}
	return b.String(), ok
}

func operation(r *http.Request) string {
	for _, o := range operations {
		if o.path.MatchString(r.URL.Path) {
			return o.name
		}
	}
	return r.Method + " " + r.URL.Path
}

// plain is a value on one line without tabs, which a caller may send to make up pairs.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), 300)]
}

// status notes the status of an answer.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController reach the writer.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }
