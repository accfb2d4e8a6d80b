package proxy

import (
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// A page of another site killed Spark's jobs in the name of its reader, by a link or an image: YARN's proxy passes GETs on.
func TestNoForeignPageMakesAnApplicationAct(t *testing.T) {
	f := setUp(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.RequestURI()) })
	const browser, kill = "Mozilla/5.0", "/jobs/job/kill/?id=0"
	later := time.Now().Add(time.Hour)
	act, page := f.proxy.passFor(actsFor(livePath), "alice", later), f.proxy.passFor(livePath, "alice", later)
	other := f.proxy.passFor(actsFor("/proxy/application_7_0002"), "alice", later)
	for name, c := range map[string]struct {
		path    string
		headers []string
		seen    string // by the application; "": refused
	}{
		"a link on another site":              {kill, []string{"User-Agent", browser, "Referer", "http://evil.org/x"}, ""},
		"a link that hides where it is":       {kill, []string{"User-Agent", browser}, ""},
		"a link, as newer browsers say":       {kill, []string{"User-Agent", browser, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, ""},
		"a page of the same domain":           {kill, []string{"User-Agent", browser, "Sec-Fetch-Site", "same-site"}, ""},
		"a page in a sandbox":                 {kill, []string{"User-Agent", browser, "Origin", "null"}, ""},
		"another application's page":          {kill, []string{"User-Agent", browser, "Referer", "http://example.com/proxy/application_7_0002/jobs/"}, ""},
		"another application's page and pass": {kill + "&" + actPass + "=" + other, []string{"User-Agent", browser, "Sec-Fetch-Site", "cross-site"}, ""},
		"a page's pass in a link":             {kill + "&" + actPass + "=" + page, []string{"User-Agent", browser, "Sec-Fetch-Site", "cross-site"}, ""},
		"a stage":                             {"/stages/stage/kill?id=0", []string{"User-Agent", browser}, ""},
		"an escaped path":                     {"/jobs/job%2Fk%69ll;x=1/?id=0", []string{"User-Agent", browser}, ""},
		"a job of Flink":                      {"/jobs/0/yarn-cancel", []string{"User-Agent", browser}, ""},

		"a link to a page":                {"/jobs/job/?id=0", []string{"User-Agent", browser, "Referer", "http://evil.org/x", "Sec-Fetch-Site", "cross-site"}, "/jobs/job/?id=0"},
		"a page about killed jobs":        {"/jobs/killed", []string{"User-Agent", browser, "Sec-Fetch-Site", "cross-site"}, "/jobs/killed"},
		"its own page's link":             {kill + "&" + actPass + "=" + act, []string{"User-Agent", browser, "Sec-Fetch-Site", "cross-site"}, kill},
		"its own page's script":           {kill, []string{"User-Agent", browser, "Origin", "null", passHeader, page}, kill},
		"its own page on an own origin":   {kill, []string{"User-Agent", browser, "Referer", "http://example.com" + livePath + "/jobs/"}, kill},
		"its own page, as browsers say":   {kill, []string{"User-Agent", browser, "Sec-Fetch-Site", "same-origin"}, kill},
		"an address that somebody enters": {kill, []string{"User-Agent", browser, "Sec-Fetch-Site", "none"}, kill},
		"curl":                            {kill, []string{"User-Agent", "curl/8"}, kill},
		"a program that says so":          {kill, []string{"User-Agent", browser, "X-Requested-By", "x"}, kill},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(f.seen)
			w := f.ask("GET", livePath+c.path, c.headers...)
			switch {
			case c.seen == "" && (w.Code != http.StatusForbidden || len(f.seen) != before):
				t.Errorf("%d, and the application saw %d requests: %s", w.Code, len(f.seen)-before, w.Body)
			case c.seen != "" && (w.Code != http.StatusOK || w.Body.String() != c.seen):
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

// The pass in a link lasts in the browser's history: it must be good for nothing but that.
func TestAPassInALinkReadsNothing(t *testing.T) {
	f := setUp(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html>x")
	})
	body := f.ask("GET", livePath+"/?user.name=alice").Body.String()
	passes := regexp.MustCompile(`\("([^"]+)","` + livePath + `","([^"]+)"\)</script>`).FindStringSubmatch(body)
	if passes == nil {
		t.Fatalf("no passes in %s", body)
	}
	if w := f.ask("GET", livePath+"/", "Origin", "null", passHeader, passes[1]); w.Header().Get("Access-Control-Allow-Origin") != "null" {
		t.Error("the page's pass doesn't let it read answers")
	}
	if w := f.ask("GET", livePath+"/", "Origin", "null", passHeader, passes[2]); w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("the pass in links lets others read answers")
	}
}
