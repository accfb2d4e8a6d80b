package audit

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"heddle/yarn/rest/auth"
)

// Each change by REST is one line in YARN's format, with who made it, also when it was refused; reads and what the leader answers instead are none.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		method, path, user string
		code               int
		want               string
	}{
		{http.MethodPut, "/ws/v1/cluster/apps/application_1_0002/state", "ann", 202, "USER=ann\tIP=192.0.2.1\tOPERATION=Kill Application Request\tTARGET=RMWebService\tRESULT=SUCCESS\tAPPID=application_1_0002"},
		{http.MethodPut, "/ws/v1/cluster/apps/application_1_0002/queue", "bob", 403, "USER=bob\tIP=192.0.2.1\tOPERATION=Move Application Request\tTARGET=RMWebService\tRESULT=FAILURE\tDESCRIPTION=Forbidden\tPERMISSIONS=\tAPPID=application_1_0002"},
		{http.MethodPost, "/ws/v1/heddle/containers/container_e02_1_0002_01_000003/suspend", "ann", 200, "USER=ann\tIP=192.0.2.1\tOPERATION=Suspend Container Request\tTARGET=RMWebService\tRESULT=SUCCESS\tCONTAINERID=container_e02_1_0002_01_000003"},
		{http.MethodPost, "/ws/v1/cluster/x\ty", "a\tRESULT=SUCCESS\n" + strings.Repeat("x", 500), 404, "USER=a?RESULT=SUCCESS?" + strings.Repeat("x", 283) + "\tIP=192.0.2.1\tOPERATION=POST /ws/v1/cluster/x?y\tTARGET=RMWebService\tRESULT=FAILURE\tDESCRIPTION=Not Found\tPERMISSIONS="},
		{http.MethodPut, "/ws/v1/cluster/apps/application_1_0002/state", "ann", 307, ""},
		{http.MethodGet, "/ws/v1/cluster/apps/application_1_0002/state", "ann", 200, ""},
		{http.MethodPost, "/proxy/application_1_0002/", "ann", 200, ""},
	} {
		log, lines := test.NewNullLogger()
		h := Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.code) }), logrus.NewEntry(log))
		r := httptest.NewRequest(c.method, "/", nil)
		r.URL.Path = c.path
		h.ServeHTTP(httptest.NewRecorder(), r.WithContext(auth.With(r.Context(), auth.Identity{User: c.user})))
		got := ""
		if e := lines.LastEntry(); e != nil {
			got = e.Message
		}
		if got != c.want || len(lines.Entries) > 1 {
			t.Errorf("%s %s\n%q\nand not\n%q", c.method, c.path, got, c.want)
		}
	}
}
