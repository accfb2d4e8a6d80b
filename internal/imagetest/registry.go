package imagetest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"heddle/internal/needs"
)

// Registry is a real registry (CNCF distribution) in a process of its own, until the test ends.
type Registry struct {
	Host string // host:port
	URL  string
	Web  *http.Client // knows the registry's certificate
	User string       // "": anyone may pull
	Pass string
	stop func()
}

// Stop ends the registry.
func (r *Registry) Stop() { r.stop() }

// RegistryOptions say how a registry is reached.
type RegistryOptions struct {
	User, Pass string // who may use it; "": anyone
	Hash       string // of the password, by bcrypt
	Cert, Key  string // PEM files; "": HTTP
	Web        *http.Client
}

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

// StartRegistry starts a registry.
func StartRegistry(t testing.TB, o RegistryOptions) *Registry {
	t.Helper()
	program := needs.Program(t, "docker-registry")
	dir := t.TempDir()
	text := fmt.Sprintf("version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: %s/blobs}, delete: {enabled: true}}\nhttp:\n  addr: 127.0.0.1:0\n", dir)
	scheme := "http"
	if o.Cert != "" {
		scheme = "https"
		text += fmt.Sprintf("  tls: {certificate: %s, key: %s}\n", o.Cert, o.Key)
	}
	if o.User != "" {
		write(t, dir+"/passwords", []byte(o.User+":"+o.Hash+"\n"))
		text += fmt.Sprintf("auth: {htpasswd: {realm: test, path: %s/passwords}}\n", dir)
	}
	write(t, dir+"/config.yml", []byte(text))
	cmd := exec.Command(program, "serve", dir+"/config.yml")
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &Registry{Web: o.Web, User: o.User, Pass: o.Pass}
	if r.Web == nil {
		r.Web = http.DefaultClient
	}
	stopped := false
	r.stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(r.stop)
	var said strings.Builder
	lines := bufio.NewScanner(out)
	for r.Host == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			r.Host = m[1]
		}
	}
	if r.Host == "" {
		t.Fatalf("the registry doesn't start: %s", said.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	r.URL = scheme + "://" + r.Host
	return r
}

func (r *Registry) do(t testing.TB, method, url, kind string, body []byte, want int) *http.Response {
	t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if r.User != "" {
		req.SetBasicAuth(r.User, r.Pass)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := r.Web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != want {
		t.Fatalf("%s %s: %s, %s, %v", method, url, resp.Status, text, err)
	}
	return resp
}

// Types of manifests.
const (
	ManifestType = "application/vnd.oci.image.manifest.v1+json"
	IndexType    = "application/vnd.oci.image.index.v1+json"
)

// Push gives the registry an image, and returns the digest of its manifest.
func (r *Registry) Push(t testing.TB, i Image, repository, tag string) string {
	t.Helper()
	var digest string
	blobs := i.Blobs(t, "")
	for path, blob := range blobs {
		name, ok := strings.CutPrefix(path, "blobs/sha256/")
		if !ok {
			continue
		}
		if bytes.HasPrefix(blob, []byte(`{"config"`)) {
			digest = name
			continue
		}
		at := r.do(t, http.MethodPost, r.URL+"/v2/"+repository+"/blobs/uploads/", "", nil, http.StatusAccepted).Header.Get("Location")
		r.do(t, http.MethodPut, at+"&digest=sha256:"+name, "application/octet-stream", blob, http.StatusCreated)
	}
	r.PushManifest(t, repository, tag, ManifestType, blobs["blobs/sha256/"+digest])
	return digest
}

// PushManifest gives the registry a manifest or an index.
func (r *Registry) PushManifest(t testing.TB, repository, tag, kind string, text []byte) {
	t.Helper()
	r.do(t, http.MethodPut, r.URL+"/v2/"+repository+"/manifests/"+tag, kind, text, http.StatusCreated)
}

// Delete removes a manifest.
func (r *Registry) Delete(t testing.TB, repository, digest string) {
	t.Helper()
	r.do(t, http.MethodDelete, r.URL+"/v2/"+repository+"/manifests/sha256:"+digest, "", nil, http.StatusAccepted)
}
