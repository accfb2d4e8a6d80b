// Package docker finds images in the store of a Docker daemon, by the API on its socket. The node takes an image's layers out of it and runs the container itself.
//
// It asks the daemon for nothing else: neither to pull, nor to run anything.
package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"heddle/internal/bounded"
	"heddle/nm/image/oci"
)

// askLimit is how long the daemon may take to describe an image, and silence how long it may send nothing of one.
const (
	askLimit = 30 * time.Second
	silence  = time.Minute
)

// Daemon is a Docker daemon. It is safe for concurrent use.
type Daemon struct {
	client *http.Client
	socket string
	dir    string // for archives, which no other user may enter
	max    int64  // bytes of an archive
	last   atomic.Int64
}

// New returns the daemon at a socket. Archives of at most max bytes are put into dir, and removed.
func New(socket, dir string, max int64) *Daemon {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &Daemon{client: &http.Client{Transport: &http.Transport{DialContext: dial, DisableCompression: true, IdleConnTimeout: time.Minute}}, socket: socket, dir: dir, max: max}
}

// Close ends connections.
func (d *Daemon) Close() { d.client.CloseIdleConnections() }

// Find returns an image of the daemon's store. Its layers are taken out when the first of them is opened. oci.ErrNotFound: the daemon doesn't have it.
func (d *Daemon) Find(ctx context.Context, n oci.Name) (*oci.Image, error) {
	text, err := d.describe(ctx, n.String())
	if err != nil {
		return nil, fmt.Errorf("docker daemon at %s: %w", d.socket, err)
	}
	about, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("docker daemon at %s: %w", d.socket, err)
	}
	e := &export{ctx: ctx, d: d, id: about.ID}
	i, err := oci.Described(about.Config, e.layer, e)
	if err != nil {
		return nil, fmt.Errorf("docker daemon at %s: %w", d.socket, err)
	}
	return i, nil
}

// describe returns what the daemon says of an image.
func (d *Daemon) describe(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	resp, err := d.get(ctx, name, "json")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := bounded.ReadAll(resp.Body, oci.MaxText)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusNotFound:
		return nil, oci.ErrNotFound
	case resp.StatusCode != http.StatusOK:
		return nil, refusal(resp, text)
	}
	return text, nil
}

// refusal is the error of an answer that isn't a success.
func refusal(resp *http.Response, text []byte) error {
	return fmt.Errorf("it answers %s: %s", resp.Status, strings.ToValidUTF8(string(text[:min(len(text), 300)]), ""))
}

func (d *Daemon) get(ctx context.Context, name, what string) (*http.Response, error) {
	at := url.URL{Scheme: "http", Host: "docker", Path: "/images/" + name + "/" + what}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	return d.client.Do(req)
}

// described is an image as the daemon describes it.
type described struct {
	ID     string
	Config []byte // as an image's config
}

// decode reads a description (Docker Engine API: ImageInspect).
func decode(text []byte) (described, error) {
	var about struct {
		ID     string `json:"Id"`
		Os     string
		Arch   string `json:"Architecture"`
		Config struct {
			Env, Entrypoint, Cmd []string
			WorkingDir           string
		}
		RootFS struct{ Layers []string }
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return described{}, fmt.Errorf("its description: %w", err)
	}
	if !strings.HasPrefix(about.ID, "sha256:") || len(about.ID) != len("sha256:")+64 || strings.Trim(about.ID[len("sha256:"):], "0123456789abcdef") != "" {
		return described{}, fmt.Errorf("its id is %.100q", about.ID)
	}
	var c oci.Config
	c.Architecture, c.OS = about.Arch, about.Os
	c.Config.Env, c.Config.Entrypoint, c.Config.Cmd, c.Config.WorkingDir = about.Config.Env, about.Config.Entrypoint, about.Config.Cmd, about.Config.WorkingDir
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", about.RootFS.Layers
	config, err := json.Marshal(c)
	return described{about.ID, config}, err
}

// export is an image that is taken out once.
type export struct {
	ctx context.Context
	d   *Daemon
	id  string

	once  sync.Once
	saved *oci.Image
	err   error
}

// layer opens a layer by its place.
func (e *export) layer(at int) (io.ReadCloser, error) {
	e.once.Do(func() {
		if e.saved, e.err = e.d.save(e.ctx, e.id); e.err != nil {
			e.err = fmt.Errorf("docker daemon at %s: %w", e.d.socket, e.err)
		}
	})
	if e.err != nil {
		return nil, e.err
	}
	if at >= len(e.saved.Layers) {
		return nil, fmt.Errorf("docker daemon at %s: the image has %d layers, and not one more", e.d.socket, at)
	}
	return e.saved.Layers[at].Open()
}

// Close implements io.Closer.
func (e *export) Close() error {
	e.once.Do(func() { e.err = errors.New("the image is closed") })
	if e.saved == nil {
		return nil
	}
	return e.saved.Close()
}

// save takes an image out of the daemon's store. Nothing of it is left in the folder once it is closed, or this process has ended.
func (d *Daemon) save(ctx context.Context, id string) (*oci.Image, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path := filepath.Join(d.dir, fmt.Sprintf("docker-%d.tar", d.last.Add(1)))
	defer os.Remove(path) // the image holds the file open
	resp, err := d.get(ctx, id, "get")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := bounded.ReadSome(resp.Body, 300)
		return nil, refusal(resp, text)
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	timer := time.AfterFunc(silence, cancel)
	defer timer.Stop()
	n, err := io.Copy(out, &heard{io.LimitReader(resp.Body, d.max+1), timer})
	err = errors.Join(err, out.Close())
	if err == nil && n > d.max {
		err = fmt.Errorf("the image has more than %d MB (heddle.nodemanager.images.max-image-mb)", d.max>>20)
	}
	if err != nil {
		return nil, err
	}
	return oci.OpenSaved(path)
}

// heard is a reader that puts off a timer whenever something comes.
type heard struct {
	io.Reader
	timer *time.Timer
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if n > 0 {
		h.timer.Reset(silence)
	}
	return n, err
}
