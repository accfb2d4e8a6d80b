package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"heddle/internal/imagetest"
	"heddle/nm/image/oci"
)

const id = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// socket answers calls as a daemon would that has an image team/python:3.
type socket struct {
	about, saved []byte
	exports      int
	endless      bool
}

func (s *socket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/images/team/python:3/json":
		_, _ = w.Write(s.about)
	case "/images/team/broken:latest/json":
		http.Error(w, `{"message":"the disk is \x1b[31mfull"}`, http.StatusInternalServerError)
	case "/images/" + id + "/get":
		s.exports++
		_, _ = w.Write(s.saved)
		for s.endless {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	default:
		http.Error(w, `{"message":"No such image"}`, http.StatusNotFound)
	}
}

// daemon starts one on a socket.
func daemon(t *testing.T, max int64) (*socket, *Daemon, string) {
	t.Helper()
	i := imagetest.Image{Layers: []imagetest.Layer{imagetest.Tar(t, imagetest.File("base", "base")), imagetest.Tar(t, imagetest.File("a", "one"))}}
	archive := filepath.Join(t.TempDir(), "saved.tar")
	i.Saved(t, archive, "team/python:3")
	saved, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	about, err := json.Marshal(map[string]any{
		"Id": id, "Os": "linux", "Architecture": runtime.GOARCH, "Config": map[string]any{"Env": []string{"A=b"}, "Entrypoint": []string{"/run"}, "Cmd": nil},
		"RootFS": map[string]any{"Type": "layers", "Layers": []string{"sha256:" + imagetest.Digest(i.Layers[0]), "sha256:" + imagetest.Digest(i.Layers[1])}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, path, dir := &socket{about: about, saved: saved}, filepath.Join(t.TempDir(), "docker.sock"), t.TempDir()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(s)
	web.Listener.Close()
	web.Listener = l
	web.Start()
	d := New(path, dir, max)
	t.Cleanup(func() { d.Close(); web.Close() })
	return s, d, dir
}

func name(t *testing.T, text string) oci.Name {
	t.Helper()
	n, err := oci.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An image's layers are taken out once, when the first is needed, and leave nothing behind.
func TestImagesOfADaemon(t *testing.T) {
	s, d, dir := daemon(t, 1<<20)
	i, err := d.Find(t.Context(), name(t, "team/python:3"))
	if err != nil || len(i.Layers) != 2 || i.Config.Config.Env[0] != "A=b" || i.Config.Config.Entrypoint[0] != "/run" || s.exports != 0 {
		t.Fatalf("%+v, %v, %d exports", i, err, s.exports)
	}
	for _, l := range i.Layers {
		in, err := l.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		in.Close()
		if err != nil || imagetest.Digest(b) != l.DiffID {
			t.Errorf("a layer is another: %v", err)
		}
	}
	if err := i.Close(); err != nil || s.exports != 1 {
		t.Errorf("%v, %d exports", err, s.exports)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if i, err = d.Find(t.Context(), name(t, "team/python:3")); err != nil || i.Close() != nil {
		t.Fatal(err)
	}
	if _, err := i.Layers[0].Open(); err == nil {
		t.Error("a closed image is open")
	}
}

// Whatever a daemon answers, the node gets an error that names it, and no more than it can hold.
func TestDaemonsThatLie(t *testing.T) {
	s, d, dir := daemon(t, 1<<20)
	if _, err := d.Find(t.Context(), name(t, "team/none")); !errors.Is(err, oci.ErrNotFound) {
		t.Error(err)
	}
	if _, err := d.Find(t.Context(), name(t, "team/broken")); err == nil || !strings.Contains(err.Error(), "500") || errors.Is(err, oci.ErrNotFound) {
		t.Error(err)
	}
	about := string(s.about)
	for what, text := range map[string]string{
		"no JSON": "\xff", "no id": "{}", "a path as id": strings.Replace(about, id, "sha256:../../../../etc/passwd", 1), "no layers": strings.Replace(about, `"Layers":[`, `"Layers":[],"x":[`, 1),
		"another processor": strings.Replace(about, runtime.GOARCH, "s390x", 1), "endless": strings.Repeat(" ", oci.MaxText+1),
	} {
		s.about = []byte(text)
		if _, err := d.Find(t.Context(), name(t, "team/python:3")); err == nil || !strings.Contains(err.Error(), "docker daemon at") {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.about = []byte(about)
	opened := func() error {
		i, err := d.Find(t.Context(), name(t, "team/python:3"))
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		in, err := i.Layers[1].Open()
		if err == nil {
			in.Close()
		}
		return err
	}
	whole := s.saved
	for what, saved := range map[string][]byte{"nothing": nil, "half": whole[:len(whole)/2], "no archive": []byte(strings.Repeat("x", 4096))} {
		if s.saved = saved; opened() == nil {
			t.Errorf("%s: no error", what)
		}
	}
	s.saved, s.endless = whole, true
	if err := opened(); err == nil || !strings.Contains(err.Error(), "max-image-mb") {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := New("/nosuch/docker.sock", dir, 1).Find(t.Context(), name(t, "a")); err == nil || errors.Is(err, oci.ErrNotFound) {
		t.Error(fmt.Sprint("no daemon: ", err))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"Id":"` + id + `","Config":{"Env":["A=b"]},"RootFS":{"Layers":["sha256:0"]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		about, err := decode(b)
		if err != nil {
			return
		}
		if strings.ContainsAny(about.ID, "/?#.") {
			t.Errorf("%q", about.ID)
		}
		_, _ = oci.Described(about.Config, nil, nil)
	})
}
