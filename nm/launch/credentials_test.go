package launch

import (
	"os"
	"path/filepath"
	"testing"

	"heddle/internal/userfiles"
	"heddle/yarn/proxyca"
	"heddle/yarn/token"
)

// Keystores in credentials become files for their user alone, and variables that the application can't set otherwise.
func TestKeystoresOfApplicationMasters(t *testing.T) {
	creds := &token.Credentials{}
	for alias, secret := range map[string]string{
		"yarn.application.am.keystore": "the keystore", "yarn.application.am.keystore.password": "kpass",
		"yarn.application.am.truststore": "the truststore", "yarn.application.am.truststore.password": "tpass",
	} {
		creds.SetSecret(alias, []byte(secret))
	}
	raw, err := creds.Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	work, err := userfiles.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	if err := WriteCredentials(work, raw, userfiles.Want{Mode: 0o600, UID: userfiles.Keep, GID: userfiles.Keep}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"yarn_provided.keystore": "the keystore", "yarn_provided.truststore": "the truststore", TokensFile: string(raw)} {
		path := filepath.Join(dir, name)
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
			continue
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	left := map[string]bool{}
	for _, path := range Secrets(dir) {
		left[filepath.Base(path)] = true
	}
	if len(left) != 4 || !left[TokensFile] || !left[ScriptFile] || !left["yarn_provided.keystore"] || !left["yarn_provided.truststore"] {
		t.Errorf("what is removed first: %v", left)
	}
	e := Environment{App: map[string]string{"KEYSTORE_PASSWORD": "mine", "X": "1"}, Stores: proxyca.Stores(raw), WorkDir: "/work"}
	_, vars := e.Vars()
	got := map[string]string{}
	for _, v := range vars {
		got[v.Name] = v.Value
	}
	for name, want := range map[string]string{
		"KEYSTORE_FILE_LOCATION": "/work/yarn_provided.keystore", "KEYSTORE_PASSWORD": "kpass",
		"TRUSTSTORE_FILE_LOCATION": "/work/yarn_provided.truststore", "TRUSTSTORE_PASSWORD": "tpass", "X": "1",
	} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
}
