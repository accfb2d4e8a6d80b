package hadoop

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"heddle/integration/browser"
	"heddle/internal/await"
)

// The pages of MapReduce's ApplicationMaster work in the proxy's sandbox, tables of scripts too; after the job the proxy leads to the history server.
func TestPagesInABrowser(t *testing.T) {
	if !onHeddle {
		t.Skip("it is about our proxy")
	}
	l := lab.Lab(t)
	c, app := begin(t, l, sleeper, "-m", "1", "-r", "0", "-mt", "600000")
	base := fmt.Sprintf("http://localhost:%d/proxy/%s", l.Port("rm-http"), app)
	job := strings.Replace(app, "application", "job", 1)
	await.Slowly(t, "the map runs", func() bool {
		if c.Ended() {
			t.Fatal("the job has ended")
		}
		return strings.Contains(get(t, base+"/ws/v1/mapreduce/jobs"), `"mapsRunning":1,`)
	})
	// the tables' rows are made by a script, of what the page has as an array
	for path, want := range map[string][]string{
		"/":                              {"MapReduce Application", job + "</a>", "dataTables_info", "Showing 1 to 1 of 1 entries"},
		"/mapreduce/job/" + job:          {"Job Overview", "Sleep job", "RUNNING"},
		"/mapreduce/tasks/" + job + "/m": {"Showing 1 to 1 of 1 entries", strings.Replace(job, "job", "task", 1) + "_m_000000</a>"},
		"/mapreduce/conf/" + job:         {"Showing 1 to 20 of", "dataTables_paginate"},
		"/mapreduce/jobcounters/" + job:  {"Job Counters", "Launched map tasks"},
	} {
		browser.Shows(t, base+path, want...)
	}
	if _, err := l.Run(t.Context(), "mapred", "job", "-kill", job); err != nil {
		t.Fatal(err)
	}
	end(t, c, app)
	await.Slowly(t, "the proxy leads to the history server", func() bool {
		client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := client.Get(base + "/")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusFound && strings.Contains(resp.Header.Get("Location"), fmt.Sprintf(":%d/jobhistory/job/%s", l.Port("history-http"), job))
	})
	browser.Shows(t, base+"/", "Job Overview", "Sleep job", "KILLED")
}
