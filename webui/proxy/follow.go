package proxy

import (
	"net/http"
	"net/url"
	"strings"
)

// maxFollowed bounds how many redirects of an application's first page are followed.
const maxFollowed = 5

// first asks for an application's first page, and follows where the application sends it, as YARN's proxy does: programs that read the page need not follow
// redirects. It follows only to the same host and port, and not to a proxy's path. Other redirects, and those that set a cookie, are the browser's.
// The address returned is the one that has answered.
func (p *Proxy) first(req *http.Request, to *url.URL) (*http.Response, *url.URL, error) {
	for followed := 0; ; followed++ {
		resp, err := p.client.Do(req)
		if err != nil {
			return nil, to, err
		}
		next := onward(resp, to)
		if next == nil || followed == maxFollowed {
			return resp, to, nil
		}
		resp.Body.Close()
		to, req = next, req.Clone(req.Context())
		req.URL = next
	}
}

// onward returns where an answer sends a GET on the same host, or nil.
func onward(resp *http.Response, to *url.URL) *url.URL {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	given := resp.Header.Get("Location")
	next, err := to.Parse(given)
	if given == "" || err != nil || next.Scheme != to.Scheme || next.Host != to.Host || next.User != nil || len(resp.Header["Set-Cookie"]) > 0 ||
		next.Path == Base || strings.HasPrefix(next.Path, Base+"/") {
		return nil
	}
	return next
}
