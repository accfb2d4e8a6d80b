package lists

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/rm/ledger"
)

// A key of the configuration has its value, file, line, effect and problem; secrets show in none of them.
func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	site := `<configuration>
<property><name>yarn.resourcemanager.hostname</name><value>rm</value></property>
<property><name>yarn.acl.enable</name><value>maybe</value></property>
<property><name>yarn.resourcemanager.webapp.ui-actions.enabled</name><value>not-read</value></property>
<property><name>yarn.resourcemanager.hostnam</name><value>&lt;b&gt;x</value></property>
<property><name>my.password</name><value>hush</value><final>true</final></property>
</configuration>`
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.lists.Conf = c
	a := w.get("", "/configuration?set=true&limit=1000")
	var got struct {
		Configuration struct {
			Total, Matched int
			Setting        []setting
		}
	}
	if err := json.Unmarshal(a.Body.Bytes(), &got); err != nil {
		t.Fatal(err, a.Body)
	}
	by := map[string]setting{}
	for _, s := range got.Configuration.Setting {
		by[s.Key] = s
	}
	for key, want := range map[string]struct {
		line                    int
		effect, severity, value string
	}{
		"yarn.resourcemanager.hostname": {2, "used", "", "rm"},
		"yarn.acl.enable":               {3, "used", "warning", "maybe"},
		"yarn.resourcemanager.hostnam":  {5, "none", "warning", "<b>x"},
		"my.password":                   {6, "other", "", "<redacted>"},
	} {
		s := by[key]
		if !s.Set || s.File != "yarn-site.xml" || s.Line != want.line || s.Effect != want.effect || s.Severity != want.severity || s.Value != want.value || (s.Problem != "") != (want.severity != "") {
			t.Errorf("%s: %+v", key, s)
		}
	}
	if strings.Contains(a.Body.String(), "hush") || !by["my.password"].Final {
		t.Error("a secret shows:", a.Body)
	}
	if s := by["yarn.resourcemanager.hostnam"]; !strings.Contains(s.Problem, "did you mean yarn.resourcemanager.hostname?") {
		t.Errorf("%+v", s)
	}
	if n := got.Configuration; n.Total < 500 || n.Matched != len(n.Setting) {
		t.Errorf("%d of %d, %d", n.Matched, n.Total, len(n.Setting))
	}
	for query, want := range map[string]string{"q=hush": "", "q=HOSTNAM&set=true&sort=-key": "yarn.resourcemanager.hostname yarn.resourcemanager.hostnam", "effect=other&set=true": "my.password", "severity=warning&set=true&effect=used": "yarn.acl.enable"} {
		rows, err := csv.NewReader(w.get("", "/configuration?format=csv&"+query).Body).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, r := range rows[1:] {
			keys = append(keys, r[0])
		}
		if list := strings.Join(keys, " "); list != want {
			t.Errorf("%s: %s, not %s", query, list, want)
		}
	}
}

// Lists come as tables too. One that goes on says where.
func TestListsAsTables(t *testing.T) {
	w := newWorld(t)
	for i := range int32(3) {
		w.app(i, "ann", "root.dev", 0, submission("=job", "SPARK", ""))
	}
	var seen []string
	for path := "/apps?format=csv&limit=2&sort=id"; ; {
		a := w.get("", path)
		rows, err := csv.NewReader(a.Body).ReadAll()
		if err != nil || a.Code != http.StatusOK || a.Header().Get("Content-Type") != "text/csv;charset=utf-8" || !slices.Contains(rows[0], "used.memoryMB") {
			t.Fatal(err, a.Code, a.Header(), rows)
		}
		for _, r := range rows[1:] {
			seen = append(seen, r[0])
			if name := r[slices.Index(rows[0], "name")]; name != "'=job" {
				t.Errorf("a name is %s", name)
			}
		}
		next, more := strings.CutPrefix(a.Header().Get("Link"), "<")
		if !more {
			break
		}
		path = "/apps" + strings.TrimSuffix(next, `>; rel="next"`)
	}
	if len(seen) != 3 || !slices.IsSorted(seen) {
		t.Errorf("%v", seen)
	}
	for path, code := range map[string]int{"/apps?format=xls": 400, "/nodes?format=csv": 200, "/users?format=json": 200} {
		if a := w.get("", path); a.Code != code {
			t.Errorf("%s: %d %s", path, a.Code, a.Body)
		}
	}
}

// An application's place in its queue counts those that a reader may not see, and no others.
func TestPlacesInQueues(t *testing.T) {
	w := newWorld(t)
	for i, of := range []struct {
		user, queue string
		priority    int32
		state       ledger.AppState
	}{{"ann", "root.dev", 0, ledger.AppAccepted}, {"bob", "root.dev", 5, ledger.AppAccepted}, {"ann", "root.prod.etl", 0, ledger.AppAccepted}, {"ann", "root.dev", 9, ledger.AppRunning}, {"ann", "root.dev", 5, ledger.AppAccepted}} {
		w.app(int32(i), of.user, of.queue, of.state, submission("job", "SPARK", "")).Priority = of.priority
	}
	rows, err := csv.NewReader(w.get("ann", "/waiting?format=csv&sort=id").Body).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	place, of, id := slices.Index(rows[0], "place"), slices.Index(rows[0], "placeOf"), slices.Index(rows[0], "id")
	got := map[byte]string{}
	for _, r := range rows[1:] {
		got[r[id][len(r[id])-1]] = r[place] + " of " + r[of]
	}
	if got['0'] != "3 of 3" || got['2'] != "1 of 1" || got['4'] != "2 of 3" || got['3'] != "" {
		t.Errorf("%v", got)
	}
}
