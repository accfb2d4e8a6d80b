package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// CookieName is the name of Hadoop's authentication cookie.
const CookieName = "hadoop.auth"

// token is the content of a cookie (Hadoop: AuthenticationToken).
type token struct {
	user    string // u=
	name    string // p=, the principal
	kind    string // t=
	expires int64  // e=, ms since 1970
}

func (t token) String() string {
	return fmt.Sprintf("u=%s&p=%s&t=%s&e=%d", t.user, t.name, t.kind, t.expires)
}

// invalid says why a cookie isn't accepted, in Hadoop's words.
type invalid string

func (e invalid) Error() string { return string(e) }

const expired = invalid("AuthenticationToken expired")

// parseToken reads a token.
func parseToken(s string) (token, error) {
	var t token
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, "&") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return t, invalid("Invalid authentication token")
		}
		seen[key] = true
		switch key {
		case "u":
			t.user = value
		case "p":
			t.name = value
		case "t":
			t.kind = value
		case "e":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return t, invalid("Invalid authentication token")
			}
			t.expires = n
		}
	}
	if t.user == "" || !seen["p"] || !seen["t"] || !seen["e"] {
		return t, invalid("Invalid token string, missing attributes")
	}
	return t, nil
}

// sign returns the text with a signature (Hadoop: Signer.sign).
func sign(secret []byte, text string) string {
	return text + "&s=" + signature(secret, text)
}

func signature(secret []byte, text string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

const signerException = "org.apache.hadoop.security.authentication.util.SignerException: "

// verify returns the text without its signature (Hadoop: Signer.verifyAndExtract). Any of the secrets may have signed
// it.
func verify(secrets [][]byte, signed string) (string, error) {
	i := strings.LastIndex(signed, "&s=")
	if i < 0 {
		return "", invalid(signerException + "Invalid signed text: " + signed)
	}
	text, given := signed[:i], signed[i+len("&s="):]
	for _, s := range secrets {
		if hmac.Equal([]byte(signature(s, text)), []byte(given)) {
			return text, nil
		}
	}
	return "", invalid(signerException + "Invalid signature")
}

// fromCookie returns the token in a request's cookie. ok is false without a cookie. err says why a cookie isn't
// accepted.
func (f *Filter) fromCookie(r *http.Request) (t token, ok bool, err error) {
	c, err := r.Cookie(CookieName)
	if err != nil || strings.Trim(c.Value, `"`) == "" {
		return token{}, false, nil
	}
	text, err := verify(f.secrets(), strings.Trim(c.Value, `"`))
	if err != nil {
		return token{}, false, err
	}
	if t, err = parseToken(text); err != nil {
		return token{}, false, err
	}
	switch {
	case t.kind != f.kind():
		return token{}, false, invalid("Invalid AuthenticationToken type")
	case f.Now().UnixMilli() > t.expires:
		return token{}, false, expired
	}
	return t, true, nil
}

func (f *Filter) setCookie(h http.Header, r *http.Request, t token) {
	secrets := f.secrets()
	if len(secrets) == 0 {
		return // there are no secrets yet; the client keeps sending its user's name
	}
	attributes := f.attributes(r)
	if strings.Contains(r.UserAgent(), "Mozilla/") { // as each browser says; programs get what Hadoop gives them
		attributes += "; SameSite=Lax" // pages of other sites neither set nor use it
	}
	h.Add("Set-Cookie", CookieName+`="`+sign(secrets[0], t.String())+`"`+attributes)
}

// Forget makes the client forget who it is.
func (f *Filter) Forget(h http.Header, r *http.Request) { f.dropCookie(h, r) }

// dropCookie makes the client forget its cookie.
func (f *Filter) dropCookie(h http.Header, r *http.Request) {
	h.Add("Set-Cookie", CookieName+"="+f.attributes(r))
}

func (f *Filter) attributes(r *http.Request) string {
	a := "; Path=/"
	if f.CookiePath != "" {
		a = "; Path=" + f.CookiePath
	}
	if f.CookieDomain != "" {
		a += "; Domain=" + f.CookieDomain
	}
	if r.TLS != nil {
		a += "; Secure"
	}
	return a + "; HttpOnly"
}

func (f *Filter) newToken(user, name string) token {
	return token{user: user, name: name, kind: f.kind(), expires: f.Now().Add(f.Validity).UnixMilli() / 1000 * 1000}
}

// validity is Hadoop's default for the validity of a cookie.
const validity = 10 * time.Hour
