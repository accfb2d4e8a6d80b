package proxyca

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/internal/sharedsecret"
	"heddle/yarn/token"
)

// The pages of an ApplicationMaster of ours come with its certificate by TLS, and to its workers without, at one port.
func TestOnePortWithAndWithoutTLS(t *testing.T) {
	a, creds := made(t), &token.Credentials{}
	if err := a.Certify(creds, mine, time.Now()); err != nil {
		t.Fatal(err)
	}
	file, _ := creds.Secret(keystoreAlias)
	password, _ := creds.Secret(keystoreAlias + passwordSuffix)
	path := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"KEYSTORE_FILE_LOCATION": path, "KEYSTORE_PASSWORD": string(password)}
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	own, err := sharedsecret.TLS([]byte("secret"), "a test")
	if err != nil {
		t.Fatal(err)
	}
	l, secured, err := Served(raw, func(name string) string { return env[name] }, own)
	if err != nil || !secured {
		t.Fatalf("%v, %v", secured, err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, "a page") })}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	defer func() {
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	silent, err := net.Dial("tcp", raw.Addr().String()) // keeps no other waiting
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, scheme := range []string{"http", "https", "http", "own"} {
		transport := &http.Transport{TLSClientConfig: a.Client(mine, "127.0.0.1"), DisableKeepAlives: true}
		if scheme == "own" {
			scheme, transport.DialContext = "http", sharedsecret.Dial(own)
		}
		resp, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(scheme + "://" + raw.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(b) != "a page" {
			t.Errorf("%s: %q, %v", scheme, b, err)
		}
	}
	env["KEYSTORE_PASSWORD"] = "another"
	if _, _, err := Served(raw, func(name string) string { return env[name] }, nil); err == nil {
		t.Error("a keystore is read with the wrong password")
	}
	delete(env, "KEYSTORE_FILE_LOCATION")
	if same, secured, err := Served(raw, func(name string) string { return env[name] }, nil); same != raw || secured || err != nil {
		t.Errorf("without a certificate: %v, %v", secured, err)
	}
}
