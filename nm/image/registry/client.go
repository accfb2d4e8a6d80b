package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	reference "oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"heddle/internal/bounded"
	"heddle/nm/image/oci"
)

// Bounds of a request.
const (
	answer       = 30 * time.Second // until an answer begins
	silence      = time.Minute      // between two pieces of one
	maxRedirects = 5
)

// Client pulls images. It is safe for concurrent use.
type Client struct {
	cfg     Config
	web     *http.Client
	silence time.Duration
	notes   notes
}

// New returns a client. It makes the folder of notes.
func New(cfg Config) (*Client, error) {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: answer, TLSHandshakeTimeout: answer,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
		TLSClientConfig: &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
		DisableCompression: true,
	}
	c := &Client{
		cfg: cfg, silence: silence, notes: notes(cfg.Dir),
		web: &http.Client{Transport: retry.NewTransport(t), CheckRedirect: redirect},
	}
	return c, c.notes.open()
}

// redirect bounds redirects, which mustn't lead from https to http.
func redirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case req.URL.Scheme != "https" && (req.URL.Scheme != "http" || from.Scheme != "http"):
		return fmt.Errorf("%s redirects from %s to %s, which is not followed", from.Host, from.Scheme, req.URL.Scheme)
	}
	return nil
}

// Found is an image of a registry.
type Found struct {
	*oci.Image
	Noted bool // the registry wasn't asked: it may have another under that name by now, and none of these parts
}

// Find returns the image that a registry has under a name; oci.ErrNotFound if it has none, or no registry of the settings is the name's. It
// asks the registry, unless the image was found before with the same login and fresh is false.
func (c *Client) Find(ctx context.Context, n oci.Name, logins Logins, fresh bool) (Found, error) {
	at, ok := c.place(n)
	if !ok {
		return Found{}, fmt.Errorf("%w in the registries of heddle.nodemanager.images.registries, of which none is %s",
			oci.ErrNotFound, at.Host)
	}
	logins = logins.Over(c.cfg.Logins)
	key := n.String() + "\n" + at.Host + "\n" + logins.mark(at.Host)
	fetch := func(d oci.Descriptor) func(context.Context, io.Writer, int64) error {
		return func(ctx context.Context, to io.Writer, from int64) error {
			return c.copy(ctx, c.repository(at, n, logins), d, to, from)
		}
	}
	complete := func(l *oci.Layer, d oci.Descriptor) { l.Fetch = fetch(d) }
	if parts, ok := c.notes.read(key); ok && !fresh {
		if i, err := parts.Image(complete); err == nil {
			return Found{i, true}, nil
		}
	}
	parts, err := c.ask(ctx, c.repository(at, n, logins), n)
	if err != nil {
		return Found{}, fmt.Errorf("registry %s: %w", at.Host, c.explain(err, at, logins))
	}
	i, err := parts.Image(complete)
	if err != nil {
		return Found{}, fmt.Errorf("registry %s: %w", at.Host, err)
	}
	return Found{Image: i}, c.notes.write(key, parts)
}

// place returns the registry of a name, with its host alone if it isn't among those of the settings.
func (c *Client) place(n oci.Name) (Registry, bool) {
	want := n.Registry
	if want == "" {
		want = Hub
	}
	for _, r := range c.cfg.Registries {
		if hostOf(r.Host) == hostOf(want) {
			return r, true
		}
	}
	return Registry{Host: want}, false
}

func (c *Client) repository(at Registry, n oci.Name, logins Logins) *remote.Repository {
	path := n.Repository
	if hostOf(at.Host) == Hub && !strings.Contains(path, "/") {
		path = "library/" + path
	}
	return &remote.Repository{
		Reference: reference.Reference{Registry: hostOf(at.Host), Repository: path}, PlainHTTP: at.Plain,
		MaxMetadataBytes: oci.MaxText + 1,
		Client: &auth.Client{
			Client: c.web, Header: http.Header{"User-Agent": {"heddle"}}, Cache: auth.NewSingleContextCache(),
			Credential:           auth.StaticCredential(hostOf(at.Host), logins.of(at.Host)),
			BlockedRealmPrefixes: unasked(at.Host),
		},
	}
}

// unasked are the addresses that a registry may not send its clients to for tokens: this machine's own, unless the registry is here.
func unasked(host string) []netip.Prefix {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return []netip.Prefix{}
	}
	return auth.DefaultBlockedRealmPrefixes()
}

// ask fetches the manifest and the config of an image.
func (c *Client) ask(ctx context.Context, repo *remote.Repository, n oci.Name) (oci.Parts, error) {
	manifest := func(which string) ([]byte, error) {
		_, in, err := repo.Manifests().FetchReference(ctx, which)
		if err != nil {
			return nil, err
		}
		return c.text(in)
	}
	which := n.Tag
	if n.Digest != "" {
		which = "sha256:" + n.Digest
	}
	top, err := manifest(which)
	if err != nil {
		return oci.Parts{}, err
	}
	if n.Digest != "" {
		if err := oci.CheckDigest(top, n.Digest); err != nil {
			return oci.Parts{}, err
		}
	}
	return oci.Collect(top, func(d oci.Descriptor) ([]byte, error) { return manifest(d.Digest) }, func(d oci.Descriptor) ([]byte, error) {
		var text bytes.Buffer
		err := c.copy(ctx, repo, d, &text, 0)
		return text.Bytes(), err
	})
}

func (c *Client) text(in io.ReadCloser) ([]byte, error) {
	defer in.Close()
	return bounded.ReadAll(&patient{in, c.silence}, oci.MaxText)
}

// copy copies a blob from one of its bytes on, and no more than its size.
func (c *Client) copy(ctx context.Context, repo *remote.Repository, d oci.Descriptor, to io.Writer, from int64) error {
	in, err := repo.Blobs().Fetch(ctx, ocispec.Descriptor{Digest: digest.Digest(d.Digest), Size: d.Size})
	if err != nil {
		return err
	}
	defer in.Close()
	if from > 0 {
		seeker, ok := in.(io.Seeker)
		if !ok {
			return fmt.Errorf("%s: the transfer broke off, and the registry can't take it up again", d.Digest)
		}
		if _, err := seeker.Seek(from, io.SeekStart); err != nil {
			return err
		}
	}
	n, err := io.Copy(to, io.LimitReader(&patient{in, c.silence}, d.Size-from+1))
	switch {
	case err != nil:
		return err
	case n > d.Size-from:
		return fmt.Errorf("%s has more than the %d bytes that its manifest says", d.Digest, d.Size)
	case n < d.Size-from:
		return fmt.Errorf("%s: %w", d.Digest, io.ErrUnexpectedEOF)
	}
	return nil
}

// patient fails to read from a body that sends nothing for a while.
type patient struct {
	in      io.ReadCloser
	silence time.Duration
}

func (p *patient) Read(b []byte) (int, error) {
	quiet := time.AfterFunc(p.silence, func() { _ = p.in.Close() }) // the read fails then
	n, err := p.in.Read(b)
	if !quiet.Stop() && err != nil {
		err = fmt.Errorf("the registry sends nothing for %v", p.silence)
	}
	return n, err
}

// explain adds what to do about an error.
func (c *Client) explain(err error, at Registry, logins Logins) error {
	var answer *errcode.ErrorResponse
	refused := errors.Is(err, auth.ErrBasicCredentialNotFound) ||
		errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden)
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		return fmt.Errorf("%w: %w", oci.ErrNotFound, err)
	case refused && logins.of(at.Host) == auth.EmptyCredential:
		return fmt.Errorf("it wants a login: bring one in the application's tokens, or add it to heddle.nodemanager.images.registry-logins: %w", err)
	case refused:
		return fmt.Errorf("it refuses the login: %w", err)
	}
	return err
}
