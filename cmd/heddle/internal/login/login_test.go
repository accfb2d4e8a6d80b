package login

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/command"
	"heddle/conf"
	"heddle/yarn/rest/auth"
	"heddle/yarn/rest/auth/openid/openidtest"
)

// resourceManager is a web port that says who asks, and counts nothing but a login.
func resourceManager(t *testing.T, provider *openidtest.Provider) *conf.Config {
	t.Helper()
	var filter *auth.Filter
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		filter.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"user":"` + auth.From(r.Context()).User + `"}`))
		})).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := conf.Load(conf.Options{Overrides: []string{
		"yarn.resourcemanager.webapp.address=" + strings.TrimPrefix(s.URL, "http://"),
		"heddle.openid.issuer=" + provider.Issuer, "heddle.openid.client-id=" + openidtest.Programs, "heddle.openid.client-secret=" + openidtest.Secret,
		"heddle.openid.user-claim=sub",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if filter, err = auth.FromConf(c, auth.Daemon{Role: "resourcemanager"}); err != nil {
		t.Fatal(err)
	}
	filter.Secrets = auth.RandomSecret()
	return c
}

// asks returns who a ResourceManager thinks asks it.
func asks(t *testing.T, c *conf.Config) (string, error) {
	t.Helper()
	cl, err := cluster.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	b, err := cl.Get(t.Context(), "/ws/v1/cluster/info", nil)
	return string(b), err
}

// run runs one of the commands.
func run(t *testing.T, c *conf.Config, out io.Writer, name string) error {
	commands := &cobra.Command{}
	commands.AddGroup(&cobra.Group{ID: command.Group})
	commands.AddCommand(New(func() (*conf.Config, error) { return c, nil })...)
	commands.SetOut(out)
	commands.SetArgs([]string{name})
	return commands.ExecuteContext(t.Context())
}

// A user without a browser signs in with another machine's; then commands are known, until logout.
func TestLoginOfCommands(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	provider := openidtest.Start(t)
	c := resourceManager(t, provider)
	if _, err := asks(t, c); err == nil || !strings.Contains(err.Error(), "run heddle login") {
		t.Fatalf("without a login: %v", err)
	}
	reader, writer := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		failed <- run(t, c, writer, "login")
		_ = writer.Close()
	}()
	said := make([]byte, 1000)
	n, err := reader.Read(said)
	code := regexp.MustCompile(`code (\S+)`).FindSubmatch(said[:n])
	if err != nil || code == nil {
		t.Fatalf("%q, %v", said[:n], err)
	}
	if err := provider.Approve(t.Context(), string(code[1])); err != nil {
		t.Fatal(err)
	}
	end, err := io.ReadAll(reader)
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	if err != nil || !strings.Contains(string(end), "Signed in as "+openidtest.Subject) {
		t.Errorf("%q, %v", end, err)
	}
	if got, err := asks(t, c); err != nil || got != `{"user":"`+openidtest.Subject+`"}` {
		t.Errorf("%s, %v", got, err)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`"` + r.Header.Get("Authorization") + `"`))
	}))
	defer other.Close()
	cl, err := cluster.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if a, err := cl.At(t.Context(), strings.TrimPrefix(other.URL, "http://"), cluster.Request{Path: "/"}); err != nil || string(a.Body) != `""` {
		t.Errorf("another server gets %s, %v", a.Body, err)
	}
	files, err := filepath.Glob(filepath.Join(home, ".heddle", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the login: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := asks(t, c); err == nil || !strings.Contains(err.Error(), "run heddle login again") {
		t.Errorf("with half a file: %v", err)
	}
	out := &strings.Builder{}
	if err := run(t, c, out, "logout"); err != nil || out.String() != "The login is forgotten.\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := asks(t, c); err == nil || !strings.Contains(err.Error(), "run heddle login") {
		t.Errorf("after logout: %v", err)
	}
}
