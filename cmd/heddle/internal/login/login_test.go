package login

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/oauth2"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/command"
	"heddle/conf"
	"heddle/yarn/rest/auth"
	"heddle/yarn/rest/auth/openid"
	"heddle/yarn/rest/auth/openid/openidtest"
)

// resourceManager is a web port that says who asks, and counts nothing but a login. Programs are a client of the provider.
func resourceManager(t *testing.T, provider *openidtest.Provider, programs string) *conf.Config {
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
		"heddle.openid.issuer=" + provider.Issuer, "heddle.openid.client-id=" + programs, "heddle.openid.client-secret=" + openidtest.Secret,
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
	c := resourceManager(t, provider, openidtest.Programs)
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

// A login whose token ends is renewed, with the token for that which the provider gave last. When the provider doesn't renew it any more, the command says what to do.
func TestRenewalOfLogins(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	codes := make(chan string, 1)
	back := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { codes <- r.FormValue("code") }))
	defer back.Close()
	provider := openidtest.Start(t, back.URL)
	c := resourceManager(t, provider, openidtest.Client)
	at := oauth2.Config{
		ClientID: openidtest.Client, ClientSecret: openidtest.Secret, RedirectURL: back.URL, Scopes: []string{"openid", "offline_access"},
		Endpoint: oauth2.Endpoint{AuthURL: provider.Issuer + "/auth", TokenURL: provider.Issuer + "/oauth/token"},
	}
	answer, err := provider.SignIn(openidtest.Browser(t), at.AuthCodeURL("state"), openidtest.User, openidtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	first, err := at.Exchange(t.Context(), <-codes)
	if err != nil || first.RefreshToken == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	login := openid.Login{Token: "an old one", User: openidtest.User, Ends: time.Now(), Refresh: first.RefreshToken}
	for range 2 { // the second time with what came first
		keep(t, c, login)
		if got, err := asks(t, c); err != nil || got != `{"user":"`+openidtest.Subject+`"}` {
			t.Fatalf("%s, %v", got, err)
		}
		b, err := os.ReadFile(file(t, c))
		if err != nil {
			t.Fatal(err)
		}
		old := login.Refresh
		if err := json.Unmarshal(b, &login); err != nil || login.Refresh == "" || login.Refresh == old || !login.Ends.After(time.Now()) {
			t.Fatalf("%+v, %v", login, err)
		}
		login.Ends = time.Now()
	}
	login.Refresh = first.RefreshToken
	keep(t, c, login)
	if _, err := asks(t, c); err == nil || !strings.Contains(err.Error(), "doesn't renew the login") || !strings.Contains(err.Error(), "run heddle login again") {
		t.Errorf("with a token that was used: %v", err)
	}
}

// file is where the login of a configuration is kept.
func file(t *testing.T, c *conf.Config) string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(c.Text("heddle.openid.issuer") + "\n" + c.Text("heddle.openid.client-id")))
	return filepath.Join(home, ".heddle", fmt.Sprintf("login-%x.json", sum[:8]))
}

func keep(t *testing.T, c *conf.Config, l openid.Login) {
	t.Helper()
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file(t, c)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file(t, c), b, 0o600); err != nil {
		t.Fatal(err)
	}
}
