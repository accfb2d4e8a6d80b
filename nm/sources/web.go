package sources

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"heddle/nm/localizer"
)

// Web reads files of web servers as Hadoop's HttpFileSystem does: their time is 0, all users may read them, and there are no folders.
type Web struct{ Client *http.Client }

// hostOf is host:port of a location.
func hostOf(at localizer.Location) string {
	if at.Port > 0 {
		return net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
	}
	return at.Host
}

func (w Web) ask(ctx context.Context, method string, at localizer.Location, header http.Header) (*http.Response, error) {
	u := url.URL{Scheme: at.Scheme, Host: hostOf(at), Path: at.Path}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	req.Header.Set("Accept-Encoding", "identity") // the file as it is, whatever its name ends in
	return w.Client.Do(req)
}

// Stat implements localizer.Source. A server that doesn't tell the size gives −1.
func (w Web) Stat(ctx context.Context, _ localizer.Reader, at localizer.Location) (localizer.Info, error) {
	info := localizer.Info{Name: at.Name(), Size: -1, Mode: 0o666}
	resp, err := w.ask(ctx, http.MethodHead, at, http.Header{})
	if err != nil {
		return info, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusMethodNotAllowed || resp.StatusCode == http.StatusNotImplemented:
		return info, nil // Open will tell
	case resp.StatusCode != http.StatusOK:
		return info, statusError(at, resp)
	}
	info.Size = resp.ContentLength
	return info, nil
}

// List implements localizer.Source.
func (w Web) List(context.Context, localizer.Reader, localizer.Location) ([]localizer.Info, error) {
	return nil, errNoList
}
