package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"heddle/nm/localizer"
)

// Bounds of a transfer: redirects of a request, how often it is taken up where it broke off, and how long a server may send nothing.
const (
	maxRedirects = 10
	maxResumes   = 3
	silence      = 2 * time.Minute
)

// sameScheme bounds redirects. They stay within a scheme, as Java's do, or lead from http to https.
func sameScheme(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case req.URL.Scheme != from.Scheme && (from.Scheme != "http" || req.URL.Scheme != "https"):
		return fmt.Errorf("%s redirects from %s to %s, which is not followed", from.Host, from.Scheme, req.URL.Scheme)
	}
	return nil
}

// Open implements localizer.Source. A transfer that breaks off continues where it was, if the server can do that and says that the file is the same; otherwise it
// fails, so that no half of a file is taken for the whole.
func (w Web) Open(ctx context.Context, _ localizer.Reader, at localizer.Location) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	resp, err := w.ask(ctx, http.MethodGet, at, http.Header{})
	if err != nil {
		cancel(nil)
		return nil, err
	}
	t := &transfer{
		web: w, ctx: ctx, cancel: cancel, at: at, silence: silence, size: resp.ContentLength,
		validator: validator(resp.Header),
	}
	t.take(resp)
	switch {
	case resp.StatusCode != http.StatusOK:
		err = statusError(at, resp)
	case resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 && resp.ProtoMajor < 2:
		err = fmt.Errorf("%s: the server sends neither a length nor chunks: a transfer that breaks off would look like the whole file", at)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// validator returns what tells whether a file is still the same: a strong ETag, or its time.
func validator(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" {
		if strings.HasPrefix(tag, "W/") {
			return ""
		}
		return tag
	}
	return h.Get("Last-Modified")
}

// transfer is a file that comes from a web server.
type transfer struct {
	web       Web
	ctx       context.Context
	cancel    context.CancelCauseFunc
	at        localizer.Location
	silence   time.Duration
	size      int64 // -1: chunks say where it ends
	validator string

	body    atomic.Pointer[io.ReadCloser]
	got     int64
	resumed int
}

var errSilent = errors.New("the server sends nothing")

func (t *transfer) take(resp *http.Response) { t.body.Store(&resp.Body) }

// Read implements io.Reader.
func (t *transfer) Read(p []byte) (int, error) {
	for {
		body := *t.body.Load()
		quiet := time.AfterFunc(t.silence, func() { _ = body.Close() }) // the read fails then
		n, err := body.Read(p)
		inTime := quiet.Stop()
		t.got += int64(n)
		switch {
		case err == nil, t.ctx.Err() != nil:
			return n, err
		case errors.Is(err, io.EOF) && (t.size < 0 || t.got == t.size):
			return n, io.EOF
		case !inTime:
			err = fmt.Errorf("%w for %v", errSilent, t.silence)
		case errors.Is(err, io.EOF):
			err = io.ErrUnexpectedEOF
		}
		if err := t.resume(err); err != nil {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

// resume asks for what has not come yet. broken is why.
func (t *transfer) resume(broken error) error {
	_ = (*t.body.Load()).Close() // it is of no use any more
	total := "an unknown number of"
	if t.size >= 0 {
		total = fmt.Sprint(t.size)
	}
	fail := func(why string) error {
		return fmt.Errorf("%s: the transfer broke off after %d of %s bytes (%w), and can't go on there: %s", t.at, t.got,
			total, broken, why)
	}
	switch {
	case t.validator == "":
		return fail("the server says neither by ETag nor by Last-Modified whether the file is still the same")
	case t.resumed == maxResumes:
		return fail(fmt.Sprintf("that has happened %d times before", maxResumes))
	}
	t.resumed++
	resp, err := t.web.ask(t.ctx, http.MethodGet, t.at, http.Header{"Range": {fmt.Sprintf("bytes=%d-", t.got)}, "If-Range": {t.validator}})
	if err != nil {
		return fail(err.Error())
	}
	t.take(resp)
	var from int64
	_, err = fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &from)
	switch {
	case resp.StatusCode == http.StatusOK:
		return fail("the server sends the file from its beginning, or it has changed")
	case resp.StatusCode != http.StatusPartialContent:
		return fail("the server answers " + resp.Status)
	case err != nil || from != t.got:
		return fail(fmt.Sprintf("the server sends %.60q instead of what is after %d bytes", resp.Header.Get("Content-Range"), t.got))
	case t.size >= 0 && resp.ContentLength >= 0 && t.got+resp.ContentLength != t.size:
		return fail(fmt.Sprintf("the server has %d bytes now", t.got+resp.ContentLength))
	}
	return nil
}

// Close implements io.Closer. A Read that waits ends.
func (t *transfer) Close() error {
	t.cancel(nil)
	return (*t.body.Load()).Close()
}
