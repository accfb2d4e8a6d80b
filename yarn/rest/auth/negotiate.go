package auth

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/spnego"
	"heddle/yarn/rest"
)

// Tickets checks web users' Kerberos tickets (Hadoop: KerberosAuthenticationHandler).
type Tickets struct {
	Acceptor *kerberos.Acceptor
	// Log learns why tickets are refused, at most once a second: strangers must not fill the disk. nil: nothing does.
	Log *logrus.Entry

	logged atomic.Int64 // when, in ns since 1970
}

// refused logs a refusal: the client learns less.
func (t *Tickets) refused(from string, cause error) {
	now, last := time.Now().UnixNano(), t.logged.Load()
	if t.Log != nil && now-last > int64(time.Second) && t.logged.CompareAndSwap(last, now) {
		t.Log.WithField("peer", from).WithField("cause", cause).Warn("a ticket of a web client is refused")
	}
}

// byTicket identifies the sender of a ticket, and adds the service's proof of its own identity to the answer.
func (f *Filter) byTicket(w http.ResponseWriter, r *http.Request) (t token, known bool, err error) {
	b, ok, err := spnego.FromHeader(r.Header.Get("Authorization"))
	if !ok {
		return token{}, false, nil
	}
	full, answer, err := f.Tickets.accept(r.RemoteAddr, b, err)
	if err != nil {
		return token{}, false, &wrong{http.StatusForbidden, err.Error()}
	}
	short, err := f.short(full)
	if err == nil && strings.Contains(short+full, "&") {
		err = errors.New("a name with &")
	}
	if err != nil {
		return token{}, false, &wrong{http.StatusForbidden, err.Error()}
	}
	if len(answer) > 0 {
		w.Header().Set("WWW-Authenticate", spnego.Header(answer))
	}
	return f.newToken(short, full), true, nil
}

// accept returns the full name of a token's client, and the answer to it. malformed is what was wrong with the header. Errors are in Hadoop's words.
func (t *Tickets) accept(from string, b []byte, malformed error) (client string, answer []byte, err error) {
	if malformed != nil {
		return "", nil, defective(malformed)
	}
	request, err := spnego.Parse(b)
	if err != nil {
		return "", nil, defective(err)
	}
	c, reply, err := t.Acceptor.Accept(request.Token)
	if err != nil {
		t.refused(from, err)
		return "", nil, inHadoopsWords(err)
	}
	if answer, err = request.Answer(reply); err != nil {
		return "", nil, fmt.Errorf("the answer to a ticket of %s: %w", c.Client, err)
	}
	return c.Client, answer, nil
}

func defective(err error) error {
	return fmt.Errorf("GSSException: Defective token detected (Mechanism level: %w)", err)
}

// inHadoopsWords words what is wrong with a ticket. Details that an attacker could use stay in the service.
func inHadoopsWords(err error) error {
	if e := (*kerberos.ServiceError)(nil); errors.As(err, &e) {
		return fmt.Errorf("java.lang.IllegalArgumentException: Invalid server principal %sdecoded from client request",
			e.Service)
	}
	for _, x := range []struct {
		is   error
		text string
	}{
		{kerberos.ErrReplay, "Request is a replay (34)"},
		{kerberos.ErrSkew, "Clock skew too great (37)"},
		{kerberos.ErrEnded, "Ticket expired (32)"},
		{kerberos.ErrChecksum, "Checksum failed"},
	} {
		if errors.Is(err, x.is) {
			return errors.New("GSSException: Failure unspecified at GSS-API level (Mechanism level: " + x.text + ")")
		}
	}
	return errors.New("GSSException: Failure unspecified at GSS-API level (Mechanism level: the ticket can't be checked)")
}

// ofBrowser reports whether a request is a person's for a page.
func ofBrowser(r *http.Request) bool {
	format, ok := rest.Negotiate(r.Header.Values("Accept"), rest.HTML, rest.Text, rest.JSON)
	return r.Method == http.MethodGet && ok && format == rest.HTML && strings.Contains(r.UserAgent(), "Mozilla/")
}

// ticketPage tells people what to do. A browser that has a ticket doesn't show it, but asks again. link is where they sign in without one; "" for
// nowhere.
func ticketPage(w http.ResponseWriter, link string) {
	if link != "" {
		link = `<p><a href="` + html.EscapeString(link) + `">Sign in</a> at your organisation's OpenID provider, or use a ticket:</p>`
	}
	rest.Page(w, http.StatusUnauthorized, "Authentication required", link+`<p>This cluster asks for a Kerberos ticket, and your browser sent none.</p>
<ol>
<li>Run <code>kinit</code> on the machine with the browser. <code>klist</code> shows whether you have a ticket.</li>
<li>Let the browser send it here. In Firefox, add this server's name to <code>network.negotiate-auth.trusted-uris</code> (about:config).
In Chrome and Edge, have an administrator add it to the policy <code>AuthServerAllowlist</code>. On Windows, add it to the local intranet's sites.</li>
<li>Use the server's full host name in the address, as Kerberos knows it, and no IP address.</li>
</ol>
<p>In a terminal, <code>curl --negotiate -u : URL</code> and <code>heddle</code>'s commands use the ticket.</p>`)
}
