package auxservices

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
)

// heddle conf check reads a manifest that is a local file.
func TestProblemsOfManifests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "manifest.json")
	for _, x := range []struct{ text, name, want string }{
		{"", file, "starts without auxiliary services"},
		{`{"services":[{"name":"a","configuration":{"properties":{"class.name":"a.B"}}}]}`, "file://" + file, ""},
		{`{"services":[{"name":"a"}]}`, file, "class name not provided"},
		{`{"services":[{"name":"a","configuration":{"properties":{"class.name":"a.B"}}},{"name":"a","configuration":{"properties":{"class.name":"a.C"}}}]}`, file, "two services a"},
		{"\xff", file, "JSON object"},
		{strings.Repeat(" ", MaxList+1), file, "longer than allowed"},
		{"", "hdfs://nn/manifest.json", ""},
		{"", "://", "missing protocol"},
	} {
		c, err := conf.Load(conf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.Set(manifestKey+".enabled", "true")
		c.Set(manifestKey, x.name)
		_ = os.Remove(file)
		if x.text != "" {
			if err := os.WriteFile(file, []byte(x.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var said string
		for _, p := range Problems(c) {
			said += p.Message
		}
		if !strings.Contains(said, x.want) || x.want == "" && said != "" {
			t.Errorf("%.60q: %q, want %q", x.text, said, x.want)
		}
	}
}
