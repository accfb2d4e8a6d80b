// Package proxy leads users to the web pages that applications' ApplicationMasters serve (Hadoop:
// WebAppProxyServlet). It passes requests to /proxy/<application>/… on to the address that the ApplicationMaster
// registered, with the user's name in a cookie. It passes none of the user's own cookies on, so that an application
// can't act in the user's name. The filter in front of Hadoop's ApplicationMasters' pages (AmIpFilter) trusts that
// cookie, and redirects users who come without the proxy to /proxy/redirect/<application>/….
package proxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/proxyca"
	"heddle/yarn/records"
	"heddle/yarn/rest"
)

// Base is the prefix of the proxy's paths.
const Base = "/proxy"

const (
	userCookie     = "proxy-user"    // names the user to the ApplicationMaster
	approvalCookie = "checked_"      // followed by the application: the user was warned, and continued
	approval       = "proxyapproved" // parameter of the link in the warning
	approvalPeriod = 2 * time.Hour
	redirected     = "redirect" // precedes the application if its filter sent the user here
)

// App describes an application to the proxy.
type App struct {
	User     string
	Tracking string // address that the ApplicationMaster registered; "" or N/A if none
	Ended    bool
	// Hosts are its machines, by names or addresses. The proxy connects to no others.
	Hosts []string
}

// Config has the settings of a proxy.
type Config struct {
	// Lookup finds an application; ok is false when there is none.
	Lookup func(records.ApplicationID) (app App, ok bool)
	// User returns who makes a request, or "" if that isn't known.
	User func(*http.Request) string
	// MayView reports whether a user may see the live pages of an application.
	MayView func(user string, id records.ApplicationID) bool
	// Pages is the address of the pages about applications, such as http://host:8088/cluster.
	Pages string
	// Warn makes users confirm that they want to see pages of another's program. Hadoop does so if Kerberos
	// secures logins.
	Warn bool
	// Authority returns who signs certificates of ApplicationMasters; nil: the machine's authorities alone count.
	Authority func() (*proxyca.Authority, error)
	// Strict has the proxy fetch pages by HTTPS alone.
	Strict bool
	// OwnOrigin says that the proxy's host and port serve no other pages. Otherwise the proxy puts the pages of
	// applications into a sandbox.
	OwnOrigin bool
	// Local reports whether an address is one of this machine's own.
	Local func(net.IP) bool
	Log   *logrus.Entry
}

// Proxy serves the paths below Base.
type Proxy struct {
	Config
	client *http.Client
	own    func() net.IP // ownAddress, looked up once
	key    []byte        // signs the passes of pages
}

// New returns a proxy. Call Close to end its idle connections.
func New(cfg Config) *Proxy {
	if cfg.Local == nil {
		cfg.Local = isLocal
	}
	p := &Proxy{Config: cfg, key: make([]byte, 32)}
	_, _ = rand.Read(p.key) // never fails
	p.own = sync.OnceValue(p.ownAddress)
	p.client = &http.Client{
		Transport:     p.transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // first follows some, the browser the others
	}
	return p
}

// ownAddress returns the address of the proxy's host, or nil if this machine doesn't have it.
func (p *Proxy) ownAddress() net.IP {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	pages, err := url.Parse(p.Pages)
	if err != nil {
		return nil
	}
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, pages.Hostname())
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if a.IP.To4() != nil && p.Local(a.IP) {
			return a.IP
		}
	}
	return nil
}

// Close ends idle connections to applications.
func (p *Proxy) Close() { p.client.CloseIdleConnections() }

// allowed are the methods that the proxy passes on, and OPTIONS, which it answers itself.
const allowed = "GET, HEAD, PUT, OPTIONS"

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut:
	case http.MethodOptions:
		w.Header().Set("Allow", allowed)
		if !p.OwnOrigin {
			mayAsk(w.Header(), r)
		}
		return
	case http.MethodPost, http.MethodDelete, http.MethodTrace:
		w.Header().Set("Allow", allowed)
		rest.ErrorPage(w, r, http.StatusMethodNotAllowed, "HTTP method "+r.Method+" is not supported by this URL")
		return
	default: // a servlet answers unknown methods, such as PATCH, like this
		rest.ErrorPage(w, r, http.StatusNotImplemented, "Method "+r.Method+" is not defined in RFC 2068 and is not supported by the Servlet API")
		return
	}
	name, below, again := split(r.URL.EscapedPath())
	if again && name == "" {
		notFound(w, "Your path appears to be formatted incorrectly.")
		return
	}
	id, err := records.ParseApplicationID(name)
	if err != nil {
		rest.ErrorPage(w, r, http.StatusBadRequest,
			"org.apache.hadoop.yarn.exceptions.YarnRuntimeException: Error parsing application ID: "+name)
		return
	}
	if again && p.fromHere(r) {
		// The application doesn't recognize this machine as the proxy, and would send every request back.
		p.Log.WithField("application", id).Error("the ApplicationMaster sent the proxy's own request back: it resolves the address " +
			"of the ResourceManager, or yarn.web-proxy.address, to something else than the proxy calls from")
		moved(w, p.Pages+"/failure/"+id.String())
		return
	}
	app, ok := p.Lookup(id)
	if !ok {
		notFound(w, "Application "+id.String()+" could not be found, please try the history server")
		return
	}
	p.serve(w, r, id, app, below)
}

// split splits a path into /proxy/[redirect/]<application>/<below>.
func split(escaped string) (app, below string, again bool) {
	rest := strings.TrimPrefix(strings.TrimPrefix(escaped, Base), "/")
	if rest == redirected || strings.HasPrefix(rest, redirected+"/") {
		again, rest = true, strings.TrimPrefix(strings.TrimPrefix(rest, redirected), "/")
	}
	app, below, _ = strings.Cut(rest, "/")
	return app, below, again
}

func (p *Proxy) fromHere(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && p.Local(ip)
}

func isLocal(ip net.IP) bool {
	if ip.IsLoopback() {
		return true
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, id records.ApplicationID, app App, below string) {
	if app.Tracking == "" || app.Tracking == "N/A" {
		moved(w, p.Pages+"/app/"+id.String())
		return
	}
	to, err := target(app.Tracking, below, r.URL.RawQuery)
	if err != nil {
		p.Log.WithField("application", id).WithError(err).Warn("the tracking URL of an application is not a web address")
		moved(w, p.Pages+"/app/"+id.String())
		return
	}
	if own := Base + "/" + id.String(); acts(below) && !p.mayAct(r, own) {
		unasked(w, r, own)
		return
	}
	user := p.User(r)
	if made, ok := p.passOf(r, Base+"/"+id.String()); ok && !p.OwnOrigin && r.Method != http.MethodPut {
		user = made
	}
	if !p.MayView(user, id) {
		rest.ErrorPage(w, r, http.StatusForbidden, "User "+user+" does not have privilege to see application "+id.String())
		return
	}
	approved := p.Warn && r.URL.Query().Get(approval) == "true" && rest.MayChange(r)
	if p.Warn && user != app.User && !approved && !wasWarned(r, id) {
		warn(w, r, id, app.User)
		return
	}
	if app.Ended {
		moved(w, to.String())
		return
	}
	if approved {
		http.SetCookie(w, &http.Cookie{
			Name: approvalCookie + id.String(), Value: "true", Path: Base + "/" + id.String() + "/",
			MaxAge: int(approvalPeriod / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		})
	}
	if p.Strict && to.Scheme != "https" {
		insecure(w, to)
		return
	}
	reach, err := p.reach(r.Context(), to, &app)
	if err != nil {
		p.Log.WithField("application", id).WithError(err).Info("the pages of an application are not fetched")
		elsewhere(w, id, to)
		return
	}
	p.pass(w, r.WithContext(withReach(r.Context(), reach, id)), id, &app, to, user, below == "")
}

// target returns the address at the application: a path below its tracking URL, and the query without the proxy's own
// parameters.
func target(tracking, below, query string) (*url.URL, error) {
	if !strings.Contains(tracking, "://") {
		tracking = "http://" + tracking
	}
	u, err := url.Parse(tracking)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%q has no scheme http or https, or no host", tracking)
	}
	if below != "" {
		base := u.EscapedPath()
		if !strings.HasSuffix(base, "/") {
			base += "/"
		}
		if u.Path, err = url.PathUnescape(base + below); err != nil {
			return nil, err
		}
		u.RawPath = base + below
	}
	var keep []string
	for part := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(part, "="); part != "" && name != approval && name != actPass && !isSecret(part) {
			keep = append(keep, part)
		}
	}
	if len(keep) > 0 {
		u.RawQuery = strings.Join(keep, "&")
	}
	return u, nil
}

func wasWarned(r *http.Request, id records.ApplicationID) bool {
	c, err := r.Cookie(approvalCookie + id.String())
	return err == nil && c.Value == "true"
}

// pass sends the request to the application, and the answer back. first says that it is for the application's first page.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, id records.ApplicationID, app *App, to *url.URL, user string, first bool) {
	var body io.Reader
	if r.Method == http.MethodPut {
		body = r.Body
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, to.String(), body)
	if err != nil {
		rest.ErrorPage(w, r, http.StatusBadRequest, err.Error())
		return
	}
	p.alone(req)
	for _, name := range passedOn {
		if v := r.Header.Values(name); len(v) > 0 {
			req.Header[name] = v
		}
	}
	if user != "" {
		req.Header.Set("Cookie", userCookie+"="+url.QueryEscape(user))
	}
	if !p.OwnOrigin && strings.Contains(r.Header.Get("Accept"), "text/html") {
		req.Header.Del("Accept-Encoding") // withShim changes pages
	}
	var resp *http.Response
	if first && r.Method == http.MethodGet {
		resp, to, err = p.first(req, to)
	} else {
		resp, err = p.client.Do(req)
	}
	if err == nil {
		defer resp.Body.Close()
		err = checkStatus(resp)
	}
	if err != nil {
		p.unanswered(w, id, err)
		return
	}
	p.handBack(w, r, resp, id, app, to, user)
}

// handBack sends an application's answer to the browser. If the application's answer ends early, so does this one.
func (p *Proxy) handBack(w http.ResponseWriter, r *http.Request, resp *http.Response, id records.ApplicationID, app *App, to *url.URL, user string) {
	own := Base + "/" + id.String()
	h := w.Header()
	if given := resp.Header.Get("Location"); given != "" {
		there, back := location(to, app.Tracking, id, given)
		if back {
			moved(w, p.Pages+"/failure/"+id.String())
			return
		}
		if there != "" {
			h.Set("Location", there)
		}
	}
	for _, name := range handedBack {
		if v := resp.Header.Values(name); len(v) > 0 {
			h[name] = v
		}
	}
	cookies(h, id, resp.Header["Set-Cookie"])
	var from io.Reader = resp.Body
	if !p.OwnOrigin {
		confine(h)
		p.sharing(h, r, own)
		if r.Method == http.MethodGet && isPage(resp.Header) {
			h.Del("Content-Length")
			until := time.Now().Add(passLife)
			from = withShim(from, p.passFor(own, user, until), p.passFor(actsFor(own), user, until), own)
		}
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(flushing{w, http.NewResponseController(w)}, from); err != nil {
		if r.Context().Err() == nil {
			p.Log.WithField("application", id).WithError(err).Info("an answer of an application ended early")
		}
		rest.Abort(w)
	}
}

// errStatus says that an application's answer has a status that no answer to this request may have.
var errStatus = errors.New("the status is not one of 200 to 999")

// checkStatus refuses statuses that can't be handed back. 101 is one of them: the proxy asks for no other protocol. The other ones below 200 announce an
// answer, and the client has read past them.
func checkStatus(resp *http.Response) error {
	if resp.StatusCode < 200 || resp.StatusCode > 999 {
		return fmt.Errorf("HTTP status %03d: %w", resp.StatusCode, errStatus)
	}
	return nil
}

// mostReason bounds the text of an error on a page. It may quote what the application has sent.
const mostReason = 300

// unanswered answers for an application that can't be reached, or that gave no valid answer.
func (p *Proxy) unanswered(w http.ResponseWriter, id records.ApplicationID, err error) {
	page := html.EscapeString(p.Pages + "/app/" + id.String())
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		p.Log.WithField("application", id).WithError(err).Info("the pages of an application can't be reached")
		rest.Page(w, http.StatusBadGateway, "The pages of application "+id.String()+" can't be reached",
			`<p>The application may have just ended, or may not serve them yet. See <a href="`+page+`">what the cluster knows of it</a>.</p>`)
		return
	}
	var wrapped *url.Error // its text begins with the application's address
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	reason := fmt.Sprintf("%.*s", mostReason, strings.ToValidUTF8(err.Error(), "?"))
	p.Log.WithField("application", id).WithField("reason", reason).Info("an application gave no valid answer")
	rest.Page(w, http.StatusBadGateway, "Application "+id.String()+" gave no valid answer",
		`<p>`+html.EscapeString(reason)+`</p><p>See <a href="`+page+`">what the cluster knows of the application</a>.</p>`)
}

// elsewhere answers for pages that are on no machine of the application. The user may go there directly.
func elsewhere(w http.ResponseWriter, id records.ApplicationID, to *url.URL) {
	link := html.EscapeString(to.String())
	rest.Page(w, http.StatusForbidden, "The pages of application "+id.String()+" are not on one of its machines",
		`<p>The proxy fetches nothing from elsewhere (<code>heddle.web-proxy.hosts</code> names further machines). You can go to <a rel="noreferrer" href="`+link+`">`+link+`</a> yourself.</p>`)
}

// flushing passes each piece on as soon as the application sends it.
type flushing struct {
	io.Writer
	c *http.ResponseController
}

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	if err == nil {
		err = f.c.Flush()
		if errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	return n, err
}

// moved redirects, with a page for clients that don't follow by themselves (Hadoop: ProxyUtils.sendRedirect).
func moved(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	rest.Page(w, http.StatusFound, "Moved", `<p>Content has moved <a href="`+html.EscapeString(to)+`">here</a>.</p>`)
}

func notFound(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", rest.HTMLType)
	w.WriteHeader(http.StatusNotFound)
	_, _ = fmt.Fprintf(w, "<!DOCTYPE html>\n<html><body><h1>%s</h1></body></html>\n", html.EscapeString(text))
}

// warn asks whether the user wants to see pages of another's program.
func warn(w http.ResponseWriter, r *http.Request, id records.ApplicationID, owner string) {
	q := r.URL.Query()
	q.Set(approval, "true")
	link := url.URL{Path: path.Clean(r.URL.Path), RawQuery: q.Encode()}
	if strings.HasSuffix(r.URL.Path, "/") {
		link.Path += "/"
	}
	rest.Page(w, http.StatusOK, "WARNING: The following page may not be safe!",
		`<p>It is served by application `+html.EscapeString(id.String())+`, which belongs to `+html.EscapeString(owner)+
			`. <a href="`+html.EscapeString(link.String())+`">Click here to continue to it</a>.</p>`)
}
