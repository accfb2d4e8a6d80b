package runc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"heddle/internal/imagetest"
	"heddle/nm/image/oci"
	"heddle/nm/localizer"
)

func finder(t *testing.T, dir string, change ...func(*Config)) *Finder {
	t.Helper()
	log := logrus.New()
	log.Out = io.Discard
	cfg := Config{
		Top: "file://" + dir, Tags: "file://" + dir + "/image-tag-to-hash", Refresh: 0, Stat: time.Hour, Images: 2,
		Source: localizer.Sources{"file": localizer.LocalFiles{}}, Log: logrus.NewEntry(log),
	}
	for _, f := range change {
		f(&cfg)
	}
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func open(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Images are found by tag, of the node's own file first, or by digest. Tags change with their file. Layers come whole.
func TestImagesOfHadoopsRuntime(t *testing.T) {
	dir := open(t)
	i := imagetest.Image{Layers: []imagetest.Layer{imagetest.Tar(t, imagetest.File("a", "first"))}, Env: []string{"A=first"}}
	first := i.Squashed(t, dir, "team/x:1,team/x:latest")
	f := finder(t, dir, func(c *Config) { c.LocalTags = dir + "/local" })
	want := func(tag, env string) *oci.Image {
		t.Helper()
		found, err := f.Find(t.Context(), tag, localizer.Reader{})
		if err != nil {
			t.Fatal(err)
		}
		if found.Config.Config.Env[0] != env {
			t.Errorf("%s: %v, want %s", tag, found.Config.Config.Env, env)
		}
		return found
	}
	layer := want("team/x:latest", "A=first").Layers[0]
	var b bytes.Buffer
	if err := layer.Fetch(t.Context(), &b, 0); err != nil || int64(b.Len()) != layer.Size || !strings.HasPrefix(b.String(), "hsqs") || !layer.Squashfs {
		t.Errorf("%d bytes of %d, %v", b.Len(), layer.Size, err)
	}
	i.Env = []string{"A=second"}
	later := time.Now().Add(time.Hour)
	i.Squashed(t, dir, "team/x:1")
	if err := os.Chtimes(dir+"/image-tag-to-hash", later, later); err != nil {
		t.Fatal(err)
	}
	want("team/x:1", "A=second")
	want(first, "A=first")
	if err := os.WriteFile(dir+"/local", []byte("team/x:1:"+first+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want("team/x:1", "A=first")
	for _, tag := range []string{"team/x:latest", "none", strings.Repeat("0", 64)} {
		if _, err := f.Find(t.Context(), tag, localizer.Reader{}); !errors.Is(err, oci.ErrNotFound) {
			t.Errorf("%s: %v", tag, err)
		}
	}
	if err := os.Remove(dir + "/image-tag-to-hash"); err != nil {
		t.Fatal(err)
	}
	want("team/x:1", "A=first")
	if len(f.images) > 2 {
		t.Errorf("%d images are remembered", len(f.images))
	}
}

// What isn't what it should be, or what all users may write to, is refused.
func TestDamagedImagesOfHadoopsRuntime(t *testing.T) {
	for what, c := range map[string]struct {
		spoil func(dir, manifest string) error
		want  string
	}{
		"another manifest": {func(dir, m string) error { return os.WriteFile(dir+"/manifests/"+m, []byte("{}"), 0o644) }, "digest"},
		"no config":        {func(dir, _ string) error { return os.RemoveAll(dir + "/config") }, "config"},
		"no layer":         {func(dir, _ string) error { return os.RemoveAll(dir + "/layers") }, "layer 1"},
		"tags of all":      {func(dir, _ string) error { return os.Chmod(dir+"/image-tag-to-hash", 0o666) }, "all users may write"},
	} {
		dir := open(t)
		m := imagetest.Image{Layers: []imagetest.Layer{imagetest.Tar(t, imagetest.File("a", "x"))}}.Squashed(t, dir, "x:1")
		if err := c.spoil(dir, m); err != nil {
			t.Fatal(err)
		}
		if _, err := finder(t, dir).Find(t.Context(), "x:1", localizer.Reader{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, c := range []Config{{Top: "relative"}, {Top: "/x", Tags: "relative"}} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), "absolute") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestFilesOfTags(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	text := "# comment\nfoo/bar:current,fizz/gig:latest:" + a + "\n\nx:" + b + " # no\ny:" + b + "# yes\r\nwrong\nz:short\nregistry:5000/x:1:" + strings.ToUpper(a)
	tags, wrong := parseTags([]byte(text))
	if diff := cmp.Diff(map[string]string{"foo/bar:current": a, "fizz/gig:latest": a, "y": b, "registry:5000/x:1": a}, tags); diff != "" || wrong != 3 {
		t.Errorf("%d wrong lines: %s", wrong, diff)
	}
}

// A file of tags may be anything: each tag has a digest.
func FuzzParseTags(f *testing.F) {
	f.Add([]byte("a,b:" + strings.Repeat("0", 64) + "#x\n:::\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tags, _ := parseTags(text)
		for tag, hash := range tags {
			if !digest.MatchString(hash) {
				t.Errorf("%q: %q", tag, hash)
			}
		}
	})
}
