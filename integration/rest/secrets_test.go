package rest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	am "heddle/am/client"
	"heddle/conf"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// password and secret are what an application brings along for its containers alone.
const (
	password = "no-log-has-this-password"
	secret   = "no-page-has-this-secret"
)

// hidden are texts that would show them: as they are, in hexadecimal digits, and as parts of base64 at any place.
func hidden() (all []string) {
	for _, s := range []string{password, secret} {
		all = append(all, s, hex.EncodeToString([]byte(s)))
		for cut := range 3 {
			part := s[cut : cut+(len(s)-cut)/3*3]
			all = append(all, base64.StdEncoding.EncodeToString([]byte(part)))
		}
	}
	return all
}

func shows(text string) string {
	for _, h := range hidden() {
		if strings.Contains(text, h) {
			return h
		}
	}
	return ""
}

// The password of an application's token and its secret reach its container, and else no page of the daemons, no log, not even in full detail, no record, and no file that other
// users can read.
func TestSecretsOfApplicationsAreNowhere(t *testing.T) {
	heddle, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	records := t.TempDir()
	l := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, NodeManagers: 1, Dir: t.TempDir(), Heddle: heddle, Site: map[string]string{
		"hadoop.http.staticuser.user": "root", "heddle.log.level": "trace", "heddle.record.dir": records,
	}})
	app := submitWithSecrets(t, l)
	at := func(service string) string { return fmt.Sprintf("http://localhost:%d", l.Port(service)) }
	rm, nm := at("rm-http"), at("nodemanager1-http")
	container := strings.Replace(app, "application", "container", 1) + "_01_000001"
	await.Slowly(t, "the container has read its tokens", func() bool {
		return strings.Contains(page(t, nm+"/ws/v1/node/containerlogs/"+container+"/stdout"), "it has them")
	})
	fill := strings.NewReplacer("{app}", app, "{container}", container, "{node}", "x:1", "{queue}", "root.default", "{member}", "rm1", "{file}", "stdout")
	var paths []string
	for _, route := range routes(t) {
		if path, get := strings.CutPrefix(route, "GET "); get {
			paths = append(paths, rm+"/ws/v1/heddle"+fill.Replace(path))
		}
	}
	for _, path := range []string{"/ws/v1/cluster/apps", "/ws/v1/cluster/apps/" + app, "/ws/v1/cluster/apps/" + app + "/appattempts", "/conf", "/jmx", "/metrics", "/stacks", "/logs/"} {
		paths = append(paths, rm+path)
	}
	for _, path := range []string{"/ws/v1/node/apps", "/ws/v1/node/containers", "/ws/v1/node/containers/" + container, "/conf", "/jmx", "/metrics", "/stacks", "/logs/"} {
		paths = append(paths, nm+path)
	}
	for _, path := range paths {
		if what := shows(page(t, path)); what != "" {
			t.Errorf("%s shows %s", path, what)
		}
	}
	readable := 0
	for _, dir := range []string{l.Dir(), records} {
		readable += noFileShows(t, dir)
	}
	if readable < 5 {
		t.Errorf("%d files can be read by others", readable)
	}
}

// submitWithSecrets submits an application whose container says whether it has the secrets.
func submitWithSecrets(t *testing.T, l *hadooplab.Lab) string {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: l.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := am.NewCluster(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	apps, err := cluster.Applications("root")
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := apps.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const file = "$HADOOP_TOKEN_FILE_LOCATION"
	count := fmt.Sprintf("grep -qa %s %s && grep -qa %s %s && echo it has them; sleep 600", split(password), file, split(secret), file)
	err = apps.Submit(t.Context(), am.Submission{
		ID: id, Name: "secrets", Resource: records.NewResource(256, 1), MaxAttempts: 1,
		AM: am.Launch{Command: []string{"{ " + count + "; } 1><LOG_DIR>/stdout"}, Credentials: &token.Credentials{
			Tokens:  []token.NamedToken{{Alias: "t", Token: token.Token{Identifier: []byte("who"), Password: []byte(password), Kind: "TEST", Service: "a:1"}}},
			Secrets: []token.NamedSecret{{Alias: "s", Secret: []byte(secret)}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return id.String()
}

// split is a shell's word for a text, which a command line that is shown doesn't show.
func split(s string) string { return s[:9] + "''" + s[9:] }

func page(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/html;q=0.9, text/plain;q=0.8, text/csv;q=0.7") // not the stream of events, which has no end
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return string(b)
}

// noFileShows looks at the files below a folder that other users can read, and returns how many there are.
func noFileShows(t *testing.T, dir string) (n int) {
	t.Helper()
	const others = 0o001
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has gone meanwhile
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return nil
		case d.IsDir() && path != dir && info.Mode().Perm()&others == 0:
			return fs.SkipDir
		case !info.Mode().IsRegular() || info.Mode().Perm()&(others<<2) == 0:
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		n++
		if what := shows(string(b)); what != "" {
			t.Errorf("%s, which anybody can read, shows %s", path, what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
