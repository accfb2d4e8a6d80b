package credential

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/conf/conftest"
)

const asked = "ssl.server.keystore.password"

func provider(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Providers of other file systems are read as programs have registered it.
func TestProvidersElsewhere(t *testing.T) {
	data, err := os.ReadFile(provider(t, "none.jceks"))
	if err != nil {
		t.Fatal(err)
	}
	Register("elsewhere", func(_ *conf.Config, file string, limit int64) ([]byte, error) {
		if file == "elsewhere://host:1/d/p.jceks" || file == "elsewhere:///p.jceks" {
			return data, nil
		}
		return nil, fs.ErrNotExist
	})
	for path, want := range map[string]string{
		"jceks://elsewhere@host:1/d/p.jceks": "storepass", "jceks://elsewhere/p.jceks": "storepass", "jceks://elsewhere/missing.jceks": "", "jceks://elsewhere@host/": "",
	} {
		if got, _, err := Password(conftest.With(t, map[string]string{PathKey: path}), asked); got != want || err != nil {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if _, _, err := Password(conftest.With(t, map[string]string{PathKey: "jceks://elsewhere@host"}), asked); err == nil {
		t.Error("without a path")
	}
}

// Passwords come from providers that Hadoop's own command has made, in their order, and then from the files.
func TestPassword(t *testing.T) {
	none, env := "localjceks://file"+provider(t, "none.jceks"), "jceks://file"+provider(t, "env.jceks")
	missing := "localjceks://file" + t.TempDir() + "/missing.jceks"
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(" pr0vider\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		set  map[string]string
		env  string
		want string
		ok   bool
		bad  string // part of the error
	}{
		"no provider":            {map[string]string{asked: "clear"}, "", "clear", true, ""},
		"nothing":                {nil, "", "", false, ""},
		"a provider":             {map[string]string{PathKey: none, asked: "clear"}, "", "storepass", true, ""},
		"the first one":          {map[string]string{PathKey: missing + ", " + none}, "", "storepass", true, ""},
		"the process's own":      {map[string]string{PathKey: "user:///," + none}, "", "storepass", true, ""},
		"a password by variable": {map[string]string{PathKey: env}, "pr0vider", "störe pass€", true, ""},
		"a password by file":     {map[string]string{PathKey: env, fileKey: file}, "", "störe pass€", true, ""},
		"a wrong password":       {map[string]string{PathKey: env, asked: "clear"}, "", "", false, "HADOOP_CREDSTORE_PASSWORD"},
		"no password file":       {map[string]string{PathKey: env, fileKey: file + "x"}, "", "", false, fileKey},
		"a missing provider":     {map[string]string{PathKey: missing, asked: "clear"}, "", "clear", true, ""},
		"no fallback":            {map[string]string{PathKey: missing, asked: "clear", fallbackKey: "false"}, "", "", false, ""},
		"HDFS":                   {map[string]string{PathKey: "jceks://hdfs@nn:8020/x.jceks"}, "", "", false, "copy the provider to each machine"},
		"BouncyCastle":           {map[string]string{PathKey: "localbcfks://file/x"}, "", "", false, "type jceks"},
		"another scheme":         {map[string]string{PathKey: "http://x/y"}, "", "", false, "localjceks://file/PATH"},
		"no keystore":            {map[string]string{PathKey: "jceks://file" + file}, "", "", false, "no keystore"},
	} {
		t.Run(name, func(t *testing.T) {
			if x.env != "" {
				t.Setenv(variable, x.env)
			}
			got, ok, err := Password(conftest.With(t, x.set), asked)
			if got != x.want || ok != x.ok || (err == nil) != (x.bad == "") || err != nil && !strings.Contains(err.Error(), x.bad) {
				t.Errorf("got %q, %v, %v; want %q, %v, %q", got, ok, err, x.want, x.ok, x.bad)
			}
		})
	}
}
